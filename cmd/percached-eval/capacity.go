package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/internal/base/cmdline"
)

// capacity has the options of percached-eval capacity. The defaults are those of docs/capacity.md,
// which names the command that measured each.
type capacity struct {
	users, nodes int // nodes 0: as many as needed
	profile      string
	peak         float64
	seed         uint64
	sample       int // maximum number of questions to simulate

	repeat, paraphrase, other float64 // chance of a stored answer, by the question's relation
	room                      float64
	idle                      float64

	front, cold, warm time.Duration
	spread            float64
	cores             int

	wait                    time.Duration
	memory, userMemory      sizeFlag
	documents, tensors      sizeFlag
	nodeHour, gigabyteMonth float64
}

func capacityCommand() *cobra.Command {
	o := &capacity{memory: 8 << 30, userMemory: 424 << 10, documents: 2 << 20, tensors: 1850 << 20}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "capacity",
		Short: "Plan the nodes for many users, and what a thousand questions cost",
		Long: `Simulates one day of the questions of many users on nodes of a daemon each, with
percached's reuse and without it. A user's space is on one node: questions to it wait for each other.
Each question first takes a core (embedding, gate, retrieval), then, without a stored answer, the
node's model, one question at a time in order of arrival. No question is refused.

Without --nodes it finds the least number of nodes that keeps the wait of 99 in 100 questions,
leaves time for idle work, and has memory for its users. Times are those of a node, measured as
docs/capacity.md describes; prices are assumptions. The same seed gives the same questions,
whatever the other options.

Profiles say how often a user asks, and how many of the questions repeat or rephrase earlier ones:
` + profiles(),
		Args: cobra.NoArgs,
		Example: `  percached-eval capacity --users 100000
  percached-eval capacity --users 1000 --nodes 4 --profile busy`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := o.check()
			if err != nil {
				return err
			}
			r, err := o.plan(cmd.Context(), p)
			if err != nil {
				return err
			}
			return cmdline.Show(cmd.OutOrStdout(), asJSON, r)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.users, "users", 1000, "Number of users, with one space each")
	f.IntVar(&o.nodes, "nodes", 0, "Number of nodes (default: as many as needed)")
	f.StringVar(&o.profile, "profile", "typical", "Profile of the users")
	f.Float64Var(&o.peak, "peak", 2, "Questions of the busiest moment over the mean of the waking hours, 1 to 2")
	f.Uint64Var(&o.seed, "seed", 1, "Seed of the random numbers")
	f.IntVar(&o.sample, "sample", 200_000, "Approximate number of questions to simulate: of more, only those of some nodes")
	f.Float64Var(&o.repeat, "stored-repeats", 0.73, "Share (0-1) of repeated questions that stored answers serve")
	f.Float64Var(&o.paraphrase, "stored-paraphrases", 0.31, "Share (0-1) of rephrased questions that stored answers serve")
	f.Float64Var(&o.other, "stored-others", 0, "Share (0-1) of other questions that stored answers serve")
	f.Float64Var(&o.room, "room", 0.05, "Share (0-1) of a user's chunks whose tensors have room")
	f.Float64Var(&o.idle, "idle", 1.36, "Idle work of a question, over the time of a cold answer")
	f.DurationVar(&o.front, "front", 8*time.Millisecond, "Time of a core for embedding, gate and retrieval")
	f.DurationVar(&o.cold, "cold", 1500*time.Millisecond, "Mean time of the model for an answer with nothing stored")
	f.DurationVar(&o.warm, "warm", 300*time.Millisecond, "Mean time of the model for an answer with all chunks stored")
	f.Float64Var(&o.spread, "spread", 2.2, "95th percentile of the model's time over its median, at least 1")
	f.IntVar(&o.cores, "cores", 2, "Cores of a node")
	f.DurationVar(&o.wait, "wait", 2*time.Second, "Maximum wait of 99 in 100 questions, beside their own computing time")
	f.Var(&o.memory, "memory", "Memory of a node for its users")
	f.Var(&o.userMemory, "user-memory", "Memory that a user needs while nobody asks")
	f.Var(&o.documents, "user-bytes", "Disk space of a user without tensors: documents, index, stored answers")
	f.Var(&o.tensors, "user-tensors", "Disk space for the tensors of all chunks of a user")
	f.Float64Var(&o.nodeHour, "node-hour", 0.10, "Price of a node for an hour in dollars (an assumption of November 2026: 2 cores of a virtual machine)")
	f.Float64Var(&o.gigabyteMonth, "gb-month", 0.08, "Price of a gigabyte of disk for a month in dollars (an assumption of November 2026)")
	f.BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}

// check returns the profile, or what is wrong with the options.
func (o *capacity) check() (persona.Profile, error) {
	p, ok := persona.Find(o.profile)
	share := func(x float64) bool { return x >= 0 && x <= 1 }
	for _, c := range []struct {
		good bool
		says string
	}{
		{ok, "--profile: there is no profile " + o.profile + "; they are:\n" + profiles()},
		{o.users >= 1 && o.users <= 100_000_000, "--users must be between 1 and 100,000,000"},
		{o.nodes >= 0 && o.nodes <= o.users, "--nodes must be between 1 and --users"},
		{o.sample >= 1, "--sample must be at least 1"},
		{o.cores >= 1 && o.cores <= 1024, "--cores must be between 1 and 1024"},
		{o.peak >= 1 && o.peak <= 2, "--peak must be between 1 and 2"},
		{share(o.repeat) && share(o.paraphrase) && share(o.other), "--stored-repeats, --stored-paraphrases and --stored-others must be between 0 and 1"},
		{share(o.room), "--room must be between 0 and 1"},
		{o.idle >= 0 && o.idle <= 1000, "--idle must be between 0 and 1000"},
		{o.front > 0 && o.warm > 0 && o.warm <= o.cold && o.cold <= time.Hour && o.front <= time.Hour, "--front and --warm must be positive, --warm at most --cold, and both at most an hour"},
		{o.spread >= 1 && o.spread <= 100, "--spread must be between 1 and 100"},
		{o.wait > 0, "--wait must be positive"},
		{o.memory > 0 && o.userMemory >= 0 && o.userMemory <= o.memory, "--memory must be positive, and --user-memory at most as much"},
		{o.documents >= 0 && o.tensors >= 0, "--user-bytes and --user-tensors cannot be negative"},
		{o.nodeHour >= 0 && o.nodeHour <= 1e6 && o.gigabyteMonth >= 0 && o.gigabyteMonth <= 1e6, "--node-hour and --gb-month must be between 0 and 1,000,000"},
	} {
		if !c.good {
			return p, cmdline.Misusef("%s", c.says)
		}
	}
	return p, nil
}

// sizeFlag is a number of bytes, such as 512KiB.
type sizeFlag int64

func (f *sizeFlag) String() string { return cmdline.Size(int64(*f)) }
func (f *sizeFlag) Type() string   { return "size" }
func (f *sizeFlag) Set(s string) error {
	n, err := cmdline.ParseSize(s)
	*f = sizeFlag(n)
	return err
}
