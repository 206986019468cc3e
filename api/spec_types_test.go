package api

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
)

// wire is a schema with its Go type.
type wire struct {
	schema string
	typ    reflect.Type
	// sent by clients: then what they must send, and no more than the type knows.
	// What is loose may hold members that nobody reads.
	sent, loose bool
	needed      []string
}

// wires lists all object schemas.
func wires() []wire {
	gives := func(schema string, typ reflect.Type) wire { return wire{schema: schema, typ: typ} }
	takes := func(schema string, typ reflect.Type, needed ...string) wire {
		return wire{schema: schema, typ: typ, sent: true, needed: needed}
	}
	loose := func(schema string, typ reflect.Type, needed ...string) wire {
		return wire{schema: schema, typ: typ, sent: true, loose: true, needed: needed}
	}
	var details chatUsage
	return []wire{
		gives("Problem", reflect.TypeFor[Problem]()), gives("FieldError", reflect.TypeFor[FieldError]()),
		gives("OpenAIError", reflect.TypeFor[OpenAIError]()),

		gives("Space", reflect.TypeFor[Space]()), gives("Spaces", reflect.TypeFor[Spaces]()),
		gives("Settings", reflect.TypeFor[Settings]()), gives("Prompts", reflect.TypeFor[Prompts]()),
		takes("SettingsChange", reflect.TypeFor[Settings]()), takes("PromptsChange", reflect.TypeFor[Prompts]()),
		takes("NewSpace", reflect.TypeFor[NewSpace](), "name"), gives("Receipt", reflect.TypeFor[Receipt]()), gives("Deletions", reflect.TypeFor[Deletions]()),

		gives("Document", reflect.TypeFor[Document]()), gives("Documents", reflect.TypeFor[Documents]()),
		gives("DocumentText", reflect.TypeFor[DocumentText]()), gives("ChunkText", reflect.TypeFor[ChunkText]()),
		takes("NewDocument", reflect.TypeFor[newDocument](), "text"),
		takes("Texts", reflect.TypeFor[struct {
			Documents []newDocument `json:"documents"`
		}](), "documents"),
		gives("UploadStatus", reflect.TypeFor[UploadStatus]()), gives("Uploads", reflect.TypeFor[Uploads]()),
		gives("Failure", reflect.TypeFor[Failure]()),

		gives("Conversation", reflect.TypeFor[Conversation]()), gives("Conversations", reflect.TypeFor[Conversations]()),
		gives("SaidTurn", reflect.TypeFor[SaidTurn]()), takes("NewConversation", reflect.TypeFor[NewConversationBody]()),
		loose("ConversationID", reflect.TypeFor[struct {
			ID *string `json:"id"`
		}](), "id"),
		loose("ChatMetadata", reflect.TypeFor[chatMetadata]()), takes("NewTurns", reflect.TypeFor[NewTurnsBody](), "turns"), takes("NewTurn", reflect.TypeFor[NewTurn](), "role", "text"),
		gives("Fact", reflect.TypeFor[Fact]()), gives("Facts", reflect.TypeFor[Facts]()), gives("Memory", reflect.TypeFor[Memory]()),
		takes("NewFact", reflect.TypeFor[NewFact]()), takes("FactChange", reflect.TypeFor[FactChange]()),

		takes("Question", reflect.TypeFor[Question](), "question"), gives("Answer", reflect.TypeFor[Answer]()),
		takes("Typing", reflect.TypeFor[Typing](), "before"), gives("Completion", reflect.TypeFor[Completion]()),
		gives("Candidate", reflect.TypeFor[Candidate]()), gives("CompletionTokens", reflect.TypeFor[CompletionTokens]()),
		gives("Span", reflect.TypeFor[Span]()), gives("Instead", reflect.TypeFor[Instead]()), gives("Mark", reflect.TypeFor[Mark]()),
		gives("Citation", reflect.TypeFor[Citation]()), gives("Gate", reflect.TypeFor[Gate]()),
		gives("Considered", reflect.TypeFor[Considered]()), gives("GateTest", reflect.TypeFor[Test]()),
		gives("Reuse", reflect.TypeFor[Reuse]()), gives("DraftUse", reflect.TypeFor[DraftUse]()), gives("TokenCounts", reflect.TypeFor[Tokens]()),
		gives("Times", reflect.TypeFor[map[string]float64]()),
		gives("Stage", reflect.TypeFor[Stage]()), gives("Token", reflect.TypeFor[token]()),
		gives("Record", reflect.TypeFor[Record]()), gives("Records", reflect.TypeFor[Records]()),
		gives("Cleared", reflect.TypeFor[Cleared]()),

		gives("Entry", reflect.TypeFor[Entry]()), gives("Entries", reflect.TypeFor[Entries]()), gives("Passages", reflect.TypeFor[Passages]()),
		gives("Evidence", reflect.TypeFor[Evidence]()), gives("Bank", reflect.TypeFor[Bank]()),
		takes("Veto", reflect.TypeFor[Veto](), "asked"), gives("ExportedEntry", reflect.TypeFor[ExportedEntry]()),
		gives("GateReport", reflect.TypeFor[GateReport]()), gives("Imported", reflect.TypeFor[Imported]()), gives("ImportRefused", reflect.TypeFor[ImportRefused]()),
		gives("Restored", reflect.TypeFor[Restored]()),

		gives("Cache", reflect.TypeFor[Cache]()), gives("CacheGroup", reflect.TypeFor[CacheGroup]()),
		gives("SpaceCache", reflect.TypeFor[SpaceCache]()), takes("CacheLimit", reflect.TypeFor[CacheLimit](), "limit"),
		gives("Slice", reflect.TypeFor[Slice]()), gives("Tree", reflect.TypeFor[Tree]()),
		gives("Dropped", reflect.TypeFor[Dropped]()), gives("Verified", reflect.TypeFor[Verified]()),

		gives("Prediction", reflect.TypeFor[Prediction]()), gives("Predictions", reflect.TypeFor[Predictions]()),
		gives("PredictionStats", reflect.TypeFor[PredictionStats]()),

		gives("Idle", reflect.TypeFor[Idle]()), gives("Reason", reflect.TypeFor[Reason]()), gives("Window", reflect.TypeFor[Window]()),
		gives("Budget", reflect.TypeFor[Budget]()), gives("Pace", reflect.TypeFor[Pace]()), gives("Device", reflect.TypeFor[Device]()),
		takes("DeviceState", reflect.TypeFor[Device]()), gives("Job", reflect.TypeFor[Job]()), gives("Queue", reflect.TypeFor[Queue]()),
		gives("Ledger", reflect.TypeFor[Ledger]()), gives("Account", reflect.TypeFor[Account]()),
		gives("Drained", reflect.TypeFor[Drained]()), gives("KindWork", reflect.TypeFor[KindWork]()), gives("Work", reflect.TypeFor[Work]()),

		gives("Health", reflect.TypeFor[struct {
			Status  string `json:"status"`
			Version string `json:"version"`
		}]()),
		gives("Ready", reflect.TypeFor[Ready]()), gives("About", reflect.TypeFor[About]()),
		gives("Status", reflect.TypeFor[Status]()), gives("StatusBackup", reflect.TypeFor[StatusBackup]()), gives("StatusQuestions", reflect.TypeFor[StatusQuestions]()),
		gives("StatusStored", reflect.TypeFor[StatusStored]()), gives("StatusWaiting", reflect.TypeFor[StatusWaiting]()),
		gives("StatusIdle", reflect.TypeFor[StatusIdle]()), gives("StatusPlacement", reflect.TypeFor[StatusPlacement]()), gives("StatusForm", reflect.TypeFor[StatusForm]()),
		gives("StatusBudget", reflect.TypeFor[StatusBudget]()), gives("BudgetMemory", reflect.TypeFor[BudgetMemory]()), gives("BudgetExperts", reflect.TypeFor[BudgetExperts]()),
		gives("BudgetDisk", reflect.TypeFor[BudgetDisk]()), gives("BudgetSharing", reflect.TypeFor[BudgetSharing]()),
		gives("StatusEnergy", reflect.TypeFor[StatusEnergy]()),
		gives("AboutModel", reflect.TypeFor[AboutModel]()), gives("ModelShape", reflect.TypeFor[ModelShape]()), gives("AboutEmbedder", reflect.TypeFor[AboutEmbedder]()),
		gives("Config", reflect.TypeFor[Config]()), gives("Setting", reflect.TypeFor[Setting]()),
		loose("ConfigChange", reflect.TypeFor[ConfigChange]()), gives("Event", reflect.TypeFor[Event]()),

		loose("ChatRequest", reflect.TypeFor[chatRequest](), "messages", "model"),
		loose("ChatStreamOptions", reflect.TypeFor[chatStreamOptions]()),
		loose("ChatMessage", reflect.TypeFor[chatTurn](), "role"), loose("ChatPart", reflect.TypeFor[chatPart](), "text", "type"),
		gives("ChatCompletion", reflect.TypeFor[chatCompletion]()), gives("ChatChoice", reflect.TypeFor[chatChoice]()),
		gives("ChatAnswer", reflect.TypeFor[chatMessage]()), gives("ChatChunk", reflect.TypeFor[chatChunk]()),
		gives("ChatChunkChoice", reflect.TypeFor[chatChunkChoice]()), gives("ChatDelta", reflect.TypeFor[chatDelta]()),
		gives("ChatUsage", reflect.TypeFor[chatUsage]()), gives("ChatUsageDetails", reflect.TypeOf(details.Details)),
		gives("ChatExtra", reflect.TypeFor[chatOwn]()), loose("ChatFormat", reflect.TypeFor[chatFormat](), "type"), loose("ChatSchema", reflect.TypeFor[chatSchema](), "schema"),
		gives("JSONSchema", reflect.TypeFor[map[string]any]()), loose("ChatTool", reflect.TypeFor[chatTool](), "function", "type"), loose("ChatFunction", reflect.TypeFor[chatFunction](), "name"),
		gives("ChatToolCall", reflect.TypeFor[chatToolCall]()), gives("ChatCallText", reflect.TypeFor[chatCallText]()),
		loose("ResponsesTextRequest", reflect.TypeFor[responsesFormat]()), gives("ResponsesTextFormat", reflect.TypeFor[textFormat]()),
		loose("ResponsesTool", reflect.TypeFor[chatTool](), "name", "type"),
		loose("ResponsesRequest", reflect.TypeFor[responsesRequest](), "input", "model"),
		loose("ResponsesMessage", reflect.TypeFor[responsesInput]()), gives("Response", reflect.TypeFor[responsesObject]()),
		gives("ResponsesReason", reflect.TypeFor[responsesReason]()), gives("ResponsesFormat", reflect.TypeFor[responsesTextField]()),
		gives("ResponsesItem", reflect.TypeFor[responsesItem]()), gives("ResponsesText", reflect.TypeFor[responsesText]()),
		gives("ResponsesUsage", reflect.TypeFor[responsesUsage]()), gives("ResponsesCached", reflect.TypeFor[responsesCached]()),
		gives("ResponsesThoughts", reflect.TypeFor[responsesThoughts]()), gives("ResponsesEvent", reflect.TypeFor[responsesEvent]()),
		loose("EmbeddingRequest", reflect.TypeFor[embeddingRequest](), "input"),
		gives("EmbeddingList", reflect.TypeFor[embeddingList]()), gives("Embedding", reflect.TypeFor[embeddingItem]()),
		gives("EmbeddingUsage", reflect.TypeFor[embeddingUsage]()),
		gives("ModelList", reflect.TypeFor[modelList]()), gives("Model", reflect.TypeFor[modelItem]()),
	}
}

// Schemas and types agree on fields, required fields, kinds and null.
func TestSpecTypes(t *testing.T) {
	doc := specification(t)
	named := map[string]reflect.Type{}
	for _, w := range wires() {
		named[w.schema] = w.typ
	}
	for name, ref := range doc.Components.Schemas {
		if properties, _ := members(ref.Value); (ref.Value.Type.Is("object") || len(properties) > 0) && named[name] == nil {
			t.Errorf("no type is known for the schema %s", name)
		}
	}
	for _, w := range wires() {
		t.Run(w.schema, func(t *testing.T) {
			schema := schemaOf(t, doc, w.schema).Value
			closed := schema.AdditionalProperties.Has != nil && !*schema.AdditionalProperties.Has
			if closed != (w.sent && !w.loose) {
				t.Errorf("additionalProperties: false is for requests, and for them alone: %v", closed)
			}
			if w.typ.Kind() == reflect.Map {
				fits(t, named, w.schema, w.typ, &openapi3.SchemaRef{Value: schema})
				return
			}
			w.compare(t, named, schema)
		})
	}
}

func (w wire) compare(t *testing.T, named map[string]reflect.Type, schema *openapi3.Schema) {
	properties, required := members(schema)
	fields, always := map[string]reflect.Type{}, []string{}
	for _, f := range reflect.VisibleFields(w.typ) {
		name, flags, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() || w.loose && properties[name] == nil {
			continue
		}
		fields[name] = f.Type
		if flags == "" {
			always = append(always, name)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(properties))); diff != "" {
		t.Errorf("members (-type +schema):\n%s", diff)
	}
	if w.sent {
		always = w.needed
	}
	slices.Sort(always)
	slices.Sort(required)
	if diff := cmp.Diff(append([]string{}, always...), append([]string{}, required...)); diff != "" {
		t.Errorf("required (-type +schema):\n%s", diff)
	}
	for name, ref := range properties {
		if typ := fields[name]; typ != nil {
			fits(t, named, name, typ, ref)
			pointer, there := typ.Kind() == reflect.Pointer, slices.Contains(always, name)
			if null := nullable(ref.Value); null && !pointer || !w.sent && null != (pointer && there) {
				t.Errorf("%s: nullable is %v; the type is %v", name, null, typ)
			}
		}
	}
}

// members returns the properties and the required fields of an object, including those of
// allOf, and of an object that may be null.
func members(s *openapi3.Schema) (openapi3.Schemas, []string) {
	if len(s.OneOf) > 0 && nullable(s) {
		return members(s.OneOf[0].Value)
	}
	properties, required := openapi3.Schemas{}, slices.Clone(s.Required)
	maps.Copy(properties, s.Properties)
	for _, part := range s.AllOf {
		p, r := members(part.Value)
		maps.Copy(properties, p)
		required = append(required, r...)
	}
	return properties, required
}

// fits checks the kind of a field.
func fits(t *testing.T, named map[string]reflect.Type, at string, typ reflect.Type, ref *openapi3.SchemaRef) {
	t.Helper()
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	schema := extended(ref).Value
	kind, format := "", schema.Format
	switch k := typ.Kind(); {
	case k == reflect.Interface, typ == reflect.TypeFor[json.RawMessage]():
		return // written or read by hand
	case typ == reflect.TypeFor[time.Time]():
		kind, format = "string", "date-time"
	case k == reflect.String, typ.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		kind = "string"
	case k == reflect.Bool:
		kind = "boolean"
	case k == reflect.Int:
		kind, format = "integer", ""
	case k == reflect.Int64, k == reflect.Uint64:
		kind, format = "integer", "int64"
	case k == reflect.Float64:
		kind, format = "number", "double"
	case k == reflect.Slice:
		kind = "array"
		fits(t, named, at+"[]", typ.Elem(), schema.Items)
	case k == reflect.Map:
		kind = "object"
		if typ.Elem().Kind() != reflect.Interface {
			fits(t, named, at+"{}", typ.Elem(), schema.AdditionalProperties.Schema)
		}
	case typ.NumField() > 0:
		if got := named[referred(ref)]; got != typ {
			t.Errorf("%s: the schema is %q of the type %v; the type is %v", at, referred(ref), got, typ)
		}
		return
	default:
		kind = "object" // that is always null
	}
	if !schema.Type.Includes(kind) || schema.Format != format {
		t.Errorf("%s: the schema says %v %s; the type is %v", at, schema.Type, schema.Format, typ)
	}
}

// referred returns the name of the schema that a schema refers to or extends.
func referred(ref *openapi3.SchemaRef) string {
	ref = extended(ref)
	return ref.Ref[strings.LastIndex(ref.Ref, "/")+1:]
}

// extended returns the schema that a schema extends, or that it is besides null.
func extended(ref *openapi3.SchemaRef) *openapi3.SchemaRef {
	switch s := ref.Value; {
	case len(s.AllOf) == 1:
		return s.AllOf[0]
	case len(s.OneOf) == 2 && s.OneOf[1].Value.Type.Is("null"):
		return s.OneOf[0]
	}
	return ref
}

// nullable says whether a schema allows null.
func nullable(s *openapi3.Schema) bool {
	return s.Type.Includes("null") || slices.ContainsFunc(s.OneOf, func(one *openapi3.SchemaRef) bool { return one.Value.Type.Is("null") })
}
