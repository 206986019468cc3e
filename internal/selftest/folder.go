package selftest

import (
	"context"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/token"
)

// folderState is what doctor finds out of a data folder.
type folderState struct {
	Dir     string `json:"dir"`
	There   bool   `json:"there"`
	Daemon  string `json:"daemon,omitempty"`  // its address
	Version string `json:"version,omitempty"` // the daemon's
	Fault   string `json:"fault,omitempty"`
}

// LookAt finds out whether a data folder can be used, and whether a daemon answers
// for it. It makes none.
func CheckFolder(ctx context.Context, dir string) (f folderState) {
	f = folderState{Dir: dir, There: dir != "" && home.Exists(dir)}
	if !f.There {
		return f
	}
	err := home.Check(dir)
	if err == nil {
		err = token.Verify(dir)
	}
	var l *link.Link
	if err == nil {
		l, err = link.Running(dir)
	}
	switch {
	case err != nil:
		f.Fault = cmdline.Sentence(err)
		return f
	case l == nil:
		return f
	}
	defer l.Close() //nolint:errcheck // nothing was written
	f.Daemon = l.Daemon
	about, err := l.AboutWithResponse(ctx)
	if err != nil {
		f.Fault = "the daemon at " + l.Daemon + ": " + cmdline.Sentence(err)
		return f
	}
	f.Version = about.JSON200.Version
	return f
}

func (f folderState) words() string {
	switch {
	case !f.There:
		return f.Dir + ": not there yet"
	case f.Fault != "":
		return f.Dir + ": it cannot be used"
	case f.Daemon != "":
		return f.Dir + ": served at " + f.Daemon + " by percached " + f.Version
	}
	return f.Dir + ": no process uses it"
}
