package predictor

import (
	"context"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Asked is a question of the history, and the chunks that its answer rests on.
type Asked struct {
	Question string
	Chunks   []percached.ChunkID
}

// FromHistory asks the model what the user might ask next, given what was asked,
// oldest first, which read reads: so that nothing is kept of what ForgetHistory comes
// behind. The latest questions go into the prompt, each once; those that rest on a
// chunk which is gone are passed over. A stride of 0 is the usual one.
func (p *Predictor) FromHistory(ctx context.Context, space string, read func() ([]Asked, error), stride int) (Round, error) {
	const op = "predictor.FromHistory"
	words, kind, stride, err := p.asking(space, "history", historyPrompt, stride)
	if err != nil {
		return Round{}, fault.Wrap(op, err)
	}
	d := &draft{Predictor: p, space: space, from: History, stride: stride}
	d.work = &work{space: kv.NewSpaceID(space), history: true}
	defer p.begin(d.work)()
	asked, err := read()
	if err != nil {
		return Round{}, fault.Wrap(op, err)
	}
	asked = distinct(asked, 4*p.o.Buffer) // of which some may have to be passed over
	p.narrow(d.work, rests(asked))
	if d.versions, err = p.versions(space, d.work.chunks); err != nil {
		return Round{}, fault.Wrap(op, err)
	}
	asked = slices.DeleteFunc(asked, func(a Asked) bool {
		return slices.ContainsFunc(a.Chunks, func(c percached.ChunkID) bool {
			_, there := d.versions[c]
			return !there
		})
	})
	asked = asked[max(0, len(asked)-p.o.Buffer):]
	if len(asked) == 0 {
		return Round{}, nil
	}
	var texts []string
	for _, a := range asked {
		texts = append(texts, a.Question)
	}
	res, n, err := p.say(ctx, d.tokens(), len(texts), 1, func(n int) string {
		return words.fill(strings.Join(texts[len(texts)-n:], " "), kind, stride)
	})
	if err != nil {
		return Round{Sources: n, Usage: usage(&res)}, fault.Wrap(op, err)
	}
	asked = asked[len(asked)-n:]
	p.narrow(d.work, rests(asked))
	for _, a := range asked {
		d.asked = append(d.asked, newID(d.work.space, a.Question))
	}
	r, err := d.end(ctx, &res)
	return r, fault.Wrap(op, err)
}

// distinct gives the last n questions of which none is a repeat, each in one
// short line.
func distinct(asked []Asked, n int) []Asked {
	seen := map[string]bool{}
	var out []Asked
	for _, a := range slices.Backward(asked) {
		line := shorten(strings.Join(strings.Fields(strings.ToValidUTF8(a.Question, "")), " "), maxQuestion)
		same := normalise(line)
		if same == "" || seen[same] {
			continue
		}
		seen[same] = true
		if out = append(out, Asked{line, a.Chunks}); len(out) == n {
			break
		}
	}
	slices.Reverse(out)
	return out
}

// rests gives all chunks that questions rest on, each once.
func rests(asked []Asked) []percached.ChunkID {
	seen := map[percached.ChunkID]bool{}
	var out []percached.ChunkID
	for _, a := range asked {
		for _, c := range a.Chunks {
			if !seen[c] {
				seen[c] = true
				out = append(out, c)
			}
		}
	}
	return out
}
