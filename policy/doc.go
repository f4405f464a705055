// Package policy turns policy files into values that the rest of the system enforces: it parses,
// validates, matches requests against quotas, and tells two revisions apart.
//
// A policy is strict YAML. Whatever is unknown, repeated, out of range or ambiguous is an error with file,
// line and column, and Parse reports every such problem at once. The coordinator and the tool check a file
// with this same code, so a policy that passes one passes the other.
//
// Nothing is unlimited by accident: no zero, missing or empty field means "no limit". Only the literal
// word "unbounded" does, and it sets [Limit.Unbounded], never a special number.
//
// The package is pure. It reads bytes and returns values; it knows no files, sockets, clocks or
// goroutines, and no token count passes through a float. Time zones come from the time package, so a
// binary that must not depend on the host's zone files embeds time/tzdata.
//
// Everything reachable from a [Set] is immutable once Parse returned it and safe for concurrent use.
// Callers must not modify it.
package policy
