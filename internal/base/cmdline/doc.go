// Package cmdline holds what all commands use: usage errors, error texts, sizes, progress bars
// and printing to a terminal.
package cmdline
