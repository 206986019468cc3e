package predictor

import (
	"cmp"
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/names"
)

// continuePrompt asks for a question whose first words are given.
//
//go:embed prompts/continue.txt
var continuePrompt string

// usual are openings of questions that people ask of their documents in English, for a
// space without a history. {name} is a name in the text.
var usual = []string{"What did {name}", "When is", "Who is {name}", "How much", "What was decided", "Why did {name}", "When did {name}", "Where"}

// openings lists how questions began, most frequent first: two words, and {name} if a name
// follows. Without a history they are the usual ones.
func openings(asked []Asked) []string {
	count := map[string]int{}
	for _, q := range asked {
		words := strings.Fields(q.Question)
		if len(words) < 4 || !isInterrogative(q.Question) {
			continue
		}
		open := strings.Join(words[:2], " ")
		if of := names.In(q.Question, true); len(of) > 0 && strings.HasPrefix(q.Question, open+" "+of[0]) {
			open += " {name}"
		}
		count[open]++
	}
	if len(count) == 0 {
		return usual
	}
	var all []string
	for o := range count {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(a, b)) })
	return all
}

// continued asks the model to end questions about the chunks of the first n parts, as many
// as fit into a prompt. Their beginnings are the space's openings with names of the text:
// forced to begin differently, the questions differ, and each is of a kind that people ask.
// It returns them as the lines of a list.
func (d *draft) continued(ctx context.Context, parts []*part, asked []Asked) (res percached.Result, n int, err error) {
	chunks, err := d.readChunks(chunksOf(parts))
	if len(chunks) == 0 || err != nil {
		return res, len(parts), err
	}
	text, n := describeChunk("", &chunks[0]), 1
	for ; n < len(chunks) && wordsOf(text)+wordsOf(chunks[n].Body) <= d.o.PromptWords; n++ {
		text += "\n\n" + describeChunk("", &chunks[n])
	}
	text = strings.ToValidUTF8(shorten(text, 8*d.o.PromptWords), "")
	var of []string
	for i := range chunks[:n] {
		of = append(of, names.In(chunks[i].Body, false)...)
	}
	var list strings.Builder
	segments := d.o.Engine.Info().Chat.Turn(strings.Replace(strings.TrimSpace(continuePrompt), "{text}", text, 1))
	segments[0].Kind, segments[0].Capture = percached.KindSystem, d.o.Engine.Info().NoSlices == ""
	segments = append(segments, percached.Segment{Kind: percached.KindQuestion})
	begun := 0
	for i, open := range openings(asked) {
		if begun == d.stride {
			break
		}
		if strings.Contains(open, "{name}") {
			if len(of) == 0 {
				continue
			}
			open = strings.Replace(open, "{name}", of[i%len(of)], 1)
		}
		begun++
		segments[1].Texts = []percached.Text{{Text: open}}
		one, err := d.o.Engine.Generate(ctx, percached.Prompt{Segments: segments, Priority: percached.Background, MaxTokens: d.o.QuestionTokens, Stop: []string{"?"}, EndLoops: true}, nil)
		if len(one.Slices) > 0 && one.Slices[0] != nil { // it is computed once
			segments[0].Slice, segments[0].Capture = one.Slices[0], false
		}
		res.Usage.Prompt += one.Usage.Prompt
		res.Usage.Computed += one.Usage.Computed
		res.Usage.Generated += one.Usage.Generated
		res.Times.Prefill += one.Times.Prefill
		res.Times.Decode += one.Times.Decode
		if err != nil {
			return res, n, fault.Wrap("predictor.continued", err)
		}
		if one.Finish == percached.FinishStop && !strings.Contains(one.Text, "\n") {
			list.WriteString(open + one.Text + "?\n")
		}
	}
	res.Text = list.String()
	return res, n, nil
}
