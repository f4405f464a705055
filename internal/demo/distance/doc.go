// Package distance makes two ends of a connection as far from each other as if
// they stood on different continents: what is sent on either side arrives half a
// round trip later, in order and whole. It delays and does nothing else, so that
// what runs over it is exactly what would run over a long cable: throughput is
// limited by nothing but the amount that may be under way.
package distance
