package main

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// assistant starts percached mcp and connects to it; leave waits for its end.
func assistant(t *testing.T, args ...string) (s *mcp.ClientSession, leave func()) {
	t.Helper()
	var err error
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(context.Background(), append([]string{"mcp"}, args...), in, out, io.Discard)
		out.CloseWithError(io.EOF)
		ended <- err
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err = c.Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err, <-ended)
	}
	return s, func() {
		s.Close()
		if err := <-ended; err != nil {
			t.Error("percached mcp ended:", err)
		}
	}
}

// callTool calls a tool and decodes its result.
func callTool[Out any](t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (out Out, failed string) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(tool, err)
	}
	if r.IsError {
		return out, r.Content[0].(*mcp.TextContent).Text
	}
	b, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(tool, err)
	}
	return out, ""
}

// An assistant adds a text, asks about it, reads it and forgets it.
func TestMCP(t *testing.T) {
	if testing.Short() && raced {
		t.Skip("runs the model")
	}
	data := t.TempDir()
	s, leave := assistant(t, "--data", data, "--threads", "1")
	if added, failed := callTool[addOutput](t, s, "add", map[string]any{"name": "heron", "text": "The budget for Heron is $46,000. Ana Ruiz leads it."}); added.Added != 1 || failed != "" {
		t.Fatalf("%+v %s", added, failed)
	}
	found, failed := callTool[searchOutput](t, s, "search", map[string]any{"query": "budget of Heron"})
	if len(found.Passages) != 1 || !strings.Contains(found.Passages[0].Text, "$46,000") {
		t.Fatalf("%+v %s", found, failed)
	}
	id := found.Passages[0].Document
	if a, failed := callTool[askOutput](t, s, "ask", map[string]any{"question": "What is the budget for Heron?"}); len(a.Sources) != 1 || a.Sources[0].Document != id || failed != "" {
		t.Errorf("%+v %s", a, failed)
	}
	if l, failed := callTool[documentsOutput](t, s, "documents", nil); l.Total != 1 || l.Documents[0].ID != id {
		t.Errorf("%+v %s", l, failed)
	}
	r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: documentURI + id})
	if err != nil || !strings.Contains(r.Contents[0].Text, "Ana Ruiz leads it.") {
		t.Errorf("%+v, %v", r, err)
	}
	fact, failed := callTool[rememberOutput](t, s, "remember", map[string]any{"text": "I live in Bergen."})
	if len(fact.Facts) != 1 || fact.Facts[0].Text != "The user lives in Bergen." || failed != "" {
		t.Fatalf("%+v %s", fact, failed)
	}
	if gone, failed := callTool[forgetOutput](t, s, "forget", map[string]any{"document": fact.Facts[0].Document}); gone.Documents != 1 || failed != "" {
		t.Errorf("%+v %s", gone, failed)
	}
	for tool, args := range map[string]map[string]any{
		"remember": {"text": "My password is hunter2."},
		"ask":      {"question": " "}, "search": {"query": " "}, "add": {"name": "x", "text": ""}, "forget": {"document": "7"},
	} {
		if _, failed := callTool[map[string]any](t, s, tool, args); failed == "" {
			t.Errorf("%s took %v", tool, args)
		}
	}
	if gone, failed := callTool[forgetOutput](t, s, "forget", map[string]any{"document": id}); gone.Documents != 1 || failed != "" {
		t.Errorf("%+v %s", gone, failed)
	}
	if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: documentURI + id}); err == nil {
		t.Error("a forgotten document can be read")
	}
	if again, failed := callTool[addOutput](t, s, "add", map[string]any{"name": "heron", "text": "The budget for Heron is $46,000. Ana Ruiz leads it."}); !strings.Contains(failed, "deleted this text before") {
		t.Errorf("a forgotten text was left out in silence: %+v %s", again, failed)
	}
	leave()
	reader, leave := assistant(t, "--data", data, "--threads", "1", "--read-only")
	defer leave()
	tools, err := reader.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if slices.Contains([]string{"add", "remember", "forget", "sync"}, tool.Name) || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s is offered to read only", tool.Name)
		}
	}
}
