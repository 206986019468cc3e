// Package api is percached's HTTP interface, for apps, scripts and OpenAI clients. openapi.yaml
// defines it.
//
// Purpose: Server turns requests into calls of a Backend, and results into responses. The
// exported types are the wire types: openapi.yaml describes their JSON. EventBus sends events
// to the subscribers of /v1/events.
//
// Invariants: the server checks Host, Origin, token, role and space before it does anything
// else. A token for one space learns nothing about other spaces, not even whether they exist.
// Every request has an id. Every failure becomes one problem (RFC 9457), made in problem.go;
// internal details stay hidden. The log contains no text of documents or questions. If a client
// disconnects, its work is cancelled. Handlers decode, call and encode; they hold no state.
//
// Goroutines: those of net/http, and a heartbeat timer per event stream.
//
// State on disk: none.
package api
