package api

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are pipes, so that deadlines use the bubble's clock.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial() net.Conn {
	near, far := net.Pipe()
	p <- far
	return near
}

// inBubble runs f in a bubble and stops what it serves. Channels that f waits for must be made
// in the bubble.
func inBubble(t *testing.T, f func(t *testing.T, serve func(*Server) pipes)) {
	synctest.Test(t, func(t *testing.T) {
		l := make(pipes)
		var srv *http.Server
		done := make(chan struct{})
		f(t, func(s *Server) pipes {
			srv = &http.Server{Handler: s}
			go func() {
				defer close(done)
				_ = srv.Serve(l)
			}()
			return l
		})
		close(l)
		srv.Close()
		<-done
	})
}

func response(t *testing.T, c net.Conn) answer {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: "POST"})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return answerOf(t, resp)
}

// The server gives up on a client that pauses for SendTimeout or falls below the minimum rate.
// It does not give up on a slow client above that rate.
func TestSlowSender(t *testing.T) {
	const wait = 3 * time.Second
	server := func(t *testing.T) *Server {
		return newServer(t, Backend{
			Ask: func(_ context.Context, q AskRequest, _ Listener) (Answer, error) {
				return Answer{Answer: q.Question.Question}, nil
			},
			Import: func(_ context.Context, in Import) (Imported, error) {
				_, _ = io.ReadAll(in.Lines) // a backend that does not mind
				return Imported{Imported: 1}, nil
			},
		}, func(o *Options) { o.SendTimeout = wait })
	}
	const ask, body = "POST /v1/spaces/mail/ask", `{"question":"when is it?"}`
	head := strings.TrimSuffix(raw(ask, body), body)
	chunked := strings.TrimSuffix(raw(ask, body, "Content-Length:", "Transfer-Encoding: chunked"), body)
	tests := []struct {
		name, text string
		status     int
		after      time.Duration
	}{
		{"nothing of the body", head, 408, wait},
		{"half of it", head + body[:9], 408, wait},
		{"no chunk", chunked, 408, wait},
		{"half a chunk", chunked + "20\r\n" + body[:9], 408, wait},
		{"lines", raw("POST /v1/spaces/mail/entries/import", "", "Content-Type: "+linesType, "Content-Length: 100") + "{}\n", 408, wait},
		// Who is refused is told at once.
		{"no token", raw(ask, "", "Authorization:", "Content-Length: 100") + "{}", 401, 0},
		{"wrong type", raw(ask, "", "Content-Length: 100000000") + "{}", 415, 0},
		{"too large", raw(ask, "", "Content-Type: "+jsonType, "Content-Length: 100000000"), 413, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, serve func(*Server) pipes) {
				c, began := serve(server(t)).dial(), time.Now()
				defer c.Close()
				go io.WriteString(c, tt.text)
				if a, took := response(t, c), time.Since(began); a.StatusCode != tt.status || took != tt.after {
					t.Errorf("status %d after %v: want %d after %v", a.StatusCode, took, tt.status, tt.after)
				}
				if _, err := c.Read(make([]byte, 1)); err != io.EOF || time.Since(began) > 2*wait {
					t.Errorf("the connection stays open for %v: %v", time.Since(began), err)
				}
			})
		})
	}
	// drip sends a body in pieces, each after a pause, and tells what came of it, when.
	drip := func(t *testing.T, text string, piece int, pause time.Duration) (a answer, took time.Duration) {
		inBubble(t, func(t *testing.T, serve func(*Server) pipes) {
			c, began, over := serve(server(t)).dial(), time.Now(), make(chan struct{})
			defer c.Close()
			defer close(over)
			go func() {
				_, _ = io.WriteString(c, strings.TrimSuffix(raw(ask, text), text))
				for ; text != ""; text = text[min(piece, len(text)):] {
					select {
					case <-time.After(pause):
						_, _ = io.WriteString(c, text[:min(piece, len(text))])
					case <-over:
						return
					}
				}
			}()
			a = response(t, c)
			took = time.Since(began)
		})
		return a, took
	}
	long := `{"question":"` + strings.Repeat(" ", 5*minRate) + `when is it?"}`
	for _, tt := range []struct {
		name, text string
		piece      int
		pause      time.Duration
		status     int
		from, to   time.Duration
	}{
		{"a byte now and then", body, 1, time.Second, 408, wait, wait + time.Second},
		{"a small body, slowly", body, 10, time.Second, 200, 3 * time.Second, 3 * time.Second},
		{"below the least rate", long, minRate / 2, time.Second, 408, 4 * time.Second, 7 * time.Second},
		{"the least rate", long, minRate, time.Second, 200, 6 * time.Second, 6 * time.Second},
		{"a pause in a fast one", long, 3 * minRate, wait - time.Millisecond, 200, 2*wait - 2*time.Millisecond, 2*wait - 2*time.Millisecond},
		{"a long pause in a fast one", long, 3 * minRate, wait + 1, 408, wait, wait},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if a, took := drip(t, tt.text, tt.piece, tt.pause); a.StatusCode != tt.status || took < tt.from || took > tt.to {
				t.Errorf("status %d after %v: %s", a.StatusCode, took, a.text)
			}
		})
	}
}

// The server gives up on a client that reads nothing for WriteTimeout, and stops its work.
func TestSlowReader(t *testing.T) {
	const wait = 3 * time.Second
	type ended struct {
		status int
		took   time.Duration
	}
	for name, text := range map[string]string{
		"whole": raw("GET /v1/spaces/mail/documents/"+someID, ""), "export": raw("GET /v1/spaces/mail/entries/export", ""),
		"stream": raw("POST /v1/spaces/mail/ask", `{"question":"when?"}`, "Accept: text/event-stream"),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, serve func(*Server) pipes) {
				ends := make(chan ended, 1)
				c := serve(newServer(t, Backend{
					Document: func(context.Context, OneDocument) (DocumentText, error) {
						return DocumentText{Text: []ChunkText{{Body: strings.Repeat("x", 1<<20)}}}, nil
					},
					Export: func(_ context.Context, in Export) (Nothing, error) {
						for {
							if err := in.Each(ExportedEntry{Question: "when?"}); err != nil {
								return Nothing{}, err
							}
						}
					},
					Ask: func(ctx context.Context, _ AskRequest, l Listener) (Answer, error) {
						for ctx.Err() == nil {
							l.Token("word ")
						}
						return Answer{}, ctx.Err()
					},
				}, func(o *Options) {
					o.WriteTimeout = wait
					o.Observer.Request = func(_ string, status int, took time.Duration) { ends <- ended{status, took} }
				})).dial()
				defer c.Close()
				_, _ = io.WriteString(c, text)
				if e := <-ends; e != (ended{statusClientGone, wait}) {
					t.Errorf("status %d after %v", e.status, e.took)
				}
			})
		})
	}
}

// A refused client keeps its connection if its body arrived with the header, so that a flood of
// requests needs no new connections.
func TestRefusedKeepsConnection(t *testing.T) {
	const ask, body = "POST /v1/spaces/mail/ask", `{"question":"when is it?"}`
	inBubble(t, func(t *testing.T, serve func(*Server) pipes) {
		c := serve(newServer(t, Backend{Ask: func(_ context.Context, q AskRequest, _ Listener) (Answer, error) {
			return Answer{Answer: q.Question.Question}, nil
		}})).dial()
		defer c.Close()
		in := bufio.NewReader(c)
		for _, tt := range []struct {
			text   string
			status int
		}{
			{raw(ask, body, "Authorization: Bearer nobody"), 401},
			{raw(ask, body, "Content-Type: text/plain"), 415},
			{raw("POST /v1/nowhere", body), 404},
			{raw(ask, body), 200},
		} {
			go io.WriteString(c, tt.text)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if resp.StatusCode != tt.status || resp.Close {
				t.Errorf("status %d, want %d; closed: %v", resp.StatusCode, tt.status, resp.Close)
			}
		}
	})
}

// A client that sends its whole body before it reads still receives the refusal.
func TestRefusedAfterAllIsSent(t *testing.T) {
	srv := testServer(t, about(), func(o *Options) { o.MaxBody, o.MaxUpload = 1<<20, 8<<20 })
	rest := strings.Repeat("x", 32<<20)
	for request, want := range map[string]int{
		raw("POST /v1/chat/completions", rest):                                                        413,
		raw("POST /v1/spaces/mail/documents?name=..", rest, "Content-Type: application/octet-stream"): 400,
		raw("POST /v1/spaces/mail/ask", rest, "Authorization: Bearer nobody"):                         401,
		raw("POST /v1/nowhere", rest):                                                                 404,
	} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Errorf("%.40q: it cannot be sent: %v", request, err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != want || !resp.Close {
			t.Errorf("%.40q: %v, %v", request, resp, err)
		}
		conn.Close()
	}
}
