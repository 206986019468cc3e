package node

import (
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/scheduler"
)

// Observers are told what a node does. Each may be nil or empty.
type Observers struct {
	Lost              func(layer string, err error) // a record was lost
	BankObserver      qabank.Observer
	TreeObserver      qkvtree.Observer
	SchedulerObserver scheduler.Observer
	Asked             func(space, question string) func(answer.Answer, error)
	Stopped           func()
	Restarted         func() // the model failed and was loaded again
}

// damaged observes lost records of one layer.
func (o Observers) damaged(layer string) func(error) {
	if o.Lost == nil {
		return nil
	}
	return func(err error) { o.Lost(layer, err) }
}

// withAsked observes questions beside another observer.
func (o Observers) withAsked(other func(space, question string) func(answer.Answer, error)) func(space, question string) func(answer.Answer, error) {
	if o.Asked == nil {
		return other
	}
	return func(space, question string) func(answer.Answer, error) {
		first, second := other(space, question), o.Asked(space, question)
		return func(a answer.Answer, err error) {
			first(a, err)
			second(a, err)
		}
	}
}
