package load

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/percached/percached/api/client"
)

// Asking asks a space of a running percached. Fresh answers are computed, whatever
// the bank holds.
func Asking(c *client.ClientWithResponses, space string, fresh bool) func(context.Context, string) (Reply, error) {
	return func(ctx context.Context, question string) (Reply, error) {
		got, err := c.AskWithResponse(ctx, space, client.Question{Question: question, Refresh: &fresh})
		switch {
		case err != nil:
			return Reply{}, err
		case got.StatusCode() == http.StatusTooManyRequests:
			after, err := strconv.Atoi(got.HTTPResponse.Header.Get("Retry-After"))
			if err != nil {
				return Reply{}, fmt.Errorf("refused without a time to come again: %w", err)
			}
			return Reply{Again: time.Duration(after) * time.Second}, nil
		case got.JSON200 == nil:
			return Reply{}, fmt.Errorf("status %d: %s", got.StatusCode(), got.Body)
		}
		return Reply{Outcome: string(got.JSON200.Outcome)}, nil
	}
}

// Transport keeps a connection open for each of so many clients.
func Transport(clients int) *http.Transport {
	return &http.Transport{MaxIdleConns: clients, MaxIdleConnsPerHost: clients, DisableCompression: true}
}
