package selfcheck

import (
	"io"
	"strings"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/systems"
)

const (
	k = 2 // chunks of a prompt
	// threshold lies between how alike these questions are: see alike.
	threshold = 0.77
)

// Plan is how the run is led.
func Plan() eval.Plan {
	return eval.Plan{Seed: 1, Repeats: 1, Warmup: 1, Rounds: 1, Stride: 2, LimitBytes: 1 << 30}
}

// Systems are those that are run.
func Systems() ([]eval.System, error) {
	var names []string
	for _, w := range wanted() {
		names = append(names, w.system)
	}
	chosen, err := systems.Choose(strings.Join(names, ","))
	for i := range chosen {
		s := &chosen[i].Settings
		s.K, s.Threshold = new(k), new(threshold)
	}
	return chosen, err
}

// Data is the set. Each file is one chunk, and two files each are twins: they speak
// of the same thing and of no other. So the chunks of each prompt are known: the file
// with the answer, and behind it its twin.
func Data() *eval.Data {
	s := eval.Set{User: "tiny", Kind: "notes", Ordered: true}
	for _, f := range files() {
		s.Files = append(s.Files, eval.File{
			Name: f.name, Size: int64(len(f.text)),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(f.text)), nil },
		})
	}
	for i, q := range questions() {
		s.Questions = append(s.Questions, eval.Question{Number: i + 1, Text: q.text, Gold: []string{q.gold}, Document: q.file})
	}
	return &eval.Data{Sets: []eval.Set{s}, PassedOver: map[string]int{}}
}

type file struct{ name, text string }

func files() []file {
	return []file{
		{"heron.md", "# Heron\n\nThe budget for Heron is $46,000. Wilma Tarn leads Heron.\n"},
		{"castings.md", "# Castings for Heron\n\nThe castings for Heron come from Calder Foundry. They arrive on 3 June.\n"},
		{"vet.md", "# Vet\n\nThe vet of Pickle is in Mill Lane. The vet opens at 8:30.\n"},
		{"cat.md", "# Pickle\n\nPickle is allergic to hazelnuts. Pickle sleeps on the sofa.\n"},
		{"boiler.md", "# Boiler\n\nThe boiler is repaired on Tuesday. The phone number of the plumber is 555-0163.\n"},
		{"cellar.md", "# Cellar\n\nThe boiler stands in the cellar. The cellar is dry.\n"},
	}
}

type question struct{ text, gold, file string }

func questions() []question {
	return []question{
		{"What is the budget for Heron?", "$46,000", "heron.md"},
		{"Where is the vet of Pickle?", "Mill Lane", "vet.md"},
		{"What is the budget for Heron?", "$46,000", "heron.md"},            // in the same words
		{"When do the castings for Heron arrive?", "3 June", "castings.md"}, // the chunks of 1, the other way round
		{"What is Heron's budget?", "$46,000", "heron.md"},                  // 1 in other words
		{"When is the vet of Pickle open?", "8:30", "vet.md"},               // close to 2, and another question: a trap
		{"What is Pickle allergic to?", "hazelnuts", "cat.md"},              // the chunks of 2, the other way round
		{"When is the boiler repaired?", "Tuesday", "boiler.md"},
		{"What is the phone number of the plumber?", "555-0163", "boiler.md"}, // the chunks of 8
	}
}

// alike are the pairs of questions, by number, that are alike enough for a stored
// answer to be looked at. All others are not.
func alike(earlier, later int) bool {
	switch [2]int{earlier, later} {
	case [2]int{1, 3}, [2]int{1, 5}, [2]int{3, 5}, [2]int{2, 6}:
		return true
	}
	return false
}
