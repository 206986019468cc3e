package selfcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/report"
)

// Finding is one checked number.
type Finding struct {
	What string `json:"what"`
	Want string `json:"want"`
	Got  string `json:"got"`
	OK   bool   `json:"ok"`
}

// Well says whether all findings are as expected.
func Well(findings []Finding) bool {
	return len(findings) > 0 && !slices.ContainsFunc(findings, func(f Finding) bool { return !f.OK })
}

// Check compares the results of a run of this data set with the expected numbers.
func Check(r *eval.Results) []Finding { return check(r, report.Make) }

func check(r *eval.Results, reporting func(*eval.Results) *report.Report) []Finding {
	c := &checker{systems: map[string]*system{}}
	if !c.open(r, reporting) {
		return c.findings
	}
	c.documents()
	c.similar()
	for _, w := range expectations() {
		s := c.systems[w.system]
		if w.came != "" {
			c.outcomes(w, s)
		}
		c.texts(w, s)
		c.idle(w, s)
		c.quality(w, s)
	}
	c.prompts()
	c.reuse()
	c.attended()
	c.flops()
	c.storage()
	c.control()
	return c.findings
}

// checker checks a run.
type checker struct {
	unit     *eval.Unit
	report   *report.Report
	systems  map[string]*system
	findings []Finding
}

// system is everything that a run says about a system.
type system struct {
	eval.System
	*eval.Result
	report    *report.System
	questions []report.Question
}

// at is the answer to a question by number.
func (s *system) at(number int) *eval.Answer { return &s.Answers[number-1] }

func (c *checker) find(what string, want, got any, ok bool) {
	c.findings = append(c.findings, Finding{what, fmt.Sprint(want), fmt.Sprint(got), ok})
}

// equal checks that two values print the same.
func (c *checker) equal(what string, want, got any) {
	c.find(what, want, got, fmt.Sprint(want) == fmt.Sprint(got))
}

// empty checks that a list of errors is empty.
func (c *checker) empty(what string, wrong []string) {
	const none = "none"
	c.equal(what, none, cmp.Or(strings.Join(wrong, ", "), none))
}

// open opens a run and says whether it is complete.
func (c *checker) open(r *eval.Results, reporting func(*eval.Results) *report.Report) bool {
	chosen, err := Systems()
	if err != nil {
		c.find("systems", "those of the self-check", err, false)
		return false
	}
	var names, got []string
	for _, s := range chosen {
		names = append(names, s.Name)
	}
	for _, s := range r.Run.Systems {
		got = append(got, s.Name)
	}
	c.equal("systems", strings.Join(names, ", "), strings.Join(got, ", "))
	c.equal("units", 1, len(r.Units))
	if !c.ok() {
		return false
	}
	c.unit = &r.Units[0]
	n := len(questions())
	c.equal("questions asked", n, len(c.unit.Asked))
	c.equal("systems in the unit", len(chosen), len(c.unit.Results))
	c.equal("rows of likeness", n, len(c.unit.Likeness))
	if !c.ok() {
		return false
	}
	c.report = reporting(r)
	c.equal("questions reported", n*len(chosen), len(c.report.Questions))
	c.equal("systems reported", len(chosen), len(c.report.Systems))
	if !c.ok() {
		return false
	}
	for i := range c.unit.Results {
		s := &system{System: r.Run.Systems[i], Result: &c.unit.Results[i], report: &c.report.Systems[i]}
		for _, q := range c.report.Questions {
			if q.System == s.Name {
				s.questions = append(s.questions, q)
			}
		}
		c.systems[s.Name] = s
		failed := 0
		for _, a := range s.Answers {
			if a.Failure != "" {
				failed++
			}
		}
		c.equal(s.Name+": answers, failures", fmt.Sprint(n, 0), fmt.Sprint(len(s.Answers), failed))
	}
	return c.ok()
}

func (c *checker) ok() bool { return Well(c.findings) }

// documents: percached added every file as one chunk, and every answer was located.
func (c *checker) documents() {
	c.equal("documents", len(files()), c.unit.Documents)
	c.equal("chunks", len(files()), c.unit.Chunks)
	c.equal("files that were not read, parts that were left out", "0 0", fmt.Sprint(len(c.unit.Unread), len(c.unit.LeftOut)))
	located := 0
	for i, q := range questions() {
		if c.unit.Asked[i].Located && c.unit.Asked[i].Text == q.text {
			located++
		}
	}
	c.equal("questions in their order whose document is known", len(questions()), located)
}

// similar: exactly the expected pairs of questions are above the threshold.
func (c *checker) similar() {
	var want, got []string
	for i := range questions() {
		for j := range i {
			pair := fmt.Sprintf("%d-%d", j+1, i+1)
			if similar(j+1, i+1) {
				want = append(want, pair)
			}
			if j < len(c.unit.Likeness[i]) && c.unit.Likeness[i][j] >= threshold {
				got = append(got, pair)
			}
		}
	}
	c.equal("questions near enough to each other", strings.Join(want, " "), strings.Join(got, " "))
}

// letter is the letter of an answer's outcome. A verified hit is a computed answer, so its
// letter says whether the tensors of its chunks were stored.
func letter(a *eval.Answer) rune {
	switch a.Outcome {
	case client.OutcomeAnswerHit:
		return hit
	case client.OutcomeVerifiedHit:
		if a.Reuse.Stored == 0 {
			return miss
		}
		return tensor
	case client.OutcomeTensorHit:
		return tensor
	case client.OutcomeMiss:
		return miss
	}
	return '?'
}
