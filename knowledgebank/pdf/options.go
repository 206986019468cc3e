package pdf

import (
	"errors"
	"fmt"

	"github.com/percached/percached/internal/base/fault"
)

// Options bounds what reading a file may cost, or several that come together.
// What lies behind a limit is left out, and the error says which limit it was.
type Options struct {
	MaxPages int // of each file
	MaxBytes int // decoded, all streams and the text together
	MaxSteps int // operators and characters of all pages together
}

// Default suits a person's documents: thousands of pages pass, and a file made
// to be costly ends within seconds.
func Default() Options {
	return Options{MaxPages: 10_000, MaxBytes: 256 << 20, MaxSteps: 40_000_000}
}

// Validate reports all that is wrong together.
func (o Options) Validate() error {
	var errs []error
	atLeast := func(what string, n int) {
		if n < 1 {
			errs = append(errs, fmt.Errorf("%s is %d, less than 1", what, n))
		}
	}
	atLeast("MaxPages", o.MaxPages)
	atLeast("MaxBytes", o.MaxBytes)
	atLeast("MaxSteps", o.MaxSteps)
	if err := errors.Join(errs...); err != nil {
		return fault.New(fault.Invalid, "pdf.Options", "%w", err)
	}
	return nil
}

// What a file may have at most, beside the options.
const (
	maxObjects = 1 << 20  // entries of the cross-reference table
	maxValues  = 3 << 20  // values in the objects that are loaded
	maxStream  = 64 << 20 // decoded bytes of one stream
	maxLines   = 1 << 16  // lines of one page
	lineCost   = 64       // bytes that a line costs beside its text
	formCost   = 20       // steps that entering a form costs
	fontCost   = 1000     // steps that reading a font costs
)

// budget is what may still be spent on a file.
type budget struct {
	bytes, steps, values int
	err                  error // the limit that was hit; nothing more is read then
	// over says that nobody waits any more, and looks counts what was spent since it
	// was asked.
	over  func() bool
	looks int
}

// lookEvery is how many steps are taken, or KiB decoded, between two looks whether
// anybody still waits.
const lookEvery = 1024

// look ends the reading if nobody waits for it.
func (b *budget) look(spent int) {
	if b.looks += spent; b.looks < lookEvery {
		return
	}
	if b.looks = 0; b.over != nil && b.over() && b.err == nil {
		b.err = fault.New(fault.Timeout, "pdf.Read", "nobody waits for it")
	}
}

func newBudget(o Options) *budget {
	return &budget{bytes: o.MaxBytes, steps: o.MaxSteps, values: maxValues}
}

func (b *budget) exceed(format string, args ...any) {
	if b.err == nil {
		b.err = fault.New(fault.Unsupported, "pdf.limit", "the file is too large: "+format, args...)
	}
}

// step takes one step, false when none is left.
func (b *budget) step() bool { return b.stride(1) }

// stride takes n steps, for what costs as much as they.
func (b *budget) stride(n int) bool {
	if b.steps < n {
		b.exceed("its pages take too many steps")
		return false
	}
	b.steps -= n
	b.look(n)
	return b.err == nil
}

// take takes n bytes, false when they are not left.
func (b *budget) take(n int) bool {
	if n > b.bytes {
		b.bytes = 0
		b.exceed("too many bytes when decoded")
		return false
	}
	b.bytes -= n
	b.look(1 + n>>10)
	return b.err == nil
}
