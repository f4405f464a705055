// Package version knows which version of Leasehold a binary was built from. It only tells: what is
// done with the answer (a flag, a metric, a log line) is the caller's business.
package version

import "runtime/debug"

// Version is set by the linker when make builds a binary:
//
//	-ldflags "-X github.com/a1009580/leasehold/internal/version.Version=v1.2.3"
//
// It is empty in a binary built in any other way; String then falls back on what the Go toolchain
// recorded.
var Version string

// unknown is the answer when neither the linker nor the toolchain left one.
const unknown = "devel"

// String returns the version of the running binary, and never the empty string.
func String() string {
	info, _ := debug.ReadBuildInfo()
	return resolve(Version, info)
}

// resolve picks the version: the linker's word first, then the module version (set by go install
// with a version), then the commit that the toolchain stamped, marked when the tree was modified.
func resolve(linked string, info *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	if info == nil {
		return unknown
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, modified := "", false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if revision == "" {
		return unknown
	}
	const short = 12 // characters of a commit: what Go's pseudo-versions show too
	if len(revision) > short {
		revision = revision[:short]
	}
	if modified {
		revision += "-dirty"
	}
	return revision
}
