// Package sandbox puts real processes apart on one machine, without root: a
// process enters namespaces of its own (Command), builds a bridge in them (New),
// and gives each process that it starts a network of its own, a Room, on that
// bridge. Cut keeps frames from passing from one room to another and counts
// them.
//
// Everything lives in the namespaces of the process that was entered, and in a
// file system in memory: when that process ends, however it ends, the kernel
// takes rooms, rules, mounts and processes away with it. Nothing has a name that
// another run could meet.
//
// It works on Linux alone, where unprivileged user namespaces are allowed.
// Elsewhere Command and New return ErrUnavailable.
package sandbox

import "errors"

// ErrUnavailable is what an error wraps that says why there can be no sandbox
// here.
var ErrUnavailable = errors.New("namespaces are not available")
