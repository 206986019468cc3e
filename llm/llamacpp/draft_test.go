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
				c.Model, c.FlashAttn = llmtest.RealModel(t, name), "on" // without it attention sums in another order
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
		ahead: 3,
	}
	for _, tt := range []struct {
		answer, want []int32
		source       percached.DraftSource
	}{
		{nil, []int32{1, 2, 3, 4}, percached.DraftStored},
		{[]int32{1, 2}, []int32{3, 4}, percached.DraftStored},
		{[]int32{1, 2, 3, 4}, nil, ""},
		{[]int32{9, 2}, []int32{7, 8}, percached.DraftNear},
		{[]int32{0, 5, 6}, []int32{2}, percached.DraftPrompt},          // the last place
		{[]int32{0, 5, 6, 7}, []int32{8, 1, 5}, percached.DraftPrompt}, // the longer match
		{[]int32{4, 4, 4}, nil, ""},
	} {
		d.answer = tt.answer
		got, source := d.propose(9)
		if d := cmp.Diff(tt.want, got); d != "" || source != tt.source {
			t.Errorf("behind %v: %s (%s)", tt.answer, d, source)
		}
	}
}

func TestLookahead(t *testing.T) {
	d := &drafter{ahead: firstAhead}
	for range 3 {
		d.checked(percached.DraftPrompt, 8, 8)
	}
	if d.ahead != mostAhead {
		t.Errorf("%d ahead after all was accepted", d.ahead)
	}
	for range 5 {
		d.checked(percached.DraftPrompt, 8, 3)
	}
	if d.ahead != leastAhead {
		t.Errorf("%d ahead after little was accepted", d.ahead)
	}
	d.checked(percached.DraftNear, 4, 3)
	want := []percached.DraftUse{{Source: percached.DraftPrompt, Batches: 8, Proposed: 64, Accepted: 39}, {Source: percached.DraftNear, Batches: 1, Proposed: 4, Accepted: 3}}
	if d := cmp.Diff(want, d.uses); d != "" || leastAhead > 2 {
		t.Error(d)
	}
}

// A batch with a draft is computed only if it is expected to save time.
func TestDraftsPay(t *testing.T) {
	var m tempo
	if !m.pays(percached.DraftPrompt, 8) {
		t.Error("nothing is measured yet, and no draft is tried")
	}
	m.token, m.more = 0.010, 0.001
	for range 20 {
		m.agreed(percached.DraftPrompt, 8, 6)
	}
	if !m.pays(percached.DraftPrompt, 8) {
		t.Error("a cheap batch of a good draft does not pay")
	}
	m.more = 0.009
	if m.pays(percached.DraftPrompt, 8) {
		t.Error("a batch pays that takes as long as its tokens")
	}
	m.more = 0.001
	for range 50 {
		m.agreed(percached.DraftPrompt, 8, 0)
	}
	if m.pays(percached.DraftPrompt, 8) {
		t.Error("a draft pays that never agrees")
	}
}
