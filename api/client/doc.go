// Package client is the Go client of percached's HTTP interface. It will be
// generated from openapi.yaml, and it is all that package eval knows of a
// running percached.
//
// Not built yet: this package holds nothing.
package client
