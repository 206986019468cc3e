// Package issuer verifies tokens of an OpenID Connect issuer, and reads from them what a caller
// may do.
//
// Purpose: Verify checks a JSON Web Token against the issuer's keys and returns the caller's
// rights: one role in each space that the token's claim names.
//
// Invariants: a token needs a signature by a key of the issuer (RS256, ES256 or EdDSA, nothing
// else), the issuer's name, the audience, and a time between nbf and exp, with a minute for
// clocks that differ. Only the configured issuer is contacted, over HTTPS or loopback, without
// redirects, and when a token is to be verified. Keys are kept for an hour, so a key that the
// issuer withdraws works for an hour at most. Tokens that no key verifies cause at most one
// request of each address in ten seconds, whatever clients send.
//
// Goroutines: those of go-oidc, which end with a request to the issuer.
//
// State on disk: none.
package issuer
