// Package machine describes the machine that this process runs on, and how much memory the
// process may use.
package machine
