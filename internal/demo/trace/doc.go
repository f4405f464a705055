// Package trace reads recorded traffic: CSV with the header
//
//	time_ms,region,key,cost
//
// one request a line, in the order of time. It is strict, since a trace that is
// half understood leads to figures that mean nothing: whatever is not as it
// should be is an error with the file's name and the line.
//
// Times are milliseconds from any beginning and never go back; a region is a
// name as a policy has it; a key is any text of 1 to 1,024 bytes; a cost is in
// tokens, from 0 to 2^53. A file is read a line at a time, however long it is.
package trace
