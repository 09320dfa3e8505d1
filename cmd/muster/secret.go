package main

import (
	"slices"

	"github.com/spf13/cobra"
)

// secretKey is the variable that holds the secret of an access key.
const secretKey = "AWS_SECRET_ACCESS_KEY"

// addPrintSecret gives a subcommand the flag that has it print an access key's secret
// also where standard output is no terminal: a log collector, say, or a file that
// everybody may read.
func addPrintSecret(command *cobra.Command) *bool {
	return command.Flags().Bool("print-secret", false, "print the access key's secret also if standard output is no terminal")
}

// printable are the variables to print on standard output: the secret only to a
// terminal, or if the user insists.
func (a *app) printable(variables []variable, insists bool) []variable {
	if insists || isTerminal(a.stdout) {
		return variables
	}
	return slices.DeleteFunc(slices.Clone(variables), func(v variable) bool { return v.name == secretKey })
}
