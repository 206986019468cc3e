package version

import (
	"runtime/debug"
	"strings"
)

// String returns the module's version, and the commit if the version does not contain it.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return in(info)
}

// in reads the version that go build stamps: a tag, or a version made of the commit's time and
// its first 12 digits, with "+dirty" for uncommitted changes.
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
