// Package overshoot holds what a coordinator and a region answer to GET /v1/overshoot and GET /v1/links, and
// how the former is asked: by the same types both are written here and read by the commands.
//
// Its border: it puts into words what package partition computed. It decides nothing, reads no clock and
// serves no request.
package overshoot
