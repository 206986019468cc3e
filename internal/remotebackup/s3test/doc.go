// Package s3test gives tests object storage.
//
// Purpose: Start runs a real server, versitygw or moto, as a process that ends with the test. Where
// neither is installed, the test is skipped, or fails if CI is set. NewFake is a small server in the
// process whose answers a test can spoil.
//
// Goroutines: those of the fake's HTTP server, until the test ends.
//
// State on disk: temporary folders of the test.
package s3test
