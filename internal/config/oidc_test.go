package config

import (
	"strings"
	"testing"
)

// An issuer needs an audience, and an address that nobody can read or change on the way.
func TestIssuer(t *testing.T) {
	for _, tc := range []struct{ issuer, audience, claim, wrong string }{
		{"", "", "", ""},
		{"https://login.example.org", "percached", "percached", ""},
		{"https://login.example.org/realms/team", "percached", "percached", ""},
		{"http://127.0.0.1:8080", "percached", "percached", ""},
		{"http://[::1]", "percached", "percached", ""},
		{"http://login.example.org", "percached", "percached", "oidc-issuer"},
		{"login.example.org", "percached", "percached", "oidc-issuer"},
		{"https://ana:secret@login.example.org", "percached", "percached", "oidc-issuer"},
		{"https://login.example.org?x", "percached", "percached", "oidc-issuer"},
		{"https://login.example.org", "", "percached", "oidc-audience"},
		{"https://login.example.org", "percached", "", "oidc-space-claim"},
	} {
		c := DaemonDefault()
		c.Data, c.Serving.OIDC = "data", OIDC{tc.issuer, tc.audience, tc.claim}
		err := c.Validate()
		if (err != nil) != (tc.wrong != "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}
