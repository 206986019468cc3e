package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

// housed is a backend with these spaces.
func housed(names ...string) Backend {
	return Backend{
		About: func(context.Context, Nothing) (About, error) {
			return About{Started: time.Unix(1_700_000_000, 5), Embedder: AboutEmbedder{Name: "nano-embed"}}, nil
		},
		Spaces: func(context.Context, Nothing) (all Spaces, err error) {
			for _, name := range names {
				all.Spaces = append(all.Spaces, Space{Name: name})
			}
			return all, nil
		},
		Space: func(_ context.Context, in InSpace) (Space, error) {
			if !slices.Contains(names, in.Space) {
				return Space{}, fault.New(fault.NotFound, "bank", "no such space")
			}
			return Space{Name: in.Space}, nil
		},
	}
}

func modelText(name string) string {
	return fmt.Sprintf(`{"id":%q,"object":"model","created":1700000000,"owned_by":"percached"}`, name)
}

func TestModels(t *testing.T) {
	tests := []struct {
		name   string
		spaces []string
		token  string
		want   []string
	}{
		{"all", []string{"mail", "notes"}, askToken, []string{"mail", "notes", "nano-embed"}},
		{"its own", []string{"mail", "notes"}, mailAskToken, []string{"mail", "nano-embed"}},
		{"its own, which is gone", []string{"notes"}, mailAskToken, []string{"nano-embed"}},
		{"none", nil, adminToken, []string{"nano-embed"}},
		{"a space named as the embedder", []string{"nano-embed"}, adminToken, []string{"nano-embed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := exchangeRaw(t, testServer(t, housed(tt.spaces...)), raw("GET /v1/models", "", "Authorization: Bearer "+tt.token))
			var items []string
			for _, name := range tt.want {
				items = append(items, modelText(name))
			}
			want := `{"object":"list","data":[` + strings.Join(items, ",") + "]}\n"
			if diff := cmp.Diff(want, a.text); diff != "" || a.StatusCode != 200 {
				t.Error(a.Status, diff)
			}
		})
	}
}

func TestModel(t *testing.T) {
	tests := []struct {
		name    string
		model   string
		token   string
		status  int
		problem string
	}{
		{"a space", "mail", askToken, 200, ""},
		{"its own", "mail", mailAskToken, 200, ""},
		{"the embedder", "nano-embed", askToken, 200, ""},
		{"the embedder, with a token of one space", "nano-embed", mailAskToken, 200, ""},
		{"no space", "nothing", askToken, 404, "model_not_found"},
		{"what no space can be", "GPT-4", askToken, 404, "model_not_found"},
		{"another's", "notes", mailAskToken, 403, "forbidden"},
		{"nobody's, with a token of one space", "nothing", mailAskToken, 403, "forbidden"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := exchangeRaw(t, testServer(t, housed("mail", "notes")), raw("GET /v1/models/"+tt.model, "", "Authorization: Bearer "+tt.token))
			if a.StatusCode != tt.status || a.name() != tt.problem {
				t.Errorf("%d %s", a.StatusCode, a.text)
			}
			if tt.status == 200 && a.text != modelText(tt.model)+"\n" {
				t.Error(a.text)
			}
		})
	}
}

// Who sees one space is told the same of another, there or not, word for word.
func TestModelsTellNothing(t *testing.T) {
	srv := testServer(t, housed("mail", "notes"))
	say := func(what, body string) string {
		a := exchangeRaw(t, srv, raw(what, body, "Authorization: Bearer "+mailAskToken, "X-Request-Id: r"))
		return a.Status + a.text
	}
	if there, not := say("GET /v1/models/notes", ""), say("GET /v1/models/nothing", ""); there != not {
		t.Errorf("%s\n%s", there, not)
	}
	chat := `{"model":"%s","messages":[{"role":"user","content":"When?"}]}`
	if there, not := say(chatPath, fmt.Sprintf(chat, "notes")), say(chatPath, fmt.Sprintf(chat, "nothing")); there != not {
		t.Errorf("%s\n%s", there, not)
	}
}
