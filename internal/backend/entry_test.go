package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/qabank"
)

// askAll asks every scripted question.
func (f *Backend) askAll(t *testing.T) {
	t.Helper()
	for q := range scripted() {
		given[api.Answer](t)(f.ask(t.Context(), api.AskRequest{Space: nodetest.Space, Question: api.Question{Question: q}}, api.Listener{}))
	}
}

// Pages list every entry once, in order.
func TestEntries(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	in := api.InSpace{Space: nodetest.Space}
	for i := range 5 {
		given[api.Answer](t)(b.Ask(ctx, api.AskRequest{Space: nodetest.Space, Question: api.Question{Question: fmt.Sprintf("What was agreed on in week %d?", i)}}, api.Listener{}))
	}
	for _, limit := range []int{1, 2, 5, 6} {
		var ids []string
		for after := ""; ; {
			page := given[api.Entries](t)(b.Entries(ctx, api.EntryPage{Page: api.Page{InSpace: in, Limit: limit, After: after}}))
			for _, e := range page.Entries {
				ids = append(ids, e.ID)
			}
			if page.Bank == nil || page.Bank.Entries != 5 || len(page.Entries) > limit {
				t.Errorf("%+v", page)
			}
			if after = page.Next; after == "" {
				break
			}
		}
		var want []string
		if err := f.Bank.Each(nodetest.Space, func(e qabank.Entry) error { want = append(want, e.ID.String()); return nil }); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, ids); d != "" {
			t.Errorf("limit %d: %s", limit, d)
		}
	}
	_, err := b.Entries(ctx, api.EntryPage{Page: api.Page{InSpace: in, Limit: 1, After: "x"}})
	wantFault(t, "a cursor", err, fault.Invalid, "query:after")

	// The same question comes first, the others by similarity.
	found := given[api.Entries](t)(b.SearchEntries(ctx, api.EntrySearch{InSpace: in, Query: "what was agreed on in week 3", Limit: 3}))
	if len(found.Entries) != 3 || found.Entries[0].Question != "What was agreed on in week 3?" || *found.Entries[0].Similarity != 1 {
		t.Errorf("%+v", found)
	}
	for i := 1; i < len(found.Entries); i++ {
		if *found.Entries[i].Similarity > *found.Entries[i-1].Similarity {
			t.Errorf("%+v", found)
		}
	}
	_, err = b.SearchEntries(ctx, api.EntrySearch{InSpace: in, Query: " ?", Limit: 3})
	wantFault(t, "a search for nothing", err, fault.Invalid, "query:q")

	// A vetoed answer is not served, and a deleted one does not exist.
	one := api.OneEntry{InSpace: in, Entry: found.Entries[0].ID}
	_, err = b.VetoEntry(ctx, api.VetoRequest{OneEntry: one, Veto: api.Veto{Asked: " "}})
	wantFault(t, "a veto for nothing", err, fault.Invalid, "/asked")
	given[api.Nothing](t)(b.VetoEntry(ctx, api.VetoRequest{OneEntry: one, Veto: api.Veto{Asked: "What was said?"}}))
	if e := given[api.Entry](t)(b.Entry(ctx, one)); e.Answered || e.Answer != "" || e.ID != one.Entry {
		t.Errorf("%+v", e)
	}
	given[api.Nothing](t)(b.DeleteEntry(ctx, one))
	_, err = b.Entry(ctx, one)
	wantFault(t, "a deleted entry", err, fault.NotFound)
}

// exported returns the lines that a space exports.
func exported(t *testing.T, f *Backend) string {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	each := func(e api.ExportedEntry) error { return enc.Encode(e) }
	given[api.Nothing](t)(f.API().Export(t.Context(), api.Export{InSpace: api.InSpace{Space: nodetest.Space}, Each: each}))
	return out.String()
}

func imported(t *testing.T, f *Backend, lines io.Reader) api.Imported {
	t.Helper()
	return given[api.Imported](t)(f.API().Import(t.Context(), api.Import{InSpace: api.InSpace{Space: nodetest.Space}, Lines: lines}))
}

// A data folder serves the exported answers of another one with the same documents, and
// exports them unchanged. Without the documents it refuses them.
func TestExportImport(t *testing.T) {
	from, to := scriptedBackend(t), scriptedBackend(t)
	from.askAll(t)
	from.askAll(t) // each entry is served once
	lines := exported(t, from)
	if n := strings.Count(lines, "\n"); n != len(scripted()) {
		t.Fatalf("%d lines: %s", n, lines)
	}
	got := imported(t, to, strings.NewReader("\n"+lines+" \r\n"))
	if d := cmp.Diff(api.Imported{Imported: len(scripted()), Refused: []api.ImportRefused{}}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(lines, exported(t, to)); d != "" {
		t.Error(d)
	}
	for q, want := range scripted() {
		for range 2 { // the first time it is compared with the documents
			a := given[api.Answer](t)(to.ask(t.Context(), api.AskRequest{Space: nodetest.Space, Question: api.Question{Question: q}}, api.Listener{}))
			if a.Outcome != "answer_hit" || a.Answer != want {
				t.Errorf("%q: %s, %q: %+v", q, a.Outcome, a.Answer, a.Gate)
			}
		}
	}
	if got := imported(t, to, strings.NewReader(lines)); got.Skipped != len(scripted()) || got.Imported != 0 {
		t.Errorf("again: %+v", got)
	}
	page := given[api.Documents](t)(to.documents(t.Context(), api.DocumentPage{Page: api.Page{InSpace: api.InSpace{Space: nodetest.Space}, Limit: 100}}))
	for _, d := range page.Documents {
		given[api.Receipt](t)(to.deleteDocument(t.Context(), api.DeleteDocumentRequest{DeleteRequest: api.DeleteRequest{InSpace: api.InSpace{Space: nodetest.Space}, Document: d.ID}}))
	}
	got = imported(t, to, strings.NewReader(lines))
	if len(got.Refused) != len(scripted()) || got.Imported != 0 || !strings.Contains(got.Refused[0].Reason, "chunk of the evidence") {
		t.Errorf("without the documents: %+v", got)
	}
	if exported(t, to) != "" {
		t.Error("what was forgotten came back")
	}
}

// An import may use the public IDs of chunks in this space, but not those of another space.
func TestImportByPublicIDs(t *testing.T) {
	from, to := scriptedBackend(t), scriptedBackend(t)
	from.askAll(t)
	lines := exported(t, from)
	called := func(f *Backend) string {
		ids := given[percached.PublicIDs](t)(f.Knowledge.PublicIDs(nodetest.Space))
		renamed := lines
		for _, e := range given[api.Entries](t)(from.entries(t.Context(), api.EntryPage{Page: api.Page{InSpace: api.InSpace{Space: nodetest.Space}, Limit: 100}})).Entries {
			for _, ev := range e.Evidence {
				own := given[percached.PublicIDs](t)(from.Knowledge.PublicIDs(nodetest.Space)).ChunkOf(ev.Chunk)
				renamed = strings.ReplaceAll(renamed, own.String(), ids.Chunk(own).String())
			}
		}
		return renamed
	}
	if got := imported(t, to, strings.NewReader(called(from))); got.Imported != 0 || len(got.Refused) != len(scripted()) {
		t.Errorf("as the other space calls them: %+v", got)
	}
	if got := imported(t, to, strings.NewReader(called(to))); got.Imported != len(scripted()) {
		t.Errorf("as this space calls them: %+v", got)
	}
	if d := cmp.Diff(lines, exported(t, to)); d != "" {
		t.Error(d)
	}
}

// An answer of other settings keeps their mark and is not served. A stale one is replaced.
func TestImportKeepsTheMark(t *testing.T) {
	from, to := scriptedBackend(t), scriptedBackend(t)
	from.askAll(t)
	to.askAll(t)
	lines := strings.ReplaceAll(exported(t, from), `"settings":"`, `"settings":"x`)
	if err := to.Bank.Each(nodetest.Space, func(e qabank.Entry) error {
		return to.Bank.MarkStale(t.Context(), nodetest.Space, []qabank.ID{e.ID}, "of a test")
	}); err != nil {
		t.Fatal(err)
	}
	if got := imported(t, to, strings.NewReader(lines)); got.Imported != len(scripted()) {
		t.Fatalf("%+v", got)
	}
	for q := range scripted() {
		a := given[api.Answer](t)(to.ask(t.Context(), api.AskRequest{Space: nodetest.Space, Question: api.Question{Question: q}}, api.Listener{}))
		if a.Outcome == "answer_hit" || !strings.Contains(a.Gate.Why, "settings") {
			t.Errorf("%q: %s, %s", q, a.Outcome, a.Gate.Why)
		}
	}
}

// A veto stays, whatever is imported.
func TestVetoOutlivesImport(t *testing.T) {
	f := scriptedBackend(t)
	f.askAll(t)
	lines, ctx := exported(t, f), t.Context()
	const question = "Who leads Otter?"
	id := qabank.NewID(nodetest.Space, question)
	one := api.OneEntry{InSpace: api.InSpace{Space: nodetest.Space}, Entry: id.String()}
	for _, asked := range []string{question, "Who is it that leads Otter?"} {
		given[api.Nothing](t)(f.vetoEntry(ctx, api.VetoRequest{OneEntry: one, Veto: api.Veto{Asked: asked}}))
	}
	if got := imported(t, f, strings.NewReader(lines)); got.Imported != 1 || got.Skipped != len(scripted())-1 {
		t.Fatalf("%+v", got)
	}
	e := given[api.Entry](t)(f.entry(ctx, one))
	if e.Answer != scripted()[question] {
		t.Errorf("%+v", e)
	}
	a := given[api.Answer](t)(f.ask(ctx, api.AskRequest{Space: nodetest.Space, Question: api.Question{Question: question}}, api.Listener{}))
	if a.Outcome == "answer_hit" || !strings.Contains(a.Gate.Why, "veto") {
		t.Errorf("%s, %s", a.Outcome, a.Gate.Why)
	}
	stored, err := f.Bank.Get(nodetest.Space, id)
	if err != nil {
		t.Fatal(err)
	}
	v := qabank.Judge(qabank.Candidate{Entry: stored, Similarity: 1}, qabank.Ask{Question: "who is it that leads otter", Now: time.Now()})
	if v.Serve {
		t.Errorf("%+v", v)
	}
}

// Each refused line has a reason that quotes nothing of it, and the others are imported.
func TestImportRefuses(t *testing.T) {
	from, to := scriptedBackend(t), scriptedBackend(t)
	from.askAll(t)
	good, _, _ := strings.Cut(exported(t, from), "\n")
	with := func(old, now string) string {
		t.Helper()
		if !strings.Contains(good, old) {
			t.Fatalf("no %s in %s", old, good)
		}
		return strings.Replace(good, old, now, 1)
	}
	for name, tc := range map[string]struct{ line, why string }{
		"no JSON":         {"secret", "not an exported entry"},
		"two":             {good + good, "more than one"},
		"no object":       {`["secret"]`, "not an exported entry"},
		"null":            {`null`, "question is empty"},
		"a type":          {with(`"hits":0`, `"hits":"secret"`), "hits"},
		"a negative":      {with(`"hits":0`, `"hits":-1`), "hits"},
		"a time":          {with(`"made":"2`, `"made":"secret`), "not an exported entry"},
		"an unknown word": {with(`"hits":0`, `"secret":0`), "not an exported entry"},
		"no UTF-8":        {with(`"question":"`, "\"question\":\"\xff"), "UTF-8"},
		"no question":     {with(`"question":"W`, `"question":"?","origin":"W`), "question is empty"},
		"no answer":       {with(`"answer":"`, `"answer":" ","origin":"`), "answer is empty"},
		"long question":   {with(`"question":"`, `"question":"`+strings.Repeat("x", maxImportQuestion)), "question is too long"},
		"long origin":     {with(`"origin":"`, `"origin":"`+strings.Repeat("x", 2000)), "the origin is neither asked nor predicted"},
		"other origin":    {with(`"origin":"asked"`, `"origin":"secret"`), "the origin is neither asked nor predicted"},
		"no evidence":     {with(`"evidence":[`, `"evidence":[],"sources":[`), "evidence is empty"},
		"other evidence":  {with(`"evidence":["`, `"evidence":["00000000000000000000000000000001","`), "chunk of the evidence"},
		"other sources":   {with(`"evidence"`, `"sources":["00000000000000000000000000000001"],"evidence"`), "chunk of the evidence"},
		"no name":         {with(`"evidence":["`, `"evidence":["secret","`), "not an exported entry"},
		"far away":        {with(`"made":"2`, `"expires":"9999-01-01T00:00:00Z","made":"2`), "time"},
		"long":            {with(`"answer":"`, `"answer":"`+strings.Repeat("x", maxImportLine)), "1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			got := imported(t, to, strings.NewReader("\n"+tc.line+"\n"))
			if len(got.Refused) != 1 || got.Refused[0].Line != 2 || !strings.Contains(got.Refused[0].Reason, tc.why) || strings.Contains(got.Refused[0].Reason, "secret") {
				t.Errorf("%+v, want %q", got, tc.why)
			}
		})
	}
	// A line written by hand needs no origin.
	got := imported(t, to, strings.NewReader("x\n"+with(`"origin":"asked",`, "")+"\n\n"+strings.Repeat("y", 3<<20)+"\n"+good+"\nz"))
	want := api.Imported{Imported: 1, Skipped: 1}
	for _, line := range []int{1, 4, 6} {
		want.Refused = append(want.Refused, api.ImportRefused{Line: line})
	}
	for i := range got.Refused {
		got.Refused[i].Reason = ""
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := exported(t, to); !strings.Contains(got, `"origin":"asked"`) {
		t.Error(got)
	}
	if got := imported(t, to, strings.NewReader(strings.Repeat("x\n", 5000))); len(got.Refused) != maxImportRefused || got.Unnamed != 4000 {
		t.Errorf("%d lines are named, %d not", len(got.Refused), got.Unnamed)
	}
}

// An interrupted import keeps its earlier lines, and returns the error.
func TestImportIsCut(t *testing.T) {
	from, to := scriptedBackend(t), scriptedBackend(t)
	from.askAll(t)
	lines := exported(t, from)
	cut := io.MultiReader(strings.NewReader(lines), brokenWire{})
	if _, err := to.API().Import(t.Context(), api.Import{InSpace: api.InSpace{Space: nodetest.Space}, Lines: cut}); err == nil || !strings.Contains(err.Error(), "the wire broke") {
		t.Errorf("%v", err)
	}
	if d := cmp.Diff(lines, exported(t, to)); d != "" {
		t.Error(d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := to.API().Import(ctx, api.Import{InSpace: api.InSpace{Space: nodetest.Space}, Lines: strings.NewReader(lines)})
	wantFault(t, "nobody waits", err, fault.Timeout)
}

type brokenWire struct{}

func (brokenWire) Read([]byte) (int, error) { return 0, fmt.Errorf("the wire broke") }

// Any line is refused with a reason, or has everything that an entry needs.
func FuzzReadImported(f *testing.F) {
	for _, seed := range []string{
		`{"question":"Who?","answer":"Me.","evidence":["00000000000000000000000000000001"],"origin":"asked","settings":"x","made":"2025-02-01T09:00:00Z","hits":1}`,
		`{}`, `{"question":"Who?"}`, `null`, `[]`, `{"evidence":[""]}`, `{"made":"x"}`, `{"hits":1e99}`, `{"question":"\ud800"}`, "\xff", `{} {}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, why := readImported(line)
		if why == "" && (qabank.Normalise(e.Question) == "" || e.Answer == "" || len(e.Evidence) == 0 || e.Origin != "asked" && e.Origin != "predicted") {
			t.Errorf("%+v was let in", e)
		}
		if len(line) > 40 && strings.Contains(why, string(line)) {
			t.Errorf("the reason tells the line: %s", why)
		}
	})
}
