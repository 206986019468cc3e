package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/scheduler"
)

// stepLine is a finished job in the JSON output.
type stepLine struct {
	ID        string         `json:"id"`
	Kind      scheduler.Kind `json:"kind"`
	Space     string         `json:"space"`
	Subject   string         `json:"subject"`
	End       scheduler.End  `json:"end"`
	Seconds   float64        `json:"seconds"`
	Questions int            `json:"questions"`
}

// toil is a data folder on which idle work is killed again and again.
type toil struct {
	*testing.T
	rng   *rand.Rand
	data  string
	mails []string // that are yet to come in
	asked []string // questions that are yet to be asked
	done  map[string]stepLine
	start time.Duration // from a process's beginning to the end of its first job
	// Jobs are those of each kind that were told as done.
	jobs   map[scheduler.Kind]int
	killed int
	early  int // of them before a job had ended
	redone int // jobs that had nothing left to do
}

// Finished idle work stays, whenever its process is killed, and is not repeated.
func TestKillIdleWork(t *testing.T) {
	kills, mails := 100, 30
	if testing.Short() {
		kills, mails = 6, 6
	}
	h := &toil{
		T: t, rng: rand.New(rand.NewPCG(4, 2)), data: filepath.Join(t.TempDir(), "data"),
		done: map[string]stepLine{}, jobs: map[scheduler.Kind]int{},
	}
	h.demo()
	h.supply(mails)
	for h.killed < kills && !t.Failed() {
		if h.run(true) {
			h.supply(6)
		}
		if h.killed%20 == 0 {
			h.examine(fmt.Sprintf("after %d kills", h.killed))
		}
	}
	if h.run(false); !t.Failed() {
		before := len(h.done)
		h.run(false)
		if len(h.done) > before {
			t.Errorf("%d jobs were left behind the end", len(h.done)-before)
		}
	}
	h.examine("in the end")
	t.Logf("killed %d times, %d of them before a job had ended; done %v; %d had nothing left to do", h.killed, h.early, h.jobs, h.redone)
}

// demo reads the mails and the questions.
func (h *toil) demo() {
	h.Helper()
	box, err := os.ReadFile("../../models/demo/inbox.mbox")
	if err != nil {
		h.Fatal(err)
	}
	h.mails = strings.SplitAfter(string(box), "\n\nFrom ")
	for i := range h.mails { // the next one's beginning stands at the end of each
		h.mails[i] = strings.TrimSuffix(h.mails[i], "From ")
		if i > 0 {
			h.mails[i] = "From " + h.mails[i]
		}
	}
	f, err := os.Open("../../models/demo/questions.jsonl")
	if err != nil {
		h.Fatal(err)
	}
	defer f.Close()
	for dec := json.NewDecoder(f); ; {
		var q struct {
			Question    string
			Paraphrases []string
		}
		err := dec.Decode(&q)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			h.Fatal(err)
		}
		h.asked = append(h.asked, q.Question)
	}
}

// percached is the command as a separate process.
func (h *toil) percached(ctx context.Context, args ...string) *exec.Cmd {
	h.Helper()
	exe, err := os.Executable()
	if err != nil {
		h.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, exe, append(args, "--data", h.data, "--threads", "1")...)
	cmd.Args[0] = "percached" // as testscript.Main knows the command
	cmd.Env = append(os.Environ(), "HOME="+h.data)
	return cmd
}

// supply adds mails and questions, some of them twice in other words.
func (h *toil) supply(mails int) {
	h.Helper()
	n := min(mails, len(h.mails))
	file := filepath.Join(h.TempDir(), "in.mbox")
	if err := os.WriteFile(file, []byte(strings.Join(h.mails[:n], "")), 0o600); err != nil {
		h.Fatal(err)
	}
	h.mails = h.mails[n:]
	if n > 0 {
		if out, err := h.percached(h.Context(), "add", file).CombinedOutput(); err != nil {
			h.Fatalf("percached add: %v\n%s", err, out)
		}
	}
	if n+len(h.asked) == 0 {
		h.Fatal("there is nothing left to work on")
	}
	s := h.open()
	for range min(2, len(h.asked)) {
		q := h.asked[0]
		h.asked = h.asked[1:]
		for _, q := range []string{q, "Please, " + strings.ToLower(q[:1]) + q[1:]} {
			if _, err := s.Asker.Ask(h.Context(), answer.Question{Space: link.DefaultSpace, Text: q}, answer.Listener{}); err != nil {
				h.Error(err)
			}
		}
	}
	// What comes in may make answers stale once more, and of another answer it may turn
	// out that it stands in no document.
	maps.DeleteFunc(h.done, func(_ string, l stepLine) bool {
		return slices.Contains([]scheduler.Kind{scheduler.Refresh, scheduler.Populate, scheduler.Answer, scheduler.Decode}, l.Kind)
	})
	if err := s.Close(); err != nil {
		h.Error(err)
	}
}

// run runs idle work and records finished jobs. With kill it is killed while it starts or
// shortly after some of its jobs. It says whether it ended by itself.
func (h *toil) run(kill bool) bool {
	h.Helper()
	ctx, cancel := context.WithCancel(h.Context())
	defer cancel()
	cmd := h.percached(ctx, "idle", "run", "--json")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		h.Fatal(err)
	}
	began, jobs := time.Now(), h.rng.IntN(3) // after so many jobs it ends
	shoot := func(within time.Duration) {
		if kill { // later, it does no harm
			time.AfterFunc(time.Duration(h.rng.Int64N(int64(within)+1)), cancel)
		}
	}
	if jobs == 0 && h.start > 0 {
		shoot(h.start)
	}
	ended := 0
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var l stepLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil || l.ID == "" {
			continue // the last one may be cut, or is that of all
		}
		if h.note(l); ended == 0 {
			h.start = time.Since(began)
		}
		if ended++; ended == jobs || jobs == 0 {
			shoot(time.Duration(l.Seconds * float64(time.Second)))
		}
	}
	err = cmd.Wait()
	// It may have ended by itself just before it was killed, which Wait calls a failure.
	switch s := cmd.ProcessState; {
	case s.Success():
		return true
	case s.ExitCode() == -1: // a signal
		h.killed++
		if ended == 0 {
			h.early++
		}
	default:
		h.Errorf("percached idle run: %v\n%s", err, errs.String())
	}
	return false
}

func (h *toil) note(l stepLine) {
	h.Helper()
	switch l.End {
	case scheduler.EndDone:
		if _, again := h.done[l.ID]; again {
			h.Errorf("%s %s was done twice", l.Kind, l.Subject)
		}
		h.done[l.ID] = l
		h.jobs[l.Kind]++
	case scheduler.EndNothing:
		h.redone++
	default:
		h.Errorf("%s %s ended as %s", l.Kind, l.Subject, l.End)
	}
}

// open opens the folder like the next process.
func (h *toil) open() *node.Node {
	h.Helper()
	c := node.Default()
	c.Data, c.Threads = h.data, 1
	s, err := node.Open(h.Context(), c, true, io.Discard)
	if err != nil {
		h.Fatal(err)
	}
	return s
}

// examine compares the stored data with the reported jobs.
func (h *toil) examine(when string) {
	h.Helper()
	s := h.open()
	defer func() {
		if err := s.Close(); err != nil {
			h.Errorf("%s: %v", when, err)
		}
	}()
	if rep, err := s.Tree.Verify(h.Context()); err != nil || !rep.Clean() {
		h.Errorf("%s: the tree: %+v, %v", when, rep, err)
	}
	if err := s.Bank.Each(link.DefaultSpace, func(qabank.Entry) error { return nil }); err != nil {
		h.Errorf("%s: the bank: %v", when, err)
	}
	bare, _, err := s.Predictor.Unsummarised(h.Context(), link.DefaultSpace, 1000)
	if err != nil {
		h.Errorf("%s: %v", when, err)
	}
	ids, err := s.Knowledge.PublicIDs(link.DefaultSpace)
	if err != nil {
		h.Errorf("%s: %v", when, err)
	}
	made := 0
	for _, l := range h.done {
		if err := kept(s, ids, l, bare); err != nil {
			h.Errorf("%s: %s %s was done: %v", when, l.Kind, l.Subject, err)
		}
		if l.Kind == scheduler.Predict || l.Kind == scheduler.History {
			made += l.Questions
		}
	}
	if st, err := s.Predictor.Stats(link.DefaultSpace); err != nil || st.Predictions < made {
		h.Errorf("%s: %d questions were predicted, %d are there; %v", when, made, st.Predictions, err)
	}
	accounts, err := s.Scheduler.Ledger(link.DefaultSpace, time.Time{})
	if err != nil {
		h.Errorf("%s: %v", when, err)
	}
	for kind, n := range h.jobs {
		if !slices.ContainsFunc(accounts, func(a scheduler.Account) bool { return a.Kind == kind && int(a.Jobs) >= n }) {
			h.Errorf("%s: %d jobs of the kind %s were done, and the ledger says %+v", when, n, kind, accounts)
		}
	}
}

// kept says what is missing of a job that was reported as done.
func kept(s *node.Node, ids percached.PublicIDs, l stepLine, bare []percached.ChunkID) error {
	var id qabank.ID
	if id.UnmarshalText([]byte(l.Subject)) != nil {
		return nil // it is about no single thing
	}
	switch l.Kind {
	case scheduler.Abstract:
		if slices.Contains(bare, ids.ChunkOf(percached.ChunkID(id))) {
			return errors.New("there is no summary")
		}
	case scheduler.Populate:
		p, err := s.Predictor.Get(link.DefaultSpace, id)
		if fault.KindOf(err) == fault.NotFound { // it was about an entry
			if l.Questions == 0 {
				return nil
			}
			return isAnswered(s, id)
		}
		if err != nil {
			return err
		}
		if l.Questions == 0 && p.Populated {
			return nil // the answer stands in no document, and is not kept
		}
		if e, ok, err := s.Bank.Exact(link.DefaultSpace, p.Question); !p.Populated || !ok || !e.Answered {
			return fmt.Errorf("populated %v, in the bank %v, answered %v, %v", p.Populated, ok, e.Answered, err)
		}
	case scheduler.Answer, scheduler.Decode, scheduler.Refresh:
		if l.Questions == 0 {
			return nil
		}
		return isAnswered(s, id)
	case scheduler.Warm:
		n, err := s.Asker.Missing(link.DefaultSpace, []percached.ChunkID{ids.ChunkOf(percached.ChunkID(id))})
		if err == nil && n > 0 {
			err = fmt.Errorf("the tensors of %d tokens are missing", n)
		}
		return err
	}
	return nil
}

func isAnswered(s *node.Node, id qabank.ID) error {
	e, err := s.Bank.Get(link.DefaultSpace, id)
	if err == nil && !e.Answered {
		err = errors.New("there is no answer")
	}
	return err
}
