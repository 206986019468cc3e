package api

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
)

// specification reads openapi.yaml.
func specification(t testing.TB) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(percached.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// schemaOf returns a schema by name.
func schemaOf(t testing.TB, doc *openapi3.T, name string) *openapi3.SchemaRef {
	t.Helper()
	ref := doc.Components.Schemas[name]
	if ref == nil {
		t.Fatalf("openapi.yaml has no schema %s", name)
	}
	return ref
}

// The document is valid OpenAPI, and its examples match their schemas.
func TestSpecIsValid(t *testing.T) {
	doc := specification(t)
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	doc.Components.Schemas["Cleared"].Value.Properties["removed"].Value.Type = &openapi3.Types{"string"}
	if doc.Validate(context.Background()) == nil {
		t.Error("an example that its schema does not allow is not noticed")
	}
}

// The routes are the document's operations, and each operation documents who may call it.
func TestSpecHasTheRoutes(t *testing.T) {
	told := map[string]string{} // method and path → operationId and rights
	for path, item := range specification(t).Paths.Map() {
		for method, op := range item.Operations() {
			lines := strings.Split(strings.TrimSpace(op.Description), "\n")
			told[method+" "+path] = op.OperationID + ": " + lines[len(lines)-1]
			if open := op.Security != nil; open != strings.HasSuffix(told[method+" "+path], ": No token is needed.") {
				t.Errorf("%s: the security does not say what the description says", op.OperationID)
			}
			if op.Summary == "" || len(op.Tags) != 1 {
				t.Errorf("%s: it needs a summary and one tag", op.OperationID)
			}
		}
	}
	routes := map[string]string{}
	for _, r := range (&Server{}).routes() {
		routes[r.method+" "+r.path] = r.op + ": " + rights(r.need)
	}
	if diff := cmp.Diff(routes, told); diff != "" {
		t.Errorf("openapi.yaml differs from the routes (-routes +openapi.yaml):\n%s", diff)
	}
}

func rights(n access) string {
	role := map[Role]string{RoleAsk: "ask", RoleWrite: "write", RoleAdmin: "admin"}[n.role]
	switch n.scope {
	case scopeAny:
		return "Token: " + role + ", for any space."
	case scopeSpace:
		return "Token: " + role + ", for this space."
	case scopeAll:
		return "Token: " + role + ", for all spaces."
	}
	return "No token is needed."
}

// Every response documents the request's id, and every operation documents its problems.
func TestSpecResponses(t *testing.T) {
	for path, item := range specification(t).Paths.Map() {
		for method, op := range item.Operations() {
			wanted := []string{"default"}
			if op.Security == nil {
				wanted = append(wanted, "400", "401", "403", "429", "500", "503")
			}
			if strings.Contains(path, "{space}") {
				wanted = append(wanted, "404")
			}
			if op.RequestBody != nil {
				wanted = append(wanted, "408", "413", "415")
			}
			for _, status := range wanted {
				if op.Responses.Value(status) == nil {
					t.Errorf("%s %s does not tell of %s", method, path, status)
				}
			}
			for status, r := range op.Responses.Map() {
				if r.Value.Headers["X-Request-Id"] == nil {
					t.Errorf("%s %s: the response %s has no X-Request-Id", method, path, status)
				}
			}
		}
	}
}

// Enumerated values in Go are the enums of openapi.yaml.
func TestSpecWords(t *testing.T) {
	doc := specification(t)
	types := []string{}
	for name := range problems {
		types = append(types, "urn:percached:problem:"+string(name))
	}
	for name, want := range map[string][]string{
		"ProblemType": types,
		"EventType": {
			EventAnswer, EventRefused, EventStored, EventEvicted, EventJob, EventUpload, EventForgotten, EventChanged, EventSettings, EventLost,
		},
		"UploadState":    {string(UploadQueued), string(UploadRunning), string(UploadDone), string(UploadFailed)},
		"Order":          {string(percached.Relevance), string(percached.Canonical)},
		"Placement":      {percached.Sequential.String(), percached.Parallel.String()},
		"Planes":         {percached.KV.String(), percached.QKV.String()},
		"PredictionMode": {string(percached.PredictNothing), string(percached.PredictAnswers), string(percached.PredictBoth)},
		"Finish":         {string(percached.FinishEnd), string(percached.FinishStop), string(percached.FinishLength), string(percached.FinishLoop), string(percached.FinishThought)},
	} {
		got := words(schemaOf(t, doc, name).Value)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-code +openapi.yaml):\n%s", name, diff)
		}
	}
	// Where a setting may be null, its words cannot be referred to.
	change := schemaOf(t, doc, "SettingsChange").Value
	for field, name := range map[string]string{
		"order": "Order", "placement": "Placement", "planes": "Planes", "prediction": "PredictionMode",
	} {
		want, got := words(schemaOf(t, doc, name).Value), words(change.Properties[field].Value)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("SettingsChange.%s (-%s +SettingsChange):\n%s", field, name, diff)
		}
	}
	// The events of streams are those that the schema names.
	stream := doc.Paths.Value("/v1/events").Get.Responses.Value("200").Value.Content["text/event-stream"]
	got := slices.Sorted(maps.Keys(stream.Extensions["x-events"].(map[string]any)))
	if diff := cmp.Diff(words(schemaOf(t, doc, "EventType").Value), got); diff != "" {
		t.Errorf("events (-EventType +stream):\n%s", diff)
	}
}

// words returns the values of an enum, in order, without null.
func words(s *openapi3.Schema) []string {
	var out []string
	for _, v := range s.Enum {
		if v != nil {
			out = append(out, v.(string))
		}
	}
	slices.Sort(out)
	return out
}
