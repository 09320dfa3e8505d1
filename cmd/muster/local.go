package main

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/config"
)

// localPort is the default port of GameLift Local. Source: GameLift developer guide, "Test your integration using
// GameLift Local".
const localPort = 8080

func (a *app) localCommand() *cobra.Command {
	var port uint16
	command := &cobra.Command{
		Use:   "local",
		Short: "Run a service in place of GameLift Local",
		Long: `Run a service on this machine until Ctrl-C for game servers on server SDK 3 and 4,
and for scripts and clients that were written for GameLift Local. It answers as
GameLift Local did:

  any access key and secret, in any region
  any fleet id such as fleet-123, without creating it; every game server that
  waits serves every fleet
  ids such as arn:aws:gamelift:local::gamesession/fleet-123/gsess-…, and the
  GameSessionId of CreateGameSession unchanged
  the same ports: 8080 for the API, 5757, 5758 and 5759 for game servers

All other operations of the API work, too: search, queues, FlexMatch, backfill.
Health checks and OnProcessTerminate work as in a fleet. All data is kept for the
next start. It listens on this machine only, because it has no authentication.`,
		Example: `  muster local
  muster local -p 9080
  aws gamelift create-game-session --endpoint-url http://localhost:8080 \
    --fleet-id fleet-123 --maximum-player-session-count 2`,
		Args: cobra.NoArgs,
	}
	load := a.addSettings(command, localDefaults())
	command.Flags().Uint16VarP(&port, "port", "p", localPort,
		"port of the API on 127.0.0.1; --listen sets the address, too")
	command.RunE = func(command *cobra.Command, _ []string) error {
		c, _, err := load()
		if err != nil {
			return err
		}
		if command.Flags().Changed("port") {
			c.Listen = net.JoinHostPort("127.0.0.1", fmt.Sprint(port))
		}
		c.Log = c.Logger(a.stderr)
		c.Ready = func(e muster.Endpoints) { a.localReady(c, e) }
		return a.serve(command.Context(), c)
	}
	return command
}

// localDefaults are the settings of muster dev with those of GameLift Local.
func localDefaults() muster.Config {
	c := devDefaults()
	c.Listen, c.LogLevel = fmt.Sprint("127.0.0.1:", localPort), "info"
	c.Legacy, c.LegacyRules, c.Region = config.On, "local", "local"
	c.Gateway.Fleet = c.LegacyFleet
	if cache, err := os.UserCacheDir(); err == nil {
		c.Data = filepath.Join(cache, "muster", "local")
	}
	return c
}

// localReady writes a welcome.
func (a *app) localReady(c muster.Config, e muster.Endpoints) {
	fmt.Fprintf(a.stderr, `
Muster is ready in place of GameLift Local. Ctrl-C stops it.

  AWS API         %s   any credentials, any fleet id
  game servers    %s   server SDK 3 and 4; they join %s first
  game clients    %s
  data            %s

Start a game server, and then

  aws gamelift create-game-session --endpoint-url %s \
    --fleet-id %s --maximum-player-session-count 2

"muster doctor --legacy" shows what game servers have done, and what is missing.

`, e.HTTP, strings.Join(e.Legacy, ", "), c.LegacyFleet, cmp.Or(e.Gateway, "the session gateway is off"), c.Data, e.HTTP,
		c.LegacyFleet)
}
