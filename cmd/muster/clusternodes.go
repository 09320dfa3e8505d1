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
		Long: `List the nodes of a running cluster, as the called node sees it:

  UP        reachable by the other nodes
  READY     has read the region and has its copies, or has tried for 20 s
  SHARDS    number of owned shards
  COPIES    number of copies of journals, snapshots and the like to keep
  BEHIND    number of incomplete copies; all copies of an unreachable node
  LEVEL     highest feature level that its release supports; - if unknown

All listed nodes count for a majority, even lost ones, until "muster cluster remove".
The feature level in force is the lowest of all nodes: new features start when the last
node is upgraded, and older releases do not start any more.

Endpoint and credentials are those of the AWS CLI's environment.`,
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
		Long: `Remove a stopped or lost node for good: it no longer counts for a majority, and its
copies move to other nodes. Wait until they are complete, as "muster cluster nodes"
shows, before you remove or stop another node. At least as many nodes must remain as
there are copies (cluster-replicas), with complete copies. Delete the node's data
directory: if the node starts again, it joins again after some minutes.

Endpoint and credentials are those of the AWS CLI's environment or of --profile; they need
the action muster:NodeRemove, as the root key has.`,
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
	_, err = fmt.Fprintf(o.stdout, "Removed %s.\n", node)
	return err
}
