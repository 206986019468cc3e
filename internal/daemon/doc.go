// Package daemon serves a data folder over HTTP: listeners, TLS, bounds on connections,
// the stages from opening to closing, shutdown, and the restart after a restore. A
// command without a daemon uses the same interface within its process (Inside).
package daemon
