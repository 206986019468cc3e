package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/budget"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/node"
)

// scarcity has the options of bench memory.
type scarcity struct {
	model, group string
	most, least  int // MiB
	json         bool
}

const (
	scarcityStep = time.Minute // of the node's clock between two readings
	scarcityDocs = 16
	typeEvery    = 4 // readings
	addEvery     = 5
)

func memoryCommand() *cobra.Command {
	var o scarcity
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Measure how the memory is divided while it gets scarce and plentiful again",
		Long: `Opens an encrypted folder with a model and sets the memory that the process may use: plenty,
less and less, scarce, and plenty again. Before each reading it asks a question; now and then
it completes a text and adds a document. Each answer must have the text that it had at first.
The clock goes a minute ahead at each reading. With --group the process enters that
control group, and its limit is real; otherwise the readings are made from the memory that the
process uses.`,
		Args:    cobra.NoArgs,
		Example: `  percached-eval bench memory --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.least < 1 || o.most <= o.least {
				return cmdline.Misusef("--least must be at least 1 and below --most")
			}
			r, err := o.run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return cmdline.Show(cmd.OutOrStdout(), o.json, r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.model, "model", "", "Model file (default: the built-in model)")
	f.StringVar(&o.group, "group", "", "Folder of a memory control group, created if it does not exist (default: made readings)")
	f.IntVar(&o.most, "most", 1600, "Memory while it is plentiful, in MiB")
	f.IntVar(&o.least, "least", 400, "Memory while it is scarce, in MiB")
	f.BoolVar(&o.json, "json", false, "Print JSON")
	return cmd
}

// limits are the memory at each reading, in MiB.
func (o *scarcity) limits() (at []int) {
	const falling = 20
	hold := func(mib, n int) {
		for range n {
			at = append(at, mib)
		}
	}
	hold(o.most, 16)
	for i := range falling {
		at = append(at, o.most-(o.most-o.least)*(i+1)/falling)
	}
	hold(o.least, 6)
	hold(o.most, 30)
	return at
}

// memoryReport is the result of bench memory.
type memoryReport struct {
	Model    string        `json:"model"`
	Readings string        `json:"readings"` // real or made
	Weights  int64         `json:"weight_bytes"`
	Same     int           `json:"same"` // answers with the text that they had at first
	Asked    int           `json:"asked"`
	Lost     int           `json:"lost_documents"`
	Points   []memoryPoint `json:"points"`
}

// memoryPoint is the state after a reading.
type memoryPoint struct {
	Minutes float64 `json:"minutes"`
	Limit   int64   `json:"limit_bytes"`
	Free    int64   `json:"free_bytes"`
	Context int64   `json:"context_bytes"`
	Slices  int64   `json:"slice_bytes"`
	Typed   int64   `json:"typed_bytes"`
	Mapped  int64   `json:"mapped_bytes"` // of files in memory: the model and the program
	Tokens  int     `json:"context_tokens"`
	Idle    bool    `json:"idle"`
	Why     string  `json:"why"`
	FirstMS float64 `json:"first_token_ms"`
}

// Table prints the report.
func (r *memoryReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%s, %s readings; %d of %d answers have the text of the first; %d documents lost\n", r.Model, r.Readings, r.Same, r.Asked, r.Lost)
	p.Line("%7s %6s %6s %8s %7s %7s %7s %6s %5s %9s  %s", "minutes", "limit", "free", "context", "slices", "typing", "mapped", "tokens", "idle", "first ms", "MiB; why")
	for _, t := range r.Points {
		p.Line("%7.1f %6d %6d %8d %7d %7d %7d %6d %5t %9.0f  %s", t.Minutes, t.Limit>>20, t.Free>>20, t.Context>>20, t.Slices>>20, t.Typed>>20, t.Mapped>>20, t.Tokens, t.Idle, t.FirstMS, t.Why)
	}
	return p.Err
}

// scarcityRun is a measurement in progress.
type scarcityRun struct {
	*scarcity
	*node.Node
	limit  int64
	now    time.Time
	first  map[string]string // answers by question
	report *memoryReport
}

const uploadSpace = "uploads"

func (o *scarcity) run(ctx context.Context, stderr io.Writer) (*memoryReport, error) {
	dir, err := os.MkdirTemp("", "percached-")
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: memory", "%w", err)
	}
	defer os.RemoveAll(dir)
	s := &scarcityRun{scarcity: o, limit: int64(o.most) << 20, now: time.Now(), first: map[string]string{}, report: &memoryReport{Readings: "made"}}
	c := node.Default()
	c.Create, c.Data, c.Model, c.KeyFile, c.TensorLimit = true, filepath.Join(dir, "data"), o.model, filepath.Join(dir, "key"), config.Auto
	c.K = 2 // so that the prompts fit into the shortest context, too
	c.Now, c.Readings = func() time.Time { return s.now }, s.reading
	if o.group != "" {
		s.report.Readings, c.Readings = "real", nil
		if err := enterGroup(o.group, s.limit); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(c.KeyFile, []byte("the passphrase"), 0o600); err != nil {
		return nil, fault.New(fault.Unavailable, "percached: memory", "%w", err)
	}
	if err := home.Encrypt(c.Data, c.KeySource(), encryption.DefaultCost()); err != nil {
		return nil, err
	}
	if s.Node, err = node.Open(ctx, c, true, stderr); err != nil {
		return nil, err
	}
	defer s.Close()
	docs := &hits{documents: scarcityDocs}
	for space, kind := range map[string]string{hitsSpace: "emails", uploadSpace: "notes"} {
		if err := s.Knowledge.CreateSpace(percached.Space{Name: space, Kind: kind}); err != nil {
			return nil, err
		}
	}
	if _, err := s.Library.Add(ctx, hitsSpace, docs.mails, nil); err != nil {
		return nil, err
	}
	return s.report, s.measure(ctx, stderr)
}

// reading is a made one: what the process uses is real.
func (s *scarcityRun) reading() node.Reading {
	used, _ := residentBytes()
	return node.Reading{Memory: budget.Memory{Total: s.limit, Available: max(0, s.limit-used)}, Stalled: -1, Free: -1}
}

// measure follows the limits.
func (s *scarcityRun) measure(ctx context.Context, stderr io.Writer) error {
	tick := make(chan time.Time)
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); s.FollowMachine(ctx, tick) }()
	defer func() { stop(); <-done }()
	s.report.Model, s.report.Weights = s.Engine.Info().Name, int64(s.Engine.Info().WeightBytes)
	begin, progress, added := s.now, cmdline.Progress(stderr, "readings"), 0
	limits := s.limits()
	for i, mib := range limits {
		s.limit = int64(mib) << 20
		if s.group != "" {
			if err := limitGroup(s.group, s.limit); err != nil {
				return err
			}
		}
		took, err := s.ask(ctx, i)
		if err != nil {
			return err
		}
		if i%typeEvery == 0 {
			_, err := s.Asker.Complete(ctx, answer.Completion{Space: hitsSpace, Before: "The " + hitTopic(i) + " for " + hitName(i%scarcityDocs) + " is ", Alternatives: 1, MaxTokens: 4}, nil)
			if err != nil && fault.KindOf(err) != fault.Unavailable { // there is no memory for it
				return err
			}
		}
		if i%addEvery == 0 {
			one := &hits{documents: added + 1}
			if _, err := s.Library.Add(ctx, uploadSpace, one.mails, nil); err != nil {
				return err
			}
			added++
		}
		s.now = s.now.Add(scarcityStep)
		tick <- s.now
		tick <- s.now // is taken when the reading before is done
		s.point(begin, took)
		progress(float64(i+1) / float64(len(limits)))
	}
	st, err := s.Knowledge.Stats(hitsSpace)
	up, failed := s.Knowledge.Stats(uploadSpace)
	if err == nil {
		err = failed
	}
	s.report.Lost = scarcityDocs + added - st.Documents - up.Documents
	return err
}

func (s *scarcityRun) point(begin time.Time, took time.Duration) {
	b := s.Budget()
	p := memoryPoint{
		Minutes: s.now.Sub(begin).Minutes(), Limit: s.limit, Free: b.Memory.Available, Context: b.Context.Bytes, Slices: b.Hot, Typed: b.Typed,
		Tokens: b.Context.Tokens, FirstMS: float64(took.Microseconds()) / 1000,
	}
	if b.Shares != nil {
		p.Idle, p.Why = b.Shares.Idle, b.Shares.Why()
	}
	_, p.Mapped = residentBytes()
	s.report.Points = append(s.report.Points, p)
}

// ask asks one of the questions, whose tensors are stored after the first time.
func (s *scarcityRun) ask(ctx context.Context, i int) (time.Duration, error) {
	n := i * 7 % scarcityDocs
	text := fmt.Sprintf("What is the %s for %s?", hitTopic(n), hitName(n))
	a, err := s.Asker.Ask(ctx, answer.Question{Space: hitsSpace, Text: text, Bypass: true, MaxTokens: 8}, answer.Listener{})
	if err != nil {
		return 0, err
	}
	if _, ok := s.first[text]; !ok {
		s.first[text] = a.Text
	}
	s.report.Asked++
	if a.Text == s.first[text] {
		s.report.Same++
	}
	return a.Times.MatchTensors + a.Times.Queue + a.Times.FirstToken, nil
}

// residentBytes are the bytes of this process in memory: its own, and of mapped files.
func residentBytes() (own, mapped int64) {
	return anonymous(os.Getpid()), statusBytes(os.Getpid(), "RssFile:")
}

// enterGroup moves this process into a memory control group of either version.
func enterGroup(dir string, limit int64) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fault.New(fault.Unavailable, "percached: memory", "cannot make the control group: %w", err)
	}
	if err := limitGroup(dir, limit); err != nil {
		return err
	}
	return writeGroup(dir, "cgroup.procs", strconv.Itoa(os.Getpid()))
}

func limitGroup(dir string, limit int64) error {
	name := "memory.max"
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		name = "memory.limit_in_bytes"
	}
	return writeGroup(dir, name, strconv.FormatInt(limit, 10))
}

func writeGroup(dir, name, value string) error {
	if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o644); err != nil {
		return fault.New(fault.Unavailable, "percached: memory", "cannot set the control group: %w", err)
	}
	return nil
}
