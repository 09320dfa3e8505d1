package main

import (
	"context"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control"
)

// A fleetCompute is a compute with its server processes.
type fleetCompute struct {
	FleetID string `json:"fleetId"`
	control.ComputeRow
}

func (a *app) getProcessesCommand() *cobra.Command {
	var limit int
	command := a.viewCommand(help{
		use:   "processes [FLEET]",
		short: "List the server processes of a fleet, or of all",
		long: `List the computes of a fleet, or of all, with the server processes that have not ended: what
each does, when it last reported its health, and its game session. A program whose
processes crash is BACKOFF: the process that has crashed last, and when its agent starts
the next one. Its last lines are in -o json, and in muster logs PROCESS.`,
		example: `  muster get processes
  muster get processes fleet-1234 -o wide`,
	}, cobra.MaximumNArgs(1), func(ctx context.Context, o *operatorCall, args []string) (err error) {
		fleets := args
		if len(fleets) == 0 {
			if fleets, err = fleetIDs(ctx, o.gamelift()); err != nil {
				return err
			}
		}
		all := []fleetCompute{}
		err = o.pagesOf(ctx, pathsOf("fleets", fleets, "computes"), url.Values{}, limit,
			func(list int, path string) (string, int, error) {
				var page control.ComputeList
				err := o.ask(ctx, path, &page)
				for _, c := range page.Computes {
					all = append(all, fleetCompute{fleets[list], c})
				}
				return page.NextToken, len(all), err
			})
		if err != nil {
			return err
		}
		all = all[:min(len(all), limit)]
		return o.show(map[string]any{"computes": all}, func(to io.Writer) { o.processTable(to, all) })
	})
	command.Flags().IntVar(&limit, "limit", 1000, "maximum number of computes")
	return command
}

func (o *operatorCall) processTable(to io.Writer, all []fleetCompute) {
	o.line(to, cells{"COMPUTE", "LOCATION", "PROCESS", "STATE", "CONNECTED", "HEALTH", "GAME SESSION", "NEXT TRY"},
		"FLEET", "GAME SESSION ARN", "PORT", "SDK", "STARTED", "UNHEALTHY", "RECONNECT BY", "END BY", "EXIT CODE",
		"CRASHES", "PROGRAM")
	for _, c := range all {
		for _, p := range c.Processes {
			o.line(to, cells{c.Name, c.Location, p.ProcessID, string(p.State), p.Connected, p.LastReport,
				shortID(p.GameSession), ""}, c.FleetID, p.GameSession, p.Port, p.SDKLanguage+" "+p.SDKVersion,
				p.StartTime, p.Unhealthy, p.ReconnectBy, p.EndBy, "", "", "")
		}
		for _, b := range c.Backoffs {
			o.line(to, cells{c.Name, c.Location, b.ProcessID, string(control.ProcessBackoff), false, "", "",
				b.NextTry}, c.FleetID, "", "", "", "", "", "", "", b.ExitCode, b.Crashes, b.LaunchPath)
		}
	}
}
