package predictor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// knowledge is what is there to be summed up.
type knowledge interface {
	Space(name string) (percached.Space, error)
	// Documents gives up to limit documents by ID, from the one behind after
	// on. An Internal error beside documents names damaged ones.
	Documents(space string, after percached.DocumentID, limit int) ([]percached.Document, error)
	// Chunks leaves out what is gone. An Internal error beside chunks names
	// damaged ones.
	Chunks(space string, ids []percached.ChunkID) ([]percached.Chunk, error)
}

// engine is the language model.
type engine interface {
	Generate(ctx context.Context, p percached.Prompt, emit func(piece string) error) (percached.Result, error)
	Info() percached.ModelInfo
}

// check says what of a guess is of use.
type check interface {
	// Known: the question is in the bank already.
	Known(ctx context.Context, space, question string) (bool, error)
	// Supported: the documents have something to say to it.
	Supported(ctx context.Context, space, question string) (bool, error)
}

// Options say what a predictor works with. Start from Default.
type Options struct {
	DB        *kv.DB
	Knowledge knowledge
	Engine    engine
	Check     check
	// Prompts gives a space's own wording of a prompt: abstract, knowledge or
	// history. It may be nil.
	Prompts func(space, name string) (text string, ok bool, err error)
	Now     func() time.Time
	// AbstractLimit is the most bytes that the texts of a space's abstract take.
	AbstractLimit int64
	// Stride is how many questions are asked for at a time.
	Stride int
	// Buffer is how many questions of the history stand in one prompt.
	Buffer int
	// SummaryTokens bound a summary, QuestionTokens each question of a list.
	SummaryTokens  int
	QuestionTokens int
	Observer       Observer
}

// Observer is told what nobody asked for. Any func may be nil.
type Observer struct {
	// Damaged: a record could not be read and was removed, or a document
	// could not and is passed over.
	Damaged func(err error)
}

const (
	maxStride = 64
	maxBuffer = 256
)

// Default keeps 256 KiB of a space's abstract and asks for five questions.
func Default() Options {
	return Options{
		Now: time.Now, AbstractLimit: 256 << 10, Stride: 5, Buffer: 8,
		SummaryTokens: 128, QuestionTokens: 48,
	}
}

// Validate joins all that is wrong.
func (o Options) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.DB == nil, "no database")
	bad(o.Knowledge == nil, "no knowledge")
	bad(o.Engine == nil, "no engine")
	bad(o.Check == nil, "no check")
	bad(o.Now == nil, "no clock")
	bad(o.AbstractLimit < 0, "abstract limit of %d bytes", o.AbstractLimit)
	bad(o.Stride < 1 || o.Stride > maxStride, "stride: %d is not between 1 and %d", o.Stride, maxStride)
	bad(o.Buffer < 1 || o.Buffer > maxBuffer, "buffer: %d is not between 1 and %d", o.Buffer, maxBuffer)
	bad(o.SummaryTokens < 1, "summary of %d tokens", o.SummaryTokens)
	bad(o.QuestionTokens < 1, "question of %d tokens", o.QuestionTokens)
	return errors.Join(errs...)
}

func (p *Predictor) damaged(err error) {
	if p.o.Observer.Damaged != nil {
		p.o.Observer.Damaged(err)
	}
}
