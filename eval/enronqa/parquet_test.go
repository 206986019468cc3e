package enronqa_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/enronqa"
)

// published has the columns of the published set with pyarrow's types: everything is
// optional, lists too, and strings use a dictionary.
type published struct {
	Email      *string     `parquet:"email,optional,dict"`
	Questions  []*string   `parquet:"questions,optional,list" parquet-element:",optional,dict"`
	Rephrased  []*string   `parquet:"rephrased_questions,optional,list" parquet-element:",optional,dict"`
	Gold       []*string   `parquet:"gold_answers,optional,list" parquet-element:",optional,dict"`
	Alternates [][]*string `parquet:"alternate_answers,optional,list" parquet-element:",optional,list"`
	Incorrect  [][]*string `parquet:"incorrect_answers,optional,list" parquet-element:",optional,list"`
	Count      *int64      `parquet:"questions_count,optional"`
	Include    []*int64    `parquet:"include_email,optional,list"`
	Path       *string     `parquet:"path,optional,dict"`
	User       *string     `parquet:"user,optional,dict"`
}

// flat has the same columns with other types: nothing is optional, lists repeat, answers
// are single, and the flag is one for each mail.
type flat struct {
	Path       string   `parquet:"path"`
	User       []byte   `parquet:"user"`
	Email      string   `parquet:"email"`
	Questions  []string `parquet:"questions"`
	Rephrased  []string `parquet:"rephrased_questions,list"`
	Gold       []string `parquet:"gold_answers,list"`
	Alternates []string `parquet:"alternate_answers"`
	Include    bool     `parquet:"include_email"`
}

// older names the elements of lists as older pyarrow does.
type older struct {
	Path       *string    `parquet:"path,optional"`
	User       *string    `parquet:"user,optional"`
	Email      *string    `parquet:"email,optional"`
	Questions  *items     `parquet:"questions,optional"`
	Rephrased  *items     `parquet:"rephrased_questions,optional"`
	Gold       *items     `parquet:"gold_answers,optional"`
	Alternates *itemLists `parquet:"alternate_answers,optional"`
	Include    *bool      `parquet:"include_email,optional"`
}

type items struct {
	List []item `parquet:"list"`
}

type item struct {
	Item *string `parquet:"item,optional"`
}

type itemLists struct {
	List []itemList `parquet:"list"`
}

type itemList struct {
	Item *items `parquet:"item,optional"`
}

func some(all ...string) (out []*string) {
	out = []*string{}
	for _, s := range all {
		out = append(out, &s)
	}
	return out
}

func listed(all ...string) *items {
	var out items
	for _, s := range all {
		out.List = append(out.List, item{&s})
	}
	return &out
}

func publishedRows() []published {
	row := func(user, path string, more published) published {
		more.User, more.Path, more.Email = &user, &path, new("mail "+path)
		more.Count, more.Include = new(int64(len(more.Questions))), []*int64{new(int64(1))}
		return more
	}
	return []published{
		row("ruiz-a", "ruiz-a/inbox/2.", published{
			Questions: some("Who?", "How much?"), Rephrased: some("Whose?", "How much?"), Gold: some("Ana", "$400"),
			Alternates: [][]*string{some("Ana Ruiz", "A. Ruiz"), some()}, Incorrect: [][]*string{some("Bo", "Cy"), some("$4", "$40")},
		}),
		row("diaz-b", "diaz-b/1.", published{Questions: some(), Gold: some()}),
		row("ruiz-a", "ruiz-a/inbox/3.", published{Questions: some("When?"), Rephrased: []*string{nil}, Gold: some("May 3"), Alternates: [][]*string{nil}}),
		{User: new("ruiz-a"), Path: new("ruiz-a/4.")},
	}
}

func write[T any](t *testing.T, rows []T, options ...parquet.WriterOption) string {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b, options...)
	for i := range rows { // each in a group of its own
		if _, err := w.Write(rows[i : i+1]); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func ruiz() eval.Set {
	return eval.Set{
		User: "ruiz-a", Kind: "emails",
		Files: []eval.File{{Name: "ruiz-a/inbox/2.eml", Size: 20}, {Name: "ruiz-a/inbox/3.eml", Size: 20}},
		Questions: []eval.Question{
			{Number: 1, Text: "Who?", Gold: []string{"Ana", "Ana Ruiz", "A. Ruiz"}, Paraphrases: []string{"Whose?"}, Document: "ruiz-a/inbox/2.eml"},
			{Number: 2, Text: "How much?", Gold: []string{"$400"}, Document: "ruiz-a/inbox/2.eml"},
			{Number: 3, Text: "When?", Gold: []string{"May 3"}, Document: "ruiz-a/inbox/3.eml"},
		},
	}
}

func TestPublishedParquet(t *testing.T) {
	want := &eval.Data{
		Sets: []eval.Set{ruiz()},
		Skipped: []eval.Skipped{
			{Where: "data.parquet row 4", Reason: "no email"},
			{Where: "user diaz-b", Reason: "no question to ask"},
		},
		PassedOver: map[string]int{"incorrect_answers": 4, "questions_count": 4, "include_email": 4},
	}
	for name, options := range map[string][]parquet.WriterOption{
		"plain":         nil,
		"snappy":        {parquet.Compression(&parquet.Snappy), parquet.DataPageVersion(1)},
		"zstd":          {parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(2)},
		"gzip":          {parquet.Compression(&parquet.Gzip)},
		"small pages":   {parquet.PageBufferSize(16), parquet.DataPageVersion(1)},
		"brotli, small": {parquet.Compression(&parquet.Brotli), parquet.PageBufferSize(1)},
	} {
		dir := folder(t, map[string]string{"data.parquet": write(t, publishedRows(), options...)})
		got, err := enronqa.Load(dir, enronqa.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(eval.File{}, "Open")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if d := cmp.Diff([]string{"ruiz-a/inbox/2.eml: mail ruiz-a/inbox/2.", "ruiz-a/inbox/3.eml: mail ruiz-a/inbox/3."}, texts(t, got.Sets[0])); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestOtherParquet(t *testing.T) {
	files := map[string]string{
		"flat": write(t, []flat{
			{Path: "ruiz-a/inbox/2.", User: []byte("ruiz-a"), Email: "mail ruiz-a/inbox/2.", Questions: []string{"Who?", "How much?"}, Rephrased: []string{"Whose?", "How much?"}, Gold: []string{"Ana", "$400"}, Alternates: []string{"Ana Ruiz", "$400"}},
			{Path: "ruiz-a/inbox/3.", User: []byte("ruiz-a"), Email: "mail ruiz-a/inbox/3.", Questions: []string{"When?"}, Rephrased: []string{"When?"}, Gold: []string{"May 3"}, Alternates: []string{"May 3"}, Include: true},
		}),
		"older": write(t, []older{
			{
				Path: new("ruiz-a/inbox/2."), User: new("ruiz-a"), Email: new("mail ruiz-a/inbox/2."), Questions: listed("Who?", "How much?"), Rephrased: listed("Whose?", "How much?"),
				Gold: listed("Ana", "$400"), Alternates: &itemLists{[]itemList{{listed("Ana Ruiz")}, {nil}}}, Include: new(false),
			},
			{Path: new("ruiz-a/inbox/3."), User: new("ruiz-a"), Email: new("mail ruiz-a/inbox/3."), Questions: listed("When?"), Gold: listed("May 3")},
		}),
	}
	set := ruiz()
	set.Questions[0].Gold = []string{"Ana", "Ana Ruiz"}
	want := &eval.Data{Sets: []eval.Set{set}, PassedOver: map[string]int{"include_email": 2}}
	for name, content := range files {
		got, err := enronqa.Load(folder(t, map[string]string{name + ".parquet": content}), enronqa.Options{Users: 1})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(eval.File{}, "Open")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestParquetOfOtherTypes(t *testing.T) {
	type numbers struct {
		User      string  `parquet:"user"`
		Questions []int64 `parquet:"questions"`
	}
	for name, tc := range map[string]struct{ content, says string }{
		"no user": {write(t, []struct {
			Path  string `parquet:"path"`
			Email string `parquet:"email"`
		}{{}}), "missing columns: user, questions, gold_answers"},
		"a number": {write(t, []struct {
			User int64 `parquet:"user"`
		}{{7}}), "column user: it has INT64, not text"},
		"a text as list": {write(t, []struct {
			Questions string `parquet:"questions"`
		}{{"Who?"}}), "column questions: it is not a list"},
		"a list as text": {write(t, []struct {
			Email []string `parquet:"email"`
		}{{[]string{"a"}}}), "column email: it is a list"},
		"records": {write(t, []struct {
			Gold []struct{ A, B string } `parquet:"gold_answers"`
		}{{nil}}), "column gold_answers: it has records, not text"},
		"numbers in a list": {write(t, []numbers{{"a", []int64{1}}}), "column questions: it has INT64, not text"},
	} {
		_, err := enronqa.Load(folder(t, map[string]string{"x.parquet": tc.content}), enronqa.Options{})
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// load reads bytes as a parquet file.
func load(t testing.TB, content string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := enronqa.Load(path, enronqa.Options{})
	return err
}

// A damaged file is an error, not a panic, whichever byte is missing or wrong.
func TestDamagedParquet(t *testing.T) {
	whole := write(t, publishedRows(), parquet.Compression(&parquet.Snappy))
	for n := 0; n < len(whole); n += 11 {
		if load(t, whole[:n]) == nil {
			t.Fatalf("the first %d of %d bytes are a file", n, len(whole))
		}
	}
	for n := 0; n < len(whole); n += 13 {
		broken := []byte(whole)
		broken[n] ^= 0xff
		_ = load(t, string(broken)) // some bytes do not matter
	}
	for _, junk := range []string{"PAR1", "PAR1PAR1PAR1", "PAR1\xff\xff\xff\x7fPAR1", strings.Repeat("PAR1", 1000), strings.Repeat("\x00", 5000)} {
		if load(t, junk) == nil {
			t.Errorf("%.20q is a file", junk)
		}
	}
}

// A footer that is longer than the file is not allocated.
func TestParquetClaimsALongEnd(t *testing.T) {
	for _, content := range []string{"PAR1", "PAR1\x00\x00\x00\xffPAR1", "PAR1\x01\x00\x00\x00PAR1"} {
		if err := load(t, content); err == nil || !strings.Contains(err.Error(), "not a parquet file") {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func FuzzParquet(f *testing.F) {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[published](&b)
	_, _ = w.Write(publishedRows())
	_ = w.Close()
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) { _ = load(t, string(content)) })
}
