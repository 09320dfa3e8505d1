package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
)

func (a *app) clusterCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "cluster",
		Short: "Prepare the nodes of a cluster, list and remove them",
		Long: `Prepare what the nodes of a cluster need before they start: several services that
run one region together. List those of a running one, and remove one that is gone for good.`,
		Example: `  muster cluster init --out cluster n1 n2 n3
  muster cluster nodes`,
	}
	command.AddCommand(a.clusterInitCommand(), a.clusterNodesCommand(), a.clusterRemoveCommand())
	return command
}

func (a *app) clusterInitCommand() *cobra.Command {
	var out, backup string
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

With --backup the cluster begins as the region that the backup shows, with its secret and its
authority; DIR must not exist or be empty. The first node gets the backup, too. When all
run for the first time it fills the region with it, and the others wait for that.

The directories that were made, or completed, go to standard output.`,
		Example: `  muster cluster init --out cluster n1 n2 n3
  muster cluster init --out cluster n1 n4      # later: n4 gets what n1 has
  muster cluster init --out restored --backup region.backup n1 n2 n3`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, nodes []string) error {
			if out == "" {
				return &misuseError{errors.New("--out is missing: name the directory in which to make those of the nodes")}
			}
			if backup != "" {
				return a.initRestored(out, backup, nodes)
			}
			made, err := muster.InitCluster(out, nodes, time.Now())
			if err != nil {
				return err
			}
			return a.tellMade(made)
		},
	}
	command.Flags().StringVar(&out, "out", "", "directory in which to make those of the nodes (required)")
	command.Flags().StringVar(&backup, "backup", "", "backup that the cluster begins with")
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

func (a *app) initRestored(out, backup string, nodes []string) error {
	restored, err := muster.RestoreCluster(out, nodes, backup, time.Now())
	if err != nil {
		return err
	}
	var made []string
	for _, node := range nodes {
		made = append(made, filepath.Join(out, node))
	}
	if err := a.tellMade(made); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stderr, "muster: %s holds %s.\nmuster: Start all nodes with --region %s --account %s. %s fills the region at its first start; until then the others wait for it.\n",
		made[0], outlineBackup(restored), restored.Region, restored.Account, nodes[0])
	return err
}
