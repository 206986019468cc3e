// Package client is the Go client of percached's HTTP interface.
//
// Purpose: `make generate` makes client.gen.go from openapi.yaml with oapi-codegen, and `make
// check` fails if the two differ. Handwritten are WithToken (sends a token), WithProblems and
// Failed (make an error of a problem), AsEvents (asks for an event stream) and Messages (reads
// one). For streams use Client; ClientWithResponses waits for the end of the body. clients/go is
// an example.
//
// A typed body cannot contain null. To reset a setting of a space, send JSON with
// ChangeSpaceWithBody.
//
// Invariants: a Client is safe for concurrent use.
//
// Goroutines: those of net/http. State on disk: none.
package client
