package trace

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/percached/percached/internal/base/fault"
)

const sendTimeout = 10 * time.Second

// sender sends spans by HTTP. The client of OpenTelemetry does the same, and brings gRPC with it:
// 11 MB of a binary.
type sender struct {
	url     string
	client  *http.Client
	failed  func(error)
	failing atomic.Bool // the last batch was not taken
}

// tracesURL is where a collector takes traces.
func tracesURL(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || strings.Trim(u.Path, "/") != "" {
		return endpoint
	}
	return u.JoinPath("v1/traces").String()
}

// Start does nothing.
func (s *sender) Start(context.Context) error { return nil }

// Stop closes idle connections.
func (s *sender) Stop(context.Context) error {
	s.client.CloseIdleConnections()
	return nil
}

// UploadTraces sends a batch. It reports a failure itself, because the caller would log it with a
// logger of the process.
func (s *sender) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	err := s.send(ctx, spans)
	if was := s.failing.Swap(err != nil); err != nil && !was && s.failed != nil {
		s.failed(err)
	}
	return nil
}

func (s *sender) send(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	const op = "trace.send"
	b, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans}) // the request has the same form
	if err != nil {
		return fault.New(fault.Internal, op, "%w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(b))
	if err != nil {
		return fault.New(fault.Invalid, op, "%w", err)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := s.client.Do(r)
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode/100 != 2 {
		return fault.New(fault.Unavailable, op, "the collector %s refused traces with status %d", s.url, resp.StatusCode)
	}
	return nil
}
