package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/percached/percached/internal/base/fault"
)

const (
	maxEvent  = 1 << 20 // bytes of a line of a stream
	mostBytes = 32      // of a token on average; few have more
)

// events calls use with the data of each event of a stream, until the stream ends with [DONE].
// A stream that ends otherwise broke off, unless use says that it is complete.
func events(r io.Reader, use func(data []byte) (complete bool, err error)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	complete := false
	for {
		text, err := readLine(in)
		if data, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			data = bytes.TrimSpace(data)
			if string(data) == "[DONE]" {
				return nil
			}
			if len(data) > 0 {
				done, err := use(data)
				if err != nil {
					return err
				}
				complete = complete || done
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, errLine):
			return fault.New(fault.Unavailable, op, "the server sent an event of more than %d bytes", maxEvent)
		case complete && err == io.EOF:
			return nil
		default:
			return errBroken
		}
	}
}

var (
	errLine   = errors.New("the line is too long")
	errBroken = fault.New(fault.Unavailable, op, "the server's answer broke off")
)

// readLine reads a line of bounded length, with an error at the end of the stream.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		if len(line)+len(piece) > maxEvent {
			return nil, errLine
		}
		line = append(line, piece...)
		if err != bufio.ErrBufferFull {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// chunk is one event of a streamed answer, with what servers add to OpenAI's format.
type chunk struct {
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Timings *timings        `json:"timings"` // llama-server
	Error   json.RawMessage `json:"error"`
}

type choice struct {
	Delta struct {
		Content   *string         `json:"content"`
		Reasoning json.RawMessage `json:"reasoning_content"` // llama-server, SGLang, vLLM
		Thinking  json.RawMessage `json:"reasoning"`         // newer vLLM, Ollama
	} `json:"delta"`
	Finish *string `json:"finish_reason"`
}

// usage counts tokens in OpenAI's format.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Details    *struct {
		Cached *int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// timings count tokens in llama-server's format.
type timings struct {
	Cached   int     `json:"cache_n"`
	Prompt   int     `json:"prompt_n"` // computed
	PromptMS float64 `json:"prompt_ms"`
	Answered int     `json:"predicted_n"`
}

// hasText says that a field of a delta holds text.
func hasText(raw json.RawMessage) bool {
	var s string
	return json.Unmarshal(raw, &s) == nil && s != ""
}
