//go:build unix

package main

import "syscall"

// private makes files that are for their owner alone, those of the databases too.
func private() { syscall.Umask(0o077) }
