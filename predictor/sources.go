package predictor

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// promptWords is how many words of the abstract one prompt contains: what the built-in
// model was trained on and a small model can handle.
const promptWords = 120

// FromKnowledge asks the model what the user might ask about the newest unused parts of
// the abstract, as many as fit into one prompt. It marks them as used even if no question
// was useful. A stride of 0 means the default.
func (p *Predictor) FromKnowledge(ctx context.Context, space string, stride int) (Round, error) {
	const op = "predictor.FromKnowledge"
	words, kind, stride, err := p.prepareRound(space, "knowledge", knowledgePrompt, stride)
	if err != nil {
		return Round{}, fault.Wrap(op, err)
	}
	w := &task{space: kv.NewSpaceID(space)}
	parts, texts, err := p.unusedAbstract(space, w.space)
	if len(parts) == 0 || err != nil {
		return Round{}, fault.Wrap(op, err)
	}
	d := &draft{Predictor: p, space: space, work: w, from: Knowledge, versions: map[percached.ChunkID]uint64{}, stride: stride}
	w.chunks = chunksOf(parts)
	defer p.beginTask(w)()
	res, n, err := p.generate(ctx, d.tokens(), len(parts), 1, func(n int) string {
		return words.fill(strings.Join(texts[:n], "; "), kind, stride)
	})
	if err != nil {
		return Round{Sources: n, Usage: usage(&res)}, fault.Wrap(op, err)
	}
	d.parts = parts[:n]
	p.narrowTask(w, w.chunks[:n])
	for _, pt := range d.parts {
		d.versions[pt.chunk] = pt.version
	}
	r, err := d.finish(ctx, &res)
	return r, fault.Wrap(op, err)
}

func chunksOf(parts []*part) []percached.ChunkID {
	out := make([]percached.ChunkID, len(parts))
	for i, pt := range parts {
		out[i] = pt.chunk
	}
	return out
}

// unusedAbstract selects parts for a prompt, with their texts. It deletes parts whose
// chunk is gone or changed.
func (p *Predictor) unusedAbstract(space string, id kv.SpaceID) (parts []*part, texts []string, err error) {
	for {
		p.mu.RLock()
		var waiting []*part
		if s := p.states[id]; s != nil {
			waiting = s.unusedParts()
		}
		p.mu.RUnlock()
		waiting = waiting[:min(len(waiting), promptWords)] // every part has at least one word
		versions, err := p.versions(space, chunksOf(waiting))
		if err != nil {
			return nil, nil, err
		}
		var dead []*part
		waiting = slices.DeleteFunc(waiting, func(pt *part) bool {
			v, there := versions[pt.chunk]
			if !there || v != pt.version {
				dead = append(dead, pt)
				return true
			}
			return false
		})
		parts, texts, bad, err := p.readParts(id, waiting)
		if err != nil {
			return nil, nil, err
		}
		if dead = append(dead, bad...); len(dead) == 0 {
			return parts, texts, nil
		}
		if err := p.dropParts(id, dead); err != nil {
			return nil, nil, err
		}
	}
}

// readParts reads texts until a prompt is full; bad are the unreadable parts.
func (p *Predictor) readParts(space kv.SpaceID, from []*part) (parts []*part, texts []string, bad []*part, err error) {
	room := promptWords
	err = p.o.DB.View(func(tx *kv.Tx) error {
		for _, pt := range from {
			k := partKey(space, pt.chunk)
			v, err := tx.Get(k)
			var text string
			if err == nil {
				_, text, err = decodePart(k, v)
			}
			switch {
			case fault.KindOf(err) == fault.NotFound: // forgotten a moment ago, or lost
				bad = append(bad, pt)
				continue
			case err != nil && unreadable(err):
				p.damaged(err)
				bad = append(bad, pt)
				continue
			case err != nil:
				return err
			}
			text = strings.TrimRight(text, ". ")
			if room -= wordsOf(text); room < 0 && len(parts) > 0 {
				return nil
			}
			parts, texts = append(parts, pt), append(texts, text)
		}
		return nil
	})
	return parts, texts, bad, err
}

// wordsOf counts words; in scripts without spaces, two characters count as one.
func wordsOf(s string) int {
	return max(1, len(strings.Fields(s)), (len(s)-utf8.RuneCountInString(s))/4)
}

// dropParts deletes parts, unless they were made anew meanwhile.
func (p *Predictor) dropParts(space kv.SpaceID, parts []*part) error {
	p.write.Lock()
	defer p.write.Unlock()
	p.mu.RLock()
	s := p.states[space]
	if s != nil {
		parts = slices.DeleteFunc(parts, func(pt *part) bool { return s.parts[pt.chunk] != pt })
	}
	p.mu.RUnlock()
	if s == nil {
		return nil
	}
	return p.eraseParts(space, s, chunksOf(parts))
}

// Asked is a question of the history and the chunks behind its answer.
type Asked struct {
	Question string
	Chunks   []percached.ChunkID
}

// FromHistory asks the model what the user might ask next. read returns the questions
// asked so far, oldest first; it is called after the task is registered, so that a later
// ForgetHistory voids the result. The prompt contains the latest questions, each once,
// without those whose chunks are gone. A stride of 0 means the default.
func (p *Predictor) FromHistory(ctx context.Context, space string, read func() ([]Asked, error), stride int) (Round, error) {
	const op = "predictor.FromHistory"
	words, kind, stride, err := p.prepareRound(space, "history", historyPrompt, stride)
	if err != nil {
		return Round{}, fault.Wrap(op, err)
	}
	d := &draft{Predictor: p, space: space, from: History, stride: stride}
	d.work = &task{space: kv.NewSpaceID(space), history: true}
	defer p.beginTask(d.work)()
	asked, err := read()
	if err != nil {
		return Round{}, fault.Wrap(op, err)
	}
	asked = distinct(asked, 4*p.o.Buffer) // some of them may be skipped
	p.narrowTask(d.work, citedChunks(asked))
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
	res, n, err := p.generate(ctx, d.tokens(), len(texts), 1, func(n int) string {
		return words.fill(strings.Join(texts[len(texts)-n:], " "), kind, stride)
	})
	if err != nil {
		return Round{Sources: n, Usage: usage(&res)}, fault.Wrap(op, err)
	}
	asked = asked[len(asked)-n:]
	p.narrowTask(d.work, citedChunks(asked))
	for _, a := range asked {
		d.asked = append(d.asked, newID(d.work.space, a.Question))
	}
	r, err := d.finish(ctx, &res)
	return r, fault.Wrap(op, err)
}

// distinct returns the last n different questions, each as one short line.
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

// citedChunks lists the chunks behind these questions, each once.
func citedChunks(asked []Asked) []percached.ChunkID {
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
