package predictor

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// FromKnowledge predicts what the user might ask about the newest unused parts of the
// abstract, as many as fit into one prompt: from the form of their sentences, by analogy
// to the history, and by asking the model. It marks them as used even if no question was
// useful. A stride of 0 means the default.
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
	w.chunks, w.history = chunksOf(parts), true
	defer p.beginTask(w)()
	asked, err := d.history()
	if err != nil {
		return Round{}, fault.Wrap(op, err)
	}
	var res percached.Result
	n := len(parts)
	if p.follows(words) {
		res, n, err = p.generate(ctx, d.tokens(), n, 1, func(n int) string {
			return words.fill(strings.Join(texts[:n], "; "), kind, stride)
		})
	} else {
		res, n, err = d.continued(ctx, parts, asked)
	}
	if err != nil {
		return Round{Sources: n, Usage: usage(&res)}, fault.Wrap(op, err)
	}
	d.parts, d.chunks = parts[:n], chunksOf(parts[:n])
	for _, pt := range d.parts {
		d.versions[pt.chunk] = pt.version
	}
	r, err := d.finish(ctx, &res, d.chunks, asked)
	return r, fault.Wrap(op, err)
}

// remembered is how many different questions of the history are considered.
const remembered = 256

// history returns the latest different questions whose chunks exist. The round depends on
// these chunks from now on.
func (d *draft) history() ([]Asked, error) {
	if d.o.Asked == nil {
		return nil, nil
	}
	asked, err := d.o.Asked(d.space)
	if err != nil {
		return nil, err
	}
	asked = distinct(asked, remembered)
	cited := citedChunks(asked)
	d.widenTask(cited)
	versions, err := d.Predictor.versions(d.space, cited)
	if err != nil {
		return nil, err
	}
	maps.Copy(d.versions, versions)
	return slices.DeleteFunc(asked, func(a Asked) bool {
		return slices.ContainsFunc(a.Chunks, func(c percached.ChunkID) bool {
			_, there := versions[c]
			return !there
		})
	}), nil
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
		waiting = waiting[:min(len(waiting), p.o.PromptWords)] // every part has at least one word
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
	room := p.o.PromptWords
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

// FromHistory predicts what the user might ask next: by analogy to earlier questions, about
// names in the newest documents, and by asking the model. The prompt contains the latest
// questions, each once, without those whose chunks are gone. A stride of 0 means the
// default.
func (p *Predictor) FromHistory(ctx context.Context, space string, stride int) (Round, error) {
	const op = "predictor.FromHistory"
	words, kind, stride, err := p.prepareRound(space, "history", historyPrompt, stride)
	if err != nil {
		return Round{}, fault.Wrap(op, err)
	}
	d := &draft{Predictor: p, space: space, from: History, versions: map[percached.ChunkID]uint64{}, stride: stride}
	d.work = &task{space: kv.NewSpaceID(space), history: true}
	defer p.beginTask(d.work)()
	all, err := d.history()
	if len(all) == 0 || err != nil {
		return Round{}, fault.Wrap(op, err)
	}
	asked := all[max(0, len(all)-p.o.Buffer):]
	n := len(asked)
	var res percached.Result
	if p.follows(words) {
		res, n, err = p.generate(ctx, d.tokens(), n, 1, func(n int) string {
			var texts []string
			for _, a := range asked[len(asked)-n:] {
				texts = append(texts, a.Question)
			}
			return words.fill(strings.Join(texts, " "), kind, stride)
		})
		if err != nil {
			return Round{Sources: n, Usage: usage(&res)}, fault.Wrap(op, err)
		}
	}
	asked = asked[len(asked)-n:]
	d.chunks = citedChunks(asked)
	for _, a := range asked {
		d.asked = append(d.asked, newID(d.work.space, a.Question))
	}
	newest, err := p.newestChunks(ctx, space)
	if err != nil {
		return Round{Sources: n, Usage: usage(&res)}, fault.Wrap(op, ignoreGone(err))
	}
	r, err := d.finish(ctx, &res, append(slices.Clone(d.chunks), newest...), all)
	return r, fault.Wrap(op, err)
}

// searched is how many chunks of the newest documents are searched for names.
const searched = 64

func (p *Predictor) newestChunks(ctx context.Context, space string) ([]percached.ChunkID, error) {
	documents, err := p.documents(ctx, space)
	if err != nil {
		return nil, err
	}
	_, order := chunkRecency(documents)
	return order[:min(len(order), searched)], nil
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
