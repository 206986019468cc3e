package report_test

import (
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
)

// tiny is a run that can be computed by hand: two users, three questions, asked twice of
// five systems. Ada's question 1 is about "room 7", 2 about "hall 8". Bo's question has no
// known right answer, but a known document.
func tiny() *eval.Results {
	shape := client.ModelShape{Layers: 1, Width: 2, Heads: 1, HeadsKV: 1, HeadSize: 2, FeedForward: 4, Vocabulary: 8, BytesPerToken: 8}
	r := &eval.Results{Run: eval.Run{
		Layout: eval.Layout, Dataset: "plain", Began: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Version: "1.2.3", Commit: "abc",
		Machine: eval.Machine{OS: "linux", Arch: "amd64", CPU: "some CPU", CPUs: 2, MemoryBytes: 4 << 30},
		Model: client.AboutModel{
			Name: "small", Parameters: 5_000_000, Context: 2048, Threads: 2, KeyType: "f16", ValueType: "f16", Fingerprint: "f1", Shape: shape,
		},
		Embedder: client.AboutEmbedder{Name: "vectors", Fingerprint: "e1"},
		Plan:     eval.Plan{Seed: 7, Repeats: 2, Rounds: 2, Stride: 5, LimitBytes: 1 << 20},
		Systems: []eval.System{
			{Name: "naive", About: "no cache", Reference: "naive"},
			{Name: "naive-parallel", About: "no cache, side by side", Reference: "naive-parallel"},
			{Name: "ragcache", About: "tensors", Reference: "naive"},
			{Name: "meancache", About: "answers", Reference: "naive"},
			{Name: "percached", About: "as it comes", Reference: "naive-parallel"},
		},
		Users: []eval.User{{Name: "ada", Kind: "emails", Files: 2, Questions: 2}, {Name: "bo", Kind: "emails", Files: 1, Questions: 1}},
	}}
	for repeat := 1; repeat <= 2; repeat++ {
		r.Units = append(r.Units, ada(repeat), bo(repeat))
	}
	return r
}

func ada(repeat int) eval.Unit {
	second := repeat == 2
	u := eval.Unit{
		Repeat: repeat, User: "ada", Seconds: 10, Documents: 2, Chunks: 4,
		Asked: []eval.Asked{
			{Number: 1, Text: "secret question one", Gold: []string{"room 7"}, Located: true},
			{Number: 2, Text: "secret question two", Gold: []string{"hall 8"}},
		},
	}
	said := pick(second, "room 7", "room 9")
	u.Results = []eval.Result{
		{System: "naive", Answers: []eval.Answer{cold(said, pick(second, 100.0, 120.0)), cold("hall 8", 200)}},
		{System: "naive-parallel", Answers: []eval.Answer{cold("room 7", 110), cold("hall 8", 210)}},
		{System: "ragcache", Answers: []eval.Answer{warm("room 7", 100), warm("hall 8", 100)}, TensorBytes: 800, Slices: 3},
		{System: "meancache", Answers: []eval.Answer{cold(said, 90), bank("hall 9", "asked", 1)}, Entries: 1},
		{
			System: "percached", Before: eval.Work{Seconds: 1, Computed: 100, Generated: 10, BytesWritten: 1000},
			Answers:     []eval.Answer{warm("room 7", pick(second, 40.0, 60.0)), bank("hall 8", "predicted", pick(second, 2.0, 4.0))},
			TensorBytes: 1600, Slices: 5, Entries: 2, Evicted: 1, Joules: 3,
		},
	}
	for i := range u.Results {
		u.Results[i].Answers[0].Recalled = new(true)
	}
	for i := range u.Results[4].Answers {
		u.Results[4].Answers[i].After = eval.Work{Computed: 5, Generated: 1}
	}
	return u
}

func bo(repeat int) eval.Unit {
	u := eval.Unit{
		Repeat: repeat, User: "bo", Seconds: 5, Documents: 1, Chunks: 2,
		Asked: []eval.Asked{{Number: 1, Text: "secret question three", Located: true}},
	}
	last := cold("a made up thing", 97)
	last.After = eval.Work{Computed: 5, Generated: 1}
	if repeat == 1 {
		last = eval.Answer{Failure: "too long"}
	}
	u.Results = []eval.Result{
		{System: "naive", Answers: []eval.Answer{cold("a made up thing", 300)}},
		{System: "naive-parallel", Answers: []eval.Answer{cold("a made up thing", 310)}},
		{System: "ragcache", Answers: []eval.Answer{cold("a made up thing", 100)}},
		{System: "meancache", Answers: []eval.Answer{cold("a made up thing", 194)}},
		{
			System: "percached", Before: eval.Work{Seconds: 1, Computed: 100, Generated: 10, BytesWritten: 1000},
			Answers: []eval.Answer{last}, TensorBytes: 800, Slices: 1, Joules: 1,
		},
	}
	for i := range u.Results {
		if a := &u.Results[i].Answers[0]; a.Failure == "" {
			a.Recalled = new(true)
		}
	}
	return u
}

func pick[T any](second bool, one, two T) T {
	if second {
		return two
	}
	return one
}

// cold is an answer without a cache. Half its time is prefill, and the first token comes
// after 60 % of it.
func cold(text string, ms float64) eval.Answer {
	return eval.Answer{
		Text: text, Outcome: client.OutcomeMiss, TotalMS: ms, FirstMS: 0.6 * ms,
		Stages: client.Times{"prefill_ms": ms / 2, "decode_ms": ms / 4, "load_tensors_ms": 0, "total_ms": ms - 1},
		Reuse:  client.Reuse{All: 2}, Tokens: client.TokenCounts{Prompt: 100, Computed: 100, Generated: 4, Attended: 1000},
	}
}

func warm(text string, ms float64) eval.Answer {
	return eval.Answer{
		Text: text, Outcome: client.OutcomeTensorHit, TotalMS: ms, FirstMS: ms / 2, Written: 300,
		Stages: client.Times{"prefill_ms": 10, "decode_ms": 5, "load_tensors_ms": 2, "total_ms": ms - 1},
		Reuse:  client.Reuse{Stored: 1, All: 2}, Tokens: client.TokenCounts{Prompt: 100, Reused: 60, Computed: 40, Generated: 4, Attended: 400},
	}
}

func bank(text, origin string, ms float64) eval.Answer {
	return eval.Answer{
		Text: text, Outcome: client.OutcomeAnswerHit, Origin: origin, TotalMS: ms, FirstMS: ms, Similarity: 0.9,
		Stages: client.Times{"prefill_ms": 0, "decode_ms": 0, "load_tensors_ms": 0, "match_question_ms": ms / 2, "total_ms": ms},
	}
}
