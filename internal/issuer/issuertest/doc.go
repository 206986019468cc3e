// Package issuertest runs a real OpenID provider for tests: that of github.com/zitadel/oidc, which
// testdata/issuer makes a program of.
//
// Purpose: Start builds and runs it, Token gets a token from it, and Rotate changes its key.
//
// Goroutines: none. State on disk: none.
package issuertest
