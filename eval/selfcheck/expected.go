package selfcheck

import (
	"io"
	"strings"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/systems"
)

const (
	k = 2 // chunks in a prompt
	// threshold separates the similar questions from the others: see similar.
	threshold = 0.77
)

// Plan is the plan of the run.
func Plan() eval.Plan {
	return eval.Plan{Seed: 1, Repeats: 1, Warmup: 1, Rounds: 1, Stride: 2, LimitBytes: 1 << 30}
}

// Systems are the systems of the run.
func Systems() ([]eval.System, error) {
	var names []string
	for _, w := range expectations() {
		names = append(names, w.system)
	}
	chosen, err := systems.Choose(strings.Join(names, ","))
	for i := range chosen {
		s := &chosen[i].Settings
		s.K, s.Threshold = new(k), new(threshold)
	}
	return chosen, err
}

// Data is the data set. Each file is one chunk. Two files each are twins about the same
// topic, which no other file mentions. So the chunks of each prompt are known: the file
// with the answer, then its twin.
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
		{"What is the budget for Heron?", "$46,000", "heron.md"},            // the same words as 1
		{"When do the castings for Heron arrive?", "3 June", "castings.md"}, // the chunks of 1 in the other order
		{"What is Heron's budget?", "$46,000", "heron.md"},                  // 1 in other words
		{"When is the vet of Pickle open?", "8:30", "vet.md"},               // similar to 2, but another question: a trap
		{"What is Pickle allergic to?", "hazelnuts", "cat.md"},              // the chunks of 2 in the other order
		{"When is the boiler repaired?", "Tuesday", "boiler.md"},
		{"What is the phone number of the plumber?", "555-0163", "boiler.md"}, // the chunks of 8
	}
}

// similar are the pairs of questions, by number, that are similar enough for a stored
// answer. All others are not.
func similar(earlier, later int) bool {
	switch [2]int{earlier, later} {
	case [2]int{1, 3}, [2]int{1, 5}, [2]int{3, 5}, [2]int{2, 6}:
		return true
	}
	return false
}

// The outcomes of a question. A verified hit counts as a miss or as tensors.
const (
	miss   = 'm'
	tensor = 't' // the tensors of its chunks were stored
	hit    = 'a' // a stored answer was served
)

// reactive is percached with its gate and both stores, and without idle work.
const reactive = "percached-no-idle"

// want is what a system must do.
type want struct {
	system string
	// came has a letter for each question; empty: it depends on predictions.
	came string
	// from has for each question the number of the question whose uncached answer is
	// given.
	from string
	// At the end:
	slices, entries int
	wrong           int  // wrong answers served; -1: it depends on predictions
	idle            bool // it does idle work
}

const (
	own    = "123456789"
	served = "121412789" // 3 and 5 get the answer to 1; 6 gets the answer to 2, which is wrong
	guards = "121416789" // the gate does not serve the answer to 2 for 6
)

// expectations are the expected numbers of each system.
//
// With sequential placement, a chunk's tensors are valid only behind the same earlier
// chunks:
//
//	1  heron, castings   nothing is stored; now instructions and two chunks are: 3 slices
//	2  vet, cat          the instructions are stored, no chunk: 5 slices
//	3  heron, castings   both are stored
//	4  castings, heron   in this order only the instructions are stored: 7
//	5  heron, castings   both
//	6  vet, cat          both
//	7  cat, vet          only the instructions: 9
//	8  boiler, cellar    only the instructions: 11
//	9  boiler, cellar    both
//
// With parallel placement the order does not matter. 4 and 7 find both chunks too, and
// there are 7 slices: the instructions and six chunks.
//
// If answers are stored, 3 has the words of 1, and 5 and 6 are similar to 1 and 2. Without
// the gate all three are served, and the answer for 6 is wrong. With the gate 6 is
// computed. Entries are the questions that were computed.
func expectations() []want {
	return []want{
		{system: "naive", came: "mmmmmmmmm", from: own},
		{system: "naive-parallel", came: "mmmmmmmmm", from: own},
		{system: "ragcache", came: "mmtmttmmt", from: own, slices: 11},
		{system: "meancache", came: "mmamaammm", from: served, entries: 6, wrong: 1},
		{system: "ragcache+meancache", came: "mmamaammt", from: served, slices: 11, entries: 6, wrong: 1},
		{system: "percache", wrong: -1, idle: true},
		{system: "percached", idle: true},
		{system: reactive, came: "mmatattmt", from: guards, slices: 7, entries: 7},
		// Its bank has a wrong answer to each of the eight texts.
		{system: "poisoned", came: "aaaaaaaaa", entries: 8, wrong: 9},
	}
}

// The built-in model, by its card: 8 layers of width 256; 4 heads of 64, 2 of them for
// keys and values; a gated feed-forward of 384; 4,096 words.
const (
	// The matrices that a token passes in a layer: Q and the attention's output have 256 x
	// 256 weights each, K and V 256 x 128, the feed-forward 3 x 256 x 384. Each weight is
	// a multiplication and an addition.
	perToken = 8 * 2 * (2*256*256 + 2*256*128 + 3*256*384) // 7,864,320
	// A token's Q times the K of each attended token, and the sum of their V: 4 heads of
	// 64, a multiplication and an addition each, twice.
	perSeen = 8 * 2 * 2 * 4 * 64 // 8,192
	// From the last layer to the vocabulary, once per generated token.
	perGenerated = 2 * 256 * 4096 // 2,097,152
	// K and V of a stored token: 8 layers, 2 heads of 64, 2 bytes per number.
	tokenBytes = 8 * 2 * 2 * 64 * 2 // 4,096
)
