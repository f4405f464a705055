package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configFlag names the file of options. A command has one when it calls
// ConfigFlag.
const configFlag = "config"

// ConfigFlag adds the flag of the file from which options are taken that are
// given neither as a flag nor in the environment.
func ConfigFlag(fs *pflag.FlagSet) {
	fs.String(configFlag, "", "YAML `file` of options: their names are those of the flags")
}

// resolve gives every flag its value: from the command line, else from the
// environment, else from the file, else its default.
func resolve(cmd *cobra.Command, lookup func(string) (string, bool)) error {
	if err := fromEnvironment(cmd.Flags(), cmd.Name(), lookup); err != nil {
		return WithCode(Usage, err)
	}
	f := cmd.Flags().Lookup(configFlag)
	if f == nil || f.Value.String() == "" {
		return nil
	}
	path := f.Value.String()
	data, err := os.ReadFile(path)
	if err != nil {
		return Usagef("--%s: %w", configFlag, err)
	}
	return WithCode(Usage, fromFile(cmd.Flags(), path, data))
}

// Env is the name of the environment variable of a command's flag. Without a
// command it is the variable of that flag for all of them: a coordinator and a
// region in one environment must not listen on one address.
func Env(command, flag string) string {
	name := "LEASEHOLD_"
	if command != "" {
		name += command + "_"
	}
	return strings.ToUpper(strings.ReplaceAll(name+flag, "-", "_"))
}

// ownOnly marks a flag that the variable of all commands does not set.
const ownOnly = "leasehold_own_variable"

// ownVariable says of flags that other commands have flags of the same name which
// mean something else, so that only the variable of the command itself sets them.
func ownVariable(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f := fs.Lookup(name)
		f.Annotations = map[string][]string{ownOnly: nil}
	}
}

// fromEnvironment sets the flags that were not given: by the variable of the
// command, else by that of all. An empty variable is as good as none.
func fromEnvironment(fs *pflag.FlagSet, command string, lookup func(string) (string, bool)) error {
	var failed error
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "help" || f.Name == "version" || failed != nil {
			return
		}
		names := []string{Env(command, f.Name), Env("", f.Name)}
		if _, own := f.Annotations[ownOnly]; own {
			names = names[:1]
		}
		for _, name := range names {
			value, ok := lookup(name)
			if !ok || value == "" {
				continue
			}
			if err := fs.Set(f.Name, value); err != nil {
				failed = fmt.Errorf("environment variable %s: %w", name, err)
			}
			return
		}
	})
	return failed
}
