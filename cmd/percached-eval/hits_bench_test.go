package main

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/node"
)

// hitBench is a service with real stores, full of stored answers.
func hitBench(b *testing.B) (*node.Node, *hits) {
	b.Helper()
	o := &hits{entries: 1000, documents: 1000}
	c := node.Default()
	c.Create, c.Data = true, b.TempDir()
	s, err := node.Open(b.Context(), c, true, io.Discard)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := s.Knowledge.CreateSpace(percached.Space{Name: hitsSpace, Kind: "emails"}); err != nil {
		b.Fatal(err)
	}
	if _, err := s.Library.Add(b.Context(), hitsSpace, o.mails, nil); err != nil {
		b.Fatal(err)
	}
	set, err := s.Settings(c.Config)
	if err != nil {
		b.Fatal(err)
	}
	if err := fillBank(b.Context(), s, set, 0, o.entries); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context()) // idle work steps aside, as in a daemon
	ended := make(chan error)
	go func() { ended <- s.Scheduler.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return s, o
}

// Hits asked by 64 at a time: the same words again, and others that need embedding,
// retrieval and gate.
func BenchmarkHits(b *testing.B) {
	s, o := hitBench(b)
	for name, word := range map[string]func(string) string{
		"exact": func(q string) string { return q },
		"near":  func(q string) string { return "Please tell me, " + strings.ToLower(q[:1]) + q[1:] },
	} {
		b.Run(name, func(b *testing.B) {
			var next, served atomic.Int64
			b.SetParallelism(32)
			b.ReportAllocs()
			b.ResetTimer()
			began := processorTime()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					q := word(hitQuestion(int(next.Add(1)) * 7 % o.entries))
					a, err := s.Asker.Ask(context.Background(), answer.Question{Space: hitsSpace, Text: q}, answer.Listener{})
					if err != nil {
						b.Error(err)
						return
					}
					if a.Outcome == answer.AnswerHit {
						served.Add(1)
					}
				}
			})
			b.ReportMetric(float64((processorTime()-began).Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
			b.ReportMetric(100*float64(served.Load())/float64(b.N), "%served")
		})
	}
}
