package main

import (
	"slices"

	"github.com/spf13/cobra"
)

const secretKey = "AWS_SECRET_ACCESS_KEY"

// addPrintSecret adds the flag to print an access key's secret even if standard output is no terminal, but for instance
// a log collector.
func addPrintSecret(command *cobra.Command) *bool {
	return command.Flags().Bool("print-secret", false,
		"print the access key's secret even if standard output is no terminal")
}

// printable returns the variables to print on standard output: the secret only to a terminal, or if requested.
func (a *app) printable(variables []variable, always bool) []variable {
	if always || isTerminal(a.stdout) {
		return variables
	}
	return slices.DeleteFunc(slices.Clone(variables), func(v variable) bool { return v.name == secretKey })
}
