package issuer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/issuer"
	"github.com/percached/percached/internal/issuer/issuertest"
	"github.com/percached/percached/internal/token"
)

// The tokens of a real provider are verified with each allowed algorithm, through a change of
// its keys, and refused with another algorithm.
func TestRealProvider(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the provider")
	}
	at := issuertest.Start(t)
	var later time.Duration
	v := issuer.New(issuer.Options{Issuer: at, Audience: audience, Claim: "percached", Now: func() time.Time { return time.Now().Add(later) }})
	scopes := []string{"openid", "aud:" + audience, "percached:mail:write", "percached:*:ask", "percached:nonsense"}
	want := issuer.Rights{"mail": token.RoleWrite, "": token.RoleAsk}
	var before string
	for _, alg := range []string{"RS256", "ES256", "EdDSA"} {
		issuertest.Rotate(t, at, alg)
		secret := issuertest.Token(t, at, scopes...)
		c, err := v.Verify(t.Context(), secret)
		if d := cmp.Diff(want, c.Rights); d != "" || err != nil || c.Name != "sid1" {
			t.Errorf("%s: %+v %v %s", alg, c, err, d)
		}
		if before != "" {
			if _, err := v.Verify(t.Context(), before); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: a token of the key before: %v", alg, err)
			}
		}
		before = secret
		later += 10 * time.Second // the issuer may be asked again
	}
	if _, err := v.Verify(t.Context(), issuertest.Token(t, at, "openid", "aud:other", "percached:mail:write")); fault.KindOf(err) != fault.Invalid {
		t.Errorf("for another audience: %v", err)
	}
	if c, err := v.Verify(t.Context(), issuertest.Token(t, at, "openid", "aud:"+audience)); err != nil || len(c.Rights) > 0 {
		t.Errorf("without rights: %+v %v", c, err)
	}
	later += 24 * time.Hour
	if _, err := v.Verify(t.Context(), before); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "expired") {
		t.Errorf("the day after: %v", err)
	}
	issuertest.Rotate(t, at, "PS256")
	later = 0
	if _, err := v.Verify(t.Context(), issuertest.Token(t, at, scopes...)); fault.KindOf(err) != fault.Invalid {
		t.Errorf("PS256: %v", err)
	}
}
