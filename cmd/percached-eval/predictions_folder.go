package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/reader"
)

const predictSpace = link.DefaultSpace

// The services that are asked. Each uses a copy of the folder.
const (
	coldService      = "cold"      // stores nothing
	reactiveService  = "reactive"  // stores what was asked
	predictedService = "predicted" // also predicted questions before
	warmedService    = "warmed"    // also prefilled chunks before
	idleService      = "idle"      // did both before
)

// predictionBench is one run of bench predict.
type predictionBench struct {
	*predicting
	dir      string
	stderr   io.Writer
	services []*asking // in the order of the report
	report   *predictingReport
	waiting  []string // documents that have not come yet
}

// close closes the services. It may be called twice.
func (b *predictionBench) close() error {
	var errs []error
	for _, a := range b.services {
		errs = append(errs, a.shut())
	}
	return errors.Join(errs...)
}

func (b *predictionBench) folder(name string) string { return filepath.Join(b.dir, name) }

// addDocuments adds the documents to the folder that is copied.
func (b *predictionBench) addDocuments(ctx context.Context) (err error) {
	c := b.Options
	c.Data = b.folder(coldService)
	s, err := node.Open(ctx, c, true, b.stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Space(predictSpace, b.kind, true); err != nil {
		return err
	}
	if err := b.read(ctx, s, b.paths); err != nil {
		return err
	}
	return b.describe(s)
}

// describe fills in what the report says of the service.
func (b *predictionBench) describe(s *node.Node) error {
	st, err := s.Knowledge.Stats(predictSpace)
	if err != nil {
		return err
	}
	if st.Chunks == 0 {
		return fault.New(fault.NotFound, "percached: predict", "found no document to predict from")
	}
	set, err := s.Settings(b.Config)
	b.report.Model, b.report.Placement = s.Engine.Info().Name, set.Placement.String()
	b.report.Documents, b.report.Chunks = st.Documents, st.Chunks
	return err
}

// read adds the documents, and prints those that cannot be read.
func (b *predictionBench) read(ctx context.Context, s *node.Node, paths []string) error {
	rd, err := reader.New(reader.Default())
	if err != nil {
		return err
	}
	report, err := s.Library.Add(ctx, predictSpace, func(ctx context.Context, emit func(*knowledgebank.Source) error, failed func(string, error)) error {
		for _, p := range paths {
			if err := rd.Path(ctx, p, emit, failed); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	for _, f := range report.Failures {
		cmdline.Say(b.stderr, "not read: %s: %s", f.Name, f.Reason)
	}
	return err
}

// listServices lists the services, with their idle work; those that prefill only if that is
// wanted and possible.
func (b *predictionBench) listServices(predicted *ration, idle limits, prefills bool) {
	b.services = []*asking{
		{name: coldService},
		{name: reactiveService, from: coldService},
		{name: predictedService, from: coldService, work: predicted},
	}
	if b.warm > 0 && prefills {
		b.services = append(b.services,
			&asking{name: warmedService, from: coldService, work: &ration{limits: limits{warm: b.warm}}},
			&asking{name: idleService, from: predictedService, work: &ration{limits: idle}})
	}
	for _, a := range b.services {
		a.dir, a.line = b.folder(a.name), &serviceLine{Name: a.name}
	}
}

// prepare makes the copies, runs the idle work of each, and opens them.
func (b *predictionBench) prepare(ctx context.Context) error {
	rest := &ration{limits: limits{rounds: b.rounds, predictions: b.predictions}}
	b.listServices(rest, limits{warm: b.warm}, b.report.Placement == "parallel") // sequential chunks cannot be prefilled alone
	for _, a := range b.services {
		if a.from != "" {
			if err := os.CopyFS(a.dir, os.DirFS(b.folder(a.from))); err != nil {
				return fault.New(fault.Unavailable, "percached: copy", "%w", err)
			}
		}
		if a.work == nil {
			continue
		}
		if err := a.open(ctx, b.Options, b.folder("jobs of "+a.name), b.stderr); err != nil {
			return err
		}
		if err := a.drain(ctx, b.stderr); err != nil {
			return err
		}
		if err := a.shut(); err != nil {
			return err
		}
	}
	for _, a := range b.services {
		if a.name == idleService && b.between { // with the limits of the copied service
			a.work.limits = limits{rounds: rest.rounds, predictions: rest.predictions, warm: a.work.warm}
		}
		if err := a.open(ctx, b.Options, b.folder("jobs of "+a.name), b.stderr); err != nil {
			return err
		}
	}
	return nil
}

// openEmpty opens the services without documents, for documents that come in order.
func (b *predictionBench) openEmpty(ctx context.Context) error {
	for _, p := range b.paths {
		err := filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				b.waiting = append(b.waiting, path)
			}
			return err
		})
		if err != nil {
			return fault.New(fault.Unavailable, "percached: documents", "%w", err)
		}
	}
	predicts := limits{rounds: b.rounds, predictions: b.predictions}
	b.listServices(&ration{limits: predicts}, limits{predicts.rounds, predicts.predictions, b.warm}, true)
	for _, a := range b.services {
		if err := a.open(ctx, b.Options, b.folder("jobs of "+a.name), b.stderr); err != nil {
			return err
		}
		if err := a.Space(predictSpace, b.kind, true); err != nil {
			return err
		}
	}
	return nil
}

// arrive adds the documents up to this one to all services, and lets them rest.
func (b *predictionBench) arrive(ctx context.Context, document string) error {
	i := slices.IndexFunc(b.waiting, func(path string) bool { return strings.HasSuffix(path, document) })
	if !b.inOrder || document == "" || i < 0 { // it is there
		return nil
	}
	for _, path := range b.waiting[:i+1] {
		for _, a := range b.services {
			if err := b.read(ctx, a.Node, []string{path}); err != nil {
				return err
			}
		}
		if err := b.rest(ctx); err != nil {
			return err
		}
	}
	b.waiting = b.waiting[i+1:]
	return b.describe(b.services[0].Node)
}
