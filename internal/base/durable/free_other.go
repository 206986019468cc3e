//go:build !(linux || darwin || freebsd)

package durable

// Free reports that the free space is unknown on this system.
func Free(string) (n int64, ok bool) { return 0, false }
