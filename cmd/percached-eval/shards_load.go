package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval/load"
	"github.com/percached/percached/internal/base/fault"
)

// shardLoad asks, searches and uploads through the router.
type shardLoad struct {
	o      *sharding
	c      *cluster
	client *client.ClientWithResponses

	mu       sync.Mutex
	accepted map[string][]string // keys of accepted documents, by space
	serial   int
}

func newShardLoad(c *cluster, o *sharding) *shardLoad {
	return &shardLoad{o: o, c: c, accepted: map[string][]string{}}
}

func (l *shardLoad) name(i int) string { return fmt.Sprintf("user-%05d", i) }

// question has one answer in each space: its own code.
const shardQuestion = "What is the code of the gate?"

func shardText(space string, n int) string {
	return fmt.Sprintf("The code of the gate is %s. Note %d of %s.", space, n, space)
}

// fill creates the spaces with a document each, and asks in some.
func (l *shardLoad) fill(ctx context.Context) (err error) {
	if l.client, err = l.c.through(load.Transport(l.o.clients)); err != nil {
		return err
	}
	return l.each(ctx, func(i int) error {
		space := l.name(i)
		if err := l.create(ctx, space); err != nil {
			return err
		}
		if err := l.upload(ctx, space, true); err != nil {
			return err
		}
		if i < l.o.asked {
			_, err := l.ask(ctx, space)
			return err
		}
		return nil
	})
}

// each calls fn with all spaces, by as many goroutines as there are clients.
func (l *shardLoad) each(ctx context.Context, fn func(i int) error) error {
	var all sync.WaitGroup
	errs := make([]error, l.o.clients)
	for w := range l.o.clients {
		all.Go(func() {
			for i := w; i < l.o.spaces && errs[w] == nil && ctx.Err() == nil; i += l.o.clients {
				errs[w] = fn(i)
			}
		})
	}
	all.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// create creates a space. Its name is in the body, so the path names it for the router, too.
func (l *shardLoad) create(ctx context.Context, space string) error {
	body, err := json.Marshal(client.NewSpace{Name: space})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.c.url+"/space/"+space+"/v1/spaces", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+l.c.token)
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusCreated {
		return fault.New(fault.Internal, shardOp, "creating a space: status %d", got.StatusCode)
	}
	return nil
}

// errRetry says that a try failed in a way that is to be expected while a node restarts or a
// space moves.
var errRetry = errors.New("try again")

// tryError is the error of a try: nil, errRetry, or wrong.
func tryError(status int, err error, body []byte) error {
	switch {
	case err != nil, status == 502, status == 503, status == 504, status == 429:
		return errRetry
	case status >= 300:
		return fmt.Errorf("status %d: %s", status, body)
	}
	return nil
}

// upload sends a document and remembers it once it is accepted.
func (l *shardLoad) upload(ctx context.Context, space string, wait bool) error {
	l.mu.Lock()
	l.serial++
	n := l.serial
	l.mu.Unlock()
	key := fmt.Sprintf("%s/%d", space, n)
	texts := client.Texts{Documents: []client.NewDocument{{Key: &key, Title: &key, Text: shardText(space, n)}}}
	got, err := l.client.UploadWithResponse(ctx, space, &client.UploadParams{Wait: &wait}, texts)
	status, body := 0, []byte(nil)
	if got != nil {
		status, body = got.StatusCode(), got.Body
	}
	if err := tryError(status, err, body); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepted[space] = append(l.accepted[space], key)
	return nil
}

// ask asks for the code of a space, and says whether the answer or its sources are of another.
func (l *shardLoad) ask(ctx context.Context, space string) (wrong bool, err error) {
	got, err := l.client.AskWithResponse(ctx, space, client.Question{Question: shardQuestion})
	status, body := 0, []byte(nil)
	if got != nil {
		status, body = got.StatusCode(), got.Body
	}
	if err := tryError(status, err, body); err != nil {
		return false, err
	}
	return foreign(space, got.JSON200.Citations), nil
}

func (l *shardLoad) search(ctx context.Context, space string) (wrong bool, err error) {
	got, err := l.client.SearchDocumentsWithResponse(ctx, space, &client.SearchDocumentsParams{Q: "code of the gate"})
	status, body := 0, []byte(nil)
	if got != nil {
		status, body = got.StatusCode(), got.Body
	}
	if err := tryError(status, err, body); err != nil {
		return false, err
	}
	return foreign(space, got.JSON200.Passages) || len(got.JSON200.Passages) == 0, nil
}

// foreign says whether a citation is not of the space.
func foreign(space string, cited []client.Citation) bool {
	return slices.ContainsFunc(cited, func(c client.Citation) bool { return !strings.Contains(c.Quote, space) })
}

// shardClient is what one client saw.
type shardClient struct {
	took           []time.Duration
	retried, wrong int
	err            error
}

// round runs all clients for a time, and do beside them.
func (l *shardLoad) round(ctx context.Context, name string, long time.Duration, do func(context.Context) error) (shardRound, error) {
	began := time.Now()
	over, end := context.WithCancel(ctx)
	defer end()
	clients := make([]shardClient, l.o.clients)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() { clients[i].run(ctx, over, l) })
	}
	err := do(ctx)
	wait := time.NewTimer(long - time.Since(began))
	defer wait.Stop()
	if err == nil {
		select {
		case <-wait.C:
		case <-ctx.Done():
		}
	}
	end()
	all.Wait()
	r := shardRound{Name: name, Seconds: time.Since(began).Seconds()}
	var took []time.Duration
	for _, c := range clients {
		took = append(took, c.took...)
		r.Retried, r.Wrong = r.Retried+c.retried, r.Wrong+c.wrong
		err = errors.Join(err, c.err)
	}
	r.Requests = len(took)
	if slices.Sort(took); len(took) > 0 {
		at := func(q float64) float64 {
			return float64(took[max(1, int(math.Ceil(q*float64(len(took)))))-1]) / float64(time.Millisecond)
		}
		r.P50, r.P99, r.Longest = at(0.5), at(0.99), at(1)
	}
	return r, errors.Join(err, ctx.Err())
}

// run sends requests until the time is over; the last is completed.
func (c *shardClient) run(ctx, over context.Context, l *shardLoad) {
	for over.Err() == nil && c.err == nil {
		began := time.Now()
		i := rand.IntN(l.o.spaces)
		if rand.IntN(20) == 0 {
			i = 0 // the space that moves
		}
		kind := rand.IntN(10)
		for {
			wrong, err := l.one(ctx, i, kind)
			if errors.Is(err, errRetry) && ctx.Err() == nil {
				c.retried++
				pauseFor(ctx, 100*time.Millisecond)
				continue
			}
			if err != nil {
				c.err = err
				return
			}
			if wrong {
				c.wrong++
			}
			break
		}
		c.took = append(c.took, time.Since(began))
	}
}

// one sends one request: seven of ten ask, two search and one uploads.
func (l *shardLoad) one(ctx context.Context, i, kind int) (wrong bool, err error) {
	switch {
	case kind == 0:
		return false, l.upload(ctx, l.name(i), false)
	case kind < 3:
		return l.search(ctx, l.name(i))
	}
	return l.ask(ctx, l.name(i%l.o.asked))
}

func pauseFor(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// check reads all spaces.
func (l *shardLoad) check(ctx context.Context, r *shardReport) error {
	if err := l.settle(ctx); err != nil {
		return err
	}
	var mu sync.Mutex
	if err := l.each(ctx, func(i int) error {
		space := l.name(i)
		there, err := l.keys(ctx, space)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, key := range l.accepted[space] {
			r.Accepted++
			if there[key] != 1 {
				r.Lost++
			}
		}
		for key := range there {
			if !strings.HasPrefix(key, space+"/") {
				r.Wrong++
			}
		}
		return nil
	}); err != nil {
		return err
	}
	seen := map[string]int{}
	for _, n := range l.c.nodes {
		at, err := n.link()
		if err != nil {
			return err
		}
		got, err := at.ListSpacesWithResponse(ctx)
		at.Close() //nolint:errcheck // it was only a connection
		if err != nil {
			return err
		}
		here := 0
		for _, s := range got.JSON200.Spaces {
			if s.Settings.MovedTo != nil {
				continue
			}
			here++
			if seen[s.Name]++; seen[s.Name] > 1 {
				r.Elsewhere++
			}
		}
		r.ByNode = append(r.ByNode, here)
	}
	return nil
}

// settle waits until all uploads are processed.
func (l *shardLoad) settle(ctx context.Context) error {
	for _, n := range l.c.nodes {
		at, err := n.link()
		if err != nil {
			return err
		}
		defer at.Close() //nolint:errcheck // it was only a connection
		for {
			got, err := at.GetStatusWithResponse(ctx)
			if err != nil {
				return err
			}
			if got.JSON200.Waiting.Uploads == 0 {
				break
			}
			pauseFor(ctx, 50*time.Millisecond)
		}
	}
	return nil
}

// keys counts the documents of a space by key.
func (l *shardLoad) keys(ctx context.Context, space string) (map[string]int, error) {
	there := map[string]int{}
	limit := 500
	for p := (client.ListDocumentsParams{Limit: &limit}); ; {
		got, err := l.client.ListDocumentsWithResponse(ctx, space, &p)
		if err != nil {
			return nil, err
		}
		if got.JSON200 == nil {
			return nil, fault.New(fault.Internal, shardOp, "reading a space: status %d", got.StatusCode())
		}
		for _, d := range got.JSON200.Documents {
			there[d.Title]++
		}
		if p.After = got.JSON200.Next; p.After == nil || *p.After == "" {
			return there, nil
		}
	}
}
