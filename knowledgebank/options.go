package knowledgebank

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"
)

// Options say how a bank takes documents in. Start from Default.
type Options struct {
	// ChunkWords is how long a chunk is, about.
	ChunkWords int
	// Now is the clock.
	Now func() time.Time
	// Random is where the secrets of spaces come from.
	Random   io.Reader
	Observer Observer
}

// Observer is told what nobody asked for. Any func may be nil.
type Observer struct {
	// Damaged: a record cannot be read, and its chunk was passed over.
	Damaged func(err error)
}

// Default is what the built-in models were made for.
func Default() Options { return Options{ChunkWords: 100, Now: time.Now, Random: rand.Reader} }

// Validate joins all that is wrong.
func (o Options) Validate() error {
	var errs []error
	if o.ChunkWords < 20 || o.ChunkWords > 400 {
		errs = append(errs, fmt.Errorf("chunks of %d words are not between 20 and 400", o.ChunkWords))
	}
	if o.Now == nil {
		errs = append(errs, errors.New("there is no clock"))
	}
	if o.Random == nil {
		errs = append(errs, errors.New("there is no randomness"))
	}
	return errors.Join(errs...)
}
