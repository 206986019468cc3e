package qabank_test

import (
	"context"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/qabank"
)

// serves reports whether a stored question would be served for another, with everything
// else in its favour.
func (b *bench) serves(id qabank.ID, question string, guard bool) bool {
	b.t.Helper()
	e := b.get("mail", id)
	ask := qabank.Ask{Question: question, Versions: map[percached.ChunkID]uint64{}, Settings: e.Settings, Now: b.now, Guard: guard}
	for _, v := range e.Evidence {
		ask.Own = append(ask.Own, v.Chunk)
		ask.Versions[v.Chunk] = v.Version
	}
	return qabank.Judge(qabank.Candidate{Entry: e, Similarity: 1}, ask).Serve
}

// A vetoed pair is served in neither direction, whatever happens to either entry, until
// the chunks behind it are forgotten.
func TestVeto(t *testing.T) {
	ctx := context.Background()
	const stored, asked = "Where is the spare key?", "Where can I find the spare key?"
	b := start(t, 1<<20)
	id := b.put(entry("mail", stored, 1))
	elsewhere := b.put(entry("notes", stored, 1))
	if !b.serves(id, asked, true) {
		t.Fatal("the pair does not match to begin with")
	}
	b.do(b.bank.Veto(ctx, "mail", asked, id))
	if e := b.get("mail", id); e.Answered || e.Answer != "" {
		t.Errorf("the answer is still there: %+v", e)
	}
	b.counted()
	check := func(when string) {
		t.Helper()
		id := b.put(entry("mail", stored, 1)) // answered again
		other := b.put(entry("mail", asked, 1))
		for _, guard := range []bool{true, false} {
			for _, q := range []string{asked, "  WHERE can i find the spare key ?!"} {
				if b.serves(id, q, guard) {
					t.Errorf("%s: %q is served, guard %v", when, q, guard)
				}
			}
			if b.serves(other, stored, guard) {
				t.Errorf("%s: served the other way, guard %v", when, guard)
			}
		}
		if !b.serves(id, "Where's the spare key?", true) || !b.serves(other, asked, true) {
			t.Errorf("%s: more than the pair is kept apart", when)
		}
	}
	check("at once")
	b.reopen(true)
	check("after a crash")
	b.do(b.bank.Veto(ctx, "mail", asked, id))
	b.do(b.bank.Delete(ctx, "mail", id))
	b.counted()
	check("after a delete")
	if len(b.get("notes", elsewhere).Vetoed) != 0 {
		t.Error("a veto crossed a space")
	}
	if s := b.bank.Stats("mail"); s.Vetoes != 1 {
		t.Errorf("%+v", s)
	}
	if n, err := b.bank.Forget(ctx, "mail", []percached.ChunkID{chunk(1)}); n != 2 || err != nil {
		t.Error(n, err)
	}
	for range 2 {
		if s := b.bank.Stats("mail"); s.Vetoes != 0 || s.Entries != 0 {
			t.Errorf("the veto outlives its chunks: %+v", s)
		}
		if id := b.put(entry("mail", stored, 2)); !b.serves(id, asked, true) {
			t.Error("the pair is still kept apart")
		}
		b.do(b.bank.Delete(ctx, "mail", id))
		b.reopen(true)
	}
}

// A veto on an exact repeat stops a question from being served for itself; a veto on a
// deleted entry also applies.
func TestVetoOddCases(t *testing.T) {
	ctx := context.Background()
	b := start(t, 1<<20)
	id := b.put(entry("mail", "Where is it kept?", 1))
	b.do(b.bank.Veto(ctx, "mail", "where is it kept", id))
	b.put(entry("mail", "Where is it kept?", 1))
	if b.serves(id, "Where is it kept?", true) || b.serves(id, "Where is it kept?", false) {
		t.Error("a vetoed question serves itself")
	}
	gone := qabank.NewID("mail", "Where is the gone key?")
	b.do(b.bank.Veto(ctx, "mail", "Where is the lost key?", gone))
	b.reopen(true)
	b.put(entry("mail", "Where is the gone key?", 2))
	if b.serves(gone, "Where is the lost key?", false) {
		t.Error("a veto on an entry that was gone is lost")
	}
	if _, err := b.bank.DropSpace(ctx, "mail"); err != nil {
		t.Error(err)
	}
	b.reopen(true)
	if s := b.bank.Stats("mail"); s != (qabank.Stats{}) {
		t.Errorf("%+v", s)
	}
}
