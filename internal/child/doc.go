// Package child starts a percached daemon as a child process, for the demo, the
// evaluation and tests.
package child
