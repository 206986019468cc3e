package issuer_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/issuer"
	"github.com/percached/percached/internal/token"
)

const audience = "percached"

// fake is an issuer that signs whatever a test wants.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	key   *ecdsa.PrivateKey
	id    string
	asked map[string]int // requests by path
	away  string         // path that gets an error
	keys  string         // address of the keys
	hold  chan struct{}  // if not nil, discovery says so by sending, and waits until it is closed
	now   time.Time
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{asked: map[string]int{}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	f.rotate(t, "one")
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	f.keys = f.URL + "/keys"
	t.Cleanup(f.Close)
	return f
}

func (f *fake) rotate(t *testing.T, id string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.key, f.id = key, id
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[r.URL.Path]++
	if r.URL.Path == f.away {
		http.Error(w, "away", http.StatusBadGateway)
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		if f.hold != nil {
			f.hold <- struct{}{}
			<-f.hold
		}
		fmt.Fprintf(w, `{"issuer": %q, "jwks_uri": %q}`, f.URL, f.keys)
	case "/keys":
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: f.key.Public(), KeyID: f.id, Algorithm: "ES256", Use: "sig"}}})
	default:
		http.NotFound(w, r)
	}
}

// asks counts the requests for keys.
func (f *fake) asks() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked["/keys"]
}

func (f *fake) verifier() *issuer.Verifier {
	return issuer.New(issuer.Options{Issuer: f.URL, Audience: audience, Claim: "percached", Now: func() time.Time { return f.now }})
}

// claims are those of a good token, with changes. A nil value removes a claim.
func (f *fake) claims(changes map[string]any) map[string]any {
	c := map[string]any{"iss": f.URL, "sub": "ana", "aud": audience, "exp": f.now.Add(time.Hour).Unix(), "iat": f.now.Unix(), "percached": []string{"mail:write"}}
	for name, v := range changes {
		if c[name] = v; v == nil {
			delete(c, name)
		}
	}
	return c
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, id string, claims any) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := s.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (f *fake) token(t *testing.T, changes map[string]any) string {
	return sign(t, jose.ES256, f.key, f.id, f.claims(changes))
}

func TestVerify(t *testing.T) {
	f := newFake(t)
	v := f.verifier()
	c, err := v.Verify(t.Context(), f.token(t, nil))
	if err != nil || c.Name != "ana" || !strings.HasPrefix(c.ID, "oidc-") {
		t.Fatal(c, err)
	}
	if d := cmp.Diff(issuer.Rights{"mail": token.RoleWrite}, c.Rights); d != "" {
		t.Error(d)
	}
	again, err := v.Verify(t.Context(), f.token(t, nil))
	if err != nil || again.ID != c.ID || f.asks() != 1 {
		t.Error(again, err, f.asks())
	}
	other, err := v.Verify(t.Context(), f.token(t, map[string]any{"sub": "ben\n"}))
	if err != nil || other.ID == c.ID || other.Name != "ben" {
		t.Error(other, err)
	}
}

func TestRights(t *testing.T) {
	f := newFake(t)
	v := f.verifier()
	for text, want := range map[string]issuer.Rights{
		`"mail:ask"`:                       {"mail": token.RoleAsk},
		`"mail:ask team:admin"`:            {"mail": token.RoleAsk, "team": token.RoleAdmin},
		`["mail:ask", "mail:write"]`:       {"mail": token.RoleWrite},
		`["mail:write", "mail:ask"]`:       {"mail": token.RoleWrite},
		`["*:ask", "mail:write"]`:          {"": token.RoleAsk, "mail": token.RoleWrite},
		`["everyone", "mail", "mail:own"]`: {},
		`["Mail:ask", ":ask", "../x:ask"]`: {},
		`["mail:ask:admin"]`:               {},
		`[1, {}]`:                          {},
		`{"mail": "ask"}`:                  {},
		`7`:                                {},
		`null`:                             {},
	} {
		c, err := v.Verify(t.Context(), f.token(t, map[string]any{"percached": json.RawMessage(text)}))
		if d := cmp.Diff(want, c.Rights); d != "" || err != nil {
			t.Errorf("%s: %v %s", text, err, d)
		}
	}
	if c, err := v.Verify(t.Context(), f.token(t, map[string]any{"percached": nil})); err != nil || len(c.Rights) != 0 {
		t.Error(c, err)
	}
}

// unsigned is a token of the algorithm none.
func unsigned(t *testing.T, claims any) string {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"one"}`)) + "." + base64.RawURLEncoding.EncodeToString(payload) + "."
}

func TestRefuses(t *testing.T) {
	f := newFake(t)
	v := f.verifier()
	good := f.token(t, nil)
	parts := strings.Split(good, ".")
	changed := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"` + f.URL + `","sub":"ana","aud":"percached","exp":9999999999,"percached":["*:admin"]}`))
	public, err := x509.MarshalPKIXPublicKey(f.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration) int64 { return f.now.Add(d).Unix() }
	for name, secret := range map[string]string{
		"nothing":             "..",
		"no algorithm":        unsigned(t, f.claims(nil)),
		"a shared secret":     sign(t, jose.HS256, public, f.id, f.claims(nil)),
		"another key":         sign(t, jose.ES256, other, f.id, f.claims(nil)),
		"another key's ID":    sign(t, jose.ES256, f.key, "two", f.claims(nil)),
		"another algorithm":   sign(t, jose.ES384, p384, f.id, f.claims(nil)),
		"changed claims":      parts[0] + "." + changed + "." + parts[2],
		"no signature":        parts[0] + "." + parts[1] + ".",
		"cut":                 good[:len(good)-4],
		"another issuer":      f.token(t, map[string]any{"iss": "https://other.example"}),
		"another audience":    f.token(t, map[string]any{"aud": "other"}),
		"no audience":         f.token(t, map[string]any{"aud": nil}),
		"expired":             f.token(t, map[string]any{"exp": at(-2 * time.Minute)}),
		"no subject":          f.token(t, map[string]any{"sub": nil}),
		"no end":              f.token(t, map[string]any{"exp": nil}),
		"not yet":             f.token(t, map[string]any{"nbf": at(10 * time.Minute)}),
		"claims are no JSON":  sign(t, jose.ES256, f.key, f.id, "text"),
		"the end is a string": f.token(t, map[string]any{"exp": "tomorrow"}),
	} {
		if c, err := v.Verify(t.Context(), secret); fault.KindOf(err) != fault.Invalid || len(c.Rights) > 0 {
			t.Errorf("%s: %+v %v", name, c, err)
		}
	}
	for name, secret := range map[string]string{
		"clocks differ, end":   f.token(t, map[string]any{"exp": at(-30 * time.Second)}),
		"clocks differ, begin": f.token(t, map[string]any{"nbf": at(30 * time.Second)}),
		"several audiences":    f.token(t, map[string]any{"aud": []string{"other", audience}}),
	} {
		if _, err := v.Verify(t.Context(), secret); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if f.asks() != 1 {
		t.Errorf("the issuer was asked %d times", f.asks())
	}
}

// A new key is found after ten seconds at most, and a withdrawn one works for an hour at most.
func TestKeysChange(t *testing.T) {
	f := newFake(t)
	v := f.verifier()
	verify := func(secret string) bool {
		_, err := v.Verify(t.Context(), secret)
		return err == nil
	}
	long := map[string]any{"exp": f.now.Add(24 * time.Hour).Unix()}
	old := f.token(t, long)
	if !verify(old) {
		t.Fatal("the first key")
	}
	f.rotate(t, "two")
	anew := f.token(t, long)
	if verify(anew) {
		t.Error("the issuer was asked again at once")
	}
	f.now = f.now.Add(10 * time.Second)
	if !verify(anew) || verify(old) {
		t.Error("the keys were not read anew")
	}
	f.rotate(t, "three")
	f.now = f.now.Add(time.Hour + time.Second)
	if verify(anew) {
		t.Error("a withdrawn key works for more than an hour")
	}
}

// An issuer that cannot be asked is no fault of the token.
func TestIssuerAway(t *testing.T) {
	f := newFake(t)
	v := f.verifier()
	secret := f.token(t, nil)
	f.Close()
	for range 2 {
		if _, err := v.Verify(t.Context(), secret); fault.KindOf(err) != fault.Unavailable {
			t.Error(err)
		}
	}
	// Nor is it asked for another address.
	elsewhere := newFake(t)
	redirect := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/.well-known/openid-configuration", http.StatusFound))
	defer redirect.Close()
	v = issuer.New(issuer.Options{Issuer: redirect.URL, Audience: audience, Claim: "percached", Now: func() time.Time { return f.now }})
	if _, err := v.Verify(t.Context(), secret); fault.KindOf(err) != fault.Unavailable || len(elsewhere.asked) > 0 {
		t.Error(err, elsewhere.asked)
	}
}

// Keys that cannot be read are no fault of the token either, and are asked for again.
func TestKeysAway(t *testing.T) {
	f := newFake(t)
	v := f.verifier()
	secret := f.token(t, nil)
	f.away = "/keys"
	for range 2 {
		if _, err := v.Verify(t.Context(), secret); fault.KindOf(err) != fault.Unavailable {
			t.Error(err)
		}
	}
	f.away, f.now = "", f.now.Add(10*time.Second)
	if _, err := v.Verify(t.Context(), secret); err != nil {
		t.Error(err)
	}
}

// Keys that anybody on the way could replace are not read.
func TestKeysWithoutTLS(t *testing.T) {
	f := newFake(t)
	f.keys = "http://keys.example/keys"
	if _, err := f.verifier().Verify(t.Context(), f.token(t, nil)); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "https") {
		t.Error(err)
	}
}

// A caller who leaves while the issuer is asked ends nothing for others.
func TestCallerLeaves(t *testing.T) {
	f := newFake(t)
	f.hold = make(chan struct{})
	v := f.verifier()
	secret := f.token(t, nil)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := v.Verify(ctx, secret)
		left <- err
	}()
	<-f.hold
	leave()
	if err := <-left; err == nil {
		t.Error("the caller did not leave")
	}
	close(f.hold)
	if _, err := v.Verify(t.Context(), secret); err != nil {
		t.Error(err)
	}
}

func TestIsToken(t *testing.T) {
	for secret, want := range map[string]bool{"a.b.c": true, "": false, "pc_" + strings.Repeat("a", 43): false, "a.b": false, "a.b.c.d.e": false} {
		if issuer.IsToken(secret) != want {
			t.Error(secret)
		}
	}
}

// Right tokens are accepted after the keys were renewed, also if a wrong one had them asked just before.
func TestRenewalAfterWrongToken(t *testing.T) {
	f := newFake(t)
	v := f.verifier()
	good := f.token(t, map[string]any{"exp": f.now.Add(24 * time.Hour).Unix()})
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(time.Hour) // the keys are still fresh
	if _, err := v.Verify(t.Context(), sign(t, jose.ES256, other, f.id, f.claims(nil))); err == nil {
		t.Error("a wrong signature is accepted")
	}
	f.now = f.now.Add(time.Second)
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Error(err)
	}
}
