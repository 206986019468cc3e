package llamacpp

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/llmtest"
)

// draftedEnv is how many answers of each model TestDraftsChangeNothing compares.
const draftedEnv = "PERCACHED_DRAFTED_ANSWERS"

// answerOf is what a client sees of an answer.
type answerOf struct {
	Text   string
	Pieces []string
	Finish percached.Finish
	Tokens int
}

func answered(t *testing.T, e *Engine, p percached.Prompt) (answerOf, percached.Result) {
	t.Helper()
	var a answerOf
	res, err := e.Generate(t.Context(), p, func(piece string) error { a.Pieces = append(a.Pieces, piece); return nil })
	if err != nil {
		t.Fatal(err)
	}
	a.Text, a.Finish, a.Tokens = res.Text, res.Finish, res.Usage.Generated
	return a, res
}

// hostile makes drafts that agree with an answer in part, in nothing, or that no answer
// could be.
func hostile(rnd *rand.Rand, answer string, others []string) [][]percached.Draft {
	draft := func(source percached.DraftSource, text string) percached.Draft {
		return percached.Draft{Source: source, Text: text}
	}
	half := answer[:len(answer)/2]
	words := strings.Fields(answer)
	rnd.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	other := others[rnd.IntN(len(others))]
	return [][]percached.Draft{
		{draft(percached.DraftStored, answer)},
		{draft(percached.DraftStored, half+other), draft(percached.DraftNear, answer)},
		{draft(percached.DraftStored, other), draft(percached.DraftNear, half)},
		{draft(percached.DraftStored, strings.Join(words, " ")), draft(percached.DraftNear, strings.Repeat(answer+" ", 20))},
		{draft(percached.DraftStored, ""), draft(percached.DraftNear, "<|im_end|></s><end_of_turn>"+answer+"\x00\xff")},
		nil, // the prompt alone
	}
}

// A draft never changes an answer, whatever it says; a draft that is the answer is verified.
func TestDraftsChangeNothing(t *testing.T) {
	answers := 12
	if n, err := strconv.Atoi(os.Getenv(draftedEnv)); err == nil {
		answers = n
	}
	for _, name := range []string{"", llmtest.SmolLM2, llmtest.Gemma3} {
		t.Run("model "+name, func(t *testing.T) {
			c := Default()
			c.Model, c.Context, c.Threads = filepath.Join("..", "..", "models", "nano.gguf"), 2048, 2
			if name != "" {
				c.Model = llmtest.RealModel(t, name)
			}
			e, err := OpenEngine(t.Context(), c, NewGate())
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			if why := e.Info().NoDrafts; why != "" {
				if bundled && runtime.GOARCH == "amd64" {
					t.Fatal(why)
				}
				t.Skip("NOT TESTED: " + why)
			}
			e.tempo.all = true
			rnd := rand.New(rand.NewPCG(7, 8))
			others := []string{"The ferry leaves at 9.", "I do not know."}
			compared, verified, accepted := 0, 0, 0
			for i := 0; compared < answers; i++ {
				p := harbourPrompt(e, i)
				p.MaxTokens = 24 + rnd.IntN(40)
				p.EndLoops = i%2 == 0
				if i%5 == 0 {
					p.Stop = []string{"at", "9"}
				}
				plain, _ := answered(t, e, p)
				p.Drafting = true
				for kind, drafts := range hostile(rnd, plain.Text, others) {
					p.Drafts = drafts
					got, res := answered(t, e, p)
					if d := cmp.Diff(plain, got); d != "" {
						t.Fatalf("answer %d with drafts of kind %d: %s", i, kind, d)
					}
					if kind == 0 && res.Verified {
						verified++
					}
					for _, u := range res.Drafts {
						accepted += u.Accepted
					}
					compared++
				}
				others = append(others, plain.Text)
			}
			t.Logf("%d answers compared; %d verified; %d tokens accepted", compared, verified, accepted)
			if accepted == 0 {
				t.Error("no token of a draft was accepted")
			}
		})
	}
}

// harbourPrompt is a question over two invented mails.
func harbourPrompt(e *Engine, i int) percached.Prompt {
	f := e.Info().Chat
	days := []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday"}
	day, hour := days[i%len(days)], 6+i%13
	chunks := []string{
		fmt.Sprintf("### Ferry\nThe ferry to Vessay leaves at %d:15 on %s from pier %d, because the crane barge has a cracked winch.", hour, day, 1+i%7),
		fmt.Sprintf("### Keys\nPlease bring the keys of the boathouse and the list of guests to gate %d before %d:00.", 2+i%9, hour),
	}
	question := []string{"When does the ferry to Vessay leave?", "What should I bring to the gate?", "Why does the ferry leave from another pier?"}[i%3]
	return percached.Prompt{Segments: []percached.Segment{
		{Kind: percached.KindSystem, Texts: []percached.Text{{Text: f.System, Special: true}, {Text: "Answer the question from the mails."}}},
		{Kind: percached.KindChunk, Texts: []percached.Text{{Text: chunks[0] + "\n"}}},
		{Kind: percached.KindChunk, Texts: []percached.Text{{Text: chunks[1] + "\n"}}},
		{Kind: percached.KindQuestion, Texts: []percached.Text{{Text: f.Question, Special: true}, {Text: question}, {Text: f.Answer, Special: true}}},
	}, Placement: percached.Placement(i % 2)}
}

func TestPropose(t *testing.T) {
	d := &drafter{
		whole: [][]int32{{1, 2, 3, 4}},
		texts: []text{{percached.DraftNear, []int32{9, 2, 7, 8}}, {percached.DraftPrompt, []int32{5, 6, 7, 8, 1, 5, 6, 2}}},
	}
	cheap := &tempo{token: 1, more: 0.01}
	for _, tt := range []struct {
		answer, want []int32
		source       percached.DraftSource
	}{
		{nil, []int32{1, 2, 3, 4}, percached.DraftStored},
		{[]int32{1, 2}, []int32{3, 4}, percached.DraftStored},
		{[]int32{1, 2, 3, 4}, nil, ""},
		{[]int32{9, 2}, []int32{7, 8}, percached.DraftNear},
		{[]int32{0, 5, 6}, []int32{2}, percached.DraftPrompt},                // the last place
		{[]int32{0, 5, 6, 7}, []int32{8, 1, 5, 6, 2}, percached.DraftPrompt}, // the longer match
		{[]int32{4, 4, 4}, nil, ""},
	} {
		d.answer = tt.answer
		got := d.propose(9, cheap)
		if d := cmp.Diff(tt.want, got.tokens); d != "" || got.source != tt.source {
			t.Errorf("behind %v: %s (%s)", tt.answer, d, got.source)
		}
	}
	d.answer = []int32{1, 2}
	if got := d.propose(1, cheap); len(got.tokens) != 1 {
		t.Errorf("%d tokens with room for one", len(got.tokens))
	}
}

// The more tokens of a draft agree, the more are checked at a time, and the reverse.
func TestLookahead(t *testing.T) {
	m := &tempo{token: 0.010, more: 0.003}
	p := proposal{percached.DraftPrompt, make([]int32, mostAhead), 3}
	first, _ := m.worth(p)
	for range 20 {
		m.agreed(p, mostAhead)
	}
	more, _ := m.worth(p)
	for range 100 {
		m.agreed(p, 0)
	}
	none, _ := m.worth(p)
	if !(0 < first && first < more && more == mostAhead && none == 0) {
		t.Errorf("%d tokens ahead at first, %d when all agree, %d when none do", first, more, none)
	}
	other := p
	other.source = percached.DraftNear
	if n, _ := m.worth(other); n != first {
		t.Errorf("another source's draft is checked for %d tokens, not %d", n, first)
	}
}

// A draft is checked only if that is expected to save time, and tried again later.
func TestDraftsPay(t *testing.T) {
	m := &tempo{}
	p := proposal{percached.DraftPrompt, make([]int32, 8), longestMatch}
	if n, _ := m.worth(p); n == 0 {
		t.Error("nothing is measured yet, and no draft is tried")
	}
	m.token, m.more = 0.010, 0.010
	if n, _ := m.worth(p); n > 0 {
		t.Error("a batch pays that takes as long as its tokens")
	}
	m.more = 0.002
	for range 50 {
		m.agreed(p, 0)
	}
	withheld := 0
	for n := 0; n == 0 && withheld < 10_000; withheld++ {
		n, _ = m.worth(p)
	}
	if withheld < 50 || withheld > 1000 {
		t.Errorf("a draft that never agreed is tried again after %d tokens", withheld)
	}
}

// One slow batch must not stop drafts.
func TestTempoOutlier(t *testing.T) {
	m := &tempo{}
	for range 10 {
		m.took(1, 10*time.Millisecond)
		m.took(5, 18*time.Millisecond)
	}
	m.took(5, 10*time.Second)
	if n, _ := m.worth(proposal{percached.DraftPrompt, make([]int32, 8), longestMatch}); n == 0 {
		t.Error("no draft is checked after one slow batch")
	}
}

func TestDraftUses(t *testing.T) {
	d := &drafter{}
	p := proposal{percached.DraftPrompt, make([]int32, 8), 2}
	d.checked(p, 8)
	d.checked(p, 3)
	d.checked(proposal{percached.DraftNear, make([]int32, 4), 2}, 3)
	want := []percached.DraftUse{{Source: percached.DraftPrompt, Batches: 2, Proposed: 16, Accepted: 11}, {Source: percached.DraftNear, Batches: 1, Proposed: 4, Accepted: 3}}
	if d := cmp.Diff(want, d.uses); d != "" {
		t.Error(d)
	}
}
