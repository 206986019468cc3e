package trace

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
)

// Options say where spans go.
type Options struct {
	Endpoint string // of the collector, such as http://127.0.0.1:4318
	Version  string // of percached
	// Failed reports that spans could not be sent, once until it works again.
	Failed func(error)
}

// Tracer sends spans. It is safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// New returns a tracer, which Close ends.
func New(o Options) *Tracer {
	exporter := otlptrace.NewUnstarted(&sender{url: tracesURL(o.Endpoint), failed: o.Failed, client: &http.Client{
		Timeout: sendTimeout, Transport: http.DefaultTransport.(*http.Transport).Clone(),
	}})
	p := sdk.NewTracerProvider(
		sdk.WithBatcher(exporter),
		sdk.WithSampler(sdk.ParentBased(sdk.AlwaysSample())),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "percached"), attribute.String("service.version", o.Version))),
	)
	return &Tracer{p, p.Tracer("github.com/percached/percached")}
}

// Close sends what waits, and ends the tracer.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Question sends the spans of a question that was answered or failed.
func (t *Tracer) Question(q api.AskedQuestion) {
	parent := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(q.Header))
	ctx, root := t.tracer.Start(parent, "percached "+q.Operation, trace.WithTimestamp(q.Began), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("percached.request", q.Request)))
	defer root.End(trace.WithTimestamp(q.Ended))
	if q.Failure != "" {
		root.SetStatus(codes.Error, q.Failure)
		return
	}
	a := q.Answer
	root.SetAttributes(
		attribute.String("percached.outcome", a.Outcome), attribute.Bool("percached.grounded", a.Grounded), attribute.String("percached.finish", a.Finish),
		attribute.Int("percached.tokens.prompt", a.Tokens.Prompt), attribute.Int("percached.tokens.reused", a.Tokens.Reused),
		attribute.Int("percached.tokens.computed", a.Tokens.Computed), attribute.Int("percached.tokens.generated", a.Tokens.Generated),
		attribute.Int("percached.chunks.stored", a.Chunks.Stored), attribute.Int("percached.chunks.all", a.Chunks.All),
	)
	at := q.Began
	for _, stage := range (&answer.Times{}).Stages() {
		took := time.Duration(a.Times[stage.Name+"_ms"] * float64(time.Millisecond))
		if stage.Name == "load_tensors" { // the engine starts, and first_token counts from here
			if first := a.Times["first_token_ms"]; first > 0 {
				root.AddEvent("first token", trace.WithTimestamp(at.Add(time.Duration(first*float64(time.Millisecond)))))
			}
		}
		if took <= 0 || stage.Name == "total" || stage.Name == "first_token" {
			continue
		}
		_, span := t.tracer.Start(ctx, stage.Name, trace.WithTimestamp(at))
		at = at.Add(took)
		span.End(trace.WithTimestamp(at))
	}
}
