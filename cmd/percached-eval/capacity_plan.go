package main

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

// capacityReport is the report of percached-eval capacity.
type capacityReport struct {
	Users   int          `json:"users"`
	Profile string       `json:"profile"`
	Seed    uint64       `json:"seed"`
	With    capacityPlan `json:"with"`
	Without capacityPlan `json:"without"` // every answer is computed with nothing stored
}

// capacityPlan is a plan with percached, or without. Times are in seconds.
type capacityPlan struct {
	Nodes int `json:"nodes"`
	// The least nodes for one reason alone: waits, idle work, memory. Pooled is for waits if every
	// node could answer every question: the computing time of the busiest moment.
	ForWaits  int `json:"nodes_for_waits"`
	ForIdle   int `json:"nodes_for_idle_work"`
	ForMemory int `json:"nodes_for_memory"`
	Pooled    int `json:"nodes_if_pooled"`

	Simulated int `json:"simulated_nodes"`
	Asked     int `json:"asked"` // on the simulated nodes, like what follows
	Bank      int `json:"stored_answers"`
	Warm      int `json:"computed_with_stored_tensors"`
	Cold      int `json:"computed_with_nothing_stored"`

	Model  float64 `json:"model_s_per_question"`
	Idle   float64 `json:"idle_s_per_question"`
	Wait50 float64 `json:"wait_p50_s"`
	Wait99 float64 `json:"wait_p99_s"`
	Took50 float64 `json:"answer_p50_s"`
	Took99 float64 `json:"answer_p99_s"`
	Load   float64 `json:"load"` // share of the day that the nodes' models are busy, idle work included

	PerDay     float64 `json:"questions_a_day"` // of all users
	BytesUser  int64   `json:"bytes_a_user"`
	BytesAll   int64   `json:"bytes"`
	Machines   float64 `json:"dollars_per_1000_machines"`
	Disk       float64 `json:"dollars_per_1000_disk"`
	Bill       float64 `json:"dollars_per_1000"`
	BillPooled float64 `json:"dollars_per_1000_if_pooled"`
}

const day = 24 * 3600.0 // in seconds

// busiest is the largest share of a node's day that its model may compute.
const busiest = 0.9

// plan plans with percached and without.
func (o *capacity) plan(ctx context.Context, p persona.Profile) (*capacityReport, error) {
	r := &capacityReport{Users: o.users, Profile: p.Name, Seed: o.seed}
	var err error
	c := chances{o.repeat, o.paraphrase, o.other, stored(o.room)}
	bytes := int64(o.documents) + int64(o.room*float64(o.tensors))
	if r.With, err = o.planOne(ctx, p, c, o.idle, bytes); err != nil {
		return nil, err
	}
	r.Without, err = o.planOne(ctx, p, chances{}, 0, int64(o.documents))
	return r, err
}

func (o *capacity) planOne(ctx context.Context, p persona.Profile, c chances, idle float64, bytes int64) (capacityPlan, error) {
	// The mean computing time depends on no number of nodes.
	start := min(o.users, max(o.nodes, ceil(perDay(p)*float64(o.users)/float64(o.sample))))
	s, some, err := o.try(ctx, p, c, start)
	if err != nil {
		return capacityPlan{}, err
	}
	out := capacityPlan{
		PerDay: perDay(p) * float64(o.users), Idle: idle * o.cold.Seconds(),
		BytesUser: bytes, BytesAll: bytes * int64(o.users),
	}
	model := ratio(s.model, float64(s.asked))
	out.ForMemory = ceil(float64(o.users) * float64(o.userMemory) / float64(o.memory))
	out.ForIdle = ceil(out.PerDay * (model + out.Idle) / (busiest * day))
	out.Pooled = ceil(out.PerDay * o.peak / (3600 * (persona.AskUntil - persona.AskFrom)) * model)
	if out.Nodes = o.nodes; o.nodes == 0 {
		if out.ForWaits, err = o.least(ctx, p, c, out.Pooled); err != nil {
			return out, err
		}
		out.Nodes = min(o.users, max(out.ForWaits, out.ForIdle, out.ForMemory))
		if s, some, err = o.try(ctx, p, c, out.Nodes); err != nil {
			return out, err
		}
		model = ratio(s.model, float64(s.asked))
	}
	out.Simulated, out.Asked, out.Bank, out.Warm, out.Cold = some, s.asked, s.bank, s.warm, s.cold
	out.Model = model
	if s.asked > 0 {
		out.Wait50, out.Wait99 = quantile(s.waits, 0.5), quantile(s.waits, 0.99)
		out.Took50, out.Took99 = quantile(s.took, 0.5), quantile(s.took, 0.99)
	}
	out.Load = out.PerDay * (model + out.Idle) / (day * float64(out.Nodes))
	thousands := out.PerDay / 1000
	out.Machines = 24 * o.nodeHour * float64(out.Nodes) / thousands
	out.Disk = float64(out.BytesAll) / 1e9 * o.gigabyteMonth / 30 / thousands
	out.Bill = out.Machines + out.Disk
	out.BillPooled = out.Disk + 24*o.nodeHour*float64(max(out.Pooled, out.ForIdle, out.ForMemory))/thousands
	return out, nil
}

// try plays the day on so many nodes, or on some of them if there are more questions than wanted.
func (o *capacity) try(ctx context.Context, p persona.Profile, c chances, nodes int) (*served, int, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, fault.New(fault.Timeout, "percached: capacity", "%w", err)
	}
	each := perDay(p) * float64(o.users) / float64(nodes)
	some := min(nodes, ceil(float64(o.sample)/each))
	return o.play(p, c, nodes, some), some, nil
}

// least is the least number of nodes, from a number on, that keeps the waits. Twice the nodes never wait
// longer; between, the users of a node are others, so that the search is near rather than exact.
func (o *capacity) least(ctx context.Context, p persona.Profile, c chances, from int) (int, error) {
	keeps := func(nodes int) (bool, error) {
		s, _, err := o.try(ctx, p, c, nodes)
		return err == nil && (s.asked == 0 || quantile(s.waits, 0.99) <= o.wait.Seconds()), err
	}
	below, nodes := max(1, from)-1, min(o.users, max(1, from))
	for nodes < o.users {
		good, err := keeps(nodes)
		if err != nil {
			return 0, err
		}
		if good {
			break
		}
		below, nodes = nodes, min(o.users, 2*nodes)
	}
	for nodes-below > max(1, nodes/100) { // to a hundredth
		middle := (below + nodes) / 2
		good, err := keeps(middle)
		switch {
		case err != nil:
			return 0, err
		case good:
			nodes = middle
		default:
			below = middle
		}
	}
	return nodes, nil
}

// perDay is the mean number of questions of a user's day.
func perDay(p persona.Profile) float64 {
	return float64(p.Questions.Least+p.Questions.Most) / 2 / float64(p.AskEvery)
}

func ceil(x float64) int { return max(1, int(math.Ceil(x))) }

func (r *capacityReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	a, b := &r.With, &r.Without
	share := func(n int, of *capacityPlan) float64 { return 100 * ratio(float64(n), float64(of.Asked)) }
	p.Line("%d users (%s), %.0f questions a day, seed %d", r.Users, r.Profile, a.PerDay, r.Seed)
	p.Line("%-34s %14s %14s", "", "percached", "without")
	line := func(name, format string, x, y any) {
		p.Line("%-34s %14s %14s", name, fmt.Sprintf(format, x), fmt.Sprintf(format, y))
	}
	line("nodes", "%d", a.Nodes, b.Nodes)
	line("- for the waits alone", "%d", a.ForWaits, b.ForWaits)
	line("- for idle work alone", "%d", a.ForIdle, b.ForIdle)
	line("- for memory alone", "%d", a.ForMemory, b.ForMemory)
	line("- for the waits, if pooled", "%d", a.Pooled, b.Pooled)
	line("simulated nodes", "%d", a.Simulated, b.Simulated)
	line("simulated questions", "%d", a.Asked, b.Asked)
	line("- stored answers", "%.1f %%", share(a.Bank, a), share(b.Bank, b))
	line("- computed, stored tensors", "%.1f %%", share(a.Warm, a), share(b.Warm, b))
	line("- computed, nothing stored", "%.1f %%", share(a.Cold, a), share(b.Cold, b))
	line("model for a question", "%.3f s", a.Model, b.Model)
	line("idle work for a question", "%.3f s", a.Idle, b.Idle)
	line("wait, median", "%.3f s", a.Wait50, b.Wait50)
	line("wait, p99", "%.3f s", a.Wait99, b.Wait99)
	line("answer, median", "%.3f s", a.Took50, b.Took50)
	line("answer, p99", "%.3f s", a.Took99, b.Took99)
	line("model busy, of the day", "%.1f %%", 100*a.Load, 100*b.Load)
	line("disk of a user", "%s", cmdline.Size(a.BytesUser), cmdline.Size(b.BytesUser))
	line("disk of all users", "%s", cmdline.Size(a.BytesAll), cmdline.Size(b.BytesAll))
	line("dollars per 1000 questions", "%.4f", a.Bill, b.Bill)
	line("- machines", "%.4f", a.Machines, b.Machines)
	line("- disk", "%.4f", a.Disk, b.Disk)
	line("dollars per 1000, if pooled", "%.4f", a.BillPooled, b.BillPooled)
	return p.Err
}
