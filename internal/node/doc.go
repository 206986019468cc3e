// Package node opens a data folder, the engine and the layers, connects them, and closes
// them in the opposite order. No other package connects layers. internal/daemon serves a
// node over HTTP; commands and benchmarks use a node directly.
package node
