// Package machine describes the machine that this process runs on, and how much memory the
// process may use, and what of a file is in memory.
package machine
