// Package partition holds what is decided about a region that is cut off: [Link] tells whether it is, and
// [Bound], [Worst] and [Since] by how much a limit can then be exceeded, computed from the policy and from
// what is cut, never written by hand.
//
// The exact modes need neither: leases end and floors are owned by the clock alone, so a Link that is wrong
// breaks no promise there. In the two other modes it decides when unreserved tokens may be spent.
//
// The package is pure. It reads no clock; nothing in it is safe for concurrent use while someone writes.
package partition
