package calibrate_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/calibrate"
)

func open(t *testing.T) (*calibrate.Book, *kv.DB) {
	t.Helper()
	o := kv.Default()
	o.MinFree = 0
	db, err := kv.Open(filepath.Join(t.TempDir(), "meta"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	b, err := calibrate.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	return b, db
}

var (
	mail = calibrate.Subject{Model: "m", Prompt: "p", Kind: "emails"}
	then = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// compare adds trials until it is decided, and gives the record.
func compare(t *testing.T, b *calibrate.Book, s calibrate.Subject, trial func() calibrate.Trial) calibrate.Record {
	t.Helper()
	for n := range calibrate.MaxTrials() {
		r, err := b.Add(s, trial(), fmt.Sprint(n), s.Model == "measured", then)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != calibrate.Pending {
			return r
		}
	}
	t.Fatal("nothing was decided")
	return calibrate.Record{}
}

func TestVerdicts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	noisy := func(loss float64) func() calibrate.Trial {
		return func() calibrate.Trial {
			s := rnd.Float64()
			return calibrate.Trial{Sequential: s, Parallel: s * (1 - loss) * (0.5 + rnd.Float64())}
		}
	}
	for _, tc := range []struct {
		name    string
		trial   func() calibrate.Trial
		verdict calibrate.Verdict
		trials  int
	}{
		{"the same answers", func() calibrate.Trial { v := rnd.Float64(); return calibrate.Trial{Sequential: v, Parallel: v} }, calibrate.Parallel, 24},
		{"better answers", noisy(-0.3), calibrate.Parallel, 24},
		{"useless answers", noisy(1), calibrate.Sequential, 24},
		{"half as good", noisy(0.5), calibrate.Sequential, 24},
		{"as good as may be", noisy(0.1), calibrate.Undecided, 96},
		{"no placement answers", func() calibrate.Trial { return calibrate.Trial{} }, calibrate.Undecided, 96},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, _ := open(t)
			r := compare(t, b, mail, tc.trial)
			if r.Verdict != tc.verdict || len(r.Trials) != tc.trials {
				t.Errorf("%s after %d, want %s after %d: %s", r.Verdict, len(r.Trials), tc.verdict, tc.trials, r.Why())
			}
			if r.Decided != then || r.Cursor != "" {
				t.Errorf("decided %v, the cursor is %q", r.Decided, r.Cursor)
			}
			p, ok := r.Placement()
			if want := tc.verdict != calibrate.Undecided; ok != want || p == percached.Parallel != (tc.verdict == calibrate.Parallel) {
				t.Errorf("placement %v, %v", p, ok)
			}
		})
	}
}

// Where the model's family was measured it takes more to say otherwise, and no more to
// say the same.
func TestFamily(t *testing.T) {
	n := 0
	little := func() calibrate.Trial { // 0.38 against 0.5, and noise
		n++
		return calibrate.Trial{Sequential: float64(n % 2), Parallel: []float64{0, 0.6, 0, 1, 0, 0.7}[n%6]}
	}
	b, _ := open(t)
	other := mail
	other.Model = "measured"
	if r := compare(t, b, mail, little); r.Verdict != calibrate.Sequential {
		t.Errorf("%s: %s", r.Verdict, r.Why())
	}
	n = 0
	if r := compare(t, b, other, little); len(r.Trials) <= len(b.Get(mail).Trials) {
		t.Errorf("%s after %d: %s", r.Verdict, len(r.Trials), r.Why())
	}
	other.Kind = "notes"
	if r := compare(t, b, other, func() calibrate.Trial { return calibrate.Trial{Sequential: 0.5, Parallel: 0.5} }); r.Verdict != calibrate.Parallel || len(r.Trials) != 24 {
		t.Errorf("%s after %d", r.Verdict, len(r.Trials))
	}
}

// Answers that are just too bad are taken for good ones in fewer than one of ten
// books, although each is looked at three times.
func TestConfidence(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	b, _ := open(t)
	wrong := 0
	const books = 150
	for i := range books {
		s := mail
		s.Kind = fmt.Sprint(i)
		r := compare(t, b, s, func() calibrate.Trial {
			var tr calibrate.Trial
			if rnd.Float64() < 0.5 { // answers are often right or wrong as a whole
				tr.Sequential = rnd.Float64()
			}
			if rnd.Float64() < 0.45 {
				tr.Parallel = rnd.Float64()
			}
			return tr
		})
		if r.Verdict == calibrate.Parallel {
			wrong++
		}
	}
	if wrong > books/10+8 {
		t.Errorf("%d of %d are wrong", wrong, books)
	}
}

func TestBookLasts(t *testing.T) {
	b, db := open(t)
	compare(t, b, mail, func() calibrate.Trial { return calibrate.Trial{Sequential: 0.5, Parallel: 0.5} })
	notes := mail
	notes.Kind = "notes"
	if _, err := b.Add(notes, calibrate.Trial{Sequential: 1}, "here", false, then); err != nil {
		t.Fatal(err)
	}
	again, err := calibrate.Open(db)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b.All(), again.All()); d != "" {
		t.Error(d)
	}
	if r := again.Get(notes); r.Cursor != "here" || r.Verdict != calibrate.Pending {
		t.Errorf("%+v", r)
	}
	other := mail
	other.Model = "another"
	if r := again.Get(other); r.Verdict != calibrate.Pending || r.Trials != nil {
		t.Errorf("of another model it knows %+v", r)
	}
	if err := again.Restart(mail); err != nil {
		t.Fatal(err)
	}
	if again, err = calibrate.Open(db); err != nil || again.Get(mail).Verdict != calibrate.Pending || len(again.All()) != 1 {
		t.Errorf("behind a restart: %+v, %v", again.All(), err)
	}
}

// Too few questions decide nothing; enough, although none are left, do.
func TestQuestionsRunOut(t *testing.T) {
	for n, want := range map[int]calibrate.Verdict{10: calibrate.Pending, 30: calibrate.Undecided} {
		b, _ := open(t)
		for range n {
			if _, err := b.Add(mail, calibrate.Trial{}, "c", false, then); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := b.End(mail, 7, then); err != nil || r.Verdict != want || r.Lacking != 7 {
			t.Errorf("%d: %+v, %v", n, r, err)
		}
	}
}

func TestBookIsBounded(t *testing.T) {
	b, db := open(t)
	for i := range 80 {
		s := mail
		s.Kind = fmt.Sprint(i)
		if _, err := b.Add(s, calibrate.Trial{}, "", false, then); err != nil {
			t.Fatal(err)
		}
	}
	again, err := calibrate.Open(db)
	if err != nil || len(b.All()) != 64 || len(again.All()) != 64 {
		t.Errorf("%d and %d, %v", len(b.All()), len(again.All()), err)
	}
	if b.Get(calibrate.Subject{Model: "m", Prompt: "p", Kind: "79"}).Trials == nil {
		t.Error("the newest one went")
	}
}

// The predictor deletes what it cannot read under its own letter.
func TestKeysAreItsOwn(t *testing.T) {
	b, db := open(t)
	for n := range 40 {
		if _, err := b.Skip(calibrate.Subject{Model: fmt.Sprint(n), Prompt: "p", Kind: "emails"}, "", then); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	if err := db.View(func(tx *kv.Tx) error {
		return tx.Scan([]byte{'C'}, func(_, _ []byte, damage error) error {
			n++
			return damage
		})
	}); err != nil || n != 40 {
		t.Errorf("%d of 40 records under C, %v", n, err)
	}
}
