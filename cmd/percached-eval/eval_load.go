package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval/load"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/child"
	"github.com/percached/percached/knowledgebank"
)

// loading has the options of percached-eval load.
type loading struct {
	clients, documents, questions int
	seconds                       float64
	stored                        []int // questions that the bank answers
}

func evalLoadCommand() *cobra.Command {
	var o loading
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Measure a daemon under load from many clients",
		Long: `Starts a daemon with a new data folder, adds invented mails and asks questions about them.
Then many clients ask those whose answers are stored, in three rounds: the same words;
other words, which need embedding, gate and retrieval; and, four times as long, with
stored data unused, so that the model must compute, and the daemon refuses some. Server and clients share this
machine. The memory is that of the daemon.`,
		Args:    cobra.NoArgs,
		Example: `  percached-eval load --clients 16`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.clients < 1 || o.documents < 1 || o.questions < 1 || o.questions > o.documents || o.seconds <= 0 {
				return cmdline.Misusef("--clients, --documents, --questions and --seconds must be positive, and --questions at most --documents")
			}
			r, err := o.run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return cmdline.Show(cmd.OutOrStdout(), asJSON, r)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.clients, "clients", 64, "Number of concurrent clients")
	f.IntVar(&o.documents, "documents", 1000, "Number of mails, of one chunk each")
	f.IntVar(&o.questions, "questions", 500, "Number of questions about the mails")
	f.Float64Var(&o.seconds, "seconds", 10, "Length of a round in seconds")
	f.BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}

// loadReport is the report of percached-eval load.
type loadReport struct {
	Documents int         `json:"documents"`
	Questions int         `json:"questions"`
	Rounds    []loadRound `json:"rounds"`
}

type loadRound struct {
	Name string `json:"name"`
	load.Result
	// Anonymous memory of the daemon.
	Before int64 `json:"memory_before_bytes"`
	After  int64 `json:"memory_after_bytes"`
}

func (r *loadReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%d mails, %d questions in the bank", r.Documents, r.Questions)
	for _, l := range r.Rounds {
		p.Line("%-12s %8.0f answers a second  p50 %8.2f ms  p99 %8.2f ms  longest %8.2f ms", l.Name, l.PerS, l.P50, l.P99, l.Longest)
		p.Line("%-12s %d answers %v, %d refused (429), %d failed; by client %d to %d; memory %d to %d MiB", "",
			l.Answers, l.Outcomes, l.Refused, l.Failed, l.Fewest, l.Most, l.Before>>20, l.After>>20)
	}
	return p.Err
}

func (o *loading) run(ctx context.Context, stderr io.Writer) (*loadReport, error) {
	dir, err := os.MkdirTemp("", "percached-")
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: load", "%w", err)
	}
	defer os.RemoveAll(dir)
	cmdline.Say(stderr, "starting a daemon")
	exe, err := os.Executable()
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: load", "%w", err)
	}
	log, err := os.Create(filepath.Join(dir, "log")) // it has a line for each request
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: load", "%w", err)
	}
	defer log.Close()
	d, err := child.Start(ctx, exe, filepath.Join(dir, "data"), log)
	if err != nil {
		if text, unread := os.ReadFile(log.Name()); unread == nil {
			cmdline.Say(stderr, "%s", text)
		}
		return nil, err
	}
	defer d.Stop()
	c, err := client.NewClientWithResponses(d.URL, client.WithToken(d.Token),
		client.WithHTTPClient(&http.Client{Transport: load.Transport(o.clients)}))
	if err != nil {
		return nil, fault.New(fault.Internal, "percached: load", "%w", err)
	}
	if err := o.fill(ctx, c, stderr); err != nil {
		return nil, err
	}
	r := &loadReport{Documents: o.documents, Questions: len(o.stored)}
	for _, round := range loadRounds() {
		if round.misses {
			got, err := c.ChangeSpaceWithResponse(ctx, hitsSpace, client.SettingsChange{Tensors: new(false)})
			if err != nil || got.StatusCode() != http.StatusOK {
				return nil, fault.New(fault.Internal, "percached: load", "turning stored tensors off: %w", child.Failure(err, got))
			}
		}
		cmdline.Say(stderr, "%s: %d clients for %.0f s", round.name, o.clients, o.seconds*round.times)
		l, err := o.round(ctx, c, d.PID(), round)
		if err != nil {
			return nil, err
		}
		r.Rounds = append(r.Rounds, l)
	}
	return r, nil
}

// roundPlan is what clients ask in a round.
type roundPlan struct {
	name   string
	misses bool
	times  float64            // as long
	words  func(i int) string // of a question
}

// loadRounds are the rounds. The first two ask for stored answers.
func loadRounds() []roundPlan {
	return []roundPlan{{"same words", false, 1, hitQuestion}, {"other words", false, 1, otherWords}, {"misses", true, 4, hitQuestion}}
}

// round puts a daemon under load.
func (o *loading) round(ctx context.Context, c *client.ClientWithResponses, daemon int, p roundPlan) (loadRound, error) {
	l := loadRound{Name: p.name, Before: anonymous(daemon)}
	var err error
	l.Result, err = load.Run(ctx, load.Plan{
		Clients: o.clients, For: time.Duration(o.seconds * p.times * float64(time.Second)),
		Question: func(i, n int) string { return p.words(o.pick(i, n)) }, Ask: load.Asking(c, hitsSpace, p.misses),
	})
	l.After = anonymous(daemon)
	return l, err
}

// pick is the question of a client's n-th turn. Clients ask different questions at a time, so
// that no two share a flight.
func (o *loading) pick(client, n int) int {
	return o.stored[(client*len(o.stored)/o.clients+n)%len(o.stored)]
}

// otherWords is the i-th question in words that were not asked before.
func otherWords(i int) string {
	q := hitQuestion(i)
	return "Please tell me, " + strings.ToLower(q[:1]) + q[1:]
}

// fill adds mails and asks each question twice. An answer that its documents do not support is not
// stored: such questions are not asked again.
func (o *loading) fill(ctx context.Context, c *client.ClientWithResponses, stderr io.Writer) error {
	const op = "percached: load"
	if got, err := c.CreateSpaceWithResponse(ctx, client.NewSpace{Name: hitsSpace}); err != nil || got.StatusCode() != http.StatusCreated {
		return fault.New(fault.Internal, op, "creating the space: %w", child.Failure(err, got))
	}
	cmdline.Say(stderr, "adding %d mails", o.documents)
	var texts client.Texts
	mails := &hits{documents: o.documents}
	if err := mails.mails(ctx, func(m *knowledgebank.Source) error {
		texts.Documents = append(texts.Documents, uploaded(m))
		return nil
	}, nil); err != nil {
		return err
	}
	wait := true
	if got, err := c.UploadWithResponse(ctx, hitsSpace, &client.UploadParams{Wait: &wait}, texts); err != nil || got.StatusCode() != http.StatusOK {
		return fault.New(fault.Internal, op, "adding the mails: %w", child.Failure(err, got))
	}
	cmdline.Say(stderr, "asking %d questions twice", o.questions)
	ask := load.Asking(c, hitsSpace, false)
	o.stored = nil
	for i := range o.questions {
		var again load.Reply
		for range 2 {
			var err error
			if again, err = ask(ctx, hitQuestion(i)); err != nil {
				return fault.New(fault.Internal, op, "asking: %w", err)
			}
		}
		if again.Outcome == string(answer.AnswerHit) {
			o.stored = append(o.stored, i)
		}
	}
	if len(o.stored) == 0 {
		return fault.New(fault.Unsupported, op, "no answer was stored: this model's answers have words that are not in the documents; use another model or more --questions")
	}
	return nil
}
