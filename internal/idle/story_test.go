package idle_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/scheduler"
)

// story tells what two services do with the same documents and questions: one
// with the scheduler's adaptive population and conversion, one without. Lines
// that begin with two spaces are what came of a command; "without" marks what the
// one without did.
type story struct {
	t       *testing.T
	with    *teller
	without *teller
}

// teller is one of the two.
type teller struct {
	*world
	predicts [][]string // what the model prints at each prediction, in order
	answers  map[string]string
}

func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.story")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".story"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &story{t: t, with: newTeller(t, true), without: newTeller(t, false)}
			got := s.tell(string(text))
			if os.Getenv("PERCACHED_WRITE_STORIES") != "" {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(string(text), got); d != "" {
				t.Error(d)
			}
		})
	}
}

func newTeller(t *testing.T, scheduled bool) *teller {
	s := &teller{answers: map[string]string{}}
	s.world = newWorld(t, func(w *world) {
		w.config.Adaptive, w.config.Conversion = scheduled, scheduled
		w.config.Stride = 2
		w.config.Floor = -1 // the words of a story are few
	})
	s.says = s.model
	return s
}

// model plays the model: it sums up by repeating, and predicts what the story
// says.
func (s *teller) model(question string) (string, bool) {
	if text, ok := strings.CutPrefix(question, "Please summarize the following text"); ok {
		_, text, _ = strings.Cut(text, "key concepts: ")
		text, _, _ = strings.Cut(text, ". Focus only")
		return text + ".", true
	}
	if strings.HasPrefix(question, "You are a smartphone AI assistant") {
		if len(s.predicts) == 0 {
			return "I have no idea.", true
		}
		next := s.predicts[0]
		s.predicts = s.predicts[1:]
		return strings.Join(next, "; "), true
	}
	a, ok := s.answers[question]
	return a, ok
}

func (s *story) tell(text string) string {
	var told strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			continue // what came of it last time
		}
		told.WriteString(line)
		command := strings.TrimSpace(line)
		if command == "" || command[0] == '#' {
			continue
		}
		with, without := s.with.do(command), s.without.do(command)
		for l := range strings.Lines(with) {
			told.WriteString("  " + l)
		}
		for l := range strings.Lines(without) {
			if !strings.Contains("\n"+with, "\n"+l) {
				told.WriteString("  without: " + l)
			}
		}
	}
	return told.String()
}

func (s *teller) do(command string) string {
	var out strings.Builder
	verb, rest, _ := strings.Cut(command, " ")
	switch verb {
	case "document":
		key, text, _ := strings.Cut(rest, ": ")
		s.add(key, text)
	case "predicts":
		var list []string
		for i, q := range strings.Split(rest, "; ") {
			list = append(list, fmt.Sprintf("%d. %s", i+1, q))
		}
		s.predicts = append(s.predicts, list)
	case "threshold":
		v, err := strconv.ParseFloat(rest, 64)
		s.ok(err)
		sp, err := s.Knowledge.Space(space)
		s.ok(err)
		sp.Settings.Threshold = &v
		s.ok(s.Knowledge.Configure(space, sp.Settings))
		s.scheduler.Changed(space)
	case "limit":
		v, err := strconv.ParseInt(rest, 10, 64)
		s.ok(err)
		s.ok(s.Tree.SetLimit(v))
		s.scheduler.Changed(space)
	case "prediction":
		p := percached.Prediction(rest)
		sp, err := s.Knowledge.Space(space)
		s.ok(err)
		sp.Settings.Prediction = &p
		s.ok(s.Knowledge.Configure(space, sp.Settings))
	case "ask":
		a := s.ask(rest)
		fmt.Fprintf(&out, "%s in %v\n", a.Outcome, a.Times.Total.Round(time.Millisecond))
	case "idle":
		s.sleep(10 * time.Minute)
		for _, st := range s.work() {
			fmt.Fprintf(&out, "%s\n", s.told(st))
		}
		if out.Len() == 0 {
			out.WriteString("nothing to do\n")
		}
	case "bank":
		found := s.entries()
		for _, q := range sorted(found) {
			fmt.Fprintf(&out, "%s: %s\n", q, found[q])
		}
	case "slices":
		st, err := s.Tree.Stats()
		s.ok(err)
		fmt.Fprintf(&out, "%d slices, %d bytes\n", st.Nodes, st.Bytes)
	case "compute":
		accounts, err := s.scheduler.Ledger("", time.Time{})
		s.ok(err)
		var total float64
		for _, a := range accounts {
			total += a.Seconds
		}
		fmt.Fprintf(&out, "%.1f s of idle compute\n", total)
	default:
		s.Fatalf("unknown command %q", command)
	}
	return out.String()
}

// told is a job that ended, in words.
func (s *teller) told(st scheduler.Step) string {
	what := st.Job.Subject
	if i, err := hex.DecodeString(what); err == nil && len(i) == 16 {
		if e, err := s.Bank.Get(space, qabank.ID(i)); err == nil {
			what = e.Question
		} else if p, err := s.Predictor.Get(space, [16]byte(i)); err == nil {
			what = p.Question
		} else if cs, err := s.Knowledge.Chunks(space, []percached.ChunkID{percached.ChunkID(i)}); err == nil && len(cs) == 1 {
			what = strings.TrimPrefix(cs[0].Head, "### ")
		}
	}
	line := fmt.Sprintf("%s %s: %s", st.Job.Kind, what, st.End)
	if st.Done.Computed+st.Done.Generated > 0 {
		line += fmt.Sprintf(", %d tokens read, %d written", st.Done.Computed, st.Done.Generated)
	}
	return line
}

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
