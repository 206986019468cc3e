//go:build !(linux || darwin || freebsd)

package kv

import "io/fs"

func locked(string) bool { return false }

func allocated(info fs.FileInfo) int64 { return info.Size() }
