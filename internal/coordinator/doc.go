// Package coordinator is the process that owns every quota's balance: the shell
// around lease.Ledger. It stands for election, gives the ledger what arrives
// and carries out what it decides: reads and writes of the store, messages to
// the holders. It serves gRPC for them and HTTP for operators.
//
// Its border: it decides nothing about tokens. One goroutine (term.loop) owns
// the ledger for as long as this process leads; everything else talks to it by
// events. What outlives one leadership belongs to Server.
package coordinator
