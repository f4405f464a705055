// Package report shows the result of a drill: as one HTML file that needs nothing
// else, on a terminal, as JUnit XML for a CI system, and as an index of many
// results.
//
// It decides nothing: the verdict and every figure are in the result, and a figure
// is drawn here exactly as far as it was measured. A sample that is missing is a
// gap, not a zero. Every figure of the HTML is followed by a table that says the
// same in words and numbers. The file has no script and loads nothing: its own
// content security policy forbids both.
//
// All functions are safe for concurrent use.
package report
