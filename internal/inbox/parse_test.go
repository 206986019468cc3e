package inbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
)

// loud is a body that is parsed to capitals.
type loud struct {
	io.Reader
	fails  error // of parsing
	parses func()
}

func (l *loud) Sent() io.Reader { return l.Reader }

func (l *loud) Held() int64 { return 8 << 20 }

func (l *loud) Parse(sent io.Reader) io.Reader {
	if l.parses != nil {
		l.parses()
	}
	all, err := io.ReadAll(sent)
	if err == nil {
		err = l.fails
	}
	if err != nil {
		return broken("half", err)
	}
	return bytes.NewReader(bytes.ToUpper(all))
}

func (l *loud) Read([]byte) (int, error) { return 0, errors.New("it is read as it comes") }

func takeLoud(body io.Reader) func(inbox.Take) error {
	return func(take inbox.Take) error { return take("a.txt", &loud{Reader: body}) }
}

// The inbox stores what a small or large body is parsed to, and not the body.
func TestParse(t *testing.T) {
	for _, text := range []string{"ducks swim", strings.Repeat("ducks swim. ", 50_000)} {
		s := newBank("mail")
		dir := folder(t)
		in := open(t, dir, options(t, s))
		u, err := in.Accept(context.Background(), "mail", "k", takeLoud(strings.NewReader(text)))
		if err != nil || u.Bytes != int64(len(text)) || inbox.Spooled(in) != u.Bytes || inbox.Held(in) != 0 {
			t.Fatalf("%+v, %d spooled, %d held, %v", u, inbox.Spooled(in), inbox.Held(in), err)
		}
		if d := cmp.Diff([]string{".record", ".spool"}, entries(t, dir)); d != "" {
			t.Error(d)
		}
		again, err := in.Accept(context.Background(), "mail", "k", takeLoud(strings.NewReader(text)))
		if err != nil || again.ID != u.ID || inbox.Spooled(in) != u.Bytes {
			t.Errorf("%+v, %d spooled, %v", again, inbox.Spooled(in), err)
		}
		if _, err := in.Accept(context.Background(), "mail", "k", takeLoud(strings.NewReader(text+"."))); kind(err) != fault.Conflict {
			t.Error(err)
		}
		run(t, in)
		if wait(t, in, u.ID); s.texts("mail")["file:a.txt"] != strings.TrimSpace(strings.ToUpper(text)) {
			t.Errorf("%.30q", s.texts("mail"))
		}
	}
}

// A body that cannot be parsed or breaks off leaves nothing.
func TestParseFails(t *testing.T) {
	long := strings.Repeat("ducks swim. ", 50_000)
	wrong := fault.New(fault.Invalid, "api", "it is no JSON")
	for name, body := range map[string]*loud{
		"breaks off":           {Reader: broken(long, errBody)},
		"breaks off at once":   {Reader: broken("ducks", errBody)},
		"cannot be parsed":     {Reader: strings.NewReader(long), fails: wrong},
		"small, and cannot be": {Reader: strings.NewReader("ducks"), fails: wrong},
	} {
		dir := folder(t)
		in := open(t, dir, options(t, newBank("mail")))
		_, err := in.Accept(context.Background(), "mail", "", func(take inbox.Take) error { return take("a.txt", body) })
		if !errors.Is(err, errBody) && !errors.Is(err, wrong) {
			t.Error(name, err)
		}
		if left := entries(t, dir); len(left) > 0 || inbox.Spooled(in) != 0 || inbox.Held(in) != 0 {
			t.Errorf("%s: %v is left, %d spooled, %d held", name, left, inbox.Spooled(in), inbox.Held(in))
		}
	}
}

// A body that is being sent leaves nothing when its space is forgotten, nor after a
// crash.
func TestParseForgotten(t *testing.T) {
	s := newBank("mail")
	dir := folder(t)
	in := open(t, dir, options(t, s))
	half, on, end := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := in.Accept(context.Background(), "mail", "", takeLoud(io.MultiReader(strings.NewReader(strings.Repeat("heron ", 50_000)), readFunc(func([]byte) (int, error) {
			close(half)
			<-on
			return 0, io.EOF
		}))))
		end <- err
	}()
	<-half
	crashed := folder(t)
	copyFolder(t, dir, crashed)
	if len(traces(t, crashed, "heron")) == 0 {
		t.Error("it is not on the disk")
	}
	open(t, crashed, options(t, s))
	if err := in.DropSpace("mail"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{dir, crashed} {
		if found := traces(t, dir, "heron"); len(found) > 0 {
			t.Error(found)
		}
	}
	close(on)
	if err := <-end; kind(err) != fault.NotFound {
		t.Error(err)
	}
	if left := entries(t, dir); len(left) > 0 || inbox.Spooled(in) != 0 {
		t.Error(left, inbox.Spooled(in))
	}
}

// Many senders at once keep within the memory. Those who would wait behind too many
// are refused, leave nothing, and succeed later.
func TestMemory(t *testing.T) {
	const senders = 100
	dir := folder(t)
	large := strings.Repeat("ducks swim. ", 2<<20/12)
	synctest.Test(t, func(t *testing.T) {
		o := options(t, newBank("mail"))
		o.Memory = 160 << 20 // two of them, and a half
		in := open(t, dir, o)
		var at, most, refused atomic.Int64
		var all sync.WaitGroup
		for i := range senders {
			all.Go(func() {
				body := &loud{Reader: strings.NewReader(large)}
				if i%4 == 0 {
					body.Reader = strings.NewReader("geese fly")
				}
				body.parses = func() {
					most.Store(max(most.Load(), at.Add(1)))
					time.Sleep(time.Second)
					at.Add(-1)
				}
				for {
					_, err := in.Accept(t.Context(), "mail", "", func(take inbox.Take) error { return take("a.txt", body) })
					if err == nil {
						return
					}
					if kind(err) != fault.Overloaded {
						t.Error(err)
						return
					}
					refused.Add(1)
					time.Sleep(time.Second)
					body.Reader = strings.NewReader(large)
				}
			})
		}
		all.Wait()
		for i, p := range inbox.Peaks(in)[1:] {
			if p[0] == 0 || p[0] > p[1] {
				t.Errorf("share %d: %d of %d bytes were in flight", i, p[0], p[1])
			}
		}
		if refused.Load() == 0 || inbox.Held(in) != 0 || len(in.List("mail", 1000)) != senders {
			t.Errorf("%d were refused, %d bytes are held, %d are accepted", refused.Load(), inbox.Held(in), len(in.List("mail", 1000)))
		}
		for _, name := range mustReadDir(t, dir) {
			if !strings.HasSuffix(name.Name(), ".spool") && !strings.HasSuffix(name.Name(), ".record") {
				t.Errorf("%s is left", name.Name())
			}
		}
		t.Logf("%d were parsed at a time, %d times one was told to come back", most.Load(), refused.Load())
	})
}

// endless is a body that is parsed to much more than was sent.
type endless struct {
	loud
	parsed io.Reader
}

func (e *endless) Parse(io.Reader) io.Reader { return e.parsed }

// A body that takes long to parse yields its memory to others.
func TestMemoryTurns(t *testing.T) {
	dir := folder(t)
	large := strings.Repeat("ducks swim. ", 2<<20/12)
	synctest.Test(t, func(t *testing.T) {
		o := options(t, newBank("mail"))
		o.Memory = 64 << 20 // one of them
		in := open(t, dir, o)
		var order []string // as they were read to their ends
		var mu sync.Mutex
		ends := func(name string) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
		}
		left, on := 40<<20, make(chan struct{})
		first := &endless{loud{Reader: strings.NewReader(large)}, readFunc(func(p []byte) (int, error) {
			<-on
			if left -= len(p); left < 0 {
				ends("long.txt")
				return 0, io.EOF
			}
			return len(p), nil
		})}
		rest := strings.NewReader(large)
		second := readFunc(func(p []byte) (int, error) {
			if rest.Len() == 0 {
				ends("short.txt")
			}
			return rest.Read(p)
		})
		var all sync.WaitGroup
		accept := func(name string, body io.Reader) {
			if _, err := in.Accept(t.Context(), "mail", "", func(take inbox.Take) error { return take(name, body) }); err != nil {
				t.Error(err)
			}
		}
		all.Go(func() { accept("long.txt", first) })
		synctest.Wait()
		all.Go(func() { accept("short.txt", &loud{Reader: second}) })
		synctest.Wait()
		close(on)
		all.Wait()
		if d := cmp.Diff([]string{"short.txt", "long.txt"}, order); d != "" || inbox.Held(in) != 0 {
			t.Error(d, inbox.Held(in))
		}
	})
}

// The end of ctx ends the wait for memory.
func TestMemoryWaitEnds(t *testing.T) {
	dir := folder(t)
	synctest.Test(t, func(t *testing.T) {
		o := options(t, newBank("mail"))
		o.Memory = 1 << 20
		in := open(t, dir, o)
		on := make(chan struct{})
		first := &loud{Reader: strings.NewReader("ducks"), parses: func() { <-on }}
		end := make(chan error, 1)
		go func() {
			_, err := in.Accept(context.Background(), "mail", "", func(take inbox.Take) error {
				first.Reader = strings.NewReader(strings.Repeat("d", 100_000))
				return take("a.txt", first)
			})
			end <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		gone := make(chan error, 1)
		go func() {
			_, err := in.Accept(ctx, "mail", "", takeLoud(strings.NewReader("geese")))
			gone <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-gone; kind(err) != fault.Timeout {
			t.Error(err)
		}
		close(on)
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
}

// Large documents of several spaces keep within the memory at the same time; one that
// is larger than all of it is stored, too.
func TestMemoryOfDocuments(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	w := mustOpenWorld(t, t.TempDir(), func(o *inbox.Options) { o.Memory = 32 << 20 }) // one and a half of them
	var ids []string
	for i, name := range names {
		w.create(t, name)
		ids = append(ids, accept(t, w.Inbox, name, "", sent{"large.txt", strings.Repeat("Ducks swim. ", (1+i)<<20/10)}, sent{"small.txt", "Geese fly."}).ID)
	}
	run(t, w.Inbox)
	for _, id := range ids {
		if u := wait(t, w.Inbox, id); u.State != inbox.Done || u.Report.Added != 2 {
			t.Errorf("%+v", u)
		}
	}
	if p := inbox.Peaks(w.Inbox)[0]; p[0] == 0 || p[0] > p[1] || inbox.Held(w.Inbox) != 0 {
		t.Errorf("%d of %d bytes were in flight, %d are held", p[0], p[1], inbox.Held(w.Inbox))
	}
}
