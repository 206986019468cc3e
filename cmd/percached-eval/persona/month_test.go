package persona_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/knowledgebank"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write what the tests expect anew")

var start = time.Date(2025, 6, 2, 0, 0, 0, 0, time.UTC)

func find(t testing.TB, name string) persona.Profile {
	t.Helper()
	p, ok := persona.Find(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	if err := p.Validate(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

func hash(t *testing.T, events []persona.Event) string {
	t.Helper()
	b, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// A month depends on profile, seed and start alone; what it was is on file.
func TestSameSeedSameMonth(t *testing.T) {
	const file = "testdata/months.json"
	got := map[string]string{}
	for _, p := range persona.Profiles() {
		got[p.Name] = hash(t, persona.New(p, 1, start).Events())
		if again := hash(t, persona.New(p, 1, start).Events()); again != got[p.Name] {
			t.Errorf("%s: two months of one seed differ", p.Name)
		}
		if other := hash(t, persona.New(p, 2, start).Events()); other == got[p.Name] {
			t.Errorf("%s: two seeds have one month", p.Name)
		}
	}
	if *update {
		b, _ := json.MarshalIndent(got, "", "\t")
		if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("other months than before; -update if that is wanted:\n%s", d)
	}
}

// Days begin at midnight where the person is, also when the clocks change.
func TestStart(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	begin := time.Date(2025, 3, 9, 13, 30, 0, 0, zone)
	events := persona.New(find(t, "typical"), 1, begin).Events()
	if want := time.Date(2025, 3, 10, 0, 0, 0, 0, zone); !events[0].At.Equal(want) {
		t.Errorf("begins at %v, want %v", events[0].At, want)
	}
	if at := events[len(events)-1].At; at.Before(time.Date(2025, 4, 8, 23, 50, 0, 0, zone)) || !at.Before(time.Date(2025, 4, 9, 0, 0, 0, 0, zone)) {
		t.Errorf("ends at %v", at)
	}
	for _, e := range events {
		if h := e.At.Hour(); e.Kind == persona.Asked && (h < 8 || h > 22) {
			t.Errorf("a question at %v", e.At)
		}
	}
}

func TestCounts(t *testing.T) {
	type bounds struct{ least, most int }
	for _, tt := range []struct {
		profile                       string
		arrives, deleted, asked       bounds
		first, again, foreign, limits bounds
	}{
		{"typical", bounds{300, 420}, bounds{10, 12}, bounds{90, 240}, bounds{45, 170}, bounds{20, 90}, bounds{2, 35}, bounds{3, 3}},
		{"sparse", bounds{80, 145}, bounds{2, 3}, bounds{15, 15}, bounds{5, 15}, bounds{0, 10}, bounds{0, 0}, bounds{3, 3}},
		{"meetings", bounds{17, 17}, bounds{0, 1}, bounds{60, 150}, bounds{30, 120}, bounds{8, 60}, bounds{0, 25}, bounds{3, 3}},
		{"busy", bounds{400, 600}, bounds{10, 12}, bounds{780, 1020}, bounds{280, 600}, bounds{250, 500}, bounds{30, 120}, bounds{3, 3}},
		{"unpredictable", bounds{280, 420}, bounds{10, 12}, bounds{30, 90}, bounds{0, 0}, bounds{0, 0}, bounds{0, 0}, bounds{3, 3}},
	} {
		t.Run(tt.profile, func(t *testing.T) {
			for seed := range uint64(5) {
				kinds, relations := map[persona.Kind]int{}, map[persona.Relation]int{}
				for _, e := range persona.New(find(t, tt.profile), seed, start).Events() {
					kinds[e.Kind]++
					if e.Kind == persona.Asked {
						relations[e.Expect.Relation]++
					}
				}
				t.Log(seed, kinds, relations)
				for _, c := range []struct {
					what string
					n    int
					want bounds
				}{
					{"documents", kinds[persona.Arrives], tt.arrives},
					{"deletions", kinds[persona.Deleted], tt.deleted},
					{"questions", kinds[persona.Asked], tt.asked},
					{"first questions", relations[persona.First], tt.first},
					{"repeats and paraphrases", relations[persona.Repeat] + relations[persona.Paraphrase], tt.again},
					{"foreign questions", relations[persona.Foreign], tt.foreign},
					{"limits", kinds[persona.Limited], tt.limits},
					{"states of the phone", kinds[persona.Posted], bounds{30 * 288, 30 * 288}},
				} {
					if c.n < c.want.least || c.n > c.want.most {
						t.Errorf("seed %d: %d %s, want %d to %d", seed, c.n, c.what, c.want.least, c.want.most)
					}
				}
			}
		})
	}
}

// Events come in order; documents are sound; what is deleted is there, and
// what a question expects is what the documents say when it is asked.
func TestEvents(t *testing.T) {
	for _, p := range persona.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			there, texts := map[string]string{}, map[string]string{}
			var last time.Time
			changed, never := 0, 0
			for i, e := range persona.New(p, 3, start).Events() {
				if e.At.Before(last) {
					t.Fatalf("event %d is before its forerunner", i)
				}
				last = e.At
				switch e.Kind {
				case persona.Arrives:
					text := check(t, p, e)
					if texts[text] != "" {
						t.Errorf("%s has the text of %s", e.Key, texts[text])
					}
					texts[text] = e.Key
					if there[e.Key] != "" {
						changed++
					}
					there[e.Key] = text
				case persona.Deleted:
					if there[e.Key] == "" {
						t.Errorf("%s is deleted and not there", e.Key)
					}
					delete(there, e.Key)
				case persona.Asked:
					x := e.Expect
					if strings.TrimSpace(e.Question) == "" || strings.ContainsAny(e.Question, "{}") {
						t.Errorf("odd question %q", e.Question)
					}
					if (x.Document == "") != (x.Answer == "") || x.Answer != "" && !strings.Contains(there[x.Document], x.Answer) {
						t.Errorf("%q: %+v, and the document says %q", e.Question, x, there[x.Document])
					}
					never += len(x.Never)
					for _, old := range x.Never {
						if strings.Contains(there[x.Document], old) {
							t.Errorf("%q: %s still says %s", e.Question, x.Document, old)
						}
					}
					if (x.Of == "") != (x.Relation == persona.First || x.Relation == persona.Foreign || x.Relation == persona.Odd) {
						t.Errorf("%q: %+v", e.Question, x)
					}
				case persona.Posted:
					if d := e.Device; d.Battery <= 0 || d.Battery > 1 || d.Temperature < 20 || d.Temperature > 90 {
						t.Errorf("%+v at %v", d, e.At)
					}
				}
			}
			if changed > p.Revisions || p.Revisions > 10 && changed < 5 {
				t.Errorf("%d documents changed", changed)
			}
			if p.Name == "busy" && never == 0 {
				t.Error("no question whose answer changed or went")
			}
		})
	}
}

// check gives the text of a document, and says what is wrong with it.
func check(t *testing.T, p persona.Profile, e persona.Event) string {
	s := e.Source
	if s == nil || s.Key != e.Key || s.Key == "" || s.Title == "" || s.Source == "" || s.Format == "" || s.Date.IsZero() || s.Date.After(e.At) {
		t.Fatalf("%s: %+v", e.Key, s)
	}
	var b strings.Builder
	for _, x := range append([]knowledgebank.Block{{Text: s.Title}}, s.Blocks...) {
		if x.Text == "" || !utf8.ValidString(x.Text) || strings.ContainsAny(x.Text, "{}\r\t") || (s.Format == "transcript") != (x.Speaker != "") && x.Text != s.Title {
			t.Errorf("%s: block %+v", e.Key, x)
		}
		b.WriteString(x.Text + "\n")
	}
	text := strings.TrimPrefix(b.String(), s.Title+"\n")
	if n := len(strings.Fields(text)); n < p.Words.Least || n > p.Words.Most {
		t.Errorf("%s has %d words, not %d to %d", e.Key, n, p.Words.Least, p.Words.Most)
	}
	return text
}

// The phone is charged at night, by day hardly ever, and hot now and then.
func TestPhone(t *testing.T) {
	night, day, hot, low := 0, 0, 0, 0
	for _, e := range persona.New(find(t, "typical"), 4, start).Events() {
		if e.Kind != persona.Posted {
			continue
		}
		switch h := e.At.Hour(); {
		case h < 6 && e.Device.Charging:
			night++
		case h >= 8 && h < 22 && e.Device.Charging:
			day++
		}
		if e.Device.Temperature > 70 {
			hot++
		}
		if e.Device.Battery < 0.4 {
			low++
		}
	}
	if night != 30*6*12 || day > 30*12 || hot < 20 || hot > 600 || low < 100 {
		t.Errorf("posts: %d charging at night, %d by day, %d hot, %d low", night, day, hot, low)
	}
}

func TestValidate(t *testing.T) {
	p := find(t, "typical")
	p.Days, p.Every, p.Words, p.Near, p.Report = 0, 0, persona.Span{Least: 9, Most: 5}, 2, 0
	p.Limits = []persona.Move{{Hour: 24}}
	err := p.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"days", "every", "words", "near", "report", "limits"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %s in %v", want, err)
		}
	}
	if _, ok := persona.Find("nobody"); ok {
		t.Error("nobody is found")
	}
}

func BenchmarkMonth(b *testing.B) {
	p := find(b, "typical")
	for b.Loop() {
		persona.New(p, 1, start)
	}
}
