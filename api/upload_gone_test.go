package api

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// The server gives up on a sender that stalls, at any point of an upload.
func TestUploadStalls(t *testing.T) {
	multi, multiType := form(t, took{"a.txt", "text"}, took{"b.txt", "text"})
	tests := []struct{ name, query, kind, sent string }{
		{"a file", "?name=a.txt", "text/plain", "te"},
		{"before the first byte", "?name=a.txt", "text/plain", ""},
		{"documents", "", "application/json", `{"documents":[{"text":"a"},{"te`},
		{"between documents", "", "application/json", `{"documents":[{"text":"a"},`},
		{"a part", "", multiType, multi[:len(multi)/2]},
		{"the header of a part", "", multiType, multi[:70]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, serve func(*Server) pipes) {
				const wait = 3 * time.Second
				in := &intake{}
				c, began := serve(newServer(t, in.backend(), func(o *Options) { o.SendTimeout = wait })).dial(), time.Now()
				defer c.Close()
				go io.WriteString(c, raw(uploadPath+tt.query, tt.sent, "Content-Type: "+tt.kind, "Content-Length: 100000"))
				a, took := response(t, c), time.Since(began)
				if uploads, _ := in.kept(); a.StatusCode != 408 || a.name() != "slow_request" || took != wait || len(uploads) > 0 {
					t.Errorf("%d after %v: %s, and %d uploads kept", a.StatusCode, took, a.text, len(uploads))
				}
			})
		})
	}
}

// A client that disconnects in the middle leaves nothing behind.
func TestUploadBreaksOff(t *testing.T) {
	multi, multiType := form(t, took{"a.txt", "text"}, took{"b.txt", strings.Repeat("text", 1000)})
	tests := []struct{ name, query, kind, sent string }{
		{"a file", "?name=a.txt", "text/plain", "text"},
		{"documents", "", "application/json", `{"documents":[{"text":"a"},{"text":"b"}`},
		{"files", "", multiType, multi[:len(multi)-1000]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ended := make(chan error)
			srv := testServer(t, Backend{Upload: func(_ context.Context, u Upload) (UploadStatus, error) {
				err := u.Each(func(_ string, body io.Reader) error {
					_, err := io.Copy(io.Discard, body)
					return err
				})
				ended <- err
				return UploadStatus{}, err
			}})
			c, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(c, raw(uploadPath+tt.query, tt.sent, "Content-Type: "+tt.kind, "Content-Length: 100000")); err != nil {
				t.Fatal(err)
			}
			c.Close()
			if err := <-ended; err == nil {
				t.Error("half an upload was taken for a whole one")
			}
		})
	}
}

// A client that waits for the end may disconnect; the backend still receives the whole upload.
func TestUploadNobodyWaits(t *testing.T) {
	multi, multiType := form(t, took{"a.txt", "text"})
	tests := []struct{ name, query, kind, body string }{
		{"a file", "&name=a.txt", "text/plain", "text"},
		{"documents", "", "application/json", `{"documents":[{"text":"a"}]}`},
		{"files", "", multiType, multi + "\r\nepilogue"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all, ended := make(chan error), make(chan error)
			srv := testServer(t, Backend{Upload: func(ctx context.Context, u Upload) (UploadStatus, error) {
				all <- u.Each(func(_ string, body io.Reader) error {
					_, err := io.Copy(io.Discard, body)
					return err
				})
				<-ctx.Done()
				ended <- ctx.Err()
				return UploadStatus{}, ctx.Err()
			}})
			c, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, raw(uploadPath+"?wait=true"+tt.query, tt.body, "Content-Type: "+tt.kind)); err != nil {
				t.Fatal(err)
			}
			if err := <-all; err != nil {
				t.Error(err)
			}
			c.Close()
			<-ended
		})
	}
}
