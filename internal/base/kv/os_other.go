//go:build !(linux || darwin || freebsd)

package kv

import "io/fs"

func isLocked(string) bool { return false }

func allocatedBytes(info fs.FileInfo) int64 { return info.Size() }
