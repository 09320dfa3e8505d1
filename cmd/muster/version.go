package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/release"
)

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  muster version\n  muster version --json",
		Args:    cobra.NoArgs,
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	command.RunE = func(*cobra.Command, []string) error {
		if asJSON {
			return json.NewEncoder(a.stdout).Encode(release.Current())
		}
		_, err := fmt.Fprintln(a.stdout, "muster", release.Current())
		return err
	}
	return command
}

// bareVersion returns the version without the parentheses that Go has around (devel).
func bareVersion() string { return strings.Trim(release.Current().Version, "()") }

// userAgent names a command to a service, whose audit trail has it: "muster/v1.2.3 user add".
func userAgent(command *cobra.Command) string {
	name, _ := strings.CutPrefix(command.CommandPath(), command.Root().Name())
	// Source of the characters that are removed: RFC 9110, section 10.1.5: parentheses are comments.
	return "muster/" + bareVersion() + name
}
