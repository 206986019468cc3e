package main

import (
	"maps"
	"time"

	"github.com/percached/percached/scheduler"
)

// effort is the cost of jobs.
type effort struct {
	Jobs      int     `json:"jobs"` // without those that found no work
	Failed    int     `json:"failed"`
	Seconds   float64 `json:"seconds"`
	Processor float64 `json:"cpu_seconds"` // of all cores; 0 if unknown
	Computed  int     `json:"computed_tokens"`
	Generated int     `json:"generated_tokens"`
	Slices    int     `json:"slices"` // stored slices
}

func (e effort) plus(o effort) effort {
	return effort{
		e.Jobs + o.Jobs, e.Failed + o.Failed, e.Seconds + o.Seconds, e.Processor + o.Processor,
		e.Computed + o.Computed, e.Generated + o.Generated, e.Slices + o.Slices,
	}
}

// compute is the processor time, or the elapsed time if that is unknown. Other programs
// affect processor time less.
func (e effort) compute() float64 {
	if e.Processor > 0 {
		return e.Processor
	}
	return e.Seconds
}

// tally is the cost of idle work by kind.
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

// population is the work that depends on the scheduler.
func (t tally) population() (e effort) {
	for _, k := range []scheduler.Kind{scheduler.Populate, scheduler.Decode, scheduler.Restore} {
		e = e.plus(t.Kinds[k])
	}
	return e
}
