// Package client is the Go client of percached's HTTP interface, and all that
// package eval knows of a running percached.
//
// Purpose: client.gen.go is made from openapi.yaml by oapi-codegen; `make generate`
// makes it, and `make check` fails when it is not what openapi.yaml gives. By hand
// are: WithToken, which sends a token; Failed, which makes an error of a problem;
// AsEvents, which asks for a stream of events; Messages, which reads one as it comes,
// from the body of what the Client (not ClientWithResponses, which waits for the
// end) gives.
//
// A typed body cannot hold null: to take a setting of a space back, send JSON with
// ChangeSpaceWithBody.
//
// Invariants: none beside those of net/http. A Client is safe for concurrent use.
//
// Goroutines: none of its own beside those of net/http. State on disk: none.
package client
