//go:build unix

package commands

import "syscall"

// makeFilesPrivate gives new files to their owner alone, also those of the databases.
func makeFilesPrivate() { syscall.Umask(0o077) }
