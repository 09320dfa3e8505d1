package main

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/examples/arena/game"
)

// untilEOF makes a sample game server end with its standard input, so that it never outlives its parent.
const untilEOF = "--until-eof"

func (a *app) sampleServerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sample-server",
		Short: "Run a small game server, where players walk and talk",
		Long: `Run the small game server of examples/arena, where players walk and talk. It
connects with the usual flags of game servers, or with the variables
GAMELIFT_SDK_WEBSOCKET_URL and so on.

` + game.Usage + `
  ` + untilEOF + `        ends when standard input ends`,
		Example: "  muster sample-server -log -authtoken=TOKEN -hostid=DesktopPC -fleetid=fleet-1 " +
			"-websocketurl=ws://127.0.0.1:9080 -port 7777",
		DisableFlagParsing: true, // its flags have one dash
		RunE: func(command *cobra.Command, args []string) error {
			if slices.Contains(args, "-h") || slices.Contains(args, "--help") {
				return command.Help()
			}
			ctx := command.Context()
			if i := slices.Index(args, untilEOF); i >= 0 {
				args = slices.Delete(slices.Clone(args), i, i+1)
				ending, end := context.WithCancel(ctx)
				defer end()
				go func() { // ends with the input
					_, _ = io.Copy(io.Discard, a.stdin)
					end()
				}()
				ctx = ending
			}
			return game.Run(ctx, args, a.stdout)
		},
	}
}
