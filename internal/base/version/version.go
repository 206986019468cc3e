package version

import (
	"runtime/debug"
	"strings"
)

// String is the module's, and the commit where that does not tell it.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return in(info)
}

// in reads what go build stamps in a checkout: the tag, or a version made
// of the commit's time and its first 12 digits. Then "+dirty" stands for changes
// that were not committed.
func in(info *debug.BuildInfo) string {
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key != "vcs.revision" {
			continue
		}
		if commit := s.Value[:min(12, len(s.Value))]; !strings.Contains(v, commit) {
			v += " " + commit
		}
	}
	return v
}
