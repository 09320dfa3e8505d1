package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/operator"
)

func (a *app) getNodesCommand() *cobra.Command {
	return a.viewCommand(help{
		use:   "nodes",
		short: "List the nodes that are up, with their disks and versions",
		long: `List the nodes that are up, or the service if it runs alone: shards that each owns, the
size of its data directory, what is free on that file system, and records of the journals
that it has not read yet (LAG). A service that runs alone has no name of a node. "muster
cluster nodes" lists all nodes of a cluster, with the copies that they have.`,
		example: `  muster get nodes
  muster get nodes -o wide`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		var list operator.ShardList
		if err := o.ask(ctx, path("shards"), &list); err != nil {
			return err
		}
		owned := map[string]int{}
		for _, s := range list.Shards {
			owned[s.Owner]++
		}
		type nodeRow struct {
			operator.NodeFigures
			Shards int `json:"ownedShards"`
		}
		nodes := []nodeRow{}
		for _, n := range list.Nodes {
			nodes = append(nodes, nodeRow{n, owned[n.Name]})
		}
		return o.show(map[string]any{"nodes": nodes}, func(to io.Writer) {
			o.line(to, cells{"NODE", "SHARDS", "DATA MIB", "FREE MIB", "LAG", "VERSION"}, "DISK MIB", "NATS")
			for _, n := range nodes {
				o.line(to, cells{n.Name, n.Shards, n.DiskUsed >> 20, n.DiskFree >> 20, n.Lag,
					cmp.Or(n.Version, n.Problem)},
					n.DiskSize>>20, n.Engine)
			}
		})
	})
}

func (a *app) getShardsCommand() *cobra.Command {
	return a.viewCommand(help{
		use:   "shards",
		short: "List the shards with their owners, journals and snapshots",
		long: `List the shards: owner ("-" of a service that runs alone), newest record of the journal
(LAST), records that the called node has not read yet (LAG), how long the newest 1,000
appends of the owner took (P50, P99), and the newest snapshot: the last record that it
includes, and how long ago it was made (AGE).`,
		example: `  muster get shards
  muster get shards -o wide`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		var list operator.ShardList
		if err := o.ask(ctx, path("shards"), &list); err != nil {
			return err
		}
		return o.show(map[string]any{"shards": list.Shards}, func(to io.Writer) {
			o.line(to, cells{"SHARD", "OWNER", "LAST", "LAG", "P50", "P99", "SNAPSHOT", "AGE"}, "JOURNAL BYTES",
				"SNAPSHOT BYTES", "PROBLEM")
			for _, s := range list.Shards {
				var p50, p99, upTo, age, size any = "", "", "", "", ""
				if t := s.Append; t != nil {
					p50, p99 = fmt.Sprintf("%.2f ms", t.P50), fmt.Sprintf("%.2f ms", t.P99)
				}
				if n := s.Snapshot; n != nil {
					upTo, size = n.Last, n.Bytes
					age = shortDuration(a.time().Now().Sub(n.Time))
				}
				o.line(to, cells{s.Number, s.Owner, s.Last, s.Lag, p50, p99, upTo, age}, s.Bytes, size, s.Problem)
			}
		})
	})
}
