package llamacpp

import (
	"context"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/llmtest"
)

// prose is English text: the words of the documentation, without tables and code.
func prose(tb testing.TB) []string {
	tb.Helper()
	var all []string
	for _, name := range []string{"architecture", "measurements", "prediction", "api"} {
		b, err := os.ReadFile("../../docs/" + name + ".md")
		if err != nil {
			tb.Fatal(err)
		}
		code := false
		for line := range strings.Lines(string(b)) {
			if strings.HasPrefix(line, "```") {
				code = !code
			} else if !code && !strings.ContainsAny(line[:1], "|#- ") {
				all = append(all, strings.Fields(line)...)
			}
		}
	}
	return all
}

func benchTyping(b *testing.B, run func(b *testing.B, e *Engine, words []string)) {
	for _, file := range []string{llmtest.SmolLM2, llmtest.Gemma3} {
		b.Run(strings.Split(file, "-")[0], func(b *testing.B) {
			c := Default()
			c.Model, c.Context = llmtest.RealModel(b, file), 2048
			e, err := OpenEngine(b.Context(), c, NewGate())
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			run(b, e, prose(b))
		})
	}
}

func benchComplete(b *testing.B, e *Engine, t percached.Typing) (percached.Typed, time.Duration) {
	b.Helper()
	begin := time.Now()
	got, err := e.Complete(b.Context(), t, nil)
	if err != nil {
		b.Fatal(err)
	}
	return got, time.Since(begin)
}

// score has the engine compute the next words of a text that it just completed. It returns
// the mean logarithm of their tokens' probabilities, and how long one token takes alone.
func score(b *testing.B, e *Engine, next string) (mean float64, step time.Duration) {
	b.Helper()
	tokens, err := e.Tokenize([]percached.Segment{{}, {Texts: []percached.Text{{Text: next}}}})
	if err != nil {
		b.Fatal(err)
	}
	err = e.worker.do(b.Context(), percached.Foreground, func(ctx context.Context) error {
		t := e.typing
		seq := 0
		for i := range t.texts {
			if t.texts[i].used > t.texts[seq].used {
				seq = i
			}
		}
		k := &t.texts[seq]
		t.rewind(seq, k.typed)
		for i, token := range tokens[1] {
			if i > 0 {
				_, norm, err := t.top(t.lent(0), 1)
				if err != nil {
					return err
				}
				mean += float64(t.lent(0)[token]-norm) / float64(len(tokens[1])-1)
			}
			begin := time.Now()
			if err := t.each(ctx, []int32{token}, seq, k.typed+i, 1); err != nil {
				return err
			}
			step += time.Since(begin) / time.Duration(len(tokens[1]))
		}
		t.cut(seq, k.typed)
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return mean, step
}

// How long the first candidate takes after the next key, in steps of one token.
func BenchmarkTypingNextKey(b *testing.B) {
	benchTyping(b, func(b *testing.B, e *Engine, words []string) {
		var took, steps time.Duration
		for i := range b.N {
			text := strings.Join(words[i*20%1000:][:300], " ")
			t := percached.Typing{Before: text, Alternatives: 1, MaxTokens: 1}
			benchComplete(b, e, t)
			_, step := score(b, e, " and what follows is a sentence of some more words")
			for _, key := range "next" {
				t.Before += string(key)
				_, d := benchComplete(b, e, t)
				took, steps = took+d, steps+step
			}
		}
		b.ReportMetric(float64(took)/float64(steps), "steps/key")
		b.ReportMetric(took.Seconds()*1000/4/float64(b.N), "ms/key")
	})
}

// Two texts that are typed in turn: how many tokens a key costs.
func BenchmarkTypingTwoTexts(b *testing.B) {
	benchTyping(b, func(b *testing.B, e *Engine, words []string) {
		texts := []string{strings.Join(words[:300], " "), strings.Join(words[400:700], " ")}
		computed, keys := 0, 0
		for i := range b.N {
			for j := range texts {
				texts[j] += " " + words[800+i]
				got, _ := benchComplete(b, e, percached.Typing{Before: texts[j], Alternatives: 1, MaxTokens: 1})
				if i > 0 {
					computed, keys = computed+got.Tokens.Computed, keys+1
				}
			}
		}
		b.ReportMetric(float64(computed)/float64(max(keys, 1)), "tokens/word")
	})
}

// An insertion of about 32 tokens into 512: the time against computing all, and what the
// moved tokens cost in quality. The first runs are the shortest tails.
func BenchmarkTypingInsert(b *testing.B) {
	benchTyping(b, func(b *testing.B, e *Engine, words []string) {
		var splice, plain time.Duration
		var same, top, dist, worse float64
		for i := range b.N {
			all := words[i*37%2000:][:360]
			at := 40 + i*61%200
			old, inserted := strings.Join(all[:at], " "), " "+strings.Join(words[(2500+i*24)%3000:][:24], " ")
			rest := " " + strings.Join(all[at:340], " ")
			next := " " + strings.Join(all[340:], " ")
			t := percached.Typing{Alternatives: 3, MaxTokens: 1, Splice: true}
			t.Owner, t.Before = "a", old+rest
			benchComplete(b, e, t)
			t.Before = old + inserted + rest
			got, d := benchComplete(b, e, t)
			if got.Tokens.Spliced == 0 {
				b.Fatalf("nothing was moved: %+v", got.Tokens)
			}
			splice += d
			moved, _ := score(b, e, next)
			e.ForgetTyped()
			t.Owner = "b"
			benchComplete(b, e, percached.Typing{Owner: "c", Before: "x", Alternatives: 1, MaxTokens: 1}) // opens the context
			want, d := benchComplete(b, e, t)
			plain += d
			exact, _ := score(b, e, next)
			worse += exact - moved
			if got.Candidates[0].Text == want.Candidates[0].Text {
				same++
			}
			for _, x := range want.Candidates {
				for _, y := range got.Candidates {
					if x.Text == y.Text {
						top += 1 / float64(len(want.Candidates))
						dist += math.Abs(x.First-y.First) / float64(len(want.Candidates))
					}
				}
			}
			e.ForgetTyped()
		}
		n := float64(b.N)
		b.ReportMetric(float64(plain)/float64(splice), "times-faster")
		b.ReportMetric(splice.Seconds()*1000/n, "ms/insertion")
		b.ReportMetric(same/n, "same-first")
		b.ReportMetric(top/n, "same-of-3")
		b.ReportMetric(dist/n, "log-distance")
		b.ReportMetric(worse/n, "nats-worse/token")
	})
}
