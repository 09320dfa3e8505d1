package main

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/examples/arena/game"
)

// untilEOF makes a sample game server end when its standard input does, so that
// it never outlives whoever started it.
const untilEOF = "--until-eof"

func (a *app) sampleServerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sample-server",
		Short: "Run a small game server: a room to walk and talk in, for players with a player session",
		Long: `Run a small game server, that of examples/arena: a room to walk and talk in. It
connects as any game server does, with flags spelled as game servers spell them
or with the variables GAMELIFT_SDK_WEBSOCKET_URL and so on.

` + game.Usage + `
  ` + untilEOF + `        ends when the standard input ends`,
		Example:            `  muster sample-server -log -authtoken=TOKEN -hostid=DesktopPC -fleetid=fleet-1 -websocketurl=ws://127.0.0.1:9080 -port 7777`,
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
				go func() { // ends with the input; the process does not outlive it by much
					_, _ = io.Copy(io.Discard, a.stdin)
					end()
				}()
				ctx = ending
			}
			return game.Run(ctx, args, a.stdout)
		},
	}
}
