package llmtest

import "github.com/percached/percached"

func samplingChecks() []check {
	return []check{
		{name: "sampling/greedy", run: checkGreedy},
		{name: "sampling/seed", run: checkSeed},
	}
}

// The zero Sampling is greedy; so is any that leaves one token to choose from.
func checkGreedy(p *probe) {
	pr := p.talkative()
	pr.Sampling = percached.Sampling{}
	greedy := p.generate(pr)
	for _, s := range []percached.Sampling{
		{Seed: 5},
		{TopK: 7, TopP: 0.5},
		{Temperature: 1, TopK: 1, Seed: 3},
		{Temperature: 1, TopP: 1e-6, Seed: 4},
	} {
		pr.Sampling = s
		p.same("greedy by other means", greedy.Result, p.generate(pr).Result)
	}
}

// One seed gives one answer; seeds differ.
func checkSeed(p *probe) {
	pr := p.talkative()
	answers := map[string]bool{}
	for seed := range uint64(16) {
		pr.Sampling = percached.Sampling{Temperature: 1.5, Seed: seed}
		first := p.generate(pr)
		if seed < 3 {
			p.same("the same seed", first.Result, p.generate(pr).Result)
		}
		answers[first.Text] = true
	}
	if len(answers) == 1 {
		p.fatalf("16 seeds gave one answer")
	}
}
