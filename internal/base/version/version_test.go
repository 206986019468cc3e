package version

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	const commit = "efdccb0d4c1f3a5b7c9d0e1f2a3b4c5d6e7f8091"
	for _, tc := range []struct{ name, module, commit, want string }{
		{"a release", "v1.2.3", commit, "v1.2.3 efdccb0d4c1f"},
		{"between releases", "v1.2.4-0.20261122033600-efdccb0d4c1f", commit, "v1.2.4-0.20261122033600-efdccb0d4c1f"},
		{"changed since", "v1.2.3+dirty", commit, "v1.2.3+dirty efdccb0d4c1f"},
		{"a short name of the commit", "(devel)", "efdc", "(devel) efdc"},
		{"no checkout", "(devel)", "", "(devel)"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: tc.module}, Settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}}}
		if tc.commit != "" {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: "vcs.revision", Value: tc.commit})
		}
		if got := in(info); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
