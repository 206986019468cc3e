// Package cmdline is what commands share: errors of the caller, error texts, sizes,
// progress bars and printing to a terminal.
package cmdline
