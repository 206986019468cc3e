package folder_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/folder"
)

// aRun has two systems and the named users.
func aRun(users ...string) *eval.Run {
	r := &eval.Run{
		Layout: eval.Layout, Dataset: "plain", Began: time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC), Version: "v1", Commit: "abc",
		Machine: eval.Machine{OS: "linux", Arch: "amd64", CPUs: 2}, Model: client.AboutModel{Name: "m", Fingerprint: "f"},
		Settings: map[string]string{"threads": "1"}, Plan: eval.Plan{Seed: math.MaxUint64, Repeats: 2, Stride: 5, LimitBytes: 1 << 40},
		Systems: []eval.System{
			{Name: "a", About: "one", Settings: client.Settings{Bank: new(false), Threshold: new(0.0)}, Idle: eval.IdleNone, Reference: "a"},
			{Name: "b@case=2", Of: "b", Key: "case", Value: 2, Idle: eval.IdleAll, Reference: "a", Then: &client.Settings{Threshold: new(0.8)}},
		},
		Skipped: []eval.Skipped{{Where: "x", Reason: "odd", Usual: true}}, PassedOver: map[string]int{"id": 3},
	}
	for _, u := range users {
		r.Users = append(r.Users, eval.User{Name: u, Kind: "emails", Files: 1, Questions: 1})
	}
	return r
}

// aUnit is a unit of aRun.
func aUnit(repeat int, user string) *eval.Unit {
	return &eval.Unit{
		Repeat: repeat, User: user, Began: time.Date(2025, 3, 4, 5, 6, 8, 0, time.UTC), Seconds: 1.5, Documents: 1, Chunks: 2,
		Unread: []client.Failure{{Name: "y", Reason: "torn"}}, LeftOut: []client.Failure{},
		Asked:    []eval.Asked{{Number: 7, Text: "wer fährt <heute> & \u2028 \"wohin\"?", Gold: []string{"Ana"}, Located: true}},
		Likeness: [][]float64{{}},
		Results: []eval.Result{
			{System: "a", Answers: []eval.Answer{{Text: "Ana", Outcome: client.OutcomeMiss, FirstMS: 0.1, TotalMS: 2, Stages: client.Times{"prefill_ms": 1}, Recalled: new(true)}}},
			{System: "b@case=2", Before: eval.Work{Computed: 3, Kinds: []client.KindWork{{Kind: client.JobKindPredict, Done: 1}}}, Answers: []eval.Answer{{Failure: "500 It broke", Recalled: nil}}},
		},
	}
}

func begin(t *testing.T, r *eval.Run) (string, *folder.Folder) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deep", "run")
	f, err := folder.Create(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	return dir, f
}

func put(t *testing.T, f *folder.Folder, u *eval.Unit) {
	t.Helper()
	if err := f.Put(u); err != nil {
		t.Fatal(err)
	}
}

// Read returns all units by repeat and in the order of the run's users.
func TestRoundTrip(t *testing.T) {
	r := aRun("zoe", "ana")
	dir, f := begin(t, r)
	if !folder.Exists(dir) || folder.Exists(filepath.Dir(dir)) {
		t.Error("where is the run?")
	}
	want := &eval.Results{Run: *r, Units: []eval.Unit{*aUnit(1, "zoe"), *aUnit(1, "ana"), *aUnit(2, "zoe")}}
	for i, n := range []int{2, 1, 0} {
		u := want.Units[n]
		if f.Has(u.Repeat, u.User) {
			t.Errorf("%d %s is done before it was put", u.Repeat, u.User)
		}
		put(t, f, &u)
		if !f.Has(u.Repeat, u.User) {
			t.Errorf("%d %s is not done", u.Repeat, u.User)
		}
		got, err := folder.Read(dir) // also during a run
		if err != nil || len(got.Units) != i+1 {
			t.Fatal(err, len(got.Units))
		}
	}
	got, err := folder.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	again, run, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, run); d != "" {
		t.Error(d)
	}
	if !again.Has(1, "zoe") || !again.Has(1, "ana") || !again.Has(2, "zoe") || again.Has(2, "ana") || again.Has(3, "zoe") {
		t.Error("what is done was not found")
	}
	u := aUnit(2, "ana")
	put(t, again, u)
	want.Units = append(want.Units, *u)
	if got, err = folder.Read(dir); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The files hold text of documents, so only their owner can read them.
func TestPrivate(t *testing.T) {
	dir, f := begin(t, aRun("ana"))
	put(t, f, aUnit(1, "ana"))
	seen := 0
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others may read %s: %v", filepath.Base(path), info.Mode())
		}
		seen++
		return err
	})
	if err != nil || seen != 4 {
		t.Error(err, seen)
	}
}

// A user may have any name. Each user has files of their own in the folder.
func TestUsers(t *testing.T) {
	long := strings.Repeat("a", 300)
	short, escaped := long[:200], strings.Repeat("ü", 100)
	users := []string{
		"ana/inbox", "ana%2Finbox", "ana%252Finbox", "..", ".", "", "../../out", "/etc", "a b", "a+b", "a%20b", "Жанна", "名前", "e\u0301", "\u00e9",
		"a\x00b", "a\nb", "x.json", "x", "1-x", ".part-1", `back\slash`, "q?", "h#", long, long + "b", short, escaped,
	}
	dir, f := begin(t, aRun(users...))
	for i, u := range users {
		if f.Has(1, u) {
			t.Errorf("%q goes by the name of another", u)
		}
		one := aUnit(1, u)
		one.Chunks = i
		put(t, f, one)
	}
	all, err := folder.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Units) != len(users) {
		t.Fatalf("%d of %d units are left", len(all.Units), len(users))
	}
	for i, u := range all.Units {
		if u.User != users[i] || u.Chunks != i {
			t.Errorf("%q is read as %q", users[i], u.User)
		}
	}
	// Repeat 1 of user 11 is not repeat 11 of user 1.
	dir, f = begin(t, aRun("1-x", "x"))
	put(t, f, aUnit(1, "1-x"))
	if f.Has(1, "x") || f.Has(11, "x") || f.Has(2, "1-x") {
		t.Error("a unit is taken for another")
	}
	above, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(above) != 1 {
		t.Error("something was written outside:", above, err)
	}
}

// A crash leaves partial files and folders.
func TestCutOff(t *testing.T) {
	r := aRun("ana", "bo")
	dir, f := begin(t, r)
	put(t, f, aUnit(1, "ana"))
	write(t, filepath.Join(dir, "units", ".part-123"), `{"repeat": 1, "user": "bo`)
	write(t, filepath.Join(dir, ".part-456"), `{"layo`)
	got, err := folder.Read(dir)
	if err != nil || len(got.Units) != 1 {
		t.Fatal(err)
	}
	f, _, err = folder.Open(dir)
	if err != nil || f.Has(1, "bo") || !f.Has(1, "ana") {
		t.Fatal("a part is taken for a unit", err)
	}
	put(t, f, aUnit(1, "bo"))

	// A run that was interrupted before run.json was whole starts again.
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "units"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".part-1"), `{`)
	if folder.Exists(dir) {
		t.Error("it is no run yet")
	}
	f, err = folder.Create(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	put(t, f, aUnit(1, "ana"))
}

// A unit that could not be written is not done and leaves no file.
func TestUnwritten(t *testing.T) {
	dir, f := begin(t, aRun("ana"))
	u := aUnit(1, "ana")
	u.Seconds = math.NaN()
	if err := f.Put(u); err == nil || f.Has(1, "ana") {
		t.Error("a number that is none was written:", err)
	}
	u = aUnit(1, "ana")
	// A folder is in the way of the file.
	if err := os.MkdirAll(filepath.Join(dir, "units", "1-ana.json", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.Put(u); err == nil || f.Has(1, "ana") {
		t.Error("a folder was written over:", err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "units"))
	if err != nil || len(left) != 1 {
		t.Error(left, err)
	}
}

// Each refusal names the file or folder and changes nothing.
func TestRefused(t *testing.T) {
	unit := func(change func(*eval.Unit)) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			f, _, err := folder.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			u := aUnit(1, "ana")
			change(u)
			put(t, f, u)
		}
	}
	replaced := func(name, old, by string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, filepath.FromSlash(name))
			content, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(content), old) {
				t.Fatal(err, string(content))
			}
			write(t, path, strings.Replace(string(content), old, by, 1))
		}
	}
	const name = "units/1-ana.json"
	for _, tc := range []struct {
		name  string
		spoil func(*testing.T, string)
		why   string
	}{
		{"a newer layout", replaced("run.json", fmt.Sprintf(`"layout": %d`, eval.Layout), fmt.Sprintf(`"layout": %d`, eval.Layout+1)), fmt.Sprintf("layout %d", eval.Layout+1)},
		{"a run that is none", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "run.json"), "[]") }, "run.json: json: "},
		{"a truncated run", func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, "run.json")) }, "run.json: unexpected end of JSON input"},
		{"no run", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "run.json")) }, "run.json is missing"},
		{"a truncated unit", func(t *testing.T, dir string) { truncate(t, filepath.Join(dir, "units", "1-ana.json")) }, name + ": unexpected end of JSON input"},
		{"an empty unit", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "units", "1-ana.json"), "") }, name + ": unexpected end of JSON input"},
		{"a unit and more", replaced(name, "\n}\n", "\n}\n}"), name + ": invalid character"},
		{"a system too few", unit(func(u *eval.Unit) { u.Results = u.Results[:1] }), name + ": it has 1 systems, but the run has 2"},
		{"systems in another order", unit(func(u *eval.Unit) { slices.Reverse(u.Results) }), name + `: its system 1 is "b@case=2"`},
		{"another system", replaced(name, `"system": "a"`, `"system": "c"`), name + `: its system 1 is "c"`},
		{"an answer too few", unit(func(u *eval.Unit) { u.Results[1].Answers = nil }), name + ": b@case=2 has 0 answers to 1 questions"},
		{"an answer too many", unit(func(u *eval.Unit) { u.Results[0].Answers = append(u.Results[0].Answers, eval.Answer{}) }), name + ": a has 2 answers to 1 questions"},
		{"a user of another run", replaced(name, `"user": "ana"`, `"user": "eve"`), name + `: the run has no user "eve"`},
		{"another user's", replaced(name, `"user": "ana"`, `"user": "bo"`), name + `: it holds repeat 1 of user "bo"`},
		{"another repeat", replaced(name, `"repeat": 1`, `"repeat": 2`), name + `: it holds repeat 2 of user "ana"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, f := begin(t, aRun("ana", "bo"))
			put(t, f, aUnit(1, "ana"))
			tc.spoil(t, dir)
			before := files(t, dir)
			_, err := folder.Read(dir)
			if err == nil || !strings.HasPrefix(err.Error(), dir) || !strings.Contains(filepath.ToSlash(err.Error()), tc.why) {
				t.Error(err)
			}
			if d := cmp.Diff(before, files(t, dir)); d != "" {
				t.Error("it is not as it was", d)
			}
		})
	}
}

// A folder with other files is not changed.
func TestForeign(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(*testing.T, string)
	}{
		{"a file in it", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "letter.txt"), "dear") }},
		{"a folder in it", func(t *testing.T, dir string) { mkdir(t, filepath.Join(dir, "letters")) }},
		{"a file units", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "units"), "") }},
		{"units, and a file in it", func(t *testing.T, dir string) {
			mkdir(t, filepath.Join(dir, "units"))
			write(t, filepath.Join(dir, "units", "metre.txt"), "")
		}},
		{"a run", func(t *testing.T, dir string) {
			if _, err := folder.Create(dir, aRun("eve")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		dir := t.TempDir()
		tc.make(t, dir)
		before := files(t, dir)
		if _, err := folder.Create(dir, aRun("ana")); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", tc.name, err)
		}
		if d := cmp.Diff(before, files(t, dir)); d != "" {
			t.Errorf("%s is not as it was: %s", tc.name, d)
		}
	}
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "x")
	if _, err := folder.Create(path, aRun("ana")); err == nil {
		t.Error("a file was taken for a folder")
	}
	if _, _, err := folder.Open(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "holds no run") {
		t.Error(err)
	}
}

// files are the files of a folder with their text.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			all[path] = ""
			return err
		}
		content, err := os.ReadFile(path)
		all[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// truncate cuts off the second half of a file.
func truncate(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()/2); err != nil {
		t.Fatal(err)
	}
}
