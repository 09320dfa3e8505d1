package main

import (
	"context"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control"
)

func (a *app) getProcessesCommand() *cobra.Command {
	var limit int
	command := a.viewCommand(help{
		use:   "processes FLEET",
		short: "List the server processes of a fleet",
		long: `List the computes of a fleet with the server processes that have not ended: what each
does, when it last reported its health, and its game session. A program whose processes
crash is BACKOFF: the process that has crashed last, and when its agent starts the next
one. Its last lines are in -o json, and in muster logs PROCESS.`,
		example: `  muster get processes fleet-1234
  muster get processes fleet-1234 -o wide`,
	}, cobra.ExactArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		all := control.ComputeList{Computes: []control.ComputeRow{}}
		err := o.pages(ctx, path("fleets", args[0], "computes"), url.Values{}, limit,
			func(path string) (string, int, error) {
				var page control.ComputeList
				err := o.ask(ctx, path, &page)
				all.Computes = append(all.Computes, page.Computes...)
				return page.NextToken, len(all.Computes), err
			})
		if err != nil {
			return err
		}
		all.Computes = all.Computes[:min(len(all.Computes), limit)]
		return o.show(all, func(to io.Writer) {
			o.line(to, cells{"COMPUTE", "LOCATION", "PROCESS", "STATE", "CONNECTED", "HEALTH", "GAME SESSION",
				"NEXT TRY"}, "GAME SESSION ARN", "PORT", "SDK", "STARTED", "UNHEALTHY", "RECONNECT BY", "END BY",
				"EXIT CODE", "CRASHES", "PROGRAM")
			for _, c := range all.Computes {
				for _, p := range c.Processes {
					o.line(to, cells{c.Name, c.Location, p.ProcessID, string(p.State), p.Connected, p.LastReport,
						shortID(p.GameSession), ""}, p.GameSession, p.Port, p.SDKLanguage+" "+p.SDKVersion, p.StartTime,
						p.Unhealthy, p.ReconnectBy, p.EndBy, "", "", "")
				}
				for _, b := range c.Backoffs {
					o.line(to, cells{c.Name, c.Location, b.ProcessID, string(control.ProcessBackoff), false, "", "",
						b.NextTry}, "", "", "", "", "", "", "", b.ExitCode, b.Crashes, b.LaunchPath)
				}
			}
		})
	})
	command.Flags().IntVar(&limit, "limit", 1000, "maximum number of computes")
	return command
}
