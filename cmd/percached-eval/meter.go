package main

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/selftest"
)

// meter takes the measurements of bench reuse.
type meter struct {
	e      selftest.Engine
	o      *reuse
	stderr io.Writer
	prompt percached.Prompt

	forms  []*formMeter
	slices []*percached.Slice // of all segments but the last
	logits []float32          // of the first cold run
	equal  bool

	cold, suffix, warm, warmDisk []time.Duration
	restore, restoreDisk         []time.Duration
	capture, coldCapture         []time.Duration
	prefill, decode              []float64 // tokens per second
	barePrefill, bareDecode      []float64
}

// all runs each kind once to warm up, then alternates the kinds.
func (m *meter) all(ctx context.Context) error {
	m.equal = true
	cmdline.Say(m.stderr, "computing the slices")
	if err := m.captured(ctx); err != nil {
		return err
	}
	d, err := selftest.StoreOnDisk(m.e.Info().Fingerprint, m.prompt.Placement, m.slices, m.o.encrypt)
	if err != nil {
		return err
	}
	defer d.Close()
	defer m.closeForms()
	if err := m.openForms(); err != nil {
		return err
	}
	for i := range m.o.runs + 1 {
		if err := m.round(ctx, d); err != nil {
			return err
		}
		if i == 0 {
			m.forget()
			continue
		}
		cmdline.Say(m.stderr, "run %d of %d: cold %.1f ms, warm from memory %.1f ms, from disk %.1f ms, suffix only %.1f ms", i, m.o.runs,
			ms(m.cold[i-1]), ms(m.warm[i-1]), ms(m.warmDisk[i-1]), ms(m.suffix[i-1]))
	}
	return nil
}

// forget discards the measurements of the warm-up.
func (m *meter) forget() {
	for _, d := range []*[]time.Duration{&m.cold, &m.suffix, &m.warm, &m.warmDisk, &m.restore, &m.restoreDisk} {
		*d = nil
	}
	for _, f := range []*[]float64{&m.prefill, &m.decode, &m.barePrefill, &m.bareDecode} {
		*f = nil
	}
	for _, f := range m.forms {
		f.restore, f.memory = nil, nil
	}
	if m.prompt.Planes == percached.QKV {
		m.capture, m.coldCapture = nil, nil
	}
}

// round measures each kind once.
func (m *meter) round(ctx context.Context, d *selftest.Disk) error {
	steps := []func(context.Context) error{
		m.coldRun, m.bareRun, m.decodeRun, m.suffixRun, m.warmRun,
		func(ctx context.Context) error { return m.diskRun(ctx, d) }, m.formRuns,
	}
	if m.prompt.Planes == percached.QKV {
		steps = append(steps, m.captured)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// captured computes the prompt and keeps its slices.
func (m *meter) captured(ctx context.Context) error {
	began := time.Now()
	r, err := m.e.Prefill(ctx, selftest.WithCapture(m.prompt))
	if err != nil {
		return err
	}
	m.coldCapture = append(m.coldCapture, time.Since(began))
	m.capture = append(m.capture, r.Times.Capture)
	m.slices = r.Slices[:len(r.Slices)-1]
	if slices.Contains(m.slices, nil) {
		return fault.New(fault.Unsupported, "percached: reuse", "the engine returned no slice of a segment")
	}
	m.compare(r.Logits)
	return nil
}

func (m *meter) coldRun(ctx context.Context) error {
	began := time.Now()
	r, err := m.e.Prefill(ctx, m.prompt)
	if err != nil {
		return err
	}
	took := time.Since(began)
	m.cold = append(m.cold, took)
	m.prefill = append(m.prefill, float64(r.Usage.Computed)/took.Seconds())
	m.compare(r.Logits)
	return nil
}

func (m *meter) suffixRun(ctx context.Context) error {
	took, err := m.e.SuffixOnly(ctx, selftest.WithSlices(m.prompt, m.slices), 1)
	m.suffix = append(m.suffix, took...)
	return err
}

func (m *meter) warmRun(ctx context.Context) error {
	began := time.Now()
	r, err := m.e.Prefill(ctx, selftest.WithSlices(m.prompt, m.slices))
	if err != nil {
		return err
	}
	m.warm = append(m.warm, time.Since(began))
	m.restore = append(m.restore, r.Times.Restore)
	m.compare(r.Logits)
	return nil
}

// diskRun counts reading and checking the slices as restoring.
func (m *meter) diskRun(ctx context.Context, d *selftest.Disk) error {
	var r percached.Result
	var read time.Duration
	began := time.Now()
	err := d.View(func(lent []*percached.Slice) (err error) {
		read = time.Since(began)
		r, err = m.e.Prefill(ctx, selftest.WithSlices(m.prompt, lent))
		return err
	})
	if err != nil {
		return err
	}
	m.warmDisk = append(m.warmDisk, time.Since(began))
	m.restoreDisk = append(m.restoreDisk, read+r.Times.Restore)
	m.compare(r.Logits)
	return nil
}

func (m *meter) decodeRun(ctx context.Context) error {
	p := selftest.WithSlices(m.prompt, m.slices)
	p.Planes, p.MaxTokens = percached.KV, m.o.generate
	r, err := m.e.Generate(ctx, p, nil)
	if err != nil {
		return err
	}
	// Prefill yields the first token. An end token was decoded, too.
	n := r.Usage.Generated - 1
	if r.Finish == percached.FinishEnd {
		n++
	}
	if n > 0 && r.Times.Decode > 0 {
		m.decode = append(m.decode, float64(n)/r.Times.Decode.Seconds())
	}
	return nil
}

func (m *meter) bareRun(ctx context.Context) error {
	var tokens []int32
	for _, s := range m.prompt.Segments {
		tokens = append(tokens, s.Tokens...)
	}
	n := m.o.generate - 1
	prefill, decode, err := m.e.BareLoop(ctx, tokens, n)
	if err != nil {
		return err
	}
	m.barePrefill = append(m.barePrefill, float64(len(tokens))/prefill.Seconds())
	m.bareDecode = append(m.bareDecode, float64(n)/decode.Seconds())
	return nil
}

func (m *meter) compare(logits []float32) {
	if m.logits == nil {
		m.logits = logits
	}
	m.equal = m.equal && len(logits) > 0 && selftest.SameBits(m.logits, logits)
}
