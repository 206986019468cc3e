package report

import (
	"strings"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
)

// secret is in every text of the tiny run. It must not be in any figure.
const secret = "zebra"

// ms is an answer that took total milliseconds: one to retrieve, half of one in the
// client, decode to decode, and prefill for the rest.
func ms(total, decode float64, outcome client.Outcome) eval.Answer {
	a := eval.Answer{
		Text: secret + " paid 12 dollars", Outcome: outcome, FirstMS: total - decode, TotalMS: total,
		Stages: client.Times{"retrieve_ms": 1, "prefill_ms": total - decode - 1.5, "decode_ms": decode, "first_token_ms": 7, "total_ms": total - 0.5},
		After:  eval.Work{Computed: 50, Generated: 5},
	}
	return a
}

const (
	miss   = client.OutcomeMiss
	tensor = client.OutcomeTensorHit
	stored = client.OutcomeAnswerHit
)

// tiny is a run of two users, with three questions and one, that can be computed by hand.
func tiny() *eval.Results {
	prompt := func(a eval.Answer, reused, computed int, chunks string) eval.Answer {
		a.Tokens = client.TokenCounts{Prompt: reused + computed, Reused: reused, Computed: computed, Generated: 10, Attended: int64(100 * (computed + 10))}
		a.Chunks = strings.Fields(chunks)
		return a
	}
	says := func(a eval.Answer, text string) eval.Answer {
		a.Text = secret + " " + text
		return a
	}
	system := func(name, of, key string, value float64) eval.System {
		return eval.System{Name: name, Of: of, Key: key, Value: value, Reference: "naive", About: secret}
	}
	fast, slow := ms(10, 2, stored), ms(100, 20, miss)
	r := &eval.Results{Run: eval.Run{
		Users: []eval.User{{Name: "ann"}, {Name: "bob"}},
		Systems: []eval.System{
			system("naive", "", "", 0), system("ragcache", "", "", 0), system("meancache", "", "", 0),
			system("percached", "", "", 0), system("percached-no-bank", "", "", 0),
			system("percache@threshold=0.9", "percache", "threshold", 0.9), system("percache@threshold=0.6", "percache", "threshold", 0.6),
			system("percached@stride=1", "percached", "stride", 1), system("ragcache@limit=17", "ragcache", "limit", 17),
			system("percache@case=2", "percache", "case", 2),
		},
	}}
	// 800 operations per token in the projections, and 40 per attended token.
	r.Run.Model.Shape = client.ModelShape{Layers: 1, Width: 10, Heads: 1, HeadsKV: 1, HeadSize: 10}
	r.Units = []eval.Unit{{
		Repeat: 1, User: "ann", Chunks: 9, Likeness: [][]float64{{}, {0.5}, {0.25, 0.75}},
		Asked: []eval.Asked{
			{Number: 1, Text: secret, Gold: []string{secret + " paid 12 dollars"}}, {Number: 2, Text: secret, Gold: []string{"no " + secret}}, {Number: 3, Text: secret},
		},
		Results: []eval.Result{
			{System: "naive", Answers: []eval.Answer{
				prompt(ms(100, 20, miss), 0, 90, "a b c"), prompt(ms(200, 30, miss), 0, 110, "a b d"), prompt(ms(300, 40, miss), 0, 100, "b a e"),
			}},
			{System: "ragcache", Answers: []eval.Answer{
				prompt(ms(120, 20, miss), 0, 90, "a b c"), prompt(ms(60, 30, tensor), 80, 30, "a b d"), prompt(ms(70, 40, tensor), 60, 40, "b a e"),
			}},
			{System: "meancache", Answers: []eval.Answer{
				ms(110, 20, miss), says(ms(10, 0, stored), "paid 15 dollars"), ms(10, 0, stored),
			}},
			{System: "percached", Before: eval.Work{Computed: 1000, Generated: 100}, Answers: []eval.Answer{fast, slow, slow}},
			{System: "percached-no-bank", Answers: []eval.Answer{slow, slow, slow}},
			{System: "percache@threshold=0.9", Answers: []eval.Answer{slow, slow, slow}},
			{System: "percache@threshold=0.6", Answers: []eval.Answer{fast, fast, slow}},
			{System: "percached@stride=1", Before: eval.Work{Computed: 700}, Answers: []eval.Answer{fast, fast, slow}},
			{System: "ragcache@limit=17", Answers: []eval.Answer{fast, fast, slow}, Evicted: 6, TensorBytes: 3 << 20},
			{System: "percache@case=2", Answers: []eval.Answer{slow, fast, fast}},
		},
	}, {
		Repeat: 1, User: "bob", Chunks: 4, Asked: []eval.Asked{{Number: 1, Text: secret}}, Likeness: [][]float64{{}},
		Results: []eval.Result{
			{System: "naive", Answers: []eval.Answer{prompt(ms(400, 50, miss), 0, 100, "a")}},
			{System: "ragcache", Answers: []eval.Answer{prompt(ms(400, 50, miss), 0, 100, "a")}},
			{System: "meancache", Answers: []eval.Answer{{Failure: secret}}},
			{System: "percached", Answers: []eval.Answer{slow}},
			{System: "percached-no-bank", Answers: []eval.Answer{slow}},
			{System: "percached@stride=1"},
			{System: "ragcache@limit=17", Evicted: 2},
			{System: "percache@case=2", Answers: []eval.Answer{fast}},
		},
	}}
	return r
}
