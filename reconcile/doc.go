// Package reconcile decides who should have how much: what a holder asks for
// by its measured demand, and how a coordinator divides a bucket among those
// who ask. Nothing that it answers can break a limit, which package lease keeps
// whatever the numbers are; what it decides is how little budget lies idle.
//
// The package is pure: integers in, integers out.
package reconcile
