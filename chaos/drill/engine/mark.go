package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/measure"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/scenario"
)

// heedMarks takes what an operator says for the faults of a target, until ctx ends.
// What was not healed by then has ended with the phase.
func (r *run) heedMarks(ctx context.Context) {
	var open *injected
	heal := func() {
		if open != nil {
			open.to = r.load.Since()
			open.healing, open = open.to, nil
		}
	}
	defer heal()
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-r.Marks:
			heal()
			r.event("operator", result.EventMark, m.Text)
			if m.Healed {
				continue
			}
			now := r.load.Since()
			open = &injected{fault: scenario.Fault{Kind: "marked"}, mark: m.Text, from: now, struck: now}
			r.mu.Lock()
			r.faults = append(r.faults, open)
			r.mu.Unlock()
		}
	}
}

// longSilence is for how long a region answers nothing before that is taken for the
// effect of a fault, and not for a busy machine.
const longSilence = time.Second

// noticed looks whether a fault that an operator made was felt: while it lasted some
// region lost its session or fell silent, or another coordinator led.
func noticed(rec *measure.Record, f *injected) result.Bite {
	b := result.Bite{Method: "what the target said of itself while it lasted"}
	var felt []string
	for i, name := range rec.Regions {
		without, silent := 0, time.Duration(0)
		last := f.from
		for _, s := range rec.OfRegions[i] {
			if s.At < f.from || s.Asked > f.to {
				continue
			}
			silent, last = max(silent, s.At-last), s.At
			if !s.Connected {
				without++
			}
		}
		silent = max(silent, f.to-last)
		switch {
		case without > 0:
			felt = append(felt, fmt.Sprintf("%s had no session in %d answers", name, without))
		case silent > longSilence:
			felt = append(felt, fmt.Sprintf("%s did not answer for %.1f s", name, silent.Seconds()))
		}
	}
	if d, ok := rec.GrantsAnew(f.from); ok && f.from+d <= f.to {
		felt = append(felt, fmt.Sprintf("another epoch began after %.1f s", d.Seconds()))
	}
	b.Proven, b.Count, b.Detail = len(felt) > 0, int64(len(felt)), strings.Join(felt, ", ")
	if !b.Proven {
		b.Detail = "every region kept its session and its leader"
	}
	return b
}
