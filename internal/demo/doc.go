// Package demo is the product in one process: a coordinator with an embedded
// etcd, regional limiters at a simulated distance from it, and traffic that
// moves from region to region, or that of a recorded trace.
//
// Nothing in it is a model: the servers are the ones of the real processes, the
// connections are real, and only their length and the speed of the clock are
// made up. What was admitted is judged as a client would judge it.
package demo
