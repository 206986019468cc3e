package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
)

// certify makes a certificate for the loopback address, and its files.
func certify(t *testing.T, dir, name string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, made, made, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(end, kind string, b []byte) string {
		path := filepath.Join(dir, name+end)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return write(".pem", "CERTIFICATE", der), write(".key", "PRIVATE KEY", secret), pool
}

func TestServeTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key, pool := certify(t, dir, "a")
	t.Setenv("PERCACHED_TLS_CERT", cert)
	t.Setenv("PERCACHED_TLS_KEY", key)
	a := startServe(t, filepath.Join(dir, "data"), "--listen", "0.0.0.0:0")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(a.url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "https://127.0.0.1:" + port; !strings.HasPrefix(a.file("address"), want+"\nsha256:") {
		t.Errorf("the address is %q, want %q", a.file("address"), want)
	} else {
		a.url = want
	}
	a.ready()
	for _, tc := range []struct {
		most uint16
		ok   bool
	}{{tls.VersionTLS11, false}, {tls.VersionTLS12, true}, {tls.VersionTLS13, true}} {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tc.most}, ForceAttemptHTTP2: true}
		resp, err := (&http.Client{Transport: tr}).Do(a.request("GET", "/healthz", nil))
		if (err == nil) != tc.ok {
			t.Errorf("TLS %x: %v", tc.most, err)
		}
		if err == nil {
			resp.Body.Close()
		}
		tr.CloseIdleConnections()
	}
	resp, err := http.Get("http://" + strings.TrimPrefix(a.url, "https://") + "/healthz")
	if err != nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %v, %v", resp, err)
	}
	resp.Body.Close()
	a.end()

	_, other, _ := certify(t, dir, "b")
	t.Setenv("PERCACHED_TLS_KEY", other)
	var out strings.Builder
	data := filepath.Join(dir, "never")
	err = run(patiently(t), []string{"serve", "--data", data, "--listen", "127.0.0.1:0"}, strings.NewReader(""), &out, newLogged())
	if fault.KindOf(err) != fault.Invalid || out.Len() > 0 {
		t.Errorf("with another's key: %v, %q", err, out.String())
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("a folder was made before: %v", err)
	}
}

// A daemon can listen on another loopback address.
func TestServeAtOtherLoopback(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip(err)
	}
	l.Close()
	a := startServe(t, t.TempDir(), "--listen", "127.0.0.2:0")
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	if out, err := printed(t, "spaces", "list", "--data", a.dir); err != nil || !strings.Contains(out, "notes") {
		t.Errorf("%q, %v", out, err)
	}
	a.end()
}

// A client may use the address of a listen name. An unspecified address allows none.
func TestOwnHost(t *testing.T) {
	for _, tt := range []struct {
		at   net.Addr
		want []string
	}{
		{&net.TCPAddr{IP: net.IPv4(192, 168, 1, 50), Port: 7337}, []string{"192.168.1.50"}},
		{&net.TCPAddr{IP: net.ParseIP("fd00::5"), Port: 7337}, []string{"fd00::5"}},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, nil},
		{&net.TCPAddr{IP: net.IPv4zero}, nil},
		{&net.TCPAddr{IP: net.IPv6unspecified}, nil},
		{&net.UnixAddr{Name: "/run/percached"}, nil},
	} {
		if d := cmp.Diff(tt.want, daemon.OwnHost(tt.at)); d != "" {
			t.Errorf("%v: %s", tt.at, d)
		}
	}
}

// A change at run time is applied in every layer or in none.
func TestReconfigure(t *testing.T) {
	c := node.Options{Config: config.DaemonDefault()}
	c.Data, c.TensorLimit = t.TempDir(), 1<<30
	s, err := node.Open(context.Background(), c, false, newLogged())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	holds := func(want node.Options) {
		t.Helper()
		_, bank := s.Bank.Usage()
		tree, err := s.Tree.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Scheduler.Config().IdleAfter; bank != want.BankLimit || tree.Limit != want.TensorLimit || got != want.Idle.After {
			t.Errorf("bank %d, tensors %d, idle after %v", bank, tree.Limit, got)
		}
	}
	to := c
	to.BankLimit, to.TensorLimit, to.Idle.After = 1<<20, 2<<20, time.Hour
	if err := s.Reconfigure(c.Config, to.Config); err != nil {
		t.Fatal(err)
	}
	holds(to)
	if err := s.Reconfigure(to.Config, c.Config); err != nil {
		t.Fatal(err)
	}
	wrong := to
	wrong.TensorLimit = -1 // the last part refuses it
	if err := s.Reconfigure(c.Config, wrong.Config); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	holds(c)
}

// A daemon with a limit below the stored size deletes the rest when it opens. A command
// without an engine deletes nothing, because it may not know the limit.
func TestLimitsFallWithARestart(t *testing.T) {
	ctx := context.Background()
	c := node.Options{Config: config.DaemonDefault()}
	c.Data = t.TempDir()
	c.Engine = llmtest.NewFake(llmtest.DefaultOptions())
	stored := func(model bool, do func(s *node.Node)) (entries, questions int) {
		t.Helper()
		s, err := node.Open(ctx, c, model, newLogged())
		if err != nil {
			t.Fatal(err)
		}
		if do != nil {
			do(s)
		}
		past, err := s.History.Recent("notes", 100)
		if err = errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		return s.Bank.Stats("notes").Entries, len(past)
	}
	entries, questions := stored(true, func(s *node.Node) {
		if err := s.Knowledge.CreateSpace(percached.Space{Name: "notes", Kind: "notes"}); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			_, err := s.Bank.Put(ctx, qabank.Entry{Space: "notes", Question: fmt.Sprintf("What is number %d?", i), Answer: strings.Repeat("long ", 200), Answered: true})
			if err = errors.Join(err, s.History.Add("notes", answer.Record{Question: fmt.Sprint(i)}, true)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if entries != 20 || questions != 20 {
		t.Fatalf("%d entries and %d questions", entries, questions)
	}
	c.BankLimit, c.History = 5<<10, 7
	for range 2 {
		if entries, questions = stored(false, nil); entries != 20 || questions != 20 {
			t.Errorf("a command leaves %d entries and %d questions", entries, questions)
		}
	}
	if entries, questions = stored(true, nil); entries == 0 || entries > 5 || questions != 7 {
		t.Errorf("a daemon leaves %d entries and %d questions", entries, questions)
	}
}

// A space's own limit applies again after its folder is opened.
func TestSpaceLimitsHold(t *testing.T) {
	c := node.Options{Config: config.DaemonDefault()}
	c.Data, c.TensorLimit = t.TempDir(), 1<<30
	limit := int64(1 << 20)
	for range 2 {
		s, err := node.Open(context.Background(), c, false, newLogged())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Knowledge.Space("small"); err != nil {
			if err := s.Knowledge.CreateSpace(percached.Space{Name: "small", Kind: "notes", Settings: percached.Settings{TensorLimit: &limit}}); err != nil {
				t.Fatal(err)
			}
		} else if got := s.Tree.FreeIn("small"); got != limit || s.Tree.FreeIn("another") != c.TensorLimit {
			t.Errorf("%d bytes are free in it, %d in another", got, s.Tree.FreeIn("another"))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
