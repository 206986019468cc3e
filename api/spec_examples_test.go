package api

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Examples contain only described fields. A request's example has the same name as its
// response's.
func TestSpecExamples(t *testing.T) {
	doc := specification(t)
	c := contract{doc}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			answers := map[string]bool{}
			for status, r := range op.Responses.Map() {
				for kind, content := range r.Value.Content {
					for name, e := range content.Examples {
						answers[name] = true
						if err := c.example(kind, content, e.Value); err != nil {
							t.Errorf("%s %s: the example %s of %s: %v", method, path, name, status, err)
						}
					}
				}
			}
			if op.RequestBody == nil || op.Responses.Value("204") != nil {
				continue
			}
			for kind, content := range op.RequestBody.Value.Content {
				for name, e := range content.Examples {
					if !answers[name] {
						t.Errorf("%s %s: no response has the example %s", method, path, name)
					}
					if err := c.example(kind, content, e.Value); err != nil {
						t.Errorf("%s %s: the example %s: %v", method, path, name, err)
					}
				}
			}
		}
	}
}

// example checks what the document's own validation does not: undescribed fields, and the
// content of streams.
func (c contract) example(kind string, content *openapi3.MediaType, e *openapi3.Example) error {
	switch text, _ := e.Value.(string); kind {
	case eventsType:
		return c.events(content, text)
	case linesType:
		for line := range strings.Lines(text) {
			if err := c.value(content.Extensions["x-line"], line); err != nil {
				return err
			}
		}
		return nil
	}
	return strange(content.Schema.Value, e.Value, "")
}
