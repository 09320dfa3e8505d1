package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// explainArguments has the commands return errors of wrong arguments that name the argument, and what is expected.
func explainArguments(c *cobra.Command) {
	for _, child := range c.Commands() {
		explainArguments(child)
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
