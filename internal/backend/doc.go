// Package backend answers the requests of the HTTP interface: each function of
// api.Backend, over the layers of a node. It turns what the layers return into the
// interface's own types. A new route gets its handler in package api and its function
// here.
package backend
