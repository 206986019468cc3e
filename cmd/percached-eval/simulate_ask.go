package main

import (
	"context"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/internal/answer"
)

// outcome is a question that was answered.
type outcome struct {
	relation persona.Relation
	answer   answer.Answer
	right    rightness
	wait     time.Duration // for a job to be preempted
	took     time.Duration // total wait of the user
	cold     time.Duration // latency of the same question without stored data
}

// rightness says whether an answer is right.
type rightness string

// The kinds.
const (
	rightAnswer rightness = "right"  // it agrees with the documents
	missedIt    rightness = "missed" // it refuses, but the documents have the answer
	wrongAnswer rightness = "wrong"  // anything else
	unjudged    rightness = "unjudged"
)

// weigh compares an answer with what the question expects.
func weigh(a answer.Answer, e persona.Expect) rightness {
	says := strings.Contains(strings.ToLower(a.Text), strings.ToLower(e.Answer))
	switch {
	case e.Relation == persona.Odd:
		return unjudged
	case e.Answer == "" && a.Refused, e.Answer != "" && says:
		return rightAnswer
	case a.Refused:
		return missedIt
	}
	return wrongAnswer
}

// outdated returns a statement of the answer that no document makes any longer.
func outdated(a answer.Answer, e persona.Expect) (string, bool) {
	for _, old := range e.Never {
		if strings.Contains(strings.ToLower(a.Text), strings.ToLower(old)) {
			return old, true
		}
	}
	return "", false
}

// question asks a question. The user has waited since the event for a job or another question
// to end.
func (s *simulator) question(ctx context.Context, e persona.Event) error {
	q := outcome{relation: e.Expect.Relation}
	if s.guard.gaveWay != nil {
		q.wait = s.now().Sub(e.At)
	}
	s.guard.asking = true
	a, err := s.Asker.Ask(ctx, answer.Question{Space: simulated, Text: e.Question}, answer.Listener{})
	s.guard.asking = false
	s.guard.answered()
	if err != nil {
		return err
	}
	q.answer, q.took, q.right = a, s.now().Sub(e.At), weigh(a, e.Expect)
	cold, err := s.coldly(ctx, e.Question)
	if err != nil {
		return err
	}
	q.cold = cold.Times.Total
	s.count.question(q)
	if err := s.hold("within_a_batch", q.wait <= batch, "a question waited %v for a job to be preempted", q.wait); err != nil {
		return err
	}
	return s.served(e, a, cold)
}

// coldly answers a question without stored data.
func (s *simulator) coldly(ctx context.Context, question string) (answer.Answer, error) {
	no := false
	return s.cold.Work(ctx, answer.Work{Space: simulated, Question: question, Settings: percached.Settings{Bank: &no, Tensors: &no}})
}
