package load_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/eval/load"
)

// In the bubble an answer takes exactly its given time.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := make(chan struct{}, 2) // two are answered at a time
		got, err := load.Run(context.Background(), load.Plan{
			Clients: 4, For: 10 * time.Second,
			Question: func(client, n int) string { return string(rune('a' + client)) },
			Ask: func(_ context.Context, q string) (load.Reply, error) {
				select {
				case turn <- struct{}{}:
				default:
					return load.Reply{Again: 300 * time.Millisecond}, nil
				}
				time.Sleep(time.Second)
				<-turn
				if q == "z" {
					return load.Reply{}, errors.New("no such client")
				}
				return load.Reply{Outcome: "miss"}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.Answers < 16 || got.Answers > 22 || got.Refused == 0 || got.Failed != 0 || got.P50 != 1000 || got.Longest != 1000 {
			t.Errorf("%+v", got)
		}
		if got.Outcomes["miss"] != got.Answers || got.Most < got.Fewest {
			t.Errorf("%+v", got)
		}
	})
}

func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := load.Run(context.Background(), load.Plan{
			Clients: 2, For: 2500 * time.Millisecond,
			Question: func(int, int) string { return "" },
			Ask:      func(context.Context, string) (load.Reply, error) { return load.Reply{}, errors.New("gone") },
		})
		want := load.Result{Clients: 2, Seconds: 2.5, Failed: 6, Failure: "gone", Outcomes: map[string]int{}}
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(d, err)
		}
	})
	if _, err := load.Run(context.Background(), load.Plan{}); err == nil {
		t.Error("a plan without clients ran")
	}
}

// The caller can cancel a load.
func TestEnded(t *testing.T) {
	ctx, end := context.WithCancel(context.Background())
	_, err := load.Run(ctx, load.Plan{
		Clients: 3, For: time.Hour,
		Question: func(int, int) string { return "" },
		Ask: func(ctx context.Context, _ string) (load.Reply, error) {
			end()
			return load.Reply{}, ctx.Err()
		},
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// With few answers the slowest hundredth is the slowest answer.
func TestFewAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := load.Run(context.Background(), load.Plan{
			Clients: 1, For: 1500 * time.Millisecond,
			Question: func(_, n int) string { return string(rune('a' + n)) },
			Ask: func(_ context.Context, q string) (load.Reply, error) {
				time.Sleep(map[string]time.Duration{"a": time.Second, "b": 3 * time.Second}[q])
				return load.Reply{Outcome: "miss"}, nil
			},
		})
		if err != nil || got.Answers != 2 || got.P50 != 1000 || got.P99 != 3000 || got.Longest != 3000 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
