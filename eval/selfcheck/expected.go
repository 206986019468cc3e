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

// similar are the pairs of questions, by number, that are alike enough for a stored
// answer to be looked at. All others are not.
func similar(earlier, later int) bool {
	switch [2]int{earlier, later} {
	case [2]int{1, 3}, [2]int{1, 5}, [2]int{3, 5}, [2]int{2, 6}:
		return true
	}
	return false
}

// How a question may come out.
const (
	miss   = 'm'
	tensor = 't' // its chunks' tensors were stored
	hit    = 'a' // a stored answer was served
)

// reactive is percached with its gate and both its stores, and without idle work.
const reactive = "percached-no-idle"

// want is what must come of a system.
type want struct {
	system string
	// came has a letter for each question; empty: it depends on what is predicted.
	came string
	// from has for each question the number of the one whose uncached answer is given.
	from string
	// In the end:
	slices, entries int
	wrong           int  // wrong answers served; -1: it depends on what is predicted
	idle            bool // it works while idle
}

const (
	own    = "123456789"
	served = "121412789" // 3 and 5 get the answer to 1; 6 gets that to 2, which is wrong
	guards = "121416789" // the gate does not serve the answer to 2 for 6
)

// expectations is what must come out, system by system.
//
// Chunk behind chunk, tensors are good behind the same earlier chunks only:
//
//	1  heron, castings   nothing is there; instructions and two chunks are stored: 3 slices
//	2  vet, cat          the instructions are there, no chunk is: 5 slices
//	3  heron, castings   both are there
//	4  castings, heron   in this order nothing is there but the instructions: 7
//	5  heron, castings   both
//	6  vet, cat          both
//	7  cat, vet          the instructions: 9
//	8  boiler, cellar    the instructions: 11
//	9  boiler, cellar    both
//
// Side by side the order does not matter: 4 and 7 find both chunks too, and there are
// 7 slices: of the instructions and of each of six chunks.
//
// Where answers are kept, 3 has the words of 1, and 5 and 6 are near enough to 1 and
// 2. Without the gate all three are served, and the answer for 6 is a wrong one; with
// it 6 is computed. Entries are the questions that were computed.
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
		// Its bank had an answer to each of the eight texts, and every one is wrong.
		{system: "poisoned", came: "aaaaaaaaa", entries: 8, wrong: 9},
	}
}

// What the built-in model takes, by its card: 8 layers of width 256; 4 heads of 64,
// 2 of them for keys and values; a gated feed-forward of 384; 4,096 words.
const (
	// The matrices that a token passes in a layer: Q and the output of attention have
	// 256 x 256 weights each, K and V 256 x 128, the feed-forward 3 x 256 x 384. Each
	// weight is a multiplication and an addition.
	perToken = 8 * 2 * (2*256*256 + 2*256*128 + 3*256*384) // 7,864,320
	// A token's Q against the K of one that it sees, and that one's V added up: 4 heads
	// of 64, a multiplication and an addition each, twice.
	perSeen = 8 * 2 * 2 * 4 * 64 // 8,192
	// From the last layer to the vocabulary, once a generated token.
	perGenerated = 2 * 256 * 4096 // 2,097,152
	// K and V of a stored token: 8 layers, 2 heads of 64, of 2 bytes each number.
	tokenBytes = 8 * 2 * 2 * 64 * 2 // 4,096
)
