package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
)

func (a *app) clusterCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "cluster",
		Short: "Prepare the nodes of a cluster",
		Long: `Prepare what the nodes of a cluster need before they start: several services that
run one region together.`,
		Example: `  muster cluster init --out cluster n1 n2 n3`,
	}
	command.AddCommand(a.clusterInitCommand())
	return command
}

func (a *app) clusterInitCommand() *cobra.Command {
	var out string
	command := &cobra.Command{
		Use:   "init NODE...",
		Short: "Make the data directories of a cluster's nodes",
		Long: `Make a data directory DIR/NODE for each node of a cluster, with what all of them have in
common: the region's secret, and the certificate authority by which they know one
another. No service is needed. Copy each to the host of its node.

To add nodes later, name them together with one that is there, also one that ran: they
get what it has, and it stays as it is. Nothing is written when directories differ.

region.secret opens all that is stored, and whoever has tls/ca.key can join the cluster.
Both are readable by their owner alone; keep them so on their way.

The directories that were made, or completed, go to standard output.`,
		Example: `  muster cluster init --out cluster n1 n2 n3
  muster cluster init --out cluster n1 n4      # later: n4 gets what n1 has`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, nodes []string) error {
			if out == "" {
				return &misuseError{errors.New("--out is missing: name the directory in which to make those of the nodes")}
			}
			made, err := muster.InitCluster(out, nodes, time.Now())
			if err != nil {
				return err
			}
			return a.tellMade(made)
		},
	}
	command.Flags().StringVar(&out, "out", "", "directory in which to make those of the nodes (required)")
	return command
}

func (a *app) tellMade(made []string) error {
	if len(made) == 0 {
		fmt.Fprintln(a.stderr, "muster: nothing to make: all nodes have what they need")
		return nil
	}
	for _, dir := range made {
		if _, err := fmt.Fprintln(a.stdout, dir); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.stderr, `muster: copy each directory to the host of its node, as its data directory.
muster: tls/ca.key in it is a secret: whoever has it can join the cluster. So is region.secret, which opens all that is stored.`)
	return nil
}
