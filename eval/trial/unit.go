package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/systems"
)

// warmup is the space of the questions that do not count.
const warmup = "warmup"

// unit is a unit in progress.
type unit struct {
	*runner
	*eval.Unit
	api      *client.Client
	set      *eval.Set
	systems  []*system
	percache *system      // nil: not among the systems
	cache    client.Cache // at the last observation
}

// system is a system in a unit.
type system struct {
	eval.System
	space          string
	answerChunks   map[int]map[string]bool // by question: the chunks of the document with its answer
	result         eval.Result
	spent, granted int   // tokens of idle work
	bytes, written int64 // of tensors: stored now, written so far
}

// unit asks one user's questions of every system.
func (r *runner) unit(ctx context.Context, repeat int, set *eval.Set) (*eval.Unit, error) {
	u := &unit{
		runner: r, set: set,
		Unit: &eval.Unit{Repeat: repeat, User: set.User, Began: time.Now().UTC(), Asked: questionOrder(set, &r.Run.Plan)},
	}
	err := r.withDaemon(ctx, func(api *client.Client) error {
		u.api = api
		for _, step := range []struct {
			what string
			do   func(context.Context) error
		}{
			{"change settings", u.configure},
			{"add the documents", u.addDocuments},
			{"warm up", u.warmUp},
			{"compare the questions", u.measureSimilarity},
			{"idle work before the questions", u.workBefore},
			{"ask", u.askAll},
			{"collect what is stored", u.collect},
		} {
			if err := step.do(ctx); err != nil {
				return fmt.Errorf("%s: %w", step.what, err)
			}
		}
		return nil
	})
	u.Seconds = time.Since(u.Began).Seconds()
	return u.Unit, err
}

// configure keeps percached from working or forgetting by itself.
func (u *unit) configure(ctx context.Context) error {
	n := int64(len(u.Run.Systems) + 1)
	tensors := max(u.Run.Plan.LimitBytes, minTensorRoom) // for the warm-up
	for i := range u.Run.Systems {
		tensors += tensorRoom(&u.Run.Systems[i], u.Run.Plan)
	}
	set := map[string]string{
		"budget-compute": "0s", // the run asks for idle work, so no budget may stop it
		"pay-trial":      "10000h", "quiet": "0s",
		"tensor-limit": strconv.FormatInt(tensors, 10), "bank-limit": strconv.FormatInt(n*100<<20, 10),
	}
	_, err := call[ignored](u.api.ChangeConfig(ctx, set))
	return err
}

const minTensorRoom = 1 << 30 // bytes

// tensorRoom is the storage for a system's tensors. It is at least the system's own limit,
// so that no system evicts another's tensors.
func tensorRoom(s *eval.System, p eval.Plan) int64 {
	most := max(p.LimitBytes, minTensorRoom)
	for _, set := range []*client.Settings{&s.Settings, s.Then} {
		if set != nil && set.TensorLimit != nil { // not set yet during the probe
			most = max(most, *set.TensorLimit)
		}
	}
	return most
}

// space creates a space.
func (u *unit) space(ctx context.Context, name string, s client.Settings) error {
	c, err := settingsChange(s)
	if err == nil {
		_, err = call[ignored](u.api.CreateSpace(ctx, client.NewSpace{Name: name, Kind: new(client.SpaceKind(u.set.Kind)), Settings: &c}))
	}
	return err
}

// settingsChange converts settings to a change request.
func settingsChange(s client.Settings) (c client.SettingsChange, err error) {
	b, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	return c, err
}

// addDocuments creates a space for each system and adds the documents.
func (u *unit) addDocuments(ctx context.Context) error {
	for i, s := range u.Run.Systems {
		// A system's name may have characters that a space's name may not.
		one := &system{System: s, space: "s" + strconv.Itoa(i), answerChunks: map[int]map[string]bool{}, result: eval.Result{System: s.Name, Answers: []eval.Answer{}}}
		u.systems = append(u.systems, one)
		if s.Name == systems.PerCache {
			u.percache = one
		}
		if err := u.space(ctx, one.space, s.Settings); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		in, err := u.addFiles(ctx, one.space, 0)
		if err != nil {
			return err
		}
		u.Chunks = in.Chunks
		u.Unread, u.LeftOut = append([]client.Failure{}, in.Failures...), append([]client.Failure{}, in.LeftOut...)
		u.step(u, "taking in", 0)
	}
	u.step(u, "taking in", preparationSteps/2)
	if err := u.each(func(s *system) error { return u.findAnswerChunks(ctx, s) }); err != nil {
		return err
	}
	for i := range u.Asked {
		u.Asked[i].Located = u.systems[0].answerChunks[u.Asked[i].Number] != nil
	}
	return nil
}

// warmUp asks some questions that do not count, so that the first question finds the same
// machine as the others.
func (u *unit) warmUp(ctx context.Context) error {
	if err := u.space(ctx, warmup, client.Settings{Bank: new(false), Tensors: new(false)}); err != nil {
		return err
	}
	const someFiles = 30
	if _, err := u.addFiles(ctx, warmup, someFiles); err != nil {
		return err
	}
	for i := range u.Run.Plan.Warmup {
		if _, _, err := u.askOnce(ctx, warmup, u.Asked[i%len(u.Asked)].Text); err != nil {
			return err
		}
	}
	return nil
}

// each calls do for every system.
func (u *unit) each(do func(*system) error) error { return each(u.systems, do) }

func each(systems []*system, do func(*system) error) error {
	for _, s := range systems {
		if err := do(s); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// shuffled is the order in which systems are asked question i. It differs for each user and
// question, so that no system always follows the same other one.
func (u *unit) shuffled(i int) []*system {
	order := slices.Clone(u.systems)
	r := rand.New(rand.NewPCG(u.Run.Plan.Seed^hash(u.User), uint64(u.Repeat)<<32+uint64(i)))
	r.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
	return order
}

// idleWork calls do for every system with idle work. PerCache is first, because it sets
// the limit of the others.
func (u *unit) idleWork(do func(*system) error) error {
	if u.percache != nil {
		if err := do(u.percache); err != nil {
			return fmt.Errorf("%s: %w", u.percache.Name, err)
		}
	}
	return u.each(func(s *system) error {
		if s == u.percache || s.Idle == eval.IdleNone {
			return nil
		}
		return do(s)
	})
}

// workBefore does the idle work before the questions.
func (u *unit) workBefore(ctx context.Context) error {
	err := u.each(func(s *system) error {
		if !s.Poisoned {
			return nil
		}
		return u.poison(ctx, s)
	})
	if err != nil {
		return err
	}
	err = u.idleWork(func(s *system) (err error) {
		s.result.Before, err = u.idleBefore(ctx, s)
		u.step(u, "working ahead", 0)
		return err
	})
	u.step(u, "working ahead", preparationSteps-preparationSteps/2)
	return err
}

// askAll asks all questions, with idle work after each.
func (u *unit) askAll(ctx context.Context) error {
	for i, q := range u.Asked {
		err := each(u.shuffled(i), func(s *system) error {
			a, err := u.answer(ctx, s, q)
			s.result.Answers = append(s.result.Answers, a)
			return err
		})
		if err != nil {
			return fmt.Errorf("question %d: %w", q.Number, err)
		}
		if i == len(u.Asked)/2-1 {
			if err := u.changeSettings(ctx); err != nil {
				return err
			}
		}
		err = u.idleWork(func(s *system) (err error) {
			s.result.Answers[i].After, err = u.idleAfter(ctx, s)
			return err
		})
		if err != nil {
			return fmt.Errorf("idle work after question %d: %w", q.Number, err)
		}
		u.step(u, "asking", 1)
	}
	return nil
}

// changeSettings applies the settings of the second half.
func (u *unit) changeSettings(ctx context.Context) error {
	for _, s := range u.systems {
		if s.Then == nil {
			continue
		}
		c, err := settingsChange(*s.Then)
		if err == nil {
			_, err = call[ignored](u.api.ChangeSpace(ctx, s.space, c))
		}
		if err != nil {
			return fmt.Errorf("%s: new settings: %w", s.Name, err)
		}
	}
	return nil
}

// observe reads what the tree stores for a system. All changes since the last observation
// are the system's.
func (u *unit) observe(ctx context.Context, s *system) error {
	all, err := call[client.Cache](u.api.GetCache(ctx))
	if err != nil {
		return err
	}
	own, err := call[client.SpaceCache](u.api.GetSpaceCache(ctx, s.space))
	if err != nil {
		return err
	}
	s.written += all.WrittenBytes - u.cache.WrittenBytes
	s.result.Evicted += all.Evicted - u.cache.Evicted
	s.bytes, s.result.TensorBytes, s.result.Slices = own.Bytes, own.Bytes, own.Slices
	u.cache = all
	return nil
}

// collect records what each system stores at the end.
func (u *unit) collect(ctx context.Context) error {
	for _, s := range u.systems {
		got, err := call[client.Entries](u.api.ListEntries(ctx, s.space, &client.ListEntriesParams{Limit: new(1)}))
		if err != nil {
			return err
		}
		if got.Bank != nil {
			s.result.Entries = got.Bank.Entries
		}
		books, err := call[client.Ledger](u.api.GetLedger(ctx, &client.GetLedgerParams{Space: &s.space}))
		if err != nil {
			return err
		}
		for _, a := range books.Accounts {
			s.result.Joules += a.Joules
		}
		u.Results = append(u.Results, s.result)
	}
	return nil
}
