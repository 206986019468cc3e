package grammar

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/percached/percached/internal/base/fault"
)

const tree = `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}},
	"required":["v"],"additionalProperties":false}}}`

func TestFromSchema(t *testing.T) {
	for name, c := range map[string]struct {
		schema  string
		yes, no []string
	}{
		"anything":   {`{}`, []string{`{}`, `[1, "a",{"b":null}]`, `-0.5`, ` true`}, []string{``, `{`, `[1,]`, `01`, `"a`, `  1`}},
		"true":       {`true`, []string{`1`}, []string{`x`}},
		"string":     {`{"type":"string","title":"T","x-y":1}`, []string{`""`, `"a\"\\é🙂"`}, []string{`1`, "\"\n\"", `"\q"`, `a`}},
		"short":      {`{"type":"string","minLength":1,"maxLength":3}`, []string{`"é"`, `"a\nc"`}, []string{`""`, `"abcd"`}},
		"number":     {`{"type":"number"}`, []string{`0`, `-1.5`, `10`}, []string{`1e5`, `.5`, `1.`, `00`}},
		"positive":   {`{"type":"number","minimum":0}`, []string{`0`, `1.5`}, []string{`-1`}},
		"integer":    {`{"type":"integer"}`, []string{`0`, `-12`}, []string{`1.5`, `012`}},
		"range":      {`{"type":"integer","minimum":3,"maximum":1250}`, []string{`3`, `9`, `10`, `999`, `1000`, `1249`, `1250`}, []string{`2`, `1251`, `03`, `2000`, `-3`}},
		"negative":   {`{"type":"integer","minimum":-105,"exclusiveMaximum":-7}`, []string{`-105`, `-8`, `-99`}, []string{`-106`, `-7`, `8`, `0`}},
		"around 0":   {`{"type":"integer","exclusiveMinimum":-2.5,"maximum":1.5}`, []string{`-2`, `-1`, `0`, `1`}, []string{`-3`, `2`, `-0`}},
		"at most":    {`{"type":"integer","maximum":5}`, []string{`5`, `-9999999`, `0`}, []string{`6`, `10`}},
		"safe":       {`{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}`, []string{`9007199254740991`, `-7`}, []string{`9007199254740992`}},
		"boolean":    {`{"type":"boolean"}`, []string{`true`, `false`}, []string{`null`}},
		"types":      {`{"type":["string","null"],"maxLength":2}`, []string{`"ab"`, `null`}, []string{`"abc"`, `1`}},
		"nullable":   {`{"type":"integer","nullable":true}`, []string{`1`, `null`}, []string{`"a"`}},
		"enum":       {`{"type":"string","enum":["a\"b","<é>"]}`, []string{`"a\"b"`, `"<é>"`}, []string{`"a"`, `a`}},
		"enum mixed": {`{"enum":[1,null,{"a":[true]}]}`, []string{`1`, `null`, `{"a":[true]}`}, []string{`{"a":[false]}`}},
		"const":      {`{"const":"x"}`, []string{`"x"`}, []string{`"y"`}},
		"array":      {`{"type":"array","items":{"type":"boolean"}}`, []string{`[]`, `[true]`, `[true, false,true]`}, []string{`[1]`, `[true,]`}},
		"two to three": {
			`{"items":{"type":"boolean"},"minItems":2,"maxItems":3}`,
			[]string{`[true,true]`, `[true, false,true]`},
			[]string{`[]`, `[true]`, `[true,true,true,true]`},
		},
		"one":        {`{"type":"array","maxItems":1}`, []string{`[]`, `[{}]`}, []string{`[1,2]`}},
		"none":       {`{"type":"array","maxItems":0}`, []string{`[]`}, []string{`[1]`}},
		"tuple":      {`{"prefixItems":[{"const":1},{"const":2}],"minItems":1}`, []string{`[1]`, `[1,2]`}, []string{`[]`, `[2]`, `[1,2,3]`}},
		"tuple more": {`{"prefixItems":[{"const":1}],"items":{"const":2},"minItems":2,"maxItems":3}`, []string{`[1,2]`, `[1,2,2]`}, []string{`[1]`, `[1,2,2,2]`, `[2,2]`}},
		"empty":      {`{"type":"object","properties":{},"additionalProperties":false}`, []string{`{}`}, []string{`{"a":1}`}},
		"object": {
			`{"type":"object","properties":{"a":{"const":1},"b":{"const":2},"c":{"const":3}},"required":["b"],"additionalProperties":false}`,
			[]string{`{"b":2}`, `{"a":1,"b":2}`, `{"b": 2, "c": 3}`, `{"a":1,"b":2,"c":3}`},
			[]string{`{}`, `{"a":1}`, `{"b":2,"a":1}`, `{"b":2,}`, `{,"b":2}`},
		},
		"all optional": {`{"properties":{"a":{"const":1},"b":{"const":2}}}`, []string{`{}`, `{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`}, []string{`{"c":1}`}},
		"any object":   {`{"type":"object"}`, []string{`{}`, `{"a":{"b":[]}}`}, []string{`[]`}},
		"more": {
			`{"properties":{"ab":{"const":1},"ac":{"const":2}},"required":["ab"],"additionalProperties":{"type":"null"}}`,
			[]string{`{"ab":1}`, `{"ab":1,"ac":2}`, `{"ab":1,"a":null,"abc":null,"":null,"é":null}`},
			[]string{`{"a":null}`, `{"ab":1,"ab":null}`, `{"ab":1,"ac":null}`, `{"ab":1,"d":1}`},
		},
		"any of":    {`{"anyOf":[{"type":"object","properties":{"a":{"const":1}},"required":["a"]},{"type":"null"}]}`, []string{`{"a":1}`, `null`}, []string{`{}`}},
		"one of":    {`{"oneOf":[{"const":1},{"const":2}],"description":"D"}`, []string{`1`, `2`}, []string{`3`}},
		"all of":    {`{"allOf":[{"$ref":"#/definitions/a~1b"}],"definitions":{"a/b":{"const":1}}}`, []string{`1`}, []string{`2`}},
		"recursive": {tree, []string{`{"v":1}`, `{"v":1,"kids":[{"v":2,"kids":[]},{"v":3}]}`}, []string{`{"kids":[]}`, `{"v":1,"kids":[{}]}`}},
		"itself":    {`{"anyOf":[{"const":1},{"type":"array","items":{"$ref":"#"}}]}`, []string{`[[1], []]`}, []string{`[2]`}},
		"date":      {`{"type":"string","format":"date"}`, []string{`"2024-02-28"`, `"2024-12-31"`, `"2024-01-30"`}, []string{`"2024-02-30"`, `"2024-13-01"`, `"2024-04-31"`}},
		"date-time": {`{"type":"string","format":"date-time"}`, []string{`"2024-02-28T23:59:59Z"`, `"2024-02-28T00:00:00.5+02:00"`}, []string{`"2024-02-28"`, `"2024-02-28T24:00:00Z"`}},
		"uuid":      {`{"format":"uuid"}`, []string{`"01234567-89ab-cdef-0123-456789abcdef"`}, []string{`"x"`}},
		"email":     {`{"type":"string","format":"email"}`, []string{`"a@b"`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			gbnf, err := FromSchema([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			g := parsed(t, gbnf)
			for _, text := range c.yes {
				if !whole(t, g, text) {
					t.Errorf("%s is refused", text)
				}
			}
			for _, text := range c.no {
				if whole(t, g, text) {
					t.Errorf("%s is allowed", text)
				}
			}
		})
	}
}

func TestFromSchemaRefuses(t *testing.T) {
	for _, c := range []struct{ schema, at, want string }{
		{``, ``, "not JSON"},
		{`{"type":`, `/type`, "not JSON"},
		{`{} {}`, ``, "something follows"},
		{`false`, ``, "must be an object"},
		{`7`, ``, "must be an object"},
		{`{"type":"strung"}`, `/type`, "no type"},
		{`{"type":[]}`, `/type`, "names no type"},
		{`{"properties":{"a/b":{"pattern":"x"}}}`, `/properties/a~1b/pattern`, "pattern"},
		{`{"not":{}}`, `/not`, "not"},
		{`{"uniqueItems":true}`, `/uniqueItems`, "uniqueItems"},
		{`{"type":"number","maximum":1}`, `/maximum`, "supported for integers"},
		{`{"type":"integer","minimum":3,"maximum":2}`, ``, "no integer"},
		{`{"type":"integer","multipleOf":3}`, `/multipleOf`, "multipleOf"},
		{`{"minLength":3,"maxLength":2}`, `/maxLength`, "less than"},
		{`{"minLength":-1}`, `/minLength`, "positive whole"},
		{`{"minLength":99999}`, `/minLength`, "at most"},
		{`{"enum":[]}`, `/enum`, "list of values"},
		{`{"type":"string","enum":["a",1]}`, `/enum/1`, "not of the schema's type"},
		{`{"anyOf":[{}],"type":"object"}`, `/type`, "beside anyOf"},
		{`{"allOf":[{},{}]}`, `/allOf`, "one schema only"},
		{`{"$ref":"http://x"}`, `/$ref`, "within the schema"},
		{`{"$ref":"#/$defs/x"}`, `/$ref`, "leads nowhere"},
		{`{"required":["a"]}`, `/required/0`, "no schema of this name"},
		{`{"$ref":"#"}`, ``, "never ends"},
		{`{"properties":{"a":{"$ref":"#"}},"required":["a"]}`, ``, "never ends"},
		{strings.Repeat(`{"items":`, 60) + `{}` + strings.Repeat(`}`, 60), ``, "nested"},
		{`{"x":"` + strings.Repeat("a", maxSchema) + `"}`, ``, "at most"},
	} {
		_, err := FromSchema([]byte(c.schema))
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `at "`+c.at+`"`) {
			t.Errorf("%.60s: want invalid at %q with %q, got %v", c.schema, c.at, c.want, err)
		}
	}
}

// written is a random text of a grammar, if one ends within the bound.
func written(g *Grammar, rng *rand.Rand, most int) (string, bool) {
	pieces := strings.Split("\"\",,::{{}}[[]]00112233456789--..  aeitnrslu_abcdfghjkmopqvwxyzTZéß東🙂\\/+", "")
	pieces = append(pieces, "true", "false", "null", `":`, `",`)
	m := g.Matcher()
	var b strings.Builder
	for b.Len() < most && !m.MustEnd() && !(m.MayEnd() && rng.IntN(3) == 0) {
		at := -1
		for range 4000 {
			if i := rng.IntN(len(pieces)); m.Accept([]byte(pieces[i])) {
				at = i
				break
			}
		}
		if at < 0 {
			break
		}
		b.WriteString(pieces[at])
	}
	return b.String(), m.MayEnd()
}

// Texts of the grammar are valid under the schema, as another program judges them.
func TestWrittenIsValid(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, schema := range []string{
		`{"type":"object"}`,
		`{"type":"array","items":{"type":"integer","minimum":-37,"maximum":1204},"minItems":1,"maxItems":4}`,
		`{"type":"object","properties":{"name":{"type":"string","minLength":2,"maxLength":5},"age":{"type":"integer","minimum":0},"ok":{"type":"boolean"},
			"tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"maxItems":2}},"required":["name","ok"],"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"integer"},"ab":{"type":"string"}},"additionalProperties":{"type":"boolean"}}`,
		`{"anyOf":[{"type":"string","maxLength":3},{"type":"object","properties":{"x":{"type":"number","nullable":true}},"required":["x"]}]}`,
		`{"type":"object","properties":{"d":{"type":"string","format":"date"},"t":{"type":"string","format":"date-time"}},"required":["d","t"]}`,
	} {
		var judge openapi3.Schema
		if err := json.Unmarshal([]byte(schema), &judge); err != nil {
			t.Fatal(err)
		}
		gbnf, err := FromSchema([]byte(schema))
		if err != nil {
			t.Fatal(err)
		}
		g := parsed(t, gbnf)
		ended := 0
		for range 150 {
			text, whole := written(g, rng, 300)
			if !whole {
				continue
			}
			ended++
			var v any
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				t.Fatalf("%s: %q: %v", schema, text, err)
			}
			if err := judge.VisitJSON(v, openapi3.EnableFormatValidation()); err != nil {
				t.Fatalf("%s: %q: %v", schema, text, err)
			}
		}
		if ended < 20 {
			t.Errorf("%s: only %d texts ended", schema, ended)
		}
	}
}

// A schema makes a grammar or an error, never a crash; what the grammar allows is JSON.
func FuzzSchema(f *testing.F) {
	f.Add(tree, uint64(1))
	f.Add(`{"type":["object","null"],"properties":{"a":{"enum":[1,"é"]},"b":{"prefixItems":[{},{"const":null}]}},"required":["b"],"additionalProperties":true}`, uint64(2))
	f.Add(`{"anyOf":[{"type":"integer","minimum":-7,"maximum":12345},{"type":"array","items":{"type":"string","maxLength":3},"minItems":2}]}`, uint64(3))
	f.Fuzz(func(t *testing.T, schema string, seed uint64) {
		gbnf, err := FromSchema([]byte(schema))
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Fatal(err)
			}
			return
		}
		g, err := Parse(gbnf)
		if err != nil {
			t.Fatal(err)
		}
		text, whole := written(g, rand.New(rand.NewPCG(seed, 0)), 60)
		if whole && !json.Valid([]byte(text)) {
			t.Fatalf("%q is not JSON", text)
		}
	})
}
