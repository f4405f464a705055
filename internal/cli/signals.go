package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// UntilSignal returns a context that ends with the first SIGTERM or interrupt.
// A second one ends the process at once: exit is called with Failure. The
// caller calls stop when it is done.
func UntilSignal(ctx context.Context, exit func(code int)) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-signals:
		case <-done:
			return
		}
		cancel()
		select {
		case <-signals:
			exit(Failure)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		<-ended
		cancel()
	}
}

// OnHangup returns a channel that receives when a SIGHUP arrived since it was
// last read. The caller calls stop when it is done.
func OnHangup() (_ <-chan os.Signal, stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups, func() { signal.Stop(hangups) }
}

// heedHangups calls do for every SIGHUP, which would end the process otherwise.
// The caller calls stop when it is done.
func heedHangups(do func()) (stop func()) {
	hangups, stopHangups := OnHangup()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-hangups:
				do()
			case <-done:
				return
			}
		}
	}()
	return func() {
		stopHangups()
		close(done)
		<-ended
	}
}
