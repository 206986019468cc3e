package scheduler

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

// story runs the commands of a file in testdata against a scheduler, with a worker that
// finds due what the story says. A job takes one second unless a plan says otherwise.
type story struct {
	*desk
	truth
	plans map[string]map[string]string // by subject: result and details
	end   func()                       // of the request that runs
	out   strings.Builder
}

func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.story")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".story"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			must(t, err)
			s := &story{plans: map[string]map[string]string{}}
			s.desk = sit(t, &script{
				spaces: func() ([]string, error) { return s.spaces(), nil },
				due: func(_ context.Context, space string, kind Kind, limit int) ([]Due, error) {
					if s.plans[space] != nil {
						return nil, fault.New(fault.Unavailable, "bank.Due", "text of a document")
					}
					return s.list(space, kind, limit), nil
				},
				do: s.work,
			})
			got := s.run(string(text))
			if os.Getenv("PERCACHED_WRITE_STORIES") != "" {
				must(t, os.WriteFile(name, []byte(got), 0o600))
			}
			if d := cmp.Diff(string(text), got); d != "" {
				t.Error(d)
			}
			if len(s.broken) > 0 {
				t.Error(s.broken)
			}
		})
	}
}

// run returns the story with the output of each command below it.
func (s *story) run(text string) string {
	var told strings.Builder
	for line := range strings.Lines(text) {
		command := strings.TrimSpace(line)
		if strings.HasPrefix(line, "  ") {
			continue // earlier output
		}
		told.WriteString(line)
		if command == "" || command[0] == '#' {
			continue
		}
		s.out.Reset()
		s.command(strings.Fields(command))
		for l := range strings.Lines(s.out.String()) {
			told.WriteString("  " + l)
		}
	}
	return told.String()
}

// work does a job according to its plan.
func (s *story) work(ctx context.Context, j Job) (Done, error) {
	p := s.plans[j.Subject]
	took, err := time.ParseDuration(p["takes"])
	if p["takes"] == "" {
		took, err = time.Second, nil
	}
	must(s.t, err)
	s.now = s.now.Add(took)
	d := Done{Computed: number64[int](p["reads"]), Generated: number64[int](p["says"]), Written: number64[int64](p["writes"]), Questions: number64[int](p["asks"])}
	if id := p["makes"]; id != "" {
		saves, err := time.ParseDuration(p["saving"])
		must(s.t, err)
		d.Credits = []Credit{{ID: named(id), Saves: saves}}
	}
	switch p["ends"] {
	case "failed":
		return d, fault.Wrap("idle.Do", fault.New(fault.Unavailable, "bank.Put", "text of a document"))
	case "interrupted": // a request begins while it runs
		end := s.s.Foreground()
		s.now = s.now.Add(2 * time.Second)
		end()
		return d, fault.New(fault.Timeout, "engine", "%w", context.Cause(ctx))
	case "nothing":
		return Done{Nothing: true}, nil
	case "gone":
		return d, fault.New(fault.NotFound, "idle.Do", "no such entry")
	}
	if p["again"] == "" {
		s.remove(j.Space, j.Kind, j.Subject)
	}
	return d, nil
}

func number64[T int | int64](text string) T {
	n, _ := strconv.Atoi(text)
	return T(n)
}

func named(id string) (b [16]byte) {
	copy(b[:], id)
	return b
}

func (s *story) command(words []string) {
	args := words[1:]
	var err error
	switch words[0] {
	case "set":
		s.set(args)
		s.open()
	case "restart":
		must(s.t, s.s.Close())
		s.open()
	case "crash":
		s.open()
	case "due":
		var from time.Time
		if last := args[len(args)-1]; last[0] == '+' {
			from, args = s.now.Add(s.length(last)), args[:len(args)-1]
		}
		for _, subject := range args[2:] {
			s.add(args[0], Kind(args[1]), Due{Subject: subject, From: from})
		}
		s.s.Changed(args[0])
	case "undue":
		s.remove(args[0], Kind(args[1]), args[2])
		s.s.Changed(args[0])
	case "plan":
		s.plans[args[0]] = map[string]string{}
		for i := 1; i+1 < len(args); i += 2 {
			s.plans[args[0]][args[i]] = args[i+1]
		}
	case "unplan":
		delete(s.plans, args[0])
	case "step":
		n := 1
		if len(args) > 0 {
			n = number64[int](args[0])
		}
		for range n {
			s.show(s.desk.step())
		}
	case "drain":
		var sum Summary
		sum, err = s.s.Drain(s.t.Context(), DrainRequest{}, s.show)
		fmt.Fprintf(&s.out, "drained: %d done, %d nothing, %d preempted, %d failed, %d parked, %v\n", sum.Done, sum.Nothing, sum.Preempted, sum.Failed, sum.Parked, sum.Took)
		s.reasons(sum.Reasons)
	case "wait":
		s.now = s.now.Add(s.length(args[0]))
	case "request":
		s.end = s.s.Foreground()
	case "answered":
		s.end()
	case "post":
		d := Device{At: s.now}
		charging, battery := args[0] == "charging", float64(number64[int](args[1]))/100
		heat := float64(number64[int](args[2]))
		d.Charging, d.Battery, d.Temperature = &charging, &battery, &heat
		err = s.s.Post(d)
	case "used":
		id := named(args[2])
		s.s.RecordUse(args[0], s.length(args[1]), &id, nil)
	case "loaded":
		s.s.RecordUse(args[0], s.length(args[1]), nil, [][16]byte{named(args[2])})
	case "own":
		s.s.RevokeCredits(args[0], [][16]byte{named(args[1])})
	case "prune":
		n, err := s.s.Prune(args[0], func(id [16]byte) bool {
			return slices.ContainsFunc(args[1:], func(name string) bool { return id == named(name) })
		})
		must(s.t, err)
		fmt.Fprintf(&s.out, "%d\n", n)
	case "flush":
		err = s.s.Flush()
	case "pause":
		err = s.s.Pause()
	case "resume":
		err = s.s.Resume()
	case "forget":
		err = s.s.Forget(args[0])
	case "drop":
		err = s.s.DropSpace(args[0])
	case "retry":
		err = s.s.Retry(Job{Space: args[0], Kind: Kind(args[1]), Subject: args[2]}.ID())
	case "queue":
		s.queue()
	case "pace":
		p := s.s.Pace(args[0])
		fmt.Fprintf(&s.out, "%s%s: spent %.0f s, earned %.1f s\n", p.Speed, s.until(p.Until), p.Spent, p.Earned)
	case "ledger":
		s.ledger(args)
	case "status":
		s.status()
	default:
		s.t.Fatalf("unknown command %q", words)
	}
	if err != nil {
		fmt.Fprintln(&s.out, err)
	}
}
