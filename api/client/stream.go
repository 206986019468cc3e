package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
)

// Message is one server-sent event.
type Message struct {
	ID    string // for Last-Event-ID; empty in the stream of an answer
	Event string // name, "message" by default
	Data  []byte // JSON, or [DONE] at the end of an OpenAI stream
}

// AsEvents is a RequestEditorFn that asks for an event stream.
func AsEvents(_ context.Context, r *http.Request) error {
	r.Header.Set("Accept", "text/event-stream")
	return nil
}

const maxLine = 16 << 20 // longest line, in bytes; the longest is an answer

// Messages reads the events of a stream until it ends or fails. If the stream ends within an
// event, the error is io.ErrUnexpectedEOF.
func Messages(stream io.Reader) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		lines := bufio.NewScanner(stream)
		lines.Buffer(make([]byte, 0, 4<<10), maxLine)
		m, open := Message{Event: "message"}, false
		for lines.Scan() {
			line := lines.Bytes()
			if len(line) == 0 {
				if m.Data != nil && !yield(m, nil) {
					return
				}
				m, open = Message{Event: "message"}, false
				continue
			}
			field, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(field) {
			case "id":
				m.ID = string(value)
			case "event":
				m.Event, open = string(value), true
			case "data":
				if m.Data != nil {
					m.Data = append(m.Data, '\n')
				}
				m.Data, open = append(m.Data, value...), true
				if m.Data == nil {
					m.Data = []byte{}
				}
			}
			if len(m.Data) > maxLine {
				yield(Message{}, errors.New("the event is too long"))
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Message{}, err)
		} else if open {
			yield(Message{}, io.ErrUnexpectedEOF)
		}
	}
}
