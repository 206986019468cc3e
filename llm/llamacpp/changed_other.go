//go:build !(linux || darwin)

package llamacpp

import "os"

func changed(os.FileInfo) string { return "" }
