package report_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
	"github.com/percached/percached/eval/report"
)

// records are the rows of a CSV file by column.
func records(t *testing.T, text string) (all []map[string]string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		r := map[string]string{}
		for i, name := range rows[0] {
			r[name] = row[i]
		}
		all = append(all, r)
	}
	return all
}

func parse(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// large is a run of the size of a real one: 150 questions of three users, eight systems.
func large() *eval.Results {
	random := rand.New(rand.NewPCG(1, 2))
	res := tiny()
	r := &res.Run
	r.Plan.Repeats, r.Users, r.Systems = 1, nil, nil
	for _, name := range []string{"naive", "naive-parallel", "ragcache", "meancache", "ragcache+meancache", "percache", "percached", "percached-no-bank"} {
		r.Systems = append(r.Systems, eval.System{Name: name, About: "a system of the evaluation", Reference: pick(strings.HasPrefix(name, "percached"), "naive", "naive-parallel")})
	}
	res.Units = nil
	for _, user := range []string{"benson-r", "lokey-t", "ward-k"} {
		r.Users = append(r.Users, eval.User{Name: user, Kind: "emails", Files: 300, Questions: 50})
		u := eval.Unit{Repeat: 1, User: user, Seconds: 1000, Documents: 300, Chunks: 700}
		for i := range 50 {
			u.Asked = append(u.Asked, eval.Asked{Number: i + 1, Text: fmt.Sprintf("secret question %d", i/2), Gold: []string{"room 7"}, Located: true})
			var near []float64
			for range i {
				near = append(near, random.Float64())
			}
			u.Likeness = append(u.Likeness, near)
		}
		for _, s := range r.Systems {
			result := eval.Result{System: s.Name, Before: eval.Work{Seconds: 60, Computed: 9000, Generated: 800}, TensorBytes: 1 << 28, Slices: 500, Entries: 60}
			for i := range u.Asked {
				ms, words := 2000+9000*random.Float64(), "It is room "+strconv.Itoa(5+i%4)
				a := cold(words, ms)
				if random.IntN(10) == 0 {
					words += " on 3 May"
				}
				switch caches := strings.Contains(s.Name, "cache"); {
				case caches && i%3 == 0:
					a = warm(words, ms/3)
				case caches && i%3 == 1 && s.Name != "ragcache":
					a = bank(words, "predicted", ms/100)
				}
				a.Stages["retrieve_ms"], a.Stages["queue_ms"], a.Stages["embed_question_ms"] = 9*random.Float64(), random.Float64(), 30*random.Float64()
				a.Recalled, a.After = new(random.IntN(2) == 0), eval.Work{Computed: 700, Generated: 60}
				for range 3 {
					a.Chunks = append(a.Chunks, strconv.Itoa(random.IntN(60)))
				}
				result.Answers = append(result.Answers, a)
			}
			u.Results = append(u.Results, result)
		}
		res.Units = append(res.Units, u)
	}
	return res
}

// The intervals of a report can be computed again from its questions.
func TestIntervalsFromQuestions(t *testing.T) {
	grouped := large()
	grouped.Run.Systems = append(grouped.Run.Systems[:2:2], grouped.Run.Systems[6])
	for name, res := range map[string]*eval.Results{"repeats and a failure": tiny(), "groups": grouped} {
		files := all(t, report.Make(res))
		checked := 0
		for _, of := range []struct{ table, measure, column string }{
			{"latency", "latency_ms", "latency_ms"},
			{"latency", "first_token_ms", "first_token_ms"},
			{"quality", "rouge_l", "rouge_l"},
			{"quality", "containment", "containment"},
			{"uncached", "f1", "uncached_f1"},
		} {
			for _, want := range records(t, files["tables/"+of.table+".csv"]) {
				var order []string
				values, groups := map[string][]float64{}, map[string]int{}
				for _, q := range records(t, files["tables/questions.csv"]) {
					question := q["user"] + " " + q["number"] + " " + q["paraphrase"]
					if q["system"] != want["system"] || q[of.column] == "" || of.table == "latency" && q["outcome"] == "failed" {
						continue
					}
					if values[question] == nil {
						order = append(order, question)
					}
					values[question] = append(values[question], parse(t, q[of.column]))
					groups[question] = int(parse(t, q["group"]))
				}
				var xs []float64
				var drawn, users []int
				names, seen := map[string]int{}, map[int]bool{}
				for _, question := range order {
					reduce := measure.Mean
					if of.table == "latency" {
						reduce = measure.Median
					}
					xs, drawn = append(xs, reduce(values[question])), append(drawn, groups[question])
					user, _, _ := strings.Cut(question, " ")
					if _, ok := names[user]; !ok {
						names[user] = len(names)
					}
					if !seen[groups[question]] {
						seen[groups[question]], users = true, append(users, names[user])
					}
				}
				interval := measure.BootstrapClusters(res.Run.Plan.Seed, measure.Clusters(xs, drawn), users)
				for end, got := range map[string]float64{"": measure.Mean(xs), "_low": interval.Low, "_high": interval.High} {
					if in := parse(t, want[of.measure+end]); math.Abs(in-got) > 2e-4*math.Max(1, in) {
						t.Errorf("%s: %s%s of %s is %v, of its questions %v", name, of.measure, end, want["system"], in, got)
					}
					checked++
				}
			}
		}
		if least := 3 * 5 * (len(res.Run.Systems) - 2); checked < least {
			t.Errorf("%s: only %d numbers", name, checked)
		}
	}
}

// A report is small enough for a repository.
func TestSize(t *testing.T) {
	files, sum := all(t, report.Make(large())), 0
	var sizes []string
	for path, text := range files {
		sum += len(text)
		sizes = append(sizes, fmt.Sprintf("%7d %s", len(text), path))
	}
	slices.Sort(sizes)
	if t.Logf("%d bytes:\n%s", sum, strings.Join(sizes, "\n")); sum > 600_000 || len(files) < 40 {
		t.Error("too large, or too little")
	}
	if n := len(records(t, files["tables/questions.csv"])); n != 150*8 {
		t.Errorf("%d questions", n)
	}
}
