package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/percached/percached/api/client"
)

// Plan says what to ask.
type Plan struct {
	Clients int
	For     time.Duration
	// Question is the n-th question of a client.
	Question func(client, n int) string
	// Ask asks a question. All clients call it at the same time.
	Ask func(ctx context.Context, question string) (Reply, error)
}

// Reply is the response to a question.
type Reply struct {
	Outcome string // answer_hit, verified_hit, tensor_hit, miss; empty: refused because of load
	// Again is how long a refused client must wait.
	Again time.Duration
}

// Result is what a load measured. Latencies are those of answers.
type Result struct {
	Clients  int            `json:"clients"`
	Seconds  float64        `json:"seconds"`
	Answers  int            `json:"answers"`
	PerS     float64        `json:"answers_per_s"`
	Outcomes map[string]int `json:"outcomes"`
	Refused  int            `json:"refused_429"`
	Failed   int            `json:"failed"`
	P50      float64        `json:"p50_ms"`
	P99      float64        `json:"p99_ms"`
	Longest  float64        `json:"longest_ms"`
	// The fewest and the most answers of one client.
	Fewest  int    `json:"fewest_by_client"`
	Most    int    `json:"most_by_client"`
	Failure string `json:"failure,omitempty"` // the first
}

// Run puts percached under load and measures.
func Run(ctx context.Context, p Plan) (Result, error) {
	if p.Clients < 1 || p.For <= 0 {
		return Result{}, errors.New("load: clients and duration must be positive")
	}
	began := time.Now()
	over, end := context.WithDeadline(ctx, began.Add(p.For))
	defer end()
	clients := make([]caller, p.Clients)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() { clients[i].run(ctx, over, p, i) })
	}
	all.Wait()
	return sum(clients, time.Since(began)), ctx.Err()
}

// caller is one client.
type caller struct {
	took     []time.Duration
	outcomes map[string]int
	refused  int
	failed   int
	failure  error
}

// run asks until the time is over, and waits for the last answer.
func (c *caller) run(ctx, over context.Context, p Plan, i int) {
	c.outcomes = map[string]int{}
	for n := 0; over.Err() == nil; n++ {
		began := time.Now()
		r, err := p.Ask(ctx, p.Question(i, n))
		switch {
		case err != nil:
			if c.failed++; c.failure == nil {
				c.failure = err
			}
			pause(over, time.Second) // do not flood a percached that is gone
		case r.Outcome == "":
			c.refused++
			n-- // ask the same question again
			pause(over, r.Again)
		default:
			c.took = append(c.took, time.Since(began))
			c.outcomes[r.Outcome]++
		}
	}
}

// pause waits, but at most until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// sum adds up the results of all clients.
func sum(clients []caller, took time.Duration) Result {
	r := Result{Clients: len(clients), Seconds: took.Seconds(), Outcomes: map[string]int{}, Fewest: len(clients[0].took)}
	var all []time.Duration
	for _, c := range clients {
		all = append(all, c.took...)
		r.Fewest, r.Most = min(r.Fewest, len(c.took)), max(r.Most, len(c.took))
		r.Refused, r.Failed = r.Refused+c.refused, r.Failed+c.failed
		for o, n := range c.outcomes {
			r.Outcomes[o] += n
		}
		if r.Failure == "" && c.failure != nil {
			r.Failure = c.failure.Error()
		}
	}
	r.Answers, r.PerS = len(all), float64(len(all))/took.Seconds()
	if slices.Sort(all); len(all) > 0 {
		at := func(q float64) float64 {
			return float64(all[max(1, int(math.Ceil(q*float64(len(all)))))-1]) / float64(time.Millisecond)
		}
		r.P50, r.P99, r.Longest = at(0.5), at(0.99), at(1)
	}
	return r
}

// Asking asks a space of a running percached. With fresh, percached computes each answer.
func Asking(c *client.ClientWithResponses, space string, fresh bool) func(context.Context, string) (Reply, error) {
	return func(ctx context.Context, question string) (Reply, error) {
		got, err := c.AskWithResponse(ctx, space, client.Question{Question: question, Refresh: &fresh})
		switch {
		case err != nil:
			return Reply{}, err
		case got.StatusCode() == http.StatusTooManyRequests:
			after, err := strconv.Atoi(got.HTTPResponse.Header.Get("Retry-After"))
			if err != nil {
				return Reply{}, fmt.Errorf("refused without a valid Retry-After: %w", err)
			}
			return Reply{Again: time.Duration(after) * time.Second}, nil
		case got.JSON200 == nil:
			return Reply{}, fmt.Errorf("status %d: %s", got.StatusCode(), got.Body)
		}
		return Reply{Outcome: string(got.JSON200.Outcome)}, nil
	}
}

// Transport keeps one open connection for each client.
func Transport(clients int) *http.Transport {
	return &http.Transport{MaxIdleConns: clients, MaxIdleConnsPerHost: clients, DisableCompression: true}
}
