package llamacpp

import (
	"fmt"
	"os"
	"syscall"
)

// changed identifies a file on disk and its last change.
func changed(st os.FileInfo) string {
	s := st.Sys().(*syscall.Stat_t)
	return fmt.Sprintf(" %d %d", s.Ino, s.Ctim.Nano())
}
