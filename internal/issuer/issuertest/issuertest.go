package issuertest

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Start builds and runs the OpenID provider of testdata/issuer, and returns its address.
func Start(t testing.TB) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "issuer")
	module, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Dir = filepath.Join(filepath.Dir(strings.TrimSpace(string(module))), "internal/issuer/issuertest/testdata/issuer")
	build.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("cannot build the provider: %v\n%s", err, out)
		}
		t.Skipf("cannot build the provider; its modules may be out of reach: %v\n%s", err, out)
	}
	run := exec.Command(binary)
	out, err := run.StdoutPipe()
	if err == nil {
		err = run.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// Token gets a token as a service does: by client credentials.
func Token(t testing.TB, at string, scopes ...string) string {
	t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {strings.Join(scopes, " ")}}
	r, err := http.NewRequestWithContext(t.Context(), "POST", at+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("sid1", "verysecret")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Token == "" {
		t.Fatalf("status %d, %v, %q", resp.StatusCode, err, got.Token)
	}
	return got.Token
}

// Rotate makes the provider sign with a new key of an algorithm.
func Rotate(t testing.TB, at, alg string) {
	t.Helper()
	resp, err := http.Post(at+"/rotate?alg="+alg, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d", resp.StatusCode)
	}
}
