// Package daemon serves a data folder over HTTP: listeners, TLS, bounds on connections,
// the stages from opening to closing, shutdown, and the restart after a restore. Without a
// daemon, a command uses the same interface within its process (InProcess).
package daemon
