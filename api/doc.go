// Package api is percached's face to the network: HTTP handlers that decode,
// call, and encode, held to openapi.yaml by tests, with failures told as
// RFC 9457 problem bodies.
//
// Not built yet: this package holds nothing.
package api
