package engine

import "golang.org/x/sys/unix"

// kernel is its release.
func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return ", Linux " + unix.ByteSliceToString(u.Release[:])
}
