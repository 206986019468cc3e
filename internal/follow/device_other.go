//go:build !(linux || darwin || freebsd)

package follow

import "io/fs"

// device is not known on this system.
func device(fs.FileInfo) (n uint64, known bool) { return 0, false }
