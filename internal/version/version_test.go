package version

import (
	"runtime/debug"
	"testing"
)

func TestResolve(t *testing.T) {
	stamped := func(module, revision, modified string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Version: module}}
		if revision != "" {
			info.Settings = append(info.Settings,
				debug.BuildSetting{Key: "vcs.revision", Value: revision},
				debug.BuildSetting{Key: "vcs.modified", Value: modified})
		}
		return info
	}
	for _, tc := range []struct {
		name   string
		linked string
		info   *debug.BuildInfo
		want   string
	}{
		{"the linker's word wins", "v1.2.3", stamped("v9.9.9", "abc", "true"), "v1.2.3"},
		{"no build info", "", nil, "devel"},
		{"go install with a version", "", stamped("v0.4.0", "", ""), "v0.4.0"},
		{"a plain go build", "", stamped("(devel)", "0123456789abcdef0123", "false"), "0123456789ab"},
		{"a modified tree", "", stamped("(devel)", "0123456789abcdef0123", "true"), "0123456789ab-dirty"},
		{"a short commit", "", stamped("", "abc", "false"), "abc"},
		{"stamping switched off", "", stamped("(devel)", "", ""), "devel"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := resolve(tc.linked, tc.info); got != tc.want {
				t.Errorf("resolve(%q) = %q, want %q", tc.linked, got, tc.want)
			}
		})
	}
}

func TestStringIsNeverEmpty(t *testing.T) {
	if String() == "" {
		t.Error("String() is empty")
	}
}
