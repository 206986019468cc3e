package client

import (
	"context"
	"net/http"
)

// WithToken sends a token with every request.
func WithToken(secret string) ClientOption {
	return WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+secret)
		return nil
	})
}
