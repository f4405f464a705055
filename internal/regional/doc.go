// Package regional is the process of one region: servers for gRPC and HTTP
// around an embedded limiter, its health, and its orderly end.
//
// Its border: it translates between the network and package limiter, and
// counts. It decides nothing about limits.
package regional
