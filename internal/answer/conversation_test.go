package answer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/conversation"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qkvtree"
)

// dialog is a stored conversation in a world with small window.
type dialog struct {
	*world
	*reader
	t  *testing.T
	id percached.ChunkID
}

func startDialog(t *testing.T, placement percached.Placement) *dialog {
	set := answer.Default()
	set.Placement, set.MaxTokens = placement, 16
	o := llmtest.DefaultOptions()
	o.Context = 600
	d := &dialog{t: t}
	d.world, d.reader = readerWorld(t, set, o)
	c, err := d.talks.Create("s", conversation.Conversation{})
	if err != nil {
		t.Fatal(err)
	}
	d.id = percached.ChunkID(c.ID)
	return d
}

func (d *dialog) ask(text string) answer.Answer {
	d.t.Helper()
	a := d.asks(d.t, answer.Question{Space: "s", Text: text, Conversation: d.id})
	<-d.Prepare("s", conversation.ID(d.id))
	return a
}

// say adds turns as a client does that has them from elsewhere.
func (d *dialog) say(turns ...conversation.Turn) {
	d.t.Helper()
	if _, err := d.talks.Append("s", conversation.ID(d.id), turns...); err != nil {
		d.t.Fatal(err)
	}
	<-d.Prepare("s", conversation.ID(d.id))
}

// A conversation keeps its turns; the next prompt loads their tensors, whatever its chunks.
func TestConversationGoesOn(t *testing.T) {
	for _, placement := range []percached.Placement{percached.Sequential, percached.Parallel} {
		d := startDialog(t, placement)
		d.ask("What of Heron?")
		first := d.ask("I live in Bergen.")
		a := d.ask("And where do I live?")
		got := d.text(t)
		for _, want := range []string{"Question: What of Heron?\nAnswer: ", "Question: I live in Bergen.\nAnswer: " + first.Text + "\n\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("%v: %q is not in %q", placement, want, got)
			}
		}
		p := d.prompts[len(d.prompts)-1]
		for i, s := range p.Segments {
			if s.Kind == percached.KindTurn && s.Slice == nil {
				t.Errorf("%v: segment %d is computed", placement, i)
			}
		}
		if a.Outcome == answer.AnswerHit || a.Entry.String() == "" {
			t.Errorf("%v: %+v", placement, a)
		}
		if _, turns, err := d.talks.Get("s", conversation.ID(d.id)); err != nil || len(turns) != 6 || turns[5].Text != a.Text || len(turns[5].Chunks) < len(a.Citations) {
			t.Errorf("%v: %+v %v", placement, turns, err)
		}
		if _, _, err := d.tree.Forget("s", []percached.ChunkID{d.id}); err != nil {
			t.Fatal(err)
		}
		if cold := d.asks(t, answer.Question{Space: "s", Text: "And where do I live?", Earlier: earlier(t, d, 4)}); cold.Text != a.Text {
			t.Errorf("%v: cold %q, warm %q", placement, cold.Text, a.Text)
		}
	}
}

// earlier returns the first turns of a conversation.
func earlier(t *testing.T, d *dialog, n int) (out []answer.Turn) {
	t.Helper()
	_, turns, err := d.talks.Get("s", conversation.ID(d.id))
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range turns[:n] {
		out = append(out, answer.Turn{Role: turn.Role, Text: turn.Text})
	}
	return out
}

func said(role, format string, args ...any) conversation.Turn {
	return conversation.Turn{Role: role, Text: fmt.Sprintf(format, args...)}
}

// What left the window is summarised, and what has rare words of the question is recalled.
// The window begins at the same turn for many questions.
func TestLongConversation(t *testing.T) {
	d := startDialog(t, percached.Parallel)
	d.say(said(conversation.User, "My sister Ana lives in Bergen."), said(conversation.Assistant, "Noted."))
	starts, fits := map[string]bool{}, 0
	for i := range 60 {
		d.say(said(conversation.User, "I painted wall number %d in the old house.", i), said(conversation.Assistant, "Well done."))
		if i%3 > 0 {
			continue
		}
		d.asks(t, answer.Question{Space: "s", Text: "Where does my sister live?", Conversation: d.id})
		p := d.prompts[len(d.prompts)-1]
		tokens, first := 0, ""
		for _, s := range p.Segments {
			tokens += len(s.Tokens)
			if s.Kind == percached.KindTurn && !strings.HasPrefix(s.Texts[0].Text, "Summary") && first == "" {
				first = s.Texts[0].Text
			}
		}
		starts[first] = true
		if tokens+16 <= 600 {
			fits++
		}
		if !strings.Contains(promptText(p), "My sister Ana lives in Bergen.") {
			t.Fatalf("wall %d: the sister is not in the prompt %q", i, promptText(p))
		}
	}
	c, _, err := d.talks.Get("s", conversation.ID(d.id))
	d.ask("Where does my sister live?")
	if err != nil || c.Summary.Text == "" || c.Summary.Through < 20 {
		t.Errorf("%+v %v", c, err)
	}
	if p := d.prompts[len(d.prompts)-1]; !strings.Contains(promptText(p), "Summary of what was said before:\n"+c.Summary.Text) {
		t.Errorf("the summary is not in the prompt %q", promptText(p))
	}
	if len(starts) > 16 || fits != 20 {
		t.Errorf("%d windows, %d prompts fit", len(starts), fits)
	}
}

func promptText(p percached.Prompt) string {
	var b strings.Builder
	for _, s := range p.Segments {
		for _, text := range s.Texts {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// A client that repeats all turns gets a stored conversation when they exceed the window.
// Without that nothing of them is stored.
func TestFoundConversation(t *testing.T) {
	d := startDialog(t, percached.Parallel)
	var turns []answer.Turn
	ask := func() {
		t.Helper()
		d.asks(t, answer.Question{Space: "s", Text: "And what did I say of walls?", Earlier: turns})
	}
	for i := range 40 {
		turns = append(turns, user(fmt.Sprintf("I painted wall number %d in the old house.", i)), assistant("Well done."))
		if i == 3 {
			ask()
			if n := d.talks.Count("s"); n != 1 {
				t.Errorf("%d conversations", n)
			}
		}
	}
	ask()
	turns = append(turns, user("And what did I say of walls?"), assistant("Nothing."))
	ask()
	if n := d.talks.Count("s"); n != 2 || len(d.talks.List("s")) != 1 {
		t.Errorf("%d conversations", n)
	}
	c, has, ok := d.talks.Find("s", []conversation.Turn{said(conversation.User, "I painted wall number 0 in the old house.")})
	if ok {
		t.Errorf("%+v has %d", c, has)
	}
}

// An answer says if the turns that exceed the window are not kept.
func TestConversationNotKept(t *testing.T) {
	d := startDialog(t, percached.Parallel)
	long := strings.Repeat("wall ", 10_000)
	var turns []answer.Turn
	for range 50 {
		turns = append(turns, user(long), assistant(long))
	}
	for kept, earlier := range map[bool][]answer.Turn{true: turns[:4], false: turns} {
		a := d.asks(t, answer.Question{Space: "s", Text: "And what did I say of walls?", Earlier: earlier})
		if noted := strings.Contains(strings.Join(a.Notes, ";"), "conversation is not kept"); noted == kept {
			t.Errorf("%d turns: the notes are %q", len(earlier), a.Notes)
		}
	}
}

// A question that leans on no statement is answered from the bank, and a conversation that
// does not exist is refused.
func TestConversationAndBank(t *testing.T) {
	d := startDialog(t, percached.Parallel)
	stored := d.asks(t, heron)
	if a := d.ask(heron.Text); a.Outcome != answer.AnswerHit || a.Text != stored.Text {
		t.Errorf("%+v", a)
	}
	d.say(said(conversation.User, "I cut the budget of Heron to 40."))
	if a := d.ask(heron.Text); a.Outcome == answer.AnswerHit {
		t.Error("a stored answer is served against what the user said")
	}
	_, err := d.Ask(context.Background(), answer.Question{Space: "s", Text: "Who?", Conversation: percached.ChunkID{1}}, answer.Listener{})
	if fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	_, err = d.Ask(context.Background(), answer.Question{Space: "s", Text: "Who?", Conversation: d.id, Earlier: []answer.Turn{user("x")}}, answer.Listener{})
	if fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

// If a document is deleted while a question is answered, no tensors of turns are stored: they
// may tell what it said.
func TestForgottenTurnsAreNotStored(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		d := startDialog(t, percached.Parallel)
		id := d.docs.put("Another note.")
		if deleted {
			d.before = func() { d.docs.drop(id) }
		}
		d.asks(t, answer.Question{Space: "s", Text: "And where do I live?", Earlier: []answer.Turn{user("I live in Bergen.")}})
		stored := 0
		d.tree.Nodes("s", func(i qkvtree.Info) {
			if i.Chunk == percached.NewChunkID("conversation") {
				stored++
			}
		})
		if (stored == 0) != deleted {
			t.Errorf("deleted %t: %d stored", deleted, stored)
		}
	}
}

// An answer may repeat what earlier turns said, so it rests on what they rest on.
func TestTurnsRestOnEarlierTurns(t *testing.T) {
	d := startDialog(t, percached.Parallel)
	secret := d.docs.put("The code is 4711.")
	d.ask("What is the code?")
	d.ask("And what of that budget of Heron?")
	d.docs.drop(secret)
	if n, err := d.talks.Forget("s", []percached.ChunkID{secret}); n != 4 || err != nil {
		t.Errorf("%d turns are forgotten, %v", n, err)
	}
}

// A conversation goes on when a document was replaced that an earlier answer cited.
func TestConversationAfterReplacement(t *testing.T) {
	d := startDialog(t, percached.Parallel)
	old := d.docs.put("The code is 4711.")
	d.ask("What is the code?")
	d.docs.drop(old)
	d.docs.put("The code is 4712.")
	d.ask(leaning)
	if _, turns, err := d.talks.Get("s", conversation.ID(d.id)); len(turns) != 4 || err != nil {
		t.Errorf("%d turns, %v", len(turns), err)
	}
}

// What is deleted while a question is answered that follows on an answer from it is in no history.
func TestForgottenTurnsAreNotRemembered(t *testing.T) {
	d := startDialog(t, percached.Parallel)
	one := 1
	d.docs.configure(percached.Settings{K: &one})
	secret := d.docs.put("The code is 4711.")
	d.ask("What is the code?")
	d.before = func() {
		d.before = nil
		d.docs.drop(secret)
		d.Settle()
		if _, err := d.history.Forget("s", []percached.ChunkID{secret}); err != nil {
			t.Error(err)
		}
	}
	d.ask(leaning)
	all, err := d.history.Recent("s", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if slices.Contains(r.Chunks, secret) {
			t.Errorf("%q came back", r.Question)
		}
	}
}

// Turns that rest on the same chunks leave room in the bank.
func TestLongConversationIsStored(t *testing.T) {
	d := startDialog(t, percached.Parallel)
	var ids []percached.ChunkID
	for i := range 60 {
		ids = append(ids, d.docs.put(fmt.Sprintf("Note %d.", i)))
	}
	for range 20 {
		d.say(said(conversation.User, "What is the budget of Heron?"), conversation.Turn{Role: conversation.Assistant, Text: "50.", Chunks: ids})
	}
	if a := d.ask("And of Kite?"); strings.Contains(strings.Join(a.Notes, ";"), "the bank") {
		t.Errorf("%+v", a.Notes)
	}
}
