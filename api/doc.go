// Package api is percached's face to the network: an HTTP interface that apps,
// scripts and OpenAI clients call, held to openapi.yaml.
//
// Purpose: Server turns requests into calls of a Backend, and what comes of them
// into responses. The types here are those of the wire: their JSON is what
// openapi.yaml says. Hub carries news to those who listen to /v1/events.
//
// Invariants: nothing is done for a request before its Host, Origin, token, role
// and space have been checked; a token of one space learns nothing of another,
// not even whether it is there. Every request has an id and every failure is one
// problem (RFC 9457), made in one place; what is internal stays opaque. No text
// of documents or questions is logged. When a client goes, its work is told to
// stop. Handlers decode, call and encode; they hold no state.
//
// Goroutines: none of its own beside those of net/http.
//
// State on disk: none.
package api
