package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/conversation"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"
)

// Steps of the measurement, in exchanges: a question and its answer.
const (
	talkLength = 200
	talkAsked  = 190 // when the facts are asked for
	talkStep   = 20  // between questions whose time is measured
)

// toldFact is what the user says early on, and questions for it.
type toldFact struct {
	said, asked, otherwise string // otherwise: in other words
	key                    string // of a right answer
}

// toldFacts are told in the first exchanges. They are invented.
func toldFacts() []toldFact {
	return []toldFact{
		{"My sister Ana lives in Bergen.", "Where does my sister Ana live?", "Which town does my sister call home?", "bergen"},
		{"Our dog is called Pixel.", "What is our dog called?", "Which name did we give our dog?", "pixel"},
		{"I am allergic to walnuts.", "What am I allergic to?", "Which nuts must I avoid?", "walnut"},
		{"My new office is on the ninth floor.", "On which floor is my new office?", "How high up do I work in my office?", "ninth"},
		{"We agreed to paint the kitchen green.", "In which colour did we agree to paint the kitchen?", "Which colour shall our kitchen walls have?", "green"},
		{"My train to Utrecht leaves at 7:42.", "When does my train to Utrecht leave?", "At what time do I depart for Utrecht?", "7:42"},
		{"Our plumber's name is Tobias Krug.", "What is our plumber's name?", "Whom do I call for a leaking pipe, our plumber?", "tobias"},
		{"My bike was stolen in Lisbon.", "Where was my bike stolen?", "In which city did I lose my bike?", "lisbon"},
		{"My grandmother turns ninety in October.", "In which month does my grandmother turn ninety?", "When is my grandmother's birthday?", "october"},
		{"I drive a blue Saab.", "Which car do I drive?", "What brand is my car?", "saab"},
	}
}

func benchConversationCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conversation < TURNS",
		Short: "Measure a conversation of 200 exchanges: time to the first token, memory, and what is remembered",
		Long: `Begins a conversation with ten facts, continues it with the turns of standard input
(JSON lines with role and text), asks a question after every 20 exchanges, and asks for the
facts after 190: in a stored conversation, with its summary alone, and with nothing but the
window of the latest turns.`,
	}
	return overNode(cmd, benchConversation)
}

// talkReport is the result of benchConversation.
type talkReport struct {
	Model  string     `json:"model"`
	Points []talkTime `json:"points"`
	// Recalled counts the facts in the answers, of Facts, by mode: questions in the words of
	// the fact, and in others.
	Facts     int            `json:"facts"`
	Recalled  map[string]int `json:"recalled"`
	Otherwise map[string]int `json:"recalled_in_other_words"`
	Summary   string         `json:"summary"`
	Summaries int            `json:"summaries"`
}

// talkTime is a question after so many exchanges.
type talkTime struct {
	Exchanges int     `json:"exchanges"`
	FirstMS   float64 `json:"first_token_ms"`
	Prompt    int     `json:"prompt_tokens"`
	Computed  int     `json:"computed_tokens"`
	FullMS    float64 `json:"full_history_ms"` // to compute all turns, without any stored tensors
	Full      int     `json:"full_history_tokens"`
	MiB       int     `json:"memory_mib"`
}

// Table prints the report.
func (r talkReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%s\n\n%9s %14s %8s %9s %22s %8s", r.Model, "exchanges", "first token ms", "prompt", "computed", "full history ms/tokens", "MiB")
	for _, t := range r.Points {
		full := "does not fit"
		if t.FullMS > 0 {
			full = fmt.Sprintf("%.0f / %d", t.FullMS, t.Full)
		}
		p.Line("%9d %14.0f %8d %9d %22s %8d", t.Exchanges, t.FirstMS, t.Prompt, t.Computed, full, t.MiB)
	}
	p.Line("\nfacts of the first exchanges asked for after %d, of %d:", talkAsked, r.Facts)
	for _, mode := range []string{"window", "summary", "conversation"} {
		p.Line("  %-14s %d in their words, %d in other words", mode, r.Recalled[mode], r.Otherwise[mode])
	}
	p.Line("\n%d summaries; the last: %s", r.Summaries, r.Summary)
	return p.Err
}

// talkBench is a measurement in progress.
type talkBench struct {
	*node.Node
	id     conversation.ID
	turns  []conversation.Turn // said so far
	report talkReport
}

func benchConversation(ctx context.Context, s *node.Node, _ node.Options, in io.Reader, stderr io.Writer) (talkReport, error) {
	filler, err := readTurns(in)
	if err != nil {
		return talkReport{}, err
	}
	if err := s.Space(link.DefaultSpace, "notes", false); err != nil {
		return talkReport{}, err
	}
	c, err := s.Conversations.Create(link.DefaultSpace, conversation.Conversation{})
	if err != nil {
		return talkReport{}, err
	}
	b := &talkBench{Node: s, id: c.ID, report: talkReport{Model: s.Engine.Info().Name, Facts: len(toldFacts()), Recalled: map[string]int{}, Otherwise: map[string]int{}}}
	progress := cmdline.Progress(stderr, "exchanges")
	for n := 1; n <= talkLength; n++ {
		if err := b.say(ctx, n, filler); err != nil {
			return b.report, err
		}
		if n%talkStep == 0 {
			if err := b.measure(ctx, n); err != nil {
				return b.report, err
			}
		}
		if n == talkAsked {
			if err := b.askFacts(ctx); err != nil {
				return b.report, err
			}
		}
		progress(float64(n) / talkLength)
	}
	now, _, err := s.Conversations.Get(link.DefaultSpace, b.id)
	b.report.Summary = now.Summary.Text
	return b.report, err
}

func readTurns(in io.Reader) (turns []conversation.Turn, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var t conversation.Turn
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return nil, fault.New(fault.Invalid, "turns", "line %d: %v", len(turns)+1, err)
		}
		turns = append(turns, t)
	}
	if len(turns) < 2 {
		return nil, fault.New(fault.Invalid, "turns", "standard input has %d turns; give JSON lines with role and text", len(turns))
	}
	return turns, lines.Err()
}

// say adds exchange n, and waits for what percached prepares.
func (b *talkBench) say(ctx context.Context, n int, filler []conversation.Turn) error {
	var said []conversation.Turn
	if facts := toldFacts(); n <= len(facts) {
		said = []conversation.Turn{{Role: conversation.User, Text: facts[n-1].said}, {Role: conversation.Assistant, Text: "Thank you, noted."}}
	} else {
		at := 2 * (n - 1) % (len(filler) - 1)
		said = []conversation.Turn{{Role: conversation.User, Text: filler[at].Text}, {Role: conversation.Assistant, Text: filler[at+1].Text}}
	}
	before, _, err := b.Conversations.Get(link.DefaultSpace, b.id)
	if err == nil {
		_, err = b.Conversations.Append(link.DefaultSpace, b.id, said...)
	}
	if err != nil {
		return err
	}
	b.turns = append(b.turns, said...)
	select {
	case <-b.Asker.Prepare(link.DefaultSpace, b.id):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, _, err := b.Conversations.Get(link.DefaultSpace, b.id)
	if after.Summary.Through > before.Summary.Through {
		b.report.Summaries++
	}
	return err
}

// measure asks questions that lean on the conversation, which go on with it.
func (b *talkBench) measure(ctx context.Context, n int) error {
	t := talkTime{Exchanges: n}
	var took []time.Duration
	for _, word := range []string{"today", "before", "last"} {
		a, err := b.ask(ctx, b.id, "What did I tell you earlier, "+word+"?", nil)
		if err != nil {
			return err
		}
		t.Prompt, t.Computed = a.Tokens.Prompt, a.Tokens.Computed
		took = append(took, a.Times.MatchQuestion+a.Times.Retrieve+a.Times.MatchTensors+a.Times.Queue+a.Times.FirstToken)
		<-b.Asker.Prepare(link.DefaultSpace, b.id)
	}
	slices.Sort(took)
	t.FirstMS, t.MiB = float64(took[1].Microseconds())/1000, int(anonymous(os.Getpid())>>20)
	var texts []string
	for _, turn := range b.turns {
		texts = append(texts, turn.Text+"\n")
	}
	segments := b.Engine.Info().Chat.Ask("", texts, "")
	segments = segments[:len(segments)-1]
	for i := range segments[1:] {
		segments[1+i].Kind = percached.KindTurn
	}
	begin := time.Now()
	res, err := b.Engine.Prefill(ctx, percached.Prompt{Segments: segments})
	if err == nil {
		t.FullMS, t.Full = float64(time.Since(begin).Microseconds())/1000, res.Usage.Prompt
	}
	b.report.Points = append(b.report.Points, t)
	return ctx.Err()
}

func (b *talkBench) ask(ctx context.Context, id conversation.ID, text string, earlier []answer.Turn) (answer.Answer, error) {
	return b.Asker.Ask(ctx, answer.Question{Space: link.DefaultSpace, Text: text, Conversation: percached.ChunkID(id), Earlier: earlier, MaxTokens: 48}, answer.Listener{})
}

// askFacts asks for all facts in all modes, each time in a conversation as it is now.
func (b *talkBench) askFacts(ctx context.Context) error {
	now, turns, err := b.Conversations.Get(link.DefaultSpace, b.id)
	if err != nil {
		return err
	}
	window := b.window(turns)
	summary := append([]answer.Turn{{Role: answer.RoleAssistant, Text: "Summary of what was said before: " + now.Summary.Text}}, window[len(window)/8:]...)
	for _, f := range toldFacts() {
		for text, recalled := range map[string]map[string]int{f.asked: b.report.Recalled, f.otherwise: b.report.Otherwise} {
			for mode, earlier := range map[string][]answer.Turn{"window": window, "summary": summary} {
				a, err := b.ask(ctx, conversation.ID{}, text, earlier)
				if err != nil {
					return err
				}
				recalled[mode] += has(a, f.key)
			}
			a, err := b.askCopy(ctx, now, turns, text)
			if err != nil {
				return err
			}
			recalled["conversation"] += has(a, f.key)
		}
	}
	return nil
}

func has(a answer.Answer, key string) int {
	if strings.Contains(strings.ToLower(a.Text), key) {
		return 1
	}
	return 0
}

// askCopy asks in a copy of the conversation, so that no answer helps with another question.
func (b *talkBench) askCopy(ctx context.Context, now conversation.Conversation, turns []conversation.Turn, text string) (a answer.Answer, err error) {
	c, err := b.Conversations.Create(link.DefaultSpace, conversation.Conversation{})
	if err != nil {
		return a, err
	}
	defer func() {
		<-b.Asker.Prepare(link.DefaultSpace, c.ID)
		if _, gone := b.Conversations.Delete(link.DefaultSpace, c.ID); err == nil {
			err = gone
		}
	}()
	if _, err = b.Conversations.Append(link.DefaultSpace, c.ID, slices.Clone(turns)...); err != nil {
		return a, err
	}
	if err = b.Conversations.Summarise(link.DefaultSpace, c, now.Summary.Text, now.Summary.Through); err != nil {
		return a, err
	}
	return b.ask(ctx, c.ID, text, nil)
}

// window is what a prompt has of a conversation without a summary: the latest turns, as
// many as fit into half the context.
func (b *talkBench) window(turns []conversation.Turn) (window []answer.Turn) {
	room := b.Engine.Info().Context*2 - 64
	for _, t := range slices.Backward(turns) {
		if room -= min(len(t.Text), 1024) + 16; room < 0 {
			break
		}
		window = append(window, answer.Turn{Role: t.Role, Text: t.Text})
	}
	slices.Reverse(window)
	return window
}
