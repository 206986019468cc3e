// Package selftest checks that a model gives the same answer with stored tensors as
// without, and opens models, real or with random weights, for doctor and the benchmarks.
package selftest
