package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
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

// What can change while it runs changes in every part, or in none.
func TestReconfigure(t *testing.T) {
	c := defaultConfig().now
	c.data = t.TempDir()
	s, err := openService(context.Background(), c, false, newLogged())
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	holds := func(want setup) {
		t.Helper()
		_, bank := s.bank.Usage()
		tree, err := s.tree.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if got := s.scheduler.Config().IdleAfter; bank != want.bankLimit || tree.Limit != want.limit || got != want.idle.Policy.IdleAfter {
			t.Errorf("bank %d, tensors %d, idle after %v", bank, tree.Limit, got)
		}
	}
	to := c
	to.bankLimit, to.limit, to.idle.Policy.IdleAfter = 1<<20, 2<<20, time.Hour
	if err := s.reconfigure(c, to); err != nil {
		t.Fatal(err)
	}
	holds(to)
	if err := s.reconfigure(to, c); err != nil {
		t.Fatal(err)
	}
	wrong := to
	wrong.limit = -1 // the last part refuses it
	if err := s.reconfigure(c, wrong); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	holds(c)
}

// A space's own limit holds again when its folder is opened.
func TestSpaceLimitsHold(t *testing.T) {
	c := defaultConfig().now
	c.data = t.TempDir()
	limit := int64(1 << 20)
	for range 2 {
		s, err := openService(context.Background(), c, false, newLogged())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.knowledge.Space("small"); err != nil {
			if err := s.knowledge.CreateSpace(percached.Space{Name: "small", Kind: "notes", Settings: percached.Settings{TensorLimit: &limit}}); err != nil {
				t.Fatal(err)
			}
		} else if got := s.tree.FreeIn("small"); got != limit || s.tree.FreeIn("another") != c.limit {
			t.Errorf("%d bytes are free in it, %d in another", got, s.tree.FreeIn("another"))
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
}
