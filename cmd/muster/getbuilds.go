package main

import (
	"context"
	"io"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/control"
)

func (a *app) getBuildsCommand() *cobra.Command {
	query := url.Values{}
	var limit int
	command := a.viewCommand(help{
		use:   "builds [BUILD]",
		short: "List the builds of a region, or show one",
		long: `List the builds of the region by id, or show one: its status, why it is FAILED, its
size in bytes, and the hashes of its archive and of its files.`,
		example: `  muster get builds --status FAILED
  muster get builds build-1234 -o wide`,
	}, cobra.MaximumNArgs(1), func(ctx context.Context, o *operatorCall, args []string) error {
		all := control.BuildList{Builds: []control.BuildView{}}
		if len(args) > 0 {
			all.Builds = append(all.Builds, control.BuildView{})
			if err := o.ask(ctx, path("builds", args[0]), &all.Builds[0]); err != nil {
				return err
			}
		} else if err := o.pages(ctx, path("builds"), query, limit, func(path string) (string, int, error) {
			var page control.BuildList
			err := o.ask(ctx, path, &page)
			all.Builds = append(all.Builds, page.Builds...)
			return page.NextToken, len(all.Builds), err
		}); err != nil {
			return err
		}
		all.Builds = all.Builds[:min(len(all.Builds), max(limit, 1))]
		return o.show(all, func(to io.Writer) {
			o.line(to, cells{"CREATED", "STATUS", "NAME", "VERSION", "SIZE", "FILES", "BUILD", "REASON"}, "UNPACKED",
				"SYSTEM", "SDK", "HASH", "TREE")
			for _, b := range all.Builds {
				o.line(to, cells{b.CreationTime, b.Status, b.Name, b.Version, b.Size, b.Files, b.BuildID, b.Reason},
					b.Unpacked, b.OperatingSystem, b.ServerSDKVersion, b.Hash, b.Tree)
			}
		})
	})
	command.Flags().Func("status", "only those in a status: INITIALIZED, READY or FAILED", func(value string) error {
		query.Set("status", value)
		return nil
	})
	command.Flags().IntVar(&limit, "limit", 1000, "maximum number of builds")
	return command
}
