package storetest

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// cell is what one key holds; the zero cell is an absent one.
type cell struct {
	revision int64
	value    string
}

// operation is what one client did to one key, and what it heard.
type operation struct {
	client    int
	key       string
	read      bool
	remove    bool
	expect    int64
	value     string
	conflict  bool
	found     cell // what was read, or written
	call, ret int64
}

// register is the sequential twin of one key.
var register = porcupine.Model{
	Init: func() any { return cell{} },
	Step: func(state, input, _ any) (bool, any) {
		s, okState := state.(cell)
		op, okInput := input.(operation)
		if !okState || !okInput {
			return false, state
		}
		next, ok := op.step(s)
		return ok, next
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// step says whether the operation could have been heard of in this state, and
// what the state is after it.
func (op operation) step(s cell) (cell, bool) {
	switch {
	case op.read:
		return s, op.found == s
	case op.conflict:
		return s, op.expect != s.revision
	case op.expect != s.revision:
		return s, false
	case op.remove:
		return cell{}, true
	default:
		return op.found, op.found.revision > s.revision
	}
}

// judge checks the history of each key. An answer that takes too long to find
// is no answer.
func judge(p *probe, histories [][]operation) {
	p.Helper()
	byKey := map[string][]porcupine.Operation{}
	for _, history := range histories {
		for _, op := range history {
			byKey[op.key] = append(byKey[op.key], porcupine.Operation{
				ClientId: op.client, Input: op, Call: op.call, Return: op.ret,
			})
		}
	}
	for key, history := range byKey {
		require.Less(p, len(history), 5000, "too many operations to check")
		switch result := porcupine.CheckOperationsTimeout(register, history, 10*time.Second); result {
		case porcupine.Ok:
		case porcupine.Unknown:
			require.FailNow(p, "inconclusive", "the history of %q was not decided in time", key)
		default:
			require.FailNow(p, "not linearizable", "the history of %q: %+v", key, history)
		}
	}
}
