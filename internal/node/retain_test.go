package node_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/conversation"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
)

// kept is a node with a clock, without a language model, and what it deleted because of
// its age.
type kept struct {
	*node.Node
	t     *testing.T
	dir   string
	clock atomic.Int64 // Unix ns
	tick  chan time.Time
	heard []string
}

func keeping(t *testing.T, keep time.Duration) *kept {
	k := &kept{t: t, dir: t.TempDir(), tick: make(chan time.Time)}
	k.pass(time.Duration(time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC).UnixNano()))
	c := node.Default()
	c.Create, c.Data, c.Keep = true, k.dir, keep
	c.Now = k.now
	c.Embedder = llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())
	c.Outlived = func(space string, r ingest.Receipt) {
		k.heard = append(k.heard, fmt.Sprint(space, ": ", r.History, " questions, ", r.Entries, " answers, ", r.Turns, " turns"))
	}
	var err error
	if k.Node, err = node.Open(t.Context(), c, false, io.Discard); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

func (k *kept) now() time.Time { return time.Unix(0, k.clock.Load()).UTC() }

func (k *kept) pass(d time.Duration) { k.clock.Add(int64(d)) }

func (k *kept) do(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// space makes a space; days below zero leave it to the service how long it keeps.
func (k *kept) space(name string, days int) {
	k.t.Helper()
	sp := percached.Space{Name: name, Kind: "emails"}
	if days >= 0 {
		sp.Settings.KeepDays = &days
	}
	k.do(k.Knowledge.CreateSpace(sp))
}

// ask stores what a question leaves behind.
func (k *kept) ask(space, question string) {
	k.t.Helper()
	k.do(k.History.Add(space, answer.Record{Asked: k.now(), Question: question}, true))
	_, err := k.Bank.Put(k.t.Context(), qabank.Entry{Space: space, Question: question, Answer: "About " + question, Answered: true, Origin: "asked", Made: k.now()})
	k.do(err)
	c, err := k.Conversations.Create(space, conversation.Conversation{Title: question})
	k.do(err)
	_, err = k.Conversations.Append(space, c.ID, conversation.Turn{Role: conversation.User, Text: question}, conversation.Turn{Role: conversation.Assistant, Text: "About it."})
	k.do(err)
}

// run starts ExpireOnTick. After looked returns, it has looked at the present time, and it
// deletes nothing more until the time changes.
func (k *kept) run() (looked, stop func()) {
	ctx, cancel := context.WithCancel(k.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.ExpireOnTick(ctx, k.tick)
	}()
	looked = func() {
		k.tick <- k.now() // the look at an earlier time is over
		k.tick <- k.now() // and that at this time
	}
	return looked, func() { cancel(); <-ended }
}

// look runs ExpireOnTick for one look.
func (k *kept) look(after time.Duration) {
	k.t.Helper()
	k.pass(after)
	looked, stop := k.run()
	looked()
	stop()
}

// traces counts the files that hold a text.
func (k *kept) traces(text string) (n int) {
	k.t.Helper()
	k.do(filepath.WalkDir(k.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			n++
		}
		return err
	}))
	return n
}

// What nobody used for as long as it is kept is deleted, and its bytes with it; what was
// asked later stays. A space may keep longer, or for ever.
func TestRetention(t *testing.T) {
	const day = 24 * time.Hour
	k := keeping(t, 90*day)
	k.space("mail", -1)
	k.space("long", 200)
	k.space("ever", 0)
	for _, space := range []string{"mail", "long", "ever"} {
		k.ask(space, "Where is Zyxwvquorn in "+space+"?")
	}
	k.pass(50 * day)
	k.ask("mail", "Where is Abcdefgh?")
	k.look(40 * day)
	if k.heard != nil {
		t.Errorf("early: %v", k.heard)
	}
	if due, err := k.Library.NeedsCleanUp(); due || err != nil {
		t.Errorf("nothing was deleted, but the files are to be rewritten: %v", err)
	}
	k.look(time.Hour)
	if d := cmp.Diff([]string{"mail: 1 questions, 1 answers, 2 turns"}, k.heard); d != "" {
		t.Error(d)
	}
	if due, err := k.Library.NeedsCleanUp(); !due || err != nil {
		t.Errorf("the bytes stay: %v", err)
	}
	k.do(k.Library.CleanUp(t.Context(), nil))
	for text, want := range map[string]bool{"Zyxwvquorn in mail": false, "Zyxwvquorn in long": true, "Zyxwvquorn in ever": true, "Abcdefgh": true} {
		if got := k.traces(text) > 0; got != want {
			t.Errorf("%q is on the disk: %t", text, got)
		}
	}
	k.look(120 * day)
	want := []string{"mail: 1 questions, 1 answers, 2 turns", "long: 1 questions, 1 answers, 2 turns", "mail: 1 questions, 1 answers, 2 turns"}
	if len(k.heard) != 3 || k.heard[0] != want[0] || !cmp.Equal(map[string]bool{want[1]: true, want[2]: true}, map[string]bool{k.heard[1]: true, k.heard[2]: true}) {
		t.Errorf("%q", k.heard)
	}
	k.look(10000 * day)
	if len(k.heard) != 3 {
		t.Errorf("%q", k.heard)
	}
}

// Without the key nothing is deleted; it can be set while the daemon runs.
func TestRetentionIsOff(t *testing.T) {
	k := keeping(t, 0)
	k.space("mail", -1)
	k.ask("mail", "Where is Abcdefgh?")
	k.look(10000 * time.Hour)
	if k.heard != nil {
		t.Errorf("%v", k.heard)
	}
}

// Two looks within a day delete once: each deletion has the files rewritten.
func TestRetentionIsDaily(t *testing.T) {
	k := keeping(t, 90*24*time.Hour)
	k.space("mail", -1)
	k.ask("mail", "Where is Abcdefgh?")
	k.pass(23 * time.Hour)
	k.ask("mail", "Where is it now?")
	k.pass(90*24*time.Hour - 22*time.Hour)
	looked, stop := k.run()
	defer stop()
	for _, next := range []struct {
		pass    time.Duration
		deleted int
	}{{0, 1}, {22*time.Hour + time.Minute, 1}, {2 * time.Hour, 2}} {
		k.pass(next.pass)
		looked()
		if len(k.heard) != next.deleted {
			t.Errorf("%v later: %q", next.pass, k.heard)
		}
	}
}

// What users asked is deleted although the stored tensors cannot be.
func TestRetentionDespiteErrors(t *testing.T) {
	k := keeping(t, 90*24*time.Hour)
	k.space("mail", -1)
	k.do(k.History.Add("mail", answer.Record{Asked: k.now(), Question: "Where is Abcdefgh?"}, true))
	k.do(k.Tree.Close())
	k.look(91 * 24 * time.Hour)
	if d := cmp.Diff([]string{"mail: 1 questions, 0 answers, 0 turns"}, k.heard); d != "" {
		t.Error(d)
	}
}
