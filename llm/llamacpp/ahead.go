package llamacpp

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// ahead computes the tokens of an answer, several in one batch where a draft proposes how
// it goes on. It does so only if the engine computes the same bits for a token alone and
// among others (see Engine.evenBatches): then a draft cannot change the answer.
type ahead struct {
	run    *run
	drafts *drafter // nil: no draft is checked
	chosen []int32  // what the model chooses next, after the token that was given last
}

func (r *run) newAhead() (*ahead, error) {
	p := r.plan.prompt
	a := &ahead{run: r}
	if !p.Drafting || p.Sampling.Temperature > 0 {
		return a, nil
	}
	var err error
	a.drafts, err = newDrafter(p, r.plan.steps, r.vocab)
	return a, err
}

// next returns the next token, if it is known.
func (a *ahead) next() (token int32, known bool) {
	if len(a.chosen) == 0 {
		return 0, false
	}
	token, a.chosen = a.chosen[0], a.chosen[1:]
	return token, true
}

func (a *ahead) uses() []percached.DraftUse {
	if a.drafts == nil {
		return nil
	}
	return a.drafts.uses
}

func (a *ahead) verified() bool { return a.drafts != nil && a.drafts.verified() }

// compute computes a token of the answer at a position, unless it was computed before.
func (a *ahead) compute(ctx context.Context, token int32, pos int) error {
	k := a.run.cache
	if a.drafts == nil {
		return k.decode(ctx, []int32{token}, pos, mainSeq, true, nil)
	}
	a.drafts.answer = append(a.drafts.answer, token)
	if len(a.chosen) > 0 {
		return nil
	}
	room := min(a.run.plan.prompt.MaxTokens-a.run.result.Usage.Generated, k.split-1)
	p := a.drafts.propose(room, a.run.tempo)
	batch := append([]int32{token}, p.tokens...)
	begin := time.Now()
	best, err := k.check(ctx, batch, pos)
	if err != nil {
		return err
	}
	a.run.tempo.took(len(batch), time.Since(begin))
	accepted := 0
	for accepted < len(p.tokens) && best[accepted] == p.tokens[accepted] {
		accepted++
	}
	a.chosen = best[:accepted+1]
	for _, t := range a.chosen {
		if t < 0 { // the values in the cells must not reach a later run, not even masked
			k.clear(true)
			return fault.New(fault.Internal, opDecode, "%w", llm.ErrNotFinite)
		}
	}
	if accepted+1 < len(batch) {
		k.cut(mainSeq, pos+accepted+1)
	}
	if len(p.tokens) > 0 {
		a.drafts.checked(p, accepted)
		a.run.tempo.agreed(p, accepted)
	}
	return nil
}

// batchesFile is the file with what evenBatches found for a model file.
func batchesFile(model string) string { return model + ".percached-batches" }

// evenBatches reports whether a token gets the same bits alone and in a batch with others.
// On a processor the result is kept beside the model file with all that it depends on; what a
// GPU does is measured each time.
func (e *Engine) evenBatches(ctx context.Context) (bool, error) {
	n := min(e.cache.split, mostStored+1)
	if e.info.NoSlices != "" || e.info.NoParallel != "" || n < 2 || e.info.Context < 2*evenPrefix+n {
		return false, nil // among others: a recurrent model cannot remove tokens
	}
	file, cpu := batchesFile(e.config.Model), CPU()
	of := fingerprint(e.info.Fingerprint, e.info.Threads, cpu.Model, cpu.Available, n, evenPrefix, evenTokens)
	if e.info.GPULayers > 0 {
		return e.measureBatches(ctx, n)
	}
	if b, err := os.ReadFile(file); err == nil {
		switch strings.TrimSpace(string(b)) {
		case of + " even":
			return true, nil
		case of + " uneven":
			return false, nil
		}
	}
	even, err := e.measureBatches(ctx, n)
	if err == nil {
		keepBeside(e.config.Model, file, of+" "+map[bool]string{true: "even", false: "uneven"}[even]+"\n")
	}
	return even, err
}

// measureBatches computes a few tokens alone and in batches of up to n, in an empty context.
func (e *Engine) measureBatches(ctx context.Context, n int) (bool, error) {
	k := e.cache
	tokens := make([]int32, evenPrefix+n)
	for i := range tokens {
		tokens[i] = int32((i*7919 + 17) % k.vocabulary)
	}
	defer k.clear(true)
	begin := func() error {
		k.clear(false)
		return k.compute(ctx, &step{tokens: tokens[:evenPrefix]}, mainSeq, false, nil)
	}
	if err := begin(); err != nil {
		return false, err
	}
	var alone [][]float32
	for i := evenPrefix; i < evenPrefix+evenTokens && i < len(tokens); i++ {
		if _, err := k.check(ctx, tokens[i:i+1], i); err != nil {
			return false, err
		}
		alone = append(alone, k.scores(0))
	}
	for _, size := range []int{2, 3, n} {
		if size > n {
			continue
		}
		if err := begin(); err != nil {
			return false, err
		}
		if _, err := k.check(ctx, tokens[evenPrefix:evenPrefix+size], evenPrefix); err != nil {
			return false, err
		}
		for i := range min(size, len(alone)) {
			if !slices.Equal(k.scores(i), alone[i]) {
				return false, nil
			}
		}
	}
	return true, nil
}

// How many tokens measureBatches compares, and how many stand before them.
const evenPrefix, evenTokens = 5, 4
