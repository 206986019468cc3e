package likeness_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/qabank/likeness"
)

// pair is a line of the test data.
type pair struct{ Stored, Answer, Asked, Kind string }

func pairs(t *testing.T, files ...string) (all []pair) {
	t.Helper()
	for _, name := range files {
		f, err := os.Open("../testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var p pair
			if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
				t.Fatal(name, err)
			}
			all = append(all, p)
		}
	}
	return all
}

func compare(asked, stored string, similarity float64) likeness.Pair {
	chunks := []percached.ChunkID{{1}, {2}, {3}}
	return likeness.Pair{
		Asked: likeness.Question{Text: asked, Chunks: chunks}, Stored: likeness.Question{Text: stored, Chunks: chunks}, Similarity: similarity, Rest: similarity,
	}
}

// Both fitted models load, for the names of their embedding models; another embedding model
// has no calibration.
func TestFor(t *testing.T) {
	for name, want := range map[string]string{"all-MiniLM-L6-v2": "minilm-l6", "nano-embed": "nano-embed", "bge-small-en-v1.5": "scaled"} {
		m := likeness.For(percached.EmbedderInfo{Name: name}, 0.7)
		if m.Name != want || (len(m.Calibration) > 0) != (want != "scaled") {
			t.Errorf("%s: model %s with %d steps", name, m.Name, len(m.Calibration))
		}
		for i, s := range m.Calibration {
			if s.Wrong > s.Questions || s.Score < 0 || s.Score > 1 || i > 0 && s.Score >= m.Calibration[i-1].Score {
				t.Errorf("%s: step %d is %+v", name, i, s)
			}
		}
	}
}

// What is similar to its threshold under another embedding model counts as what is similar
// to MiniLM's under MiniLM.
func TestScaled(t *testing.T) {
	const asked, stored = "When is the summer fair?", "On which day is the summer fair?"
	minilm := likeness.For(percached.EmbedderInfo{Name: "all-MiniLM-L6-v2"}, 0.85)
	other := likeness.For(percached.EmbedderInfo{Name: "other"}, 0.7)
	if a, b := minilm.Score(compare(asked, stored, 0.9)), other.Score(compare(asked, stored, 0.8)); a < b-1e-9 || a > b+1e-9 {
		t.Errorf("%.6f, and %.6f scaled", a, b)
	}
}

// A score never falls when two questions come nearer.
func TestScoreRises(t *testing.T) {
	m := likeness.For(percached.EmbedderInfo{Name: "all-MiniLM-L6-v2"}, 0.85)
	for _, p := range pairs(t, "heldout/enronqa.jsonl") {
		last := 0.0
		for s := 0.5; s <= 1; s += 0.05 {
			score := m.Score(compare(p.Asked, p.Stored, s))
			if score < last-1e-12 || score < 0 || score > 1 {
				t.Fatalf("%q: %.4f behind %.4f", p.Asked, score, last)
			}
			last = score
		}
	}
}

// No trap is proven, however near the vectors and the chunks are.
func TestNoTrapIsProven(t *testing.T) {
	traps, same := 0, 0
	for _, p := range pairs(t, "tune.jsonl", "second.jsonl", "third.jsonl", "fourth.jsonl", "whom.jsonl", "heldout/pairs.jsonl") {
		proven := likeness.Proven(compare(p.Asked, p.Stored, 1), 0.85)
		switch {
		case p.Kind == "paraphrase" && proven:
			same++
		case p.Kind != "paraphrase":
			traps++
			if proven {
				t.Errorf("%s: %q is proven to be %q", p.Kind, p.Asked, p.Stored)
			}
		}
	}
	if traps < 1500 || same < 300 {
		t.Errorf("%d traps, %d paraphrases are proven", traps, same)
	}
}

func TestSameAnswer(t *testing.T) {
	sameAnswers(t, []answers{
		{"When is the fair?", "It is on 5 May.", "The fair is on 5 May.", true},
		{"When is the fair?", "It is on 5 May.", "It is on 6 May.", false},
		{"When is the fair?", "It is on 5 May.", "It is on 5 June.", false},
		{"When is the fair?", "On Saturday, 5 May at 10:00.", "On 5 May.", true},
		{"When is the fair?", "Saturday", "saturday.", true},
		{"When is the fair?", "On Saturday", "On Sunday", false},
		{"Who came?", "Ana and Bo came.", "Ana and Bo", true},
		{"Who came?", "Ana and Bo came.", "Carla came.", false},
		{"Who came?", "Ana came.", "Bo came.", false},
		{"Who came?", "Nobody came.", "Ana came.", false},
		{"Is the hall open?", "Yes, it is.", "Yes.", true},
		{"Is the hall open?", "Yes.", "No.", false},
		{"Is the hall open?", "It is open.", "It is not open.", false},
		{"How much is the rent?", "The rent is $1,185 a month.", "$1,185", true},
		{"How much is the rent?", "The rent is $1,185 a month.", "$1,140", false},
		{"Where is the key?", "Left of the back door.", "The key hangs left of the back door.", true},
		{"Where is the key?", "Left of the back door.", "Under the mat.", false},
		{"Why was it cancelled?", "Because the crane barge has a cracked winch.", "The barge's winch is cracked.", true},
		{"Why was it cancelled?", "Because the crane barge has a cracked winch.", "Because of the weather.", false},
		{"Wann ist das Fest?", "Am 5. Mai.", "Das Fest ist am 5. Mai.", true},
		{"Wann ist das Fest?", "Am 5. Mai.", "Das Fest ist am 5. Juni.", false},
		{"Qui vient ?", "Anna vient samedi.", "Anna", true},
		{"Qui vient ?", "Anna vient.", "Personne ne vient.", false},
		{"¿Cuánto cuesta?", "Cuesta 40 euros.", "40 euros", true},
		{"¿Cuánto cuesta?", "Cuesta 40 euros.", "Cuesta 45 euros.", false},
		{"会议在哪里?", "在三楼会议室", "会议在三楼会议室", true},
		{"会议在哪里?", "在三楼", "在五号楼", false},
		{"What is it?", "", "A fair", false},
		{"What is it?", "", "", true},
	})
}

func TestRests(t *testing.T) {
	a, b := likeness.Rests("When does the summer fair begin?", "At what time does the summer fair start?")
	if a != "when begin" || b != "at what time start" {
		t.Errorf("%q and %q", a, b)
	}
}

func FuzzFeatures(f *testing.F) {
	f.Add("When is it?", "Où est-ce ?", "在三楼")
	f.Add("it's 5.", "n't", "")
	f.Fuzz(func(t *testing.T, a, b, answer string) {
		p := compare(a, b, 0.5)
		p.Answer = answer
		if n := len(likeness.Features(p)); n != len(likeness.Names()) {
			t.Errorf("%d features, %d names", n, len(likeness.Names()))
		}
		if !likeness.SameAnswer(a, a, b) {
			t.Errorf("%q is not the same as itself", a)
		}
		if likeness.SameAnswer(a, answer, b) != likeness.SameAnswer(answer, a, b) {
			t.Errorf("%q and %q are the same one way alone", a, answer)
		}
	})
}
