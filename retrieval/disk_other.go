//go:build !(linux || darwin || freebsd)

package retrieval

// freeBytes is not known here.
func freeBytes(string) (n int64, ok bool) { return 0, false }
