package main

import (
	"fmt"

	"github.com/a1009580/leasehold/bench/figures"
	"github.com/a1009580/leasehold/bench/world"
)

// on2 names a measurement on two cores.
func on2(name, unit string) figures.Ref { return figures.Ref{Name: name, Cores: 2, Unit: unit} }

// wireRows is about decisions over a connection. Throughput is the reverse of
// the processor time that a decision takes of all cores, in who asks and in who
// answers: on an idle machine that is what limits it.
func wireRows() []figures.Row {
	const s = "over the wire, processor time of both sides"
	row := func(what, name string, over ...string) figures.Row {
		r := figures.Row{Section: s, What: what, Of: on2(name, world.CPU)}
		for _, o := range over {
			r.Over = append(r.Over, on2(o, world.CPU))
		}
		return r
	}
	goal := func(r figures.Row, most float64) figures.Row {
		r.Goal = figures.Goal{AtMost: most}
		return r
	}
	const nine = 1 / 0.9 // at least 90% of the throughput
	return []figures.Row{
		row("Check over TCP", "Check/leasehold/tcp"),
		goal(row("Check / a bare echo, TCP", "Check/leasehold/tcp", "Check/echo/tcp"), nine),
		goal(row("Check / a bare echo, unix socket", "Check/leasehold/unix", "Check/echo/unix"), nine),
		row("Check / Gubernator, one at a time", "Check/leasehold/tcp", "Gubernator/single"),
		row("Check / a script in Redis, one at a time", "Check/leasehold/tcp", "Redis/single"),
		row("CheckBatch of 1000, each decision, TCP", "Check/batch-leasehold/tcp"),
		row("CheckBatch / a bare echo, TCP", "Check/batch-leasehold/tcp", "Check/batch-echo/tcp"),
		row("CheckBatch / a bare echo, unix socket", "Check/batch-leasehold/unix", "Check/batch-echo/unix"),
		goal(row("CheckBatch / the best batch of a peer", "Check/batch-leasehold/tcp", "Gubernator/batch", "Redis/pipeline"), 0.2),
		row("CheckBatch / Gubernator's batch of 1000", "Check/batch-leasehold/tcp", "Gubernator/batch"),
		row("CheckBatch / a script in Redis, pipelined by 1000", "Check/batch-leasehold/tcp", "Redis/pipeline"),
		{
			Section: s, What: "CheckBatch over a unix socket, by the wall, who asks included", Goal: figures.Goal{AtLeast: 1e6},
			Of: on2("Check/batch-leasehold/unix", "decisions/s"),
		},
	}
}

// latencyRows is about how long answers take at fixed rates.
func latencyRows() []figures.Row {
	var rows []figures.Row
	for _, rate := range []int{1000, 4000} {
		name := fmt.Sprintf("Latency/leasehold/rate=%d", rate)
		echo := fmt.Sprintf("Latency/echo/rate=%d", rate)
		for _, q := range []string{"p50-sec", "p99-sec", "p99.9-sec"} {
			what := fmt.Sprintf("%s at %d a second", q[:len(q)-len("-sec")], rate)
			rows = append(rows,
				figures.Row{Section: "latency of Check over TCP, open loop", What: what, Of: on2(name, q)},
				figures.Row{Section: "latency of Check over TCP, open loop", What: what + " / a bare echo", Of: on2(name, q), Over: []figures.Ref{on2(echo, q)}})
		}
	}
	return rows
}

// isolationRows is about what a decision notices of trouble elsewhere.
func isolationRows() []figures.Row {
	var rows []figures.Row
	for _, q := range []string{"p99-sec", "p99.9-sec"} {
		quiet := on2("Isolation/quiet", q)
		rows = append(rows, figures.Row{Section: "isolation", What: q[:len(q)-len("-sec")] + " of Allow, all quiet", Of: quiet})
		for _, trouble := range []string{"down", "hanging", "rebalancing", "sweeping"} {
			rows = append(rows, figures.Row{
				Section: "isolation", What: q[:len(q)-len("-sec")] + ", coordinator " + trouble + " / quiet", Goal: figures.Goal{AtMost: 1.1},
				Of: on2("Isolation/"+trouble, q), Over: []figures.Ref{quiet},
			})
		}
	}
	for i := range rows {
		if rows[i].Of.Name == "Isolation/sweeping" {
			rows[i].What = rows[i].Of.Unit[:len(rows[i].Of.Unit)-len("-sec")] + ", a million idle keys swept / quiet"
		}
	}
	return rows
}
