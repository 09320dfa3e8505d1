// Package cmdline reads command lines as game servers are given them: the names of flags are in any case and have one
// dash or two, and values follow after "=" or as the next argument.
package cmdline

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// Parse reads flags into a set, whose flags have lower-case names. An argument that is no flag or value of one is an
// error. The set prints nothing.
func Parse(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard)
	if err := flags.Parse(lower(flags, args)); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	return nil
}

// lower writes the names of flags in lower case, and leaves values as they are.
func lower(flags *flag.FlagSet, args []string) []string {
	lowered := make([]string, len(args))
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		if !strings.HasPrefix(name, "-") {
			lowered[i] = args[i]
			continue
		}
		lowered[i] = strings.ToLower(name)
		if given {
			lowered[i] += "=" + value
		} else if i+1 < len(args) && takesValue(flags.Lookup(strings.TrimLeft(lowered[i], "-"))) {
			i++
			lowered[i] = args[i]
		}
	}
	return lowered
}

// takesValue says whether a flag's value may be the next argument.
func takesValue(f *flag.Flag) bool {
	if f == nil {
		return false
	}
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !b.IsBoolFlag()
}
