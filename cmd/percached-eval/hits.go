package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/retrieval"
)

// hits has the options of bench hits.
type hits struct {
	entries, documents, runs int
	encrypt                  bool
}

func hitsCommand() *cobra.Command {
	var o hits
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "hits",
		Short: "Measure the latency of answer hits in a full bank",
		Long: `Fills a new data folder with invented mails of one chunk each, and the bank with questions
about them. Then it asks some questions in other words and measures answer hits end to
end, retrieval alone, and exact repeats.`,
		Args:    cobra.NoArgs,
		Example: `  percached-eval bench hits --entries 1000 --chunks 1000`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.entries < 1 || o.documents < 1 || o.runs < 1 {
				return cmdline.Misusef("--entries, --chunks and --runs must be at least 1")
			}
			r, err := o.run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return cmdline.Show(cmd.OutOrStdout(), asJSON, r)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.entries, "entries", 10_000, "Number of questions in the bank")
	f.IntVar(&o.documents, "chunks", 10_000, "Number of chunks in the knowledge bank")
	f.IntVar(&o.runs, "runs", 500, "Number of questions to ask")
	f.BoolVar(&o.encrypt, "encrypt", false, "Encrypt the data folder")
	f.BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}

// hitsReport is the report of bench hits. Times are in milliseconds.
type hitsReport struct {
	Entries     int     `json:"entries"`
	Chunks      int     `json:"chunks"`
	IngestPerS  float64 `json:"ingest_documents_per_s"`
	Asked       int     `json:"asked"`
	Served      int     `json:"served"`
	HitMedian   float64 `json:"hit_median_ms"`
	HitP99      float64 `json:"hit_p99_ms"`
	Retrieve50  float64 `json:"retrieve_median_ms"`
	Retrieve99  float64 `json:"retrieve_p99_ms"`
	Exact50     float64 `json:"exact_median_ms"`
	Exact99     float64 `json:"exact_p99_ms"`
	AnonBefore  int64   `json:"anonymous_before_bytes"` // of an empty node with a loaded model
	AnonAfter   int64   `json:"anonymous_after_bytes"`
	WeightBytes uint64  `json:"weight_bytes"`
}

func (r *hitsReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%d questions in the bank, %d chunks; %.0f documents a second taken in", r.Entries, r.Chunks, r.IngestPerS)
	p.Line("%d of %d questions in other words were served from the bank", r.Served, r.Asked)
	p.Line("hit, end to end   median %7.2f ms   p99 %7.2f ms", r.HitMedian, r.HitP99)
	p.Line("retrieval alone   median %7.2f ms   p99 %7.2f ms", r.Retrieve50, r.Retrieve99)
	p.Line("exact repeat      median %7.2f ms   p99 %7.2f ms", r.Exact50, r.Exact99)
	p.Line("anonymous memory  %d MiB, %d MiB of it before adding documents (weights: %d MiB, mapped from a file)",
		r.AnonAfter>>20, r.AnonBefore>>20, r.WeightBytes>>20)
	return p.Err
}

const hitsSpace = "bench"

func (o *hits) run(ctx context.Context, stderr io.Writer) (*hitsReport, error) {
	dir, err := os.MkdirTemp("", "percached-")
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: hits", "%w", err)
	}
	defer os.RemoveAll(dir)
	c := node.Default()
	c.Create, c.Data = true, filepath.Join(dir, "data")
	if o.encrypt {
		c.KeyFile = filepath.Join(dir, "key")
		if err := os.WriteFile(c.KeyFile, []byte("the passphrase"), 0o600); err != nil {
			return nil, fault.New(fault.Unavailable, "percached: hits", "%w", err)
		}
		if err := home.Encrypt(c.Data, c.KeySource(), encryption.DefaultCost()); err != nil {
			return nil, err
		}
	}
	s, err := node.Open(ctx, c, true, stderr)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := &hitsReport{Entries: o.entries, WeightBytes: s.Engine.Info().WeightBytes, AnonBefore: anonymous(os.Getpid())}
	if err := s.Knowledge.CreateSpace(percached.Space{Name: hitsSpace, Kind: "emails"}); err != nil {
		return nil, err
	}
	cmdline.Say(stderr, "adding %d documents", o.documents)
	began := time.Now()
	if _, err := s.Library.Add(ctx, hitsSpace, o.mails, nil); err != nil {
		return nil, err
	}
	r.IngestPerS = float64(o.documents) / time.Since(began).Seconds()
	st, err := s.Knowledge.Stats(hitsSpace)
	if err != nil {
		return nil, err
	}
	r.Chunks = st.Chunks
	cmdline.Say(stderr, "filling the bank with %d questions", o.entries)
	set, err := s.Settings(config.Default())
	if err != nil {
		return nil, err
	}
	if err := fillBank(ctx, s, set, 0, o.entries); err != nil {
		return nil, err
	}
	if err := o.ask(ctx, s, r); err != nil {
		return nil, err
	}
	r.AnonAfter = anonymous(os.Getpid())
	return r, nil
}

// mails emits invented mails of one chunk each, the same in every run.
func (o *hits) mails(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range o.documents {
		var b strings.Builder
		fmt.Fprintf(&b, "Hello, the %s for %s is %d. ", hitTopic(i), hitName(i), 100+rng.IntN(90000))
		for range 12 {
			fmt.Fprintf(&b, "The %s of %s goes to %s with the %s. ", hitTopics[rng.IntN(len(hitTopics))],
				hitName(rng.IntN(o.documents)), hitSyllables[rng.IntN(len(hitSyllables))], hitTopics[rng.IntN(len(hitTopics))])
		}
		err := emit(&knowledgebank.Source{
			Key: "mail:" + strconv.Itoa(i), Title: hitName(i), Source: "mail from " + hitName(i+7), Format: "mail",
			Date: time.Date(2025, 1, 1, 0, i, 0, 0, time.UTC), Blocks: []knowledgebank.Block{{Text: b.String()}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fillBank adds answered questions to the bank, from a number up to another.
func fillBank(ctx context.Context, s *node.Node, set answer.Settings, from, to int) error {
	seq, err := s.Knowledge.Seq(hitsSpace)
	if err != nil {
		return err
	}
	for i := from; i < to; i++ {
		q := hitQuestion(i)
		vs, err := s.QuestionEmbedder.Embed(ctx, percached.Foreground, []string{q})
		if err != nil {
			return err
		}
		found, err := s.Index.Search(ctx, retrieval.Query{Space: hitsSpace, Text: q, Vector: vs[0], K: set.K})
		if err != nil {
			return err
		}
		e := qabank.Entry{
			Space: hitsSpace, Question: q, Answer: strconv.Itoa(i), Answered: true, Vector: vs[0], Embedder: s.Embedder.Info().Fingerprint,
			Seen: seq, Origin: "asked", Settings: s.Asker.Mark(set), Made: time.Now(),
		}
		for _, h := range found {
			e.Evidence = append(e.Evidence, percached.Evidence{Chunk: h.Chunk, Version: h.Version})
		}
		if _, err := s.Bank.Put(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (o *hits) ask(ctx context.Context, s *node.Node, r *hitsReport) error {
	var hit, retrieve, exact []time.Duration
	rng := rand.New(rand.NewPCG(3, 4))
	for range o.runs {
		i := rng.IntN(o.entries)
		q := "Please tell me, " + strings.ToLower(hitQuestion(i)[:1]) + hitQuestion(i)[1:]
		a, err := s.Asker.Ask(ctx, answer.Question{Space: hitsSpace, Text: q}, answer.Listener{})
		if err != nil {
			return err
		}
		r.Asked++
		if a.Outcome == answer.AnswerHit {
			r.Served++
			hit = append(hit, a.Times.Total)
		}
		retrieve = append(retrieve, a.Times.Retrieve)
		a, err = s.Asker.Ask(ctx, answer.Question{Space: hitsSpace, Text: hitQuestion(i)}, answer.Listener{})
		if err != nil {
			return err
		}
		if a.Outcome == answer.AnswerHit {
			exact = append(exact, a.Times.Total)
		}
	}
	r.HitMedian, r.HitP99 = ms(quantile(hit, 0.5)), ms(quantile(hit, 0.99))
	r.Retrieve50, r.Retrieve99 = ms(quantile(retrieve, 0.5)), ms(quantile(retrieve, 0.99))
	r.Exact50, r.Exact99 = ms(quantile(exact, 0.5)), ms(quantile(exact, 0.99))
	return nil
}

func hitQuestion(i int) string {
	return fmt.Sprintf("What is the %s for %s?", hitTopic(i), hitName(i))
}

func hitTopic(i int) string { return hitTopics[i%len(hitTopics)] }

// hitName returns a name for each number: three syllables, and more for numbers from 15,625 on.
func hitName(i int) string {
	n := len(hitSyllables)
	name := hitSyllables[i%n] + hitSyllables[i/n%n] + hitSyllables[i/n/n%n]
	for rest := i / n / n / n; rest > 0; rest /= n {
		name += hitSyllables[rest%n]
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

var (
	hitTopics = []string{
		"budget", "deadline", "invoice", "deposit", "password", "address", "price", "rent", "salary", "ticket", "route", "menu", "schedule",
		"contract", "meeting", "number", "address", "plan", "key", "license", "insurance", "report", "order", "delivery", "repair",
	}
	hitSyllables = []string{
		"ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "we", "xi", "yo", "zu", "bra", "cle",
		"dri", "flo", "gru",
	}
)

// anonymous is the anonymous memory of a process, or 0 if the system does not report it.
func anonymous(pid int) int64 { return statusBytes(pid, "RssAnon:") }

// statusBytes is a size that the kernel reports of a process; 0: unknown.
func statusBytes(pid int, name string) int64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if rest, ok := strings.CutPrefix(sc.Text(), name); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}
