package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

// checkLoopback refuses an address that other machines can reach: the tools speak no TLS.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return cmdline.Misusef("--listen: %q is not host:port", address)
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return cmdline.Misusef("--listen: %q is not a loopback address, such as 127.0.0.1:7331; for other machines put a proxy with TLS before it", host)
	}
	return nil
}

// serveTools offers the tools over streamable HTTP at /mcp until ctx ends.
func serveTools(ctx context.Context, c *session, address string, readOnly bool) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fault.New(fault.Unavailable, "mcp", "cannot listen on %s: %w", address, err)
	}
	srv := &http.Server{Handler: toolHandler(c, readOnly), ReadHeaderTimeout: 10 * time.Second}
	c.note("the tools of the space %s are at http://%s/mcp; send a token of percached: Authorization: Bearer TOKEN", c.space, l.Addr())
	down := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(down)
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if srv.Shutdown(late) != nil {
			srv.Close()
		}
	})
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return fault.New(fault.Internal, "mcp", "%w", err)
	}
	<-down // calls in progress have ended
	return nil
}

// toolHandler serves the tools to clients with a token of percached. Each request is carried
// out with its own token, so it may do what the token may.
func toolHandler(c *session, readOnly bool) http.Handler {
	tools := http.NewCrossOriginProtection().Handler(mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		own := *c
		l, err := c.As(bearer(r))
		if err != nil {
			return nil
		}
		own.Link = l
		return newToolServer(&own, readOnly)
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}))
	mux := http.NewServeMux()
	mux.Handle("/mcp", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if checkLoopback(net.JoinHostPort(host, "1")) != nil { // a name that somebody else made point here
			http.Error(w, "unknown Host header", http.StatusForbidden)
			return
		}
		l, err := c.As(bearer(r))
		if err == nil && bearer(r) != "" {
			_, err = l.GetSpaceWithResponse(r.Context(), c.space)
		}
		if err != nil && !isStatus(err, http.StatusUnauthorized) && !isStatus(err, http.StatusForbidden) {
			http.Error(w, reasonText(err), http.StatusBadGateway)
			return
		}
		if err != nil || bearer(r) == "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "send a token of percached for the space: Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		tools.ServeHTTP(w, r)
	}))
	return mux
}

// bearer returns the token of a request, or "".
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
