package trial

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/percached/percached/api/client"
)

// call gives what an operation gave, or why it gave nothing.
func call[T any](resp *http.Response, err error) (got T, _ error) {
	if err != nil {
		return got, err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = client.Failed(resp.StatusCode, body)
	}
	if err != nil || resp.StatusCode == http.StatusNoContent {
		return got, err
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return got, fmt.Errorf("a response: %w", err)
	}
	return got, nil
}

// none is what an operation gives that gives nothing of interest.
type none = json.RawMessage
