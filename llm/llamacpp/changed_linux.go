package llamacpp

import (
	"fmt"
	"os"
	"syscall"
)

// changed says which file on the disk it is, and when that was last changed.
func changed(st os.FileInfo) string {
	s := st.Sys().(*syscall.Stat_t)
	return fmt.Sprintf(" %d %d", s.Ino, s.Ctim.Nano())
}
