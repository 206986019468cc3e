package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/version"
)

func mcpCommand(dial dialer) *cobra.Command {
	var readOnly bool
	var listen string
	return apiCommand{
		use: "mcp", short: "Offer a space to an assistant by the Model Context Protocol",
		long: `Speaks the Model Context Protocol on standard input and output, for an assistant that
starts this command, or over HTTP with --listen. The assistant gets the tools ask, search,
documents, add, remember, forget and sync of one space, and its documents as resources.
With sync it passes on what was said in its own conversation, so that a question may lean
on it. With --read-only it can change nothing.

Over HTTP a request needs a token of percached (percached token), and may do what the token
may.`,
		example: `  percached mcp --space mail
  percached mcp --space notes --read-only
  percached mcp --listen 127.0.0.1:7331`,
		keys: answerKeys(), need: need{Folder: true, Model: true}, space: oneSpaceFlag,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&readOnly, "read-only", false, "Offer only tools that change nothing")
			cmd.Flags().StringVar(&listen, "listen", "", "Loopback address for streamable HTTP, such as 127.0.0.1:7331 (default: standard input and output)")
		},
		before: func([]string) error {
			if listen == "" {
				return nil
			}
			return checkLoopback(listen)
		},
		run: func(ctx context.Context, c *session, _ []string) error {
			if !readOnly {
				if err := c.makeSpace(ctx, ""); err != nil {
					return err
				}
			}
			if listen != "" {
				return serveTools(ctx, c, listen, readOnly)
			}
			err := newToolServer(c, readOnly).Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(c.in), Writer: nopWriteCloser{c.out}})
			if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil { // the assistant has left
				return nil
			}
			return fault.New(fault.Invalid, "mcp", "standard input is not the Model Context Protocol: %w", err)
		},
	}.command(dial)
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

// toolServer answers the calls of an assistant.
type toolServer struct {
	*session
	readOnly bool
}

func newToolServer(c *session, readOnly bool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "percached", Title: "percached", Version: version.String()}, &mcp.ServerOptions{
		Instructions: "percached answers questions from the user's own documents in the space " + c.space +
			". Use ask for an answer with its sources, and search for passages. Tell the user the sources.",
	})
	t := &toolServer{c, readOnly}
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)}
	mcp.AddTool(s, &mcp.Tool{Name: "ask", Description: "Answer a question from the user's documents, with its sources.", Annotations: reads}, t.ask)
	mcp.AddTool(s, &mcp.Tool{Name: "search", Description: "Find passages of the user's documents by words and meaning.", Annotations: reads}, t.search)
	mcp.AddTool(s, &mcp.Tool{Name: "documents", Description: "List the user's documents, with their ids.", Annotations: reads}, t.documents)
	if !readOnly {
		mcp.AddTool(s, &mcp.Tool{
			Name: "add", Description: "Remember a text as a document. The same name replaces the earlier text.",
			Annotations: &mcp.ToolAnnotations{DestructiveHint: new(false), IdempotentHint: true, OpenWorldHint: new(false)},
		}, t.add)
		mcp.AddTool(s, &mcp.Tool{
			Name: "remember", Description: "Remember a fact that the user stated about themselves, such as: I live in Bergen. Secrets are refused.",
			Annotations: &mcp.ToolAnnotations{DestructiveHint: new(false), IdempotentHint: true, OpenWorldHint: new(false)},
		}, t.remember)
		mcp.AddTool(s, &mcp.Tool{
			Name: "forget", Description: "Delete a document with all that was made of it. This cannot be undone: ask the user first.",
			Annotations: &mcp.ToolAnnotations{DestructiveHint: new(true), IdempotentHint: true, OpenWorldHint: new(false)},
		}, t.forget)
		mcp.AddTool(s, &mcp.Tool{
			Name: "sync", Description: "Pass on what was said since the last sync, so that a question may lean on it. Give ask the conversation that it returns.",
			Annotations: &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)},
		}, t.sync)
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "document", Description: "A document of the user, by the id that search and documents return.",
		URITemplate: documentURI + "{id}", MIMEType: "text/plain",
	}, t.document)
	return s
}

const documentURI = "percached://documents/"

type askInput struct {
	Question     string `json:"question" jsonschema:"a question that stands alone, or leans on the conversation"`
	Conversation string `json:"conversation,omitempty" jsonschema:"the conversation that sync returned; the question and its answer are added to it"`
}

type passage struct {
	Document string `json:"document" jsonschema:"id of the document"`
	About    string `json:"about" jsonschema:"title, source and date"`
	Text     string `json:"text"`
}

type askOutput struct {
	Answer   string    `json:"answer"`
	Grounded bool      `json:"grounded" jsonschema:"false: the documents do not contain the answer's words; do not rely on it"`
	Sources  []passage `json:"sources"`
}

func passages(found []client.Citation) []passage {
	out := make([]passage, len(found))
	for i, f := range found {
		out[i] = passage{f.Document, f.About, strings.TrimSpace(f.Quote)}
	}
	return out
}

func (t *toolServer) ask(ctx context.Context, _ *mcp.CallToolRequest, in askInput) (*mcp.CallToolResult, askOutput, error) {
	if t.readOnly && in.Conversation != "" {
		return nil, askOutput{}, errors.New("a question of a conversation is added to it, and this server may change nothing: leave conversation out")
	}
	r, err := t.AskWithResponse(ctx, t.space, client.Question{Question: in.Question, Conversation: optional(in.Conversation)})
	if err != nil {
		return nil, askOutput{}, toolError(err)
	}
	a := r.JSON200
	return nil, askOutput{a.Answer, a.Grounded, passages(a.Citations)}, nil
}

type searchInput struct {
	Query string `json:"query" jsonschema:"words, or what the passages should be about; at most 200 characters"`
	Limit int    `json:"limit,omitempty" jsonschema:"maximum number of passages, 1 to 50; 10 if it is left out"`
}

type searchOutput struct {
	Passages []passage `json:"passages"`
}

func (t *toolServer) search(ctx context.Context, _ *mcp.CallToolRequest, in searchInput) (*mcp.CallToolResult, searchOutput, error) {
	r, err := t.SearchDocumentsWithResponse(ctx, t.space, &client.SearchDocumentsParams{Q: in.Query, Limit: optional(in.Limit)})
	if err != nil {
		return nil, searchOutput{}, toolError(err)
	}
	return nil, searchOutput{passages(r.JSON200.Passages)}, nil
}

type documentsInput struct {
	Find string `json:"find,omitempty" jsonschema:"only documents whose title or source contains this text"`
}

type documentLine struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Source string `json:"source"`
	Date   string `json:"date,omitempty"`
}

type documentsOutput struct {
	Documents []documentLine `json:"documents"`
	Total     int            `json:"total" jsonschema:"number of documents, of which at most 100 are listed"`
}

func (t *toolServer) documents(ctx context.Context, _ *mcp.CallToolRequest, in documentsInput) (*mcp.CallToolResult, documentsOutput, error) {
	out := documentsOutput{Documents: []documentLine{}}
	limit := 100
	r, err := t.ListDocumentsWithResponse(ctx, t.space, &client.ListDocumentsParams{Limit: &limit, Find: optional(in.Find)})
	if err != nil {
		return nil, out, toolError(err)
	}
	out.Total = r.JSON200.Total
	for _, d := range r.JSON200.Documents {
		out.Documents = append(out.Documents, documentLine{d.ID, d.Title, d.Source, dateText(d.Date)})
	}
	return nil, out, nil
}

type addInput struct {
	Name string `json:"name" jsonschema:"short name of the document, such as shopping list"`
	Text string `json:"text"`
}

type addOutput struct {
	Added    int `json:"added"`
	Replaced int `json:"replaced"`
}

func (t *toolServer) add(ctx context.Context, _ *mcp.CallToolRequest, in addInput) (*mcp.CallToolResult, addOutput, error) {
	if strings.TrimSpace(in.Name) == "" || strings.TrimSpace(in.Text) == "" {
		return nil, addOutput{}, errors.New("name and text must not be empty")
	}
	wait, name := true, in.Name+".txt"
	r, err := t.UploadWithBodyWithResponse(ctx, t.space, &client.UploadParams{Wait: &wait, Name: &name}, "text/plain; charset=utf-8", strings.NewReader(in.Text))
	if err != nil {
		return nil, addOutput{}, toolError(err)
	}
	done := r.JSON200
	if done == nil {
		return nil, addOutput{}, fmt.Errorf("the upload is not finished: %s", r.Status())
	}
	if len(done.Failures) > 0 {
		return nil, addOutput{}, errors.New(done.Failures[0].Reason)
	}
	if done.DeletedBefore > 0 {
		return nil, addOutput{}, errors.New("the user deleted this text before; if the user wants it back, add it under another name")
	}
	return nil, addOutput{done.Added, done.Replaced}, nil
}

type rememberInput struct {
	Text string `json:"text" jsonschema:"what the user said, in their words"`
}

type rememberedFact struct {
	Document string `json:"document" jsonschema:"id, for forget"`
	Text     string `json:"text"`
}

type rememberOutput struct {
	Facts []rememberedFact `json:"facts"`
}

// remember stores facts about the user.
func (t *toolServer) remember(ctx context.Context, _ *mcp.CallToolRequest, in rememberInput) (*mcp.CallToolResult, rememberOutput, error) {
	out := rememberOutput{Facts: []rememberedFact{}}
	r, err := t.AddFactWithResponse(ctx, t.space, client.NewFact{Text: &in.Text})
	if err != nil {
		return nil, out, toolError(err)
	}
	for _, f := range r.JSON200.Facts {
		out.Facts = append(out.Facts, rememberedFact{f.ID, f.Text})
	}
	return nil, out, nil
}

type forgetInput struct {
	Document string `json:"document" jsonschema:"id of the document"`
}

type forgetOutput struct {
	Documents int `json:"documents"`
	Answers   int `json:"answers" jsonschema:"stored answers that were deleted with it"`
}

func (t *toolServer) forget(ctx context.Context, _ *mcp.CallToolRequest, in forgetInput) (*mcp.CallToolResult, forgetOutput, error) {
	if err := checkDocumentIDs([]string{in.Document}); err != nil {
		return nil, forgetOutput{}, err
	}
	r, err := t.DeleteDocumentWithResponse(ctx, t.space, in.Document, &client.DeleteDocumentParams{})
	if err != nil {
		return nil, forgetOutput{}, toolError(err)
	}
	return nil, forgetOutput{r.JSON200.Documents, r.JSON200.Entries}, nil
}

type turnInput struct {
	Role string `json:"role" jsonschema:"user or assistant"`
	Text string `json:"text"`
}

type syncInput struct {
	Conversation string      `json:"conversation,omitempty" jsonschema:"what an earlier sync returned; without it a conversation begins"`
	Turns        []turnInput `json:"turns" jsonschema:"what was said since, oldest first"`
}

type syncOutput struct {
	Conversation string `json:"conversation"`
	Turns        int64  `json:"turns" jsonschema:"how many turns it has now"`
}

// sync adds turns to a conversation, or begins one with them.
func (t *toolServer) sync(ctx context.Context, _ *mcp.CallToolRequest, in syncInput) (*mcp.CallToolResult, syncOutput, error) {
	var turns []client.NewTurn
	for _, said := range in.Turns {
		role := client.NewTurnRole(said.Role)
		if role != client.NewTurnRoleUser && role != client.NewTurnRoleAssistant || strings.TrimSpace(said.Text) == "" {
			return nil, syncOutput{}, errors.New("each turn needs a role, user or assistant, and a text")
		}
		turns = append(turns, client.NewTurn{Role: role, Text: said.Text})
	}
	if len(turns) == 0 {
		return nil, syncOutput{}, errors.New("turns must not be empty")
	}
	id := in.Conversation
	if id == "" {
		made, err := t.CreateConversationWithResponse(ctx, t.space, client.NewConversation{})
		if err != nil {
			return nil, syncOutput{}, toolError(err)
		}
		id = made.JSON201.ID
	} else if err := checkConversationID([]string{id}); err != nil {
		return nil, syncOutput{}, err
	}
	r, err := t.AddTurnsWithResponse(ctx, t.space, id, client.NewTurns{Turns: turns})
	if err != nil {
		return nil, syncOutput{}, toolError(err)
	}
	return nil, syncOutput{id, r.JSON200.Count}, nil
}

// document reads a document as a resource.
func (t *toolServer) document(ctx context.Context, q *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id, ok := strings.CutPrefix(q.Params.URI, documentURI)
	if !ok || checkDocumentIDs([]string{id}) != nil {
		return nil, mcp.ResourceNotFoundError(q.Params.URI)
	}
	r, err := t.GetDocumentWithResponse(ctx, t.space, id)
	if p, ok := errors.AsType[*client.ProblemError](err); ok && p.Problem.Status == http.StatusNotFound {
		return nil, mcp.ResourceNotFoundError(q.Params.URI)
	}
	if err != nil {
		return nil, toolError(err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s (%s)\n\n", r.JSON200.Title, r.JSON200.Source)
	for _, c := range r.JSON200.Text {
		text.WriteString(strings.TrimSpace(c.Body) + "\n\n")
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: q.Params.URI, MIMEType: "text/plain", Text: strings.TrimSpace(text.String()) + "\n"}}}, nil
}

// toolError tells an assistant what is wrong.
func toolError(err error) error { return errors.New(reasonText(err)) }
