package conversation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/conversation"
)

// world is a store on a disk and a clock.
type world struct {
	*conversation.Store
	t   *testing.T
	dir string
	db  *kv.DB
	now time.Time
}

func start(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), now: time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)}
	w.open()
	t.Cleanup(func() { w.db.Close() })
	return w
}

func (w *world) open() {
	w.t.Helper()
	o := kv.Default()
	o.MinFree, o.ValueLogFileSize, o.MemTableSize = 0, 4<<20, 4<<20
	var err error
	if w.db, err = kv.Open(w.dir, o); err != nil {
		w.t.Fatal(err)
	}
	if w.Store, err = conversation.Open(w.db, func() time.Time { w.now = w.now.Add(time.Second); return w.now }); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) reopen() {
	w.t.Helper()
	if err := w.db.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open()
}

func (w *world) create(space string, found bool, turns ...conversation.Turn) conversation.ID {
	w.t.Helper()
	c, err := w.Create(space, conversation.Conversation{Title: "Trip", Instructions: "Be brief.", Found: found})
	if err == nil {
		_, err = w.Append(space, c.ID, turns...)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return c.ID
}

// said returns the turns of a conversation as text.
func (w *world) said(space string, id conversation.ID) (out []string) {
	w.t.Helper()
	_, turns, err := w.Get(space, id)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, t := range turns {
		out = append(out, fmt.Sprint(t.Number, " ", t.Role, " ", t.Text))
	}
	return out
}

func user(text string) conversation.Turn {
	return conversation.Turn{Role: conversation.User, Text: text}
}

func assistant(text string, rests ...percached.ChunkID) conversation.Turn {
	return conversation.Turn{Role: conversation.Assistant, Text: text, Chunks: rests}
}

// A conversation is as it was after a restart; another space does not see it.
func TestKept(t *testing.T) {
	w := start(t)
	rest := percached.NewChunkID("a chunk")
	id := w.create("s", false, user("Where?"), assistant("In Bergen.", rest))
	before, turns, err := w.Get("s", id)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Summarise("s", before, "They spoke of Bergen.", 2); err != nil {
		t.Fatal(err)
	}
	before, _, _ = w.Get("s", id)
	w.reopen()
	after, again, err := w.Get("s", id)
	if d := cmp.Diff(before, after) + cmp.Diff(turns, again); d != "" || err != nil {
		t.Error(d, err)
	}
	if _, _, err := w.Get("other", id); fault.KindOf(err) != fault.NotFound {
		t.Errorf("another space: %v", err)
	}
	if got := w.List("s"); len(got) != 1 || got[0].ID != id || len(w.List("other")) != 0 {
		t.Errorf("%+v", got)
	}
}

// Bad input changes nothing.
func TestRefused(t *testing.T) {
	w := start(t)
	id := w.create("s", false, user("Where?"))
	long := strings.Repeat("a", 1<<17)
	for name, turn := range map[string]conversation.Turn{"role": {Role: "system", Text: "x"}, "length": user(long), "text": user("\xff")} {
		if _, err := w.Append("s", id, user("good"), turn); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]conversation.Conversation{"title": {Title: long}, "instructions": {Instructions: long}, "text": {Title: "\xff"}} {
		if _, err := w.Create("s", c); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.Append("s", conversation.ID{1}, user("x")); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	if got := w.said("s", id); len(got) != 1 || w.Count("s") != 1 {
		t.Errorf("%v", got)
	}
	for _, bad := range []string{"", "12", strings.Repeat("g", 32), strings.Repeat("A", 32), id.String() + "0"} {
		if _, err := conversation.ParseID(bad); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// With a chunk goes what rests on it: the answer, its question, and the summary.
func TestForget(t *testing.T) {
	w := start(t)
	gone, stays := percached.NewChunkID("gone"), percached.NewChunkID("stays")
	id := w.create("s", false, user("Where?"), assistant("In Bergen.", gone), user("I live in Oslo."), user("When?"), assistant("In May.", stays))
	other := w.create("s", true, user("Hello?"), assistant("Yes."))
	was, _, _ := w.Get("s", id)
	if err := w.Summarise("s", was, "Bergen.", 3); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Forget("s", []percached.ChunkID{percached.NewChunkID("unknown")}); n != 2 || err != nil { // of the found one
		t.Error(n, err)
	}
	if n, err := w.Forget("s", []percached.ChunkID{gone}); n != 2 || err != nil {
		t.Error(n, err)
	}
	for range 2 {
		want := []string{"2 user I live in Oslo.", "3 user When?", "4 assistant In May."}
		if d := cmp.Diff(want, w.said("s", id)); d != "" {
			t.Error(d)
		}
		if c, _, _ := w.Get("s", id); c.Summary.Text != "" || w.Has("s", other) {
			t.Errorf("%+v", c)
		}
		w.reopen()
	}
	if err := w.Summarise("s", was, "Bergen.", 3); fault.KindOf(err) != fault.Conflict {
		t.Errorf("a summary of forgotten turns is stored: %v", err)
	}
	cited, err := w.Cited("s")
	if d := cmp.Diff([]percached.ChunkID{stays}, cited); d != "" || err != nil {
		t.Error(d, err)
	}
	if n, err := w.Delete("s", id); n != 3 || err != nil {
		t.Error(n, err)
	}
	w.create("s", false, user("x"))
	if n, err := w.DropSpace("s"); n != 1 || err != nil || w.Count("s") != 0 {
		t.Error(n, err)
	}
}

// The turns that a client repeats find their conversation, not one that differs.
func TestFind(t *testing.T) {
	w := start(t)
	turns := []conversation.Turn{user("a"), assistant("b"), user("c"), assistant("d")}
	w.create("s", false, turns[:2]...) // a client's own is found by its id alone
	short := w.create("s", true, turns[:1]...)
	long := w.create("s", true, turns[:3]...)
	w.create("s", true, user("a"), assistant("B"))
	for n, want := range map[int]conversation.ID{1: short, 2: short, 3: long, 4: long} {
		c, has, ok := w.Find("s", turns[:n])
		if !ok || c.ID != want || has != map[conversation.ID]int{short: 1, long: 3}[want] {
			t.Errorf("%d turns: %+v, %d, %t", n, c, has, ok)
		}
	}
	if _, _, ok := w.Find("s", []conversation.Turn{assistant("a")}); ok {
		t.Error("another role is found")
	}
	if got := w.List("s"); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	w.now = w.now.Add(conversation.FoundLife)
	w.create("s", false)
	if w.Count("s") != 2 {
		t.Errorf("%d conversations", w.Count("s"))
	}
}

// A client's own conversation never makes room. Those found by their turns make room for each
// other, however many there are of the client's own.
func TestFull(t *testing.T) {
	w := start(t)
	var own conversation.ID
	for range conversation.MaxConversations {
		own = w.create("s", false)
	}
	if _, err := w.Create("s", conversation.Conversation{}); fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
	oldest := w.create("s", true, user("a"))
	next := w.create("s", true, user("b"))
	for range conversation.MaxFound - 2 {
		w.create("s", true)
	}
	if _, err := w.Delete("s", own); err != nil {
		t.Fatal(err)
	}
	if own = w.create("s", false); !w.Has("s", oldest) {
		t.Error("a client's own conversation took the place of one found")
	}
	w.create("s", true)
	if w.Has("s", oldest) || !w.Has("s", next) || !w.Has("s", own) {
		t.Errorf("the oldest of those found stays: %v, the next: %v, a client's own: %v", w.Has("s", oldest), w.Has("s", next), w.Has("s", own))
	}
}

// A turn that rests on more chunks than are kept is refused: a deletion would not find it.
func TestTurnOfManyChunks(t *testing.T) {
	w := start(t)
	id := w.create("s", false, user("a"))
	turn := assistant("b")
	turn.Chunks = make([]percached.ChunkID, 1001)
	if _, err := w.Append("s", id, turn); fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
}
