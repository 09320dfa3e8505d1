package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/operator"
)

func (a *app) clusterNodesCommand() *cobra.Command {
	o := &operatorCall{app: a}
	command := &cobra.Command{
		Use:   "nodes",
		Short: "List the nodes of a cluster",
		Long: `List the nodes of a running cluster, as any of them sees it:

  UP        the others hear it
  READY     it has read all of the region and keeps what it is to keep, or has tried for 20 s
  SHARDS    how many it owns
  COPIES    how many journals, snapshots and the like it is to keep
  BEHIND    how many of those copies are not complete; all of them, of a node that is away
  LEVEL     highest feature level that its release reads; - if it announced none

All that are listed count when a majority is needed, also those that are gone, until
"muster cluster remove". The feature level in force is the lowest of all of them: new
features begin when the last node is upgraded, and older releases then do not start. Endpoint and credentials are those of the AWS CLI's environment.`,
		Example: `  muster cluster nodes
  muster cluster nodes --endpoint https://games.example.com:9080 --ca-file ca.pem`,
		Args: cobra.NoArgs,
		RunE: o.run(o.listNodes),
	}
	o.addFlags(command)
	return command
}

func (o *operatorCall) listNodes(ctx context.Context, _ []string) error {
	var list operator.NodeList
	err := o.get(ctx, "/v1/nodes", func(from io.Reader) error { return json.NewDecoder(from).Decode(&list) })
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	return writeNodes(o.stdout, list)
}

// writeNodes writes them for people.
func writeNodes(to io.Writer, list operator.NodeList) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tUP\tREADY\tSHARDS\tCOPIES\tBEHIND\tLEVEL")
	for _, n := range list.Nodes {
		up := yesNo(n.Up)
		if n.Leaving {
			up = "leaving"
		}
		level := "-"
		if n.Level > 0 {
			level = fmt.Sprint(n.Level)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%s\n", n.Name, up, yesNo(n.Ready), n.Shards, n.Copies, n.Behind, level)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "\nfeature level in force: %d\n", list.Level)
	return err
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (a *app) clusterRemoveCommand() *cobra.Command {
	o := &operatorCall{app: a}
	command := &cobra.Command{
		Use:   "remove NODE",
		Short: "Remove a node from a cluster for good",
		Long: `Remove a node that is stopped, or lost, and will not be back: it does not count any more when
a majority is needed, and what it kept is copied to other nodes. "muster cluster nodes"
says when that is done: wait for it before you remove or stop another one. As many nodes must be
left as there are copies (cluster-replicas), and those must be complete. Delete the node's data
directory: a node that starts again joins again, after some minutes.

Endpoint and credentials are those of the AWS CLI's environment; the access key must be the
one that the region made at its first start.`,
		Example: `  muster cluster remove n4`,
		Args:    cobra.ExactArgs(1),
		RunE:    o.run(o.removeNode),
	}
	o.addFlags(command)
	return command
}

func (o *operatorCall) removeNode(ctx context.Context, args []string) error {
	node := args[0]
	err := o.call(ctx, http.MethodDelete, "/v1/nodes/"+url.PathEscape(node), func(io.Reader) error { return nil })
	if err != nil {
		return fmt.Errorf("remove node %s: %w", node, err)
	}
	_, err = fmt.Fprintf(o.stdout, "%s is removed.\n", node)
	return err
}
