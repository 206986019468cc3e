// Package node opens a data folder, the engine and the layers, joins them, and closes
// them. It is the one place that wires. It does not listen: internal/daemon serves a
// node over HTTP, and commands and benchmarks use one without a daemon.
package node
