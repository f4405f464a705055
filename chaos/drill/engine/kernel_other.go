//go:build !linux

package engine

func kernel() string { return "" }
