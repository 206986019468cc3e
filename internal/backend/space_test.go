package backend

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/internal/token"
)

// A merge patch changes the named settings, null removes one, and the others stay.
func TestMerged(t *testing.T) {
	const before = `{"threshold":0.9,"k":4,"order":"canonical","prompts":{"instructions":"Speak.","history":"Of {history}"}}`
	for _, tc := range []struct {
		name, patch, want string
		keys, wrong       []string
	}{
		{name: "nothing", patch: `{}`, want: before},
		{name: "a number", patch: `{"k":7}`, want: strings.Replace(before, `"k":4`, `"k":7`, 1), keys: []string{"k"}},
		{name: "zero is zero", patch: `{"tensor_limit":0,"guard":false}`, want: `{"threshold":0.9,"guard":false,"k":4,"order":"canonical","tensor_limit":0,"prompts":{"instructions":"Speak.","history":"Of {history}"}}`, keys: []string{"guard", "tensor_limit"}},
		{name: "taken back", patch: `{"k":null,"order":null}`, want: `{"threshold":0.9,"prompts":{"instructions":"Speak.","history":"Of {history}"}}`, keys: []string{"k", "order"}},
		{name: "taken back twice", patch: `{"planes":null}`, want: before, keys: []string{"planes"}},
		{name: "words", patch: `{"placement":"parallel","planes":"qkv","prediction":"answers"}`, want: `{"threshold":0.9,"k":4,"order":"canonical","placement":"parallel","planes":"qkv","prediction":"answers","prompts":{"instructions":"Speak.","history":"Of {history}"}}`, keys: []string{"placement", "planes", "prediction"}},
		{name: "one prompt", patch: `{"prompts":{"instructions":null,"abstract":"{text}"}}`, want: strings.Replace(before, `"instructions":"Speak."`, `"abstract":"{text}"`, 1), keys: []string{"prompts/abstract", "prompts/instructions"}},
		{name: "all prompts", patch: `{"prompts":null}`, want: `{"threshold":0.9,"k":4,"order":"canonical"}`, keys: []string{"prompts"}},
		{name: "the last prompts", patch: `{"prompts":{"instructions":null,"history":null}}`, want: `{"threshold":0.9,"k":4,"order":"canonical"}`, keys: []string{"prompts/history", "prompts/instructions"}},
		{name: "no prompts", patch: `{"prompts":{}}`, want: before},

		{name: "unknown", patch: `{"colour":"red","k":7}`, wrong: []string{"/colour"}},
		{name: "another case", patch: `{"K":7}`, wrong: []string{"/K"}},
		{name: "odd", patch: `{"a/b~c":1}`, wrong: []string{"/a~1b~0c"}},
		{name: "types", patch: `{"k":"4","threshold":true,"guard":1,"stride":1.5,"placement":"sideways","order":3,"prompts":7}`, wrong: []string{"/guard", "/k", "/order", "/placement", "/prompts", "/stride", "/threshold"}},
		{name: "of prompts", patch: `{"prompts":{"abstract":3,"poem":"x"}}`, wrong: []string{"/prompts/abstract", "/prompts/poem"}},
		{name: "no object", patch: `[1]`, wrong: []string{""}},
		{name: "null", patch: `null`, wrong: []string{""}},
		{name: "broken", patch: `{"k":`, wrong: []string{""}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var set api.Settings
			if err := json.Unmarshal([]byte(before), &set); err != nil {
				t.Fatal(err)
			}
			got, keys, err := applyMergePatch(set, []byte(tc.patch))
			if wrote, _ := json.Marshal(set); string(wrote) != before {
				t.Errorf("what was merged into has changed: %s", wrote)
			}
			if tc.wrong != nil {
				wantFault(t, tc.name, err, fault.Invalid, tc.wrong...)
				return
			}
			wrote, _ := json.Marshal(got)
			if d := cmp.Diff(tc.want, string(wrote)); d != "" || err != nil {
				t.Errorf("%v\n%s", err, d)
			}
			if d := cmp.Diff(tc.keys, keys); d != "" {
				t.Error(d)
			}
		})
	}
}

// Any patch is refused, or its result can be written and merged with an empty patch.
func FuzzMerged(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"k":3,"k":null}`, `{"prompts":{"abstract":null}}`, `{"prompts":{"abstract":"\ud800"}}`, `{"threshold":1e400}`, `{"order":["a"]}`, `null`, `{"K":1}`, "\x00",
		`{"planes":"qkv","placement":null,"tensor_limit":9223372036854775808}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, patch []byte) {
		set, _, err := applyMergePatch(api.Settings{}, patch)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Error(err)
			}
			return
		}
		same, _, err := applyMergePatch(set, []byte(`{}`))
		if d := cmp.Diff(set, same); d != "" || err != nil {
			t.Errorf("%v\n%s", err, d)
		}
	})
}

// Invalid settings are refused before anything is created or changed.
func TestSettingsAreChecked(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	for _, tc := range []struct {
		settings string
		wrong    []string
	}{
		{`{"k":0}`, []string{"k"}},
		{`{"k":65,"threshold":1.5,"max_wrong":-0.1,"stride":51,"tensor_limit":-1}`, []string{"threshold", "max_wrong", "k", "tensor_limit", "stride"}},
		{`{"max_wrong":1.01}`, []string{"max_wrong"}},
		{`{"order":"alphabetic","prediction":"all"}`, []string{"order", "prediction"}},
		{`{"prompts":{"abstract":"Sum up.","knowledge":"{text}","history":"{abstract}","instructions":"Be kind."}}`, []string{"prompts/abstract", "prompts/knowledge", "prompts/history"}},
		{`{"prompts":{"instructions":"` + strings.Repeat("x", maxPrompt+1) + `"}}`, []string{"prompts/instructions"}},
		{`{"prompts":{"instructions":"` + strings.Repeat("be kind ", maxPrompt/8) + `"}}`, []string{"prompts/instructions"}},
	} {
		var set api.Settings
		if err := json.Unmarshal([]byte(tc.settings), &set); err != nil {
			t.Fatal(err)
		}
		at := func(prefix string) (fields []string) {
			for _, w := range tc.wrong {
				fields = append(fields, prefix+w)
			}
			return fields
		}
		_, err := b.CreateSpace(ctx, api.NewSpace{Name: "fresh", Settings: set})
		wantFault(t, "create "+tc.settings[:min(len(tc.settings), 20)], err, fault.Invalid, at("/settings/")...)
		_, err = b.ChangeSpace(ctx, api.SpaceChange{InSpace: api.InSpace{Space: nodetest.Space}, Merge: []byte(tc.settings)})
		wantFault(t, "change "+tc.settings[:min(len(tc.settings), 20)], err, fault.Invalid, at("/")...)
	}
	_, err := b.CreateSpace(ctx, api.NewSpace{Name: "Fresh!", Kind: "emails"})
	wantFault(t, "a name", err, fault.Invalid, "/name")
	_, err = b.CreateSpace(ctx, api.NewSpace{Name: "../fresh", Kind: "poems"})
	wantFault(t, "a kind", err, fault.Invalid, "/kind")
	_, err = b.CreateSpace(ctx, api.NewSpace{Name: "abstract.txt", Settings: api.Settings{Prompts: &api.Prompts{Instructions: new("x")}}})
	wantFault(t, "a name of a prompt", err, fault.Invalid, "/settings/prompts/instructions")
	_, err = b.CreateSpace(ctx, api.NewSpace{Name: nodetest.Space})
	wantFault(t, "there already", err, fault.Conflict)
	if all := given[api.Spaces](t)(b.Spaces(ctx, api.Nothing{})); len(all.Spaces) != 1 || !reflect.DeepEqual(all.Spaces[0].Settings, api.Settings{}) {
		t.Errorf("%+v", all)
	}
	if _, err := os.Stat(f.Home.Path("prompts")); !os.IsNotExist(err) {
		t.Errorf("a prompt was written: %v", err)
	}
}

// A space from its creation to its deletion.
func TestSpaceLife(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	in := api.InSpace{Space: "fresh"}
	made := given[api.Space](t)(b.CreateSpace(ctx, api.NewSpace{Name: "fresh", Settings: api.Settings{
		Settings: percached.Settings{K: new(5), TensorLimit: new(int64(1 << 20))}, Prompts: &api.Prompts{Instructions: new("Speak of {kind}.\n")},
	}}))
	if made.Kind != "emails" || *made.Settings.K != 5 || *made.Settings.Prompts.Instructions != "Speak of {kind}.\n" || made.Effective.Prompts != nil {
		t.Errorf("%+v", made)
	}
	if set, err := f.Asker.Settings("fresh"); err != nil || set.Instructions != "Speak of emails.\n" || set.K != 5 {
		t.Errorf("%+v, %v", set, err)
	}
	effective := reflect.ValueOf(made.Effective.Settings)
	for i := range effective.NumField() {
		if effective.Field(i).IsNil() {
			t.Errorf("%s is not told", effective.Type().Field(i).Name)
		}
	}
	change := func(patch string) api.Space {
		t.Helper()
		return given[api.Space](t)(b.ChangeSpace(ctx, api.SpaceChange{InSpace: in, Merge: []byte(patch)}))
	}
	change(`{"k":null,"guard":false,"prompts":{"instructions":null,"abstract":"Sum up: {text}"}}`)
	got := given[api.Space](t)(b.Space(ctx, in))
	want := api.Settings{
		Settings: percached.Settings{Guard: new(false), TensorLimit: new(int64(1 << 20))}, Prompts: &api.Prompts{Abstract: new("Sum up: {text}")},
	}
	if d := cmp.Diff(want, got.Settings); d != "" {
		t.Error(d)
	}
	if text, ok, err := f.Prompt("fresh", "abstract"); text != "Sum up: {text}" || !ok || err != nil {
		t.Errorf("%q, %v, %v", text, ok, err)
	}
	if _, ok, err := f.Prompt("fresh", "instructions"); ok || err != nil {
		t.Errorf("the prompt is still there: %v", err)
	}
	// Files that the user put into the folder are shown, and disturb nothing.
	if err := os.WriteFile(f.Home.Path("prompts", "fresh", "knowledge.txt"), []byte("No slot."), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := change(`{"stride":3}`); *got.Settings.Prompts.Knowledge != "No slot." {
		t.Errorf("%+v", got.Settings.Prompts)
	}
	if *got.Effective.Guard || *got.Effective.K != 3 {
		t.Errorf("%+v", got.Effective)
	}

	// Its prompts, tokens and uploads are deleted with it.
	if _, _, err := f.Tokens.Create("app", "fresh", token.RoleAsk); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Tokens.Create("other", nodetest.Space, token.RoleAsk); err != nil {
		t.Fatal(err)
	}
	sent := given[api.UploadStatus](t)(b.Upload(ctx, api.Upload{Space: "fresh", Wait: true, Each: files("note.txt", "The soup is on the stove.")}))
	if got := given[api.Receipt](t)(b.DeleteSpace(ctx, api.DeleteRequest{InSpace: in, CleanUp: true})); got.Documents != 1 || got.Chunks != 1 || !got.CleanedUp {
		t.Errorf("%+v", got)
	}
	if all, err := f.Tokens.List(); err != nil || slices.ContainsFunc(all, func(k token.Token) bool { return k.Space == "fresh" }) || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := os.Stat(f.Home.Path("prompts", "fresh")); !os.IsNotExist(err) {
		t.Errorf("its prompts are still there: %v", err)
	}
	if _, err := f.Inbox.Get("fresh", sent.ID); fault.KindOf(err) != fault.NotFound {
		t.Errorf("its uploads are still known: %v", err)
	}
	again := given[api.Space](t)(b.CreateSpace(ctx, api.NewSpace{Name: "fresh", Kind: "notes"}))
	if d := cmp.Diff(api.Settings{}, again.Settings); d != "" || again.Documents != 0 {
		t.Errorf("something came back: %s, %+v", d, again)
	}
}

// A change is applied completely or not at all.
func TestChangeIsWhole(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	in := api.InSpace{Space: nodetest.Space}
	first := `{"k":5,"prompts":{"abstract":"One: {text}"}}`
	given[api.Space](t)(b.ChangeSpace(ctx, api.SpaceChange{InSpace: in, Merge: []byte(first)}))
	// The prompts are written before the limit of tensors fails.
	if err := f.Tree.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := b.ChangeSpace(ctx, api.SpaceChange{InSpace: in, Merge: []byte(`{"k":6,"prompts":{"abstract":"Two: {text}","history":"{history}"}}`)})
	wantFault(t, "a closed tree", err, fault.Unavailable)
	got, _ := json.Marshal(given[api.Space](t)(b.Space(ctx, in)).Settings)
	if d := cmp.Diff(first, string(got)); d != "" {
		t.Error(d)
	}
	_, err = b.CreateSpace(ctx, api.NewSpace{Name: "fresh", Settings: api.Settings{Prompts: &api.Prompts{Instructions: new("Speak.")}}})
	wantFault(t, "a closed tree", err, fault.Unavailable)
	_, err = b.Space(ctx, api.InSpace{Space: "fresh"})
	wantFault(t, "what could not be made", err, fault.NotFound)
	if got, err := f.PromptFiles("fresh").Read(); got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// The name of a space never leads out of the folder of prompts, nor to the prompts of all
// spaces.
func TestPromptsStayInside(t *testing.T) {
	s := scriptedService(t, t.TempDir())
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/etc", "..\\x", "a\x00b", "abstract.txt", "instructions.txt", ".hidden"} {
		p := s.PromptFiles(name)
		if got, err := p.Read(); got != nil || err != nil {
			t.Errorf("%q: read %+v, %v", name, got, err)
		}
		if err := p.Write(node.Prompts{Instructions: new("x")}); fault.KindOf(err) != fault.Unsupported {
			t.Errorf("%q: written, %v", name, err)
		}
		if err := p.Remove(); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := os.Stat(s.Home.Path("meta")); err != nil {
		t.Error(err)
	}
	if err := os.MkdirAll(s.Home.Path("prompts"), 0o700); err != nil {
		t.Fatal(err)
	}
	// A space may have the name of a prompt of all spaces, which applies there, too.
	if err := os.WriteFile(s.Home.Path("prompts", "abstract.txt"), []byte("{text}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, ok, err := s.Prompt("abstract.txt", "abstract"); text != "{text}" || !ok || err != nil {
		t.Errorf("%q, %v, %v", text, ok, err)
	}
	for _, name := range []string{"mail", "a..b", "abstract.txt2", "a.txt"} {
		if err := s.PromptFiles(name).Write(node.Prompts{Instructions: new("of " + name)}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if got, err := os.ReadFile(s.Home.Path("prompts", name, "instructions.txt")); string(got) != "of "+name || err != nil {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

// whole switches off tensors and parallel placement, whatever the configuration says. whole
// together with parallel is refused, in one request or in two.
func TestWhole(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	in := api.InSpace{Space: "fresh"}
	parallel := percached.Parallel
	_, err := b.CreateSpace(ctx, api.NewSpace{Name: "fresh", Settings: api.Settings{Settings: percached.Settings{Whole: new(true), Placement: &parallel}}})
	wantFault(t, "made with both", err, fault.Invalid, "/settings/whole")
	made := given[api.Space](t)(b.CreateSpace(ctx, api.NewSpace{Name: "fresh"}))
	if *made.Effective.Whole || !*made.Effective.Tensors {
		t.Errorf("%+v", made.Effective)
	}
	change := func(patch string) (api.Space, error) {
		return b.ChangeSpace(ctx, api.SpaceChange{InSpace: in, Merge: []byte(patch)})
	}
	got := given[api.Space](t)(change(`{"whole":true,"tensors":true}`))
	if e := got.Effective; !*e.Whole || *e.Tensors || *e.Placement != percached.Sequential {
		t.Errorf("%+v", e)
	}
	_, err = change(`{"placement":"parallel"}`)
	wantFault(t, "side by side after it", err, fault.Invalid, "/whole")
	given[api.Space](t)(change(`{"whole":null,"placement":"parallel"}`))
	_, err = change(`{"whole":true}`)
	wantFault(t, "side by side before it", err, fault.Invalid, "/whole")
	got = given[api.Space](t)(change(`{"whole":true,"placement":null}`))
	if e := got.Effective; !*e.Whole || *e.Placement != percached.Sequential {
		t.Errorf("%+v", e)
	}
	_, err = change(`{"whole":"yes"}`)
	wantFault(t, "neither true nor false", err, fault.Invalid, "/whole")
}
