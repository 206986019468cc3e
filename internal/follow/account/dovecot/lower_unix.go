//go:build unix

package dovecot

import (
	"os"
	"os/exec"
	"syscall"
)

// lower runs a command without the rights of root.
func (s *Server) lower(cmd *exec.Cmd) {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.owner.uid), Gid: uint32(s.owner.gid)}}
	}
}
