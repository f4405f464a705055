package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/fleet"
	"github.com/a1009580/leasehold/chaos/drill/result"
)

// beginKill kills processes at once, and starts them again at the end.
func (r *run) beginKill(ctx context.Context, f *injected) (healing, error) {
	var err error
	if f.targets, err = r.resolve(ctx, f.fault.Nodes, nil); err != nil {
		return nil, err
	}
	f.gone = f.targets
	var endings []string
	killed := 0
	for _, p := range f.targets {
		ending, err := p.Kill()
		if err != nil {
			return nil, err
		}
		endings = append(endings, p.Name+": "+ending)
		if strings.Contains(ending, "killed") {
			killed++
		}
	}
	return func(ctx context.Context) (result.Bite, error) {
		err := r.startAgain(f.targets)
		return result.Bite{
			Proven: killed == len(f.targets), Method: "how the processes ended, by the kernel", Count: int64(killed),
			Detail: strings.Join(endings, ", "),
		}, err
	}, nil
}

func (*run) startAgain(all []*fleet.Process) error {
	var errs []error
	for _, p := range all {
		errs = append(errs, p.Start())
	}
	return errors.Join(errs...)
}

// beginFreeze stops processes where they stand, and has them go on at the end.
func (r *run) beginFreeze(ctx context.Context, f *injected) (healing, error) {
	var err error
	if f.targets, err = r.resolve(ctx, f.fault.Nodes, nil); err != nil {
		return nil, err
	}
	f.gone = f.targets
	for _, p := range f.targets {
		if err := p.Freeze(ctx); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	return func(context.Context) (result.Bite, error) {
		still := 0
		var err error
		for _, p := range f.targets {
			if p.Frozen() {
				still++
			}
			err = errors.Join(err, p.Thaw())
		}
		return result.Bite{
			Proven: still == len(f.targets), Method: "state of the processes, by the kernel", Count: int64(still),
			Detail: fmt.Sprintf("%s stood still for %v, from the first look to the last", strings.Join(names(f.targets), ", "), time.Since(began).Round(time.Millisecond)),
		}, err
	}, nil
}

// beginRestart ends processes in good order and starts them again, one after the
// other, each when the one before it is ready.
func (r *run) beginRestart(ctx context.Context, f *injected) (healing, error) {
	var err error
	if f.targets, err = r.resolve(ctx, f.fault.Nodes, nil); err != nil {
		return nil, err
	}
	f.gone = f.targets
	type outcome struct {
		done []string
		err  error
	}
	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		for _, p := range f.targets {
			if o.err = r.restart(ctx, p); o.err != nil {
				break
			}
			o.done = append(o.done, p.Name)
		}
		ended <- o
	}()
	return func(context.Context) (result.Bite, error) {
		o := <-ended
		return result.Bite{
			Proven: len(o.done) == len(f.targets), Method: "how the processes ended, and that others took their places", Count: int64(len(o.done)),
			Detail: strings.Join(o.done, ", ") + " ended with code 0 and were started again",
		}, o.err
	}, nil
}

func (r *run) restart(ctx context.Context, p *fleet.Process) error {
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	ending, err := p.Terminate(ctx)
	if err != nil {
		return err
	}
	r.event(p.Name, result.EventInject, "ended: "+ending)
	if ending != "exit status 0" {
		return fmt.Errorf("%s ended in disorder: %s", p.Name, ending)
	}
	if err := p.Start(); err != nil {
		return err
	}
	return r.fleet.Ready(ctx, p)
}
