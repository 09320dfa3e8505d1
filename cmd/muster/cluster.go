package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
)

func (a *app) clusterCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "cluster",
		Short: "Prepare the nodes of a cluster, list and remove them",
		Long: `Prepare the nodes of a cluster, which serve one region together. List the nodes of a
running cluster, and remove lost ones.`,
		Example: `  muster cluster init --out cluster n1 n2 n3
  muster cluster nodes`,
	}
	command.AddCommand(a.clusterInitCommand(), a.clusterNodesCommand(), a.clusterRemoveCommand())
	return command
}

func (a *app) clusterInitCommand() *cobra.Command {
	var out, backup string
	var identities backupIdentities
	command := &cobra.Command{
		Use:   "init NODE...",
		Short: "Create the data directories of a cluster's nodes",
		Long: `Create a data directory DIR/NODE for each node of a cluster, with the files that all nodes
share: the region's secret, and the CA by which nodes authenticate each other. No service
is needed. Copy each directory to the host of its node.

To add nodes later, name them together with an existing directory: they get its files,
and it stays as it is. Nothing is written if existing directories differ.

region.secret decrypts all stored data, and with tls/ca.key a node can join the cluster.
Both are readable by their owner alone; protect them in transit, too.

With --backup the cluster starts with the region of a backup, including its secret and
CA; DIR must be missing or empty. The first node gets the backup and fills the region at
its first start; until then the other nodes wait. The backup in its directory is not
encrypted, as the other files there.

Created and completed directories are printed to standard output.`,
		Example: `  muster cluster init --out cluster n1 n2 n3
  muster cluster init --out cluster n1 n4      # later: n4 gets what n1 has
  muster cluster init --out restored --backup region.backup n1 n2 n3`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, nodes []string) error {
			if out == "" {
				return &misuseError{errors.New("--out is missing: name the parent directory of the nodes' directories")}
			}
			if backup != "" {
				return a.initRestored(out, backup, &identities, nodes)
			}
			made, err := muster.InitCluster(out, nodes, time.Now())
			if err != nil {
				return err
			}
			return a.tellMade(made)
		},
	}
	command.Flags().StringVar(&out, "out", "", "parent of the nodes' directories (required)")
	command.Flags().StringVar(&backup, "backup", "", "backup to start the cluster with")
	identities.addFlags(command)
	return command
}

func (a *app) tellMade(made []string) error {
	if len(made) == 0 {
		fmt.Fprintln(a.stderr, "muster: nothing to do: all nodes are complete")
		return nil
	}
	for _, dir := range made {
		if _, err := fmt.Fprintln(a.stdout, dir); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.stderr, `muster: copy each directory to the host of its node, as its data directory.
muster: keep tls/ca.key and region.secret secret: with the former a node can join the cluster, the latter decrypts
muster: its data.`)
	return nil
}

func (a *app) initRestored(out, backup string, identities *backupIdentities, nodes []string) error {
	var restored muster.Restored
	err := identities.with(backup, func(file *io.SectionReader) (err error) {
		restored, err = muster.RestoreCluster(out, nodes, file, time.Now())
		return err
	})
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
	_, err = fmt.Fprintf(a.stderr, "muster: %s contains %s.\nmuster: start all nodes with --region %s --account %s. "+
		"%s fills the region at its first start; until then the others wait.\n",
		made[0], outlineBackup(restored), restored.Region, restored.Account, nodes[0])
	return err
}
