// Package cli is what the commands of all binaries share: exit codes, where
// options come from, logs, signals and listeners; and the commands themselves,
// so that one binary can be any of them.
//
// Its border: it reads flags, files and the environment, and hands plain
// options to the packages that do the work.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/a1009580/leasehold/internal/version"
)

// Exit codes of every command.
const (
	OK           = 0
	Failure      = 1
	Usage        = 2 // a flag, a file or the policy is wrong
	CheckFailed  = 3 // a check or a drill found what it looks for
	Inconclusive = 4
)

// exitError is an error that knows its exit code.
type exitError struct {
	code int
	err  error
	// told says that the error says all: the usage of the command would not help.
	told bool
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// WithCode has the process end with a code when err ends the command. Nil stays
// nil.
func WithCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: code, err: err}
}

// refusedf returns an error about the content of a file that was given: it ends
// the process with Usage, and the usage of the command would not help.
func refusedf(format string, args ...any) error {
	return &exitError{code: Usage, err: fmt.Errorf(format, args...), told: true}
}

// wantsUsage says that the usage of the command helps.
func wantsUsage(err error) bool {
	var e *exitError
	return Code(err) == Usage && !(errors.As(err, &e) && e.told)
}

// Usagef returns an error that ends the process with Usage.
func Usagef(format string, args ...any) error {
	return WithCode(Usage, fmt.Errorf(format, args...))
}

// Code returns the exit code of what a command returned.
func Code(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.code
	default:
		return Failure
	}
}

// Main runs a command with the arguments of the process and returns the exit
// code. What went wrong is said on stderr, once.
func Main(root *cobra.Command) int {
	return Run(context.Background(), root, os.Args[1:], os.Stdout, os.Stderr)
}

// Run is Main with everything that it takes from the process passed in. It
// takes the root's PersistentPreRunE for giving every flag its value; no command
// below may have one of its own.
func Run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	started := false
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Version = version.String()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := resolve(cmd, os.LookupEnv); err != nil {
			return err
		}
		started = true
		return nil
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return OK
	}
	fmt.Fprintf(stderr, "%s: %v\n", cmd.CommandPath(), err)
	if !started && Code(err) == Failure { // cobra's own: an unknown command or flag
		err = WithCode(Usage, err)
	}
	if wantsUsage(err) {
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
	}
	return Code(err)
}

// announce prints the one line that says what a process serves. It goes where the
// log goes, and only into one that is text: a log in JSON holds nothing else.
func announce(cmd *cobra.Command, logs *LogFlags, format string, args ...any) {
	if logs.Format == "text" {
		fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
	}
}

// NewVersion returns the command that prints the version.
func NewVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  leasehold version",
		Args:    cobra.NoArgs,
		Run:     func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), version.String()) },
	}
}
