package main

import (
	"maps"
	"time"

	"github.com/percached/percached/scheduler"
)

// effort is what jobs took.
type effort struct {
	Jobs      int     `json:"jobs"` // that did something
	Failed    int     `json:"failed"`
	Seconds   float64 `json:"seconds"`
	Processor float64 `json:"cpu_seconds"` // of all cores; 0 where the system does not tell
	Computed  int     `json:"computed_tokens"`
	Generated int     `json:"generated_tokens"`
	Slices    int     `json:"slices"` // that they stored
}

func (e effort) plus(o effort) effort {
	return effort{
		e.Jobs + o.Jobs, e.Failed + o.Failed, e.Seconds + o.Seconds, e.Processor + o.Processor,
		e.Computed + o.Computed, e.Generated + o.Generated, e.Slices + o.Slices,
	}
}

// compute is the processor's time where it is known: other work on the machine
// changes it less.
func (e effort) compute() float64 {
	if e.Processor > 0 {
		return e.Processor
	}
	return e.Seconds
}

// tally is what idle work took, by kind.
type tally struct {
	Total effort                    `json:"total"`
	Kinds map[scheduler.Kind]effort `json:"kinds"`
}

func (t *tally) add(k scheduler.Kind, e effort) {
	if t.Kinds == nil {
		t.Kinds = map[scheduler.Kind]effort{}
	}
	t.Kinds[k] = t.Kinds[k].plus(e)
	t.Total = t.Total.plus(e)
}

func (t *tally) plus(o tally) {
	for k, e := range o.Kinds {
		t.add(k, e)
	}
}

func (t tally) copied() tally { return tally{t.Total, maps.Clone(t.Kinds)} }

// count counts a job that ended.
func (t *tally) count(s scheduler.Step, processor time.Duration, slices int) {
	e := effort{Seconds: s.Took.Seconds(), Processor: processor.Seconds(), Computed: s.Done.Computed, Generated: s.Done.Generated, Slices: slices}
	switch s.End {
	case scheduler.EndDone:
		e.Jobs = 1
	case scheduler.EndFailed, scheduler.EndParked:
		e.Failed = 1
	}
	t.add(s.Job.Kind, e)
}

// population is the work that the scheduler does otherwise, or at another time.
func (t tally) population() (e effort) {
	for _, k := range []scheduler.Kind{scheduler.Populate, scheduler.Decode, scheduler.Restore} {
		e = e.plus(t.Kinds[k])
	}
	return e
}
