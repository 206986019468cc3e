package s3test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// The bucket, and the credentials that a Server accepts.
const (
	Bucket = "backups"
	id     = "tester"
	secret = "not-a-secret"
)

// ServerVariable names the program of the server: versitygw or moto_server.
const ServerVariable = "TEST_S3_SERVER"

// Server is a running server with an empty bucket.
type Server struct {
	testing.TB
	URL     string
	KeyFile string // with the credentials
	client  *minio.Client
}

// Start starts a server, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	program := find(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() //nolint:errcheck // the server takes the port
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(program, "-H", "127.0.0.1", "-p", port)
	if filepath.Base(program) == "versitygw" {
		cmd = exec.Command(program, "--quiet", "--port", address, "--access", id, "--secret", secret, "posix", "--sidecar", t.TempDir(), t.TempDir())
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // it was killed
	})
	s := newServer(t, "http://"+address)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for late := time.After(time.Minute); ; {
		if err = s.client.MakeBucket(context.Background(), Bucket, minio.MakeBucketOptions{}); err == nil {
			return s
		}
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("%s: %v\n%s", program, err, said.String())
		}
	}
}

func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv(ServerVariable), "versitygw", "moto_server"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "there is no S3 server: sh internal/tools/s3.sh installs one, and prints its path for " + ServerVariable
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

func newServer(t testing.TB, url string) *Server {
	t.Helper()
	s := &Server{TB: t, URL: url, KeyFile: filepath.Join(t.TempDir(), "keys")}
	if err := os.WriteFile(s.KeyFile, []byte(id+"\n"+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	var err error
	s.client, err = minio.New(strings.TrimPrefix(url, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(id, secret, ""), Region: "us-east-1", Transport: transport, MaxRetries: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Address is a place in the bucket, as percached takes it.
func (s *Server) Address(prefix string) string {
	return "s3://" + Bucket + "/" + prefix + "?endpoint=" + s.URL
}

// Objects lists the names of all objects below a prefix.
func (s *Server) Objects(prefix string) (names []string) {
	s.Helper()
	for o := range s.client.ListObjects(context.Background(), Bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if o.Err != nil {
			s.Fatal(o.Err)
		}
		names = append(names, o.Key)
	}
	return names
}

// Remove deletes an object.
func (s *Server) Remove(name string) {
	s.Helper()
	if err := s.client.RemoveObject(context.Background(), Bucket, name, minio.RemoveObjectOptions{}); err != nil {
		s.Fatal(err)
	}
}

// Content returns an object.
func (s *Server) Content(name string) []byte {
	s.Helper()
	o, err := s.client.GetObject(context.Background(), Bucket, name, minio.GetObjectOptions{})
	if err != nil {
		s.Fatal(err)
	}
	defer o.Close() //nolint:errcheck // it was only read
	b, err := io.ReadAll(o)
	if err != nil {
		s.Fatal(err)
	}
	return b
}
