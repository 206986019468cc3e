package main

import (
	"context"
	"io"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/llm"
)

// packedForms lists the forms that are smaller than exact slices.
func packedForms() []percached.Form { return percached.Forms()[1:] }

// packSlices packs all slices but the first, which is the system segment's.
func packSlices(e selftest.Engine, all []*percached.Slice, to percached.Form) ([]*percached.Slice, error) {
	packer, ok := e.(llm.Packer)
	if !ok {
		return nil, fault.New(fault.Unsupported, "percached: pack", "this engine does not pack slices")
	}
	packed := append([]*percached.Slice(nil), all...)
	for i := 1; i < len(all); i++ {
		var err error
		if packed[i], err = packer.Pack(all[i], to); err != nil {
			return nil, err
		}
	}
	return packed, nil
}

// formTimes are the measurements of bench reuse with the chunks in one form.
type formTimes struct {
	Form            percached.Form `json:"form"`
	BytesPerToken   float64        `json:"bytes_per_token"`
	Smaller         float64        `json:"smaller"` // bytes of the exact slices / bytes
	PackMs          float64        `json:"pack_ms"`
	RestoreMs       float64        `json:"restore_ms"`        // from disk
	RestoreMemoryMs float64        `json:"restore_memory_ms"` // checking and loading alone
	RestoreOfExact  float64        `json:"restore_of_exact"`  // median of the rounds' own ratios
}

// formMeter measures one form beside the exact one.
type formMeter struct {
	form            percached.Form
	slices          []*percached.Slice
	disk            *selftest.Disk
	pack            time.Duration
	restore, memory []float64 // ms
}

// openForms packs the slices and stores them on disk. Models without smaller forms have
// none.
func (m *meter) openForms() error {
	for _, form := range packedForms() {
		began := time.Now()
		packed, err := packSlices(m.e, m.slices, form)
		if fault.KindOf(err) == fault.Unsupported {
			cmdline.Say(m.stderr, "no other forms: %s", cmdline.Sentence(err))
			return nil
		}
		if err != nil {
			return err
		}
		f := &formMeter{form: form, slices: packed, pack: time.Since(began)}
		m.forms = append(m.forms, f)
		if f.disk, err = selftest.StoreOnDisk(m.e.Info().Fingerprint, m.prompt.Placement, packed, m.o.encrypt); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) closeForms() {
	for _, f := range m.forms {
		if f.disk != nil {
			f.disk.Close()
		}
	}
}

// formRuns restores the chunks from each form.
func (m *meter) formRuns(ctx context.Context) error {
	for _, f := range m.forms {
		read, loaded, err := m.restoreFrom(ctx, f.disk)
		if err != nil {
			return err
		}
		f.restore, f.memory = append(f.restore, ms(read+loaded)), append(f.memory, ms(loaded))
	}
	return nil
}

func (m *meter) restoreFrom(ctx context.Context, d *selftest.Disk) (read, loaded time.Duration, err error) {
	began := time.Now()
	err = d.View(func(lent []*percached.Slice) error {
		read = time.Since(began)
		r, err := m.e.Prefill(ctx, selftest.WithSlices(m.prompt, lent))
		loaded = r.Times.Restore
		return err
	})
	return read, loaded, err
}

func (m *meter) formReport() []formTimes {
	bytes := func(slices []*percached.Slice) (n, tokens float64) {
		for _, s := range slices[1:] {
			n, tokens = n+float64(s.Bytes()), tokens+float64(len(s.Tokens))
		}
		return n, tokens
	}
	exact := make([]float64, len(m.restoreDisk))
	for i, d := range m.restoreDisk {
		exact[i] = ms(d)
	}
	var out []formTimes
	all, tokens := bytes(m.slices)
	for _, f := range m.forms {
		n, _ := bytes(f.slices)
		out = append(out, formTimes{
			Form: f.form, BytesPerToken: ratio(n, tokens), Smaller: ratio(all, n), PackMs: ms(f.pack),
			RestoreMs: median(f.restore), RestoreMemoryMs: median(f.memory), RestoreOfExact: median(ratios(f.restore, exact)),
		})
	}
	return out
}

// formAnswer compares an answer over packed chunks with the exact one.
type formAnswer struct {
	Form   percached.Form `json:"form"`
	Answer string         `json:"answer"`
	Same   bool           `json:"same"` // as the exact answer, to the letter
	// Loss is by how much the model's prediction of the next token is worse, in nats: the
	// divergence from the exact one, on average behind the prompt and behind half of the
	// exact answer.
	Loss float64 `json:"loss"`
}

// formTally adds up the comparisons of one form.
type formTally struct {
	n, same int
	loss    float64
}

// compareForms answers a prompt from packed chunks in each form.
func compareForms(ctx context.Context, e selftest.Engine, p percached.Prompt, exact percached.Result) ([]formAnswer, error) {
	last := len(p.Segments) - 1
	halfway := p
	halfway.Segments = append([]percached.Segment(nil), p.Segments...)
	half := percached.Text{Text: exact.Text[:len(exact.Text)/2]}
	halfway.Segments[last].Texts = append(append([]percached.Text(nil), p.Segments[last].Texts...), half)
	whole, err := e.Prefill(ctx, selftest.WithSlices(halfway, exact.Slices[:last]))
	if err != nil {
		return nil, err
	}
	var out []formAnswer
	for _, form := range packedForms() {
		packed, err := packSlices(e, exact.Slices[:last], form)
		if err != nil {
			return out, err
		}
		r, err := e.Generate(ctx, selftest.WithSlices(p, packed), nil)
		if err != nil {
			return out, err
		}
		h, err := e.Prefill(ctx, selftest.WithSlices(halfway, packed))
		if err != nil {
			return out, err
		}
		loss := (percached.Divergence(exact.Logits, r.Logits) + percached.Divergence(whole.Logits, h.Logits)) / 2
		out = append(out, formAnswer{Form: form, Answer: r.Text, Same: r.Text == exact.Text, Loss: loss})
	}
	return out, nil
}

func tellForms(stderr io.Writer, tallies map[percached.Form]formTally) {
	for _, form := range packedForms() {
		if t := tallies[form]; t.n > 0 {
			cmdline.Say(stderr, "%s: %d of %d answers are the same; loss %.4f nats", form, t.same, t.n, t.loss/float64(t.n))
		}
	}
}
