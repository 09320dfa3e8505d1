package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func (a *app) agentCommand() *cobra.Command {
	m := &machineAgent{app: a}
	command := &cobra.Command{
		Use:   "agent --machine",
		Short: "Join a location with this machine",
		Long: `Join a location of a region with this machine, and report its load there until
interrupted. The first join needs a token of "muster machine token create"; the
machine then has a key in its data directory, and needs none.`,
		Example: `  muster agent --machine --service wss://games.example.com:9080 --token-file token
  muster agent --machine --service wss://games.example.com:9080 --cpus 6 --memory 12288`,
		Args: cobra.NoArgs,
	}
	machine := command.Flags().Bool("machine", false, "join a location with this machine")
	m.addFlags(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		if !*machine {
			return &misuseError{errors.New("give --machine")}
		}
		return m.run(command.Context())
	}
	return command
}
