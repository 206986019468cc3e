package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/audit"
	"github.com/percached/percached/internal/issuer/issuertest"
	"github.com/percached/percached/internal/token"
)

// A daemon accepts the tokens of a real issuer with the rights that they name, keeps to quotas,
// also after a restart, and records who did what.
func TestOperate(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an issuer")
	}
	at := issuertest.Start(t)
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	t.Setenv("PERCACHED_OIDC_ISSUER", at)
	t.Setenv("PERCACHED_OIDC_AUDIENCE", "percached")
	t.Setenv("PERCACHED_AUDIT_LOG", log)
	w := newWorld(t)
	ctx := context.Background()
	for _, name := range []string{alpha, beta, ghost} {
		made, err := w.all.CreateSpaceWithResponse(ctx, client.NewSpace{Name: name})
		w.is(201, made, err)
	}
	question := client.Question{Question: "What is the garage code of Quillfeather?"}
	texts := client.Texts{Documents: []client.NewDocument{{Title: new("Quillfeather"), Text: "The garage code of Quillfeather is 4711."}}}

	// The issuer's token may write in one space and ask in another.
	caller := w.with(issuertest.Token(t, at, "openid", "aud:percached", "percached:alpha:write", "percached:beta:ask"))
	in, err := caller.UploadWithResponse(ctx, alpha, &client.UploadParams{Wait: new(true)}, texts)
	w.is(200, in, err)
	answer, err := caller.AskWithResponse(ctx, alpha, question)
	w.is(200, answer, err)
	answer, err = caller.AskWithResponse(ctx, beta, question)
	w.is(200, answer, err)
	in, err = caller.UploadWithResponse(ctx, beta, &client.UploadParams{Wait: new(true)}, texts)
	w.is(403, in, err)
	answer, err = caller.AskWithResponse(ctx, ghost, question)
	w.is(403, answer, err)
	spaces, err := caller.ListSpacesWithResponse(ctx)
	w.is(200, spaces, err)
	if len(spaces.JSON200.Spaces) != 2 {
		t.Errorf("%+v", spaces.JSON200.Spaces)
	}
	for name, scopes := range map[string][]string{"another audience": {"aud:other", "percached:alpha:write"}, "no rights": {"aud:percached"}} {
		answer, err = w.with(issuertest.Token(t, at, append(scopes, "openid")...)).AskWithResponse(ctx, alpha, question)
		if w.is(401, answer, err); t.Failed() {
			t.Fatal(name)
		}
	}

	// A token with a quota.
	tokens, err := token.Open(w.data)
	if err != nil {
		t.Fatal(err)
	}
	two := int64(2)
	secret, _, err := tokens.CreateLimited("app", alpha, token.RoleAsk, token.Limits{AsksPerDay: &two})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{200, 200, 429} {
		answer, err = w.with(secret).AskWithResponse(ctx, alpha, question)
		w.is(want, answer, err)
	}
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	w.start()
	answer, err = w.with(secret).AskWithResponse(ctx, alpha, question)
	w.is(429, answer, err)
	gone, err := w.all.DeleteSpaceWithResponse(ctx, alpha, nil)
	w.is(200, gone, err)
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	defer w.start() // newWorld stops it

	var got []string
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(line, err)
		}
		got = append(got, strings.Join([]string{r.Name, r.Operation, r.Space, r.Outcome}, " "))
	}
	want := []string{
		"main createSpace alpha done", "main createSpace beta done", "main createSpace ghost done",
		"sid1 upload alpha done", "sid1 ask alpha done", "sid1 ask beta done", "sid1 upload beta forbidden", "sid1 ask ghost forbidden",
		"app ask alpha done", "app ask alpha done", "app ask alpha quota_exceeded", "app ask alpha quota_exceeded", "main deleteSpace alpha done",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if strings.Contains(string(b), "Quillfeather") || strings.Contains(string(b), secret) {
		t.Errorf("a text or a secret is in the log: %s", b)
	}
}
