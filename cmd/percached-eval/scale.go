package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

// scaling has the options of bench scale.
type scaling struct {
	of      []string
	points  []int // empty: the usual ones of each curve
	out     string
	runs    int
	mails   int // in the space of the curves that do not vary them
	seconds float64
	asJSON  bool
}

const scaleMost = 390_625 // there are as many names of four syllables

func scaleCommand() *cobra.Command {
	o := scaling{of: scaleNames(), mails: 1000}
	cmd := &cobra.Command{
		Use:   "scale",
		Short: "Measure how time, memory and disk grow with chunks, stored answers, spaces, clients and questions",
		Long: `Starts daemons with new data folders, fills them with invented mails, and measures at each
point of a curve:

  chunks     adding, searching, and questions with nothing stored, in one space
  entries    the same words, other words, and questions that are not in the bank
  spaces     searching in a space that is not open, and in one that is
  clients    stored answers a second
  questions  the latest questions of a daemon: of 20, one is new, the others repeat

Each point has the anonymous and resident memory of the daemon. But for clients, the daemon
is also stopped and started again: the point has the disk space of its folder, and the time
from the start of the process until it is ready and until it has answered a search. Entries
are put into the bank directly, as bench hits does.

--out stores each point as a line of JSON. The same command continues an interrupted run:
points in the file are not measured again. The daemons take their settings from the
environment, such as PERCACHED_MODEL=FILE. Without it they use the built-in model, because
this measures everything but the model. Idle work is off.

The exit status is 1 if a request of a client failed.`,
		Args: cobra.NoArgs,
		Example: `  percached-eval bench scale --out scale.json
  percached-eval bench scale --of chunks,spaces --points 10,100,1000`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			r, err := o.run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := r.show(cmd.OutOrStdout(), o.asJSON); err != nil {
				return err
			}
			return r.verdict()
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.of, "of", o.of, "Curves to measure")
	f.IntSliceVar(&o.points, "points", nil, "Points of these curves (default: "+scaleDefaults()+")")
	f.StringVar(&o.out, "out", "", "File for the points, one a line (default: not stored)")
	f.IntVar(&o.runs, "runs", 200, "Number of searches, or of questions, at a point")
	f.Float64Var(&o.seconds, "seconds", 3, "Length of a round of many clients in seconds")
	f.BoolVar(&o.asJSON, "json", false, "Print the points as --out stores them")
	return cmd
}

// scaleDefaults lists the usual points of the curves.
func scaleDefaults() string {
	var all []string
	for _, c := range scaleCurves() {
		last := len(c.points) - 1
		all = append(all, fmt.Sprintf("%s %d to %d", c.name, c.points[0], c.points[last]))
	}
	return strings.Join(all, ", ")
}

func (o *scaling) check() error {
	for _, name := range o.of {
		if !slices.Contains(scaleNames(), name) {
			return cmdline.Misusef("--of: there is no curve %q; the curves are %s", name, strings.Join(scaleNames(), ", "))
		}
	}
	for _, n := range o.points {
		if n < 1 || n > scaleMost {
			return cmdline.Misusef("--points must be from 1 to %d, not %d", scaleMost, n)
		}
	}
	if len(o.of) == 0 || o.runs < 1 || o.seconds <= 0 {
		return cmdline.Misusef("--of must name a curve, and --runs and --seconds must be positive")
	}
	slices.Sort(o.points)
	o.points = slices.Compact(o.points)
	return nil
}

// scaleValues are the measured values of a point by name. The end of a name is its unit.
type scaleValues map[string]float64

// scalePoint is a line of the file.
type scalePoint struct {
	Of      string      `json:"of"` // name of the curve
	N       int         `json:"n"`
	Model   string      `json:"model"`
	Commit  string      `json:"commit,omitempty"`
	CPUs    int         `json:"cpus"`
	Seconds float64     `json:"seconds"` // that filling and measuring took
	Values  scaleValues `json:"values"`
}

// scaleRun is a measurement in progress.
type scaleRun struct {
	*scaling
	dir      string // for data folders
	stderr   io.Writer
	out      *os.File // nil: none
	progress *scaleProgress
	began    time.Time // of the point
	of       string
	points   []scalePoint
}

func (o *scaling) run(ctx context.Context, stderr io.Writer) (_ *scaleReport, err error) {
	r := &scaleRun{scaling: o, stderr: stderr}
	if o.out != "" {
		if r.points, err = readScale(o.out); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if r.out, err = os.OpenFile(o.out, os.O_WRONLY|os.O_CREATE, 0o644); err == nil {
			err = r.rewind()
		}
		if err != nil {
			return nil, fault.New(fault.Unavailable, scaleOp, "cannot write the points: %w", err)
		}
		defer func() { err = errors.Join(err, r.out.Close()) }()
	}
	if r.dir, err = os.MkdirTemp("", "percached-"); err != nil {
		return nil, fault.New(fault.Unavailable, scaleOp, "%w", err)
	}
	defer os.RemoveAll(r.dir)
	pending := map[string][]int{}
	r.progress = &scaleProgress{w: stderr, began: time.Now()}
	for _, c := range r.chosen() {
		pending[c.name] = r.pending(c)
		r.progress.total += c.cost(0, pending[c.name])
	}
	for _, c := range r.chosen() {
		if len(pending[c.name]) == 0 {
			continue
		}
		r.of, r.began = c.name, time.Now()
		if err := r.measure(ctx, c, pending[c.name]); err != nil {
			r.progress.clear()
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	r.progress.clear()
	return r.report(), nil
}

// measure measures points of a curve on a new daemon, which the curve starts.
func (r *scaleRun) measure(ctx context.Context, c *scaleCurve, points []int) (err error) {
	d, err := newScaleDaemon(r.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	return c.measure(ctx, r, d, points)
}

// rewind goes to the end of the last whole line of the file.
func (r *scaleRun) rewind() error {
	b, err := os.ReadFile(r.scaling.out)
	if err != nil {
		return err
	}
	whole := int64(strings.LastIndexByte(string(b), '\n') + 1)
	if err := r.out.Truncate(whole); err != nil {
		return err
	}
	_, err = r.out.Seek(whole, io.SeekStart)
	return err
}

// chosen are the curves to measure.
func (o *scaling) chosen() []*scaleCurve {
	return slices.DeleteFunc(scaleCurves(), func(c *scaleCurve) bool { return !slices.Contains(o.of, c.name) })
}

// pending are the points of a curve that the file does not have.
func (r *scaleRun) pending(c *scaleCurve) (ns []int) {
	all := c.points
	if len(r.scaling.points) > 0 {
		all = r.scaling.points
	}
	for _, n := range all {
		if !slices.ContainsFunc(r.points, func(p scalePoint) bool { return p.Of == c.name && p.N == n }) {
			ns = append(ns, n)
		}
	}
	return ns
}

// add records a point. The time of the next one begins.
func (r *scaleRun) add(n int, v scaleValues) error {
	p := scalePoint{
		Of: r.of, N: n, Model: cmp.Or(os.Getenv("PERCACHED_MODEL"), "built-in"), Commit: commit(), CPUs: runtime.NumCPU(),
		Seconds: time.Since(r.began).Seconds(), Values: v,
	}
	r.began = time.Now()
	r.points = append(r.points, p)
	if r.out == nil {
		return nil
	}
	b, err := json.Marshal(p)
	if err == nil {
		_, err = r.out.Write(append(b, '\n'))
	}
	if err != nil {
		return fault.New(fault.Unavailable, scaleOp, "cannot write the points: %w", err)
	}
	return nil
}

// report has the points of the chosen curves, in order.
func (r *scaleRun) report() *scaleReport {
	var s scaleReport
	for _, c := range r.chosen() {
		for _, p := range r.points {
			if p.Of == c.name {
				s.Points = append(s.Points, p)
			}
		}
	}
	s.sort()
	return &s
}

// readScale reads a file of points. A last line that is not whole is left out.
func readScale(path string) (all []scalePoint, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.New(fault.NotFound, scaleOp, "%w", err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		var p scalePoint
		switch {
		case !strings.HasSuffix(line, "\n"), strings.TrimSpace(line) == "":
		case json.Unmarshal([]byte(line), &p) != nil || !slices.Contains(scaleNames(), p.Of) || p.N < 1 || len(p.Values) == 0:
			return nil, fault.New(fault.Invalid, scaleOp, "line %d of %s is not a point that bench scale stores with --out", n, path)
		default:
			all = append(all, p)
		}
	}
	return all, nil
}

// scaleProgress shows how much is done and how long the rest takes.
type scaleProgress struct {
	w                 io.Writer
	began             time.Time
	total, done, part float64 // estimated seconds; part is that in progress
	what, last        string
}

// begin begins a part.
func (p *scaleProgress) begin(what string, cost float64) {
	p.what, p.part = what, cost
	p.at(0)
}

// at shows progress within the part, from 0 to 1.
func (p *scaleProgress) at(of1 float64) {
	done := p.done + p.part*of1
	left := p.total - done
	if done > p.total/50 { // the machine is known
		left *= time.Since(p.began).Seconds() / done
	}
	label := p.what
	if cmdline.Terminal(p.w) {
		fmt.Fprintf(p.w, "\r\033[K%3.0f %%: %s, about %v left", 100*done/max(p.total, 1), label, time.Duration(left*float64(time.Second)).Round(time.Second))
		return
	}
	if label += " " + strconv.Itoa(int(4*of1)); label != p.last {
		p.last = label
		cmdline.Say(p.w, "%3.0f %%: %s, about %v left", 100*done/max(p.total, 1), p.what, time.Duration(left*float64(time.Second)).Round(time.Second))
	}
}

// end ends the part.
func (p *scaleProgress) end() { p.done, p.part = p.done+p.part, 0 }

func (p *scaleProgress) clear() {
	if cmdline.Terminal(p.w) {
		fmt.Fprint(p.w, "\r\033[K")
	}
}
