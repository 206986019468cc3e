package jinja_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/llm/jinja"
)

func TestMain(m *testing.M) {
	if os.Args[0] == "deaf" {
		_, err := jinja.Renderer{Program: "/proc/self/exe", Name: "deaf"}.Render(context.Background(), "", nil)
		fmt.Printf(`{"texts":["%t"]}`, err == nil)
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == jinja.Argument {
		os.Exit(jinja.Serve(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

func renderer(t *testing.T) jinja.Renderer {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return jinja.Renderer{Program: exe, Name: "render"}
}

func message(role, content string) map[string]any {
	return map[string]any{"role": role, "content": content}
}

// One call renders all inputs; those that the template does not accept have no text.
func TestRender(t *testing.T) {
	const template = `{%- for m in messages %}
{%- if m.role == 'system' and strict %}{{ raise_exception('no system') }}{% endif %}
{{- bos_token if loop.first }}<{{ m['role'] }}>{{ m.content | trim }}
{% endfor %}
{%- if add_generation_prompt %}<assistant>{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}{% endif %} {{- strftime_now('%Y') }}`
	messages := []any{message("system", " S "), message("user", "U")}
	texts, err := renderer(t).Render(t.Context(), template, []map[string]any{
		{"messages": messages, "bos_token": "<s>", "add_generation_prompt": true, "enable_thinking": false},
		{"messages": messages, "strict": true},
		{"messages": messages[1:]},
	})
	want := []string{"<s><system>S\n<user>U\n<assistant><think></think>unknown", "", "<user>U\nunknown"}
	if diff := cmp.Diff(want, texts); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// A program that does not call Serve is not started again by its own child.
func TestRenderStartsOneProcess(t *testing.T) {
	r := renderer(t)
	r.Name = "deaf"
	texts, err := r.Render(t.Context(), "", []map[string]any{{}})
	if diff := cmp.Diff([]string{"false"}, texts); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// Whatever a template does, the caller gets an error or no text, and soon.
func TestHostileTemplates(t *testing.T) {
	doubled := `{% set x = 'a' %}` + strings.Repeat(`{% set x = x ~ x %}`, 60) + `{{ x }}`
	list := `{% set x = ['a'] %}` + strings.Repeat(`{% set x = [x, x] %}`, 60) + `{{ x }}`
	nested := strings.Repeat(`{% for a in range(100000) %}`, 5) + strings.Repeat(`{% endfor %}`, 5)
	for _, tc := range []struct{ name, template string }{
		{"not Jinja", `{% if`},
		{"an unknown statement", `{% include '/etc/passwd' %}`},
		{"import", `{% import '/etc/passwd' as p %}{{ p }}`},
		{"from import", `{% from '/etc/passwd' import p %}`},
		{"extends", `{% extends '/etc/passwd' %}`},
		{"a function that is not there", `{{ open('/etc/passwd') }}`},
		{"an attribute of Python", `{{ ''.__class__.__mro__[1].__subclasses__() }}`},
		{"an exception", `{{ raise_exception('no') }}`},
		{"a loop without end", nested},
		{"a text that doubles", doubled},
		{"a list that doubles", list},
		{"a repeated text", `{{ 'aaaaaaaaaaaaaaaa' * 1000000000000 }}`},
		{"a text repeated too often", `{{ 'aaaaaaaaaaaaaaaa' * 9000000000000000000 }}`},
		{"a text repeated less than never", `{{ 'a' * -1 }}`},
		{"a range without end", `{{ range(100000000000) | list | length }}`},
		{"a macro that calls itself", `{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}`},
		{"a macro that calls itself twice", `{% macro f(n) %}{{ f(n + 1) ~ f(n + 1) }}{% endmacro %}{{ f(0) }}`},
		{"a list within itself", `{% set x = [] %}{{ x.append(x) }}{{ x }}`},
		{"a namespace within itself", `{% set n = namespace() %}{% set n.n = n %}{{ n | tojson }}`},
		{"deep parentheses", `{{ ` + strings.Repeat("(", 100000) + strings.Repeat(")", 100000) + ` }}`},
		{"deep lists", `{{ ` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + ` }}`},
		{"deep conditions", strings.Repeat(`{% if true %}`, 10000)},
		{"an indent", `{{ 'a\nb' | indent(100000000000) }}`},
		{"a round", `{{ 1.5 | round(100000000000) }}`},
		{"too much output", `{% for a in range(70000) %}a{% endfor %}`},
		{"too large a template", strings.Repeat("{# #}", 60000)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			texts, err := renderer(t).Render(t.Context(), tc.template, []map[string]any{{"messages": []any{message("user", "U")}}})
			if err == nil && len(fmt.Sprint(texts)) > 64 {
				t.Errorf("it gave %.100q", texts)
			}
		})
	}
}
