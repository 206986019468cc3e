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

// promptWords is how much of the abstract one prompt holds: what the built-in
// model was trained on, and a small model can keep in mind.
const promptWords = 120

// FromKnowledge asks the model what the user might ask about the newest parts of
// the abstract that no prediction was made from yet, so many as go into one
// prompt. They are used up by it, even if nothing of use came. A stride of 0 is
// the usual one.
func (p *Predictor) FromKnowledge(ctx context.Context, space string, stride int) (Round, error) {
	const op = "predictor.FromKnowledge"
	words, kind, stride, err := p.asking(space, "knowledge", knowledgePrompt, stride)
	if err != nil {
		return Round{}, fault.Wrap(op, err)
	}
	w := &work{space: kv.NewSpaceID(space)}
	parts, texts, err := p.pick(space, w.space)
	if len(parts) == 0 || err != nil {
		return Round{}, fault.Wrap(op, err)
	}
	d := &draft{Predictor: p, space: space, work: w, from: Knowledge, versions: map[percached.ChunkID]uint64{}, stride: stride}
	w.chunks = chunksOf(parts)
	defer p.begin(w)()
	res, n, err := p.say(ctx, d.tokens(), len(parts), 1, func(n int) string {
		return words.fill(strings.Join(texts[:n], "; "), kind, stride)
	})
	if err != nil {
		return Round{Sources: n, Usage: usage(&res)}, fault.Wrap(op, err)
	}
	d.parts = parts[:n]
	p.narrow(w, w.chunks[:n])
	for _, pt := range d.parts {
		d.versions[pt.chunk] = pt.version
	}
	r, err := d.end(ctx, &res)
	return r, fault.Wrap(op, err)
}

func chunksOf(parts []*part) []percached.ChunkID {
	out := make([]percached.ChunkID, len(parts))
	for i, pt := range parts {
		out[i] = pt.chunk
	}
	return out
}

// pick takes parts for a prompt, with their texts as they stand in it. Those
// whose chunk is gone or another by now are removed.
func (p *Predictor) pick(space string, id kv.SpaceID) (parts []*part, texts []string, err error) {
	for {
		p.mu.RLock()
		var waiting []*part
		if s := p.shelves[id]; s != nil {
			waiting = s.waiting()
		}
		p.mu.RUnlock()
		waiting = waiting[:min(len(waiting), promptWords)] // a part has a word at least
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
		parts, texts, bad, err := p.read(id, waiting)
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

// read reads texts until a prompt is full; bad are parts that cannot be read.
func (p *Predictor) read(space kv.SpaceID, from []*part) (parts []*part, texts []string, bad []*part, err error) {
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

// wordsOf counts words; in writing without spaces, two characters are one.
func wordsOf(s string) int {
	return max(1, len(strings.Fields(s)), (len(s)-utf8.RuneCountInString(s))/4)
}

// dropParts removes parts, unless they were made anew meanwhile.
func (p *Predictor) dropParts(space kv.SpaceID, parts []*part) error {
	p.write.Lock()
	defer p.write.Unlock()
	p.mu.RLock()
	s := p.shelves[space]
	if s != nil {
		parts = slices.DeleteFunc(parts, func(pt *part) bool { return s.parts[pt.chunk] != pt })
	}
	p.mu.RUnlock()
	if s == nil {
		return nil
	}
	return p.eraseParts(space, s, chunksOf(parts))
}
