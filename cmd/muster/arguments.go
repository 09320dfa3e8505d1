package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// explainArguments has the commands return errors of wrong arguments that name the argument, and what is expected.
func explainArguments(c *cobra.Command) {
	for _, child := range c.Commands() {
		explainArguments(child)
	}
	if c.HasParent() && c.HasSubCommands() && c.RunE == nil && c.Run == nil {
		c.DisableFlagsInUseLine = true
		c.RunE = func(c *cobra.Command, args []string) error { return unknownCommand(c, args) }
		return
	}
	check := c.Args
	if check == nil || c.HasSubCommands() {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if check(c, args) == nil {
			return nil
		}
		for n := range slices.Backward(args) {
			if check(c, args[:n]) == nil {
				return fmt.Errorf("unexpected argument %q: the usage is %s", args[n], c.UseLine())
			}
		}
		return fmt.Errorf("an argument is missing: the usage is %s", c.UseLine())
	}
}

// unknownCommand returns the error for a command that only has subcommands. Without arguments it prints the help.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	c.SuggestionsMinimumDistance = 2 // as Cobra does for the root
	var names []string
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		names = near
	}
	return &misuseError{fmt.Errorf("unknown command %q for %q: use %s", args[0], c.CommandPath(),
		strings.Join(names, ", "))}
}
