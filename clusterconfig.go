package muster

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/muster-gg/muster/internal/cluster"
	"github.com/muster-gg/muster/internal/webhook"
)

// ClusterConfig makes the service one node of several that serve a region together.
// Without Node it is alone.
type ClusterConfig struct {
	// Node is this node's name: another one for each node, and always the same. ""
	// makes the service the only one of its region. Default: "".
	Node string
	// Listen is the TCP address where the other nodes connect. Default: ":9222".
	Listen string
	// Advertise is the host:port under which nodes tell each other of this one; "" is
	// the address that its connections come from, with the port of Listen. Default: "".
	Advertise string
	// Peers are the host:port of the other nodes. This node may be among them, so
	// that all can have the same list.
	Peers []string
	// Replicas is on how many nodes everything is kept: 1, 3 or 5. Default: 3.
	Replicas int
	// Lease is after how long without a sign of life a node's shards go to others.
	// Default: 3s.
	Lease time.Duration

	// Cert, Key and CA are PEM files with this node's certificate for connections
	// between nodes, its key, and the authority of all nodes' certificates: all or
	// none. "" uses certificates of the local authority in the data directory,
	// which all nodes must have in common: see InitCluster. With NATS they are for that:
	// the authority of its certificate, and a certificate by which it knows this node.
	Cert, Key, CA string

	// NATS are the URLs of a NATS with JetStream that runs elsewhere, in place of the
	// embedded one; Listen, Advertise and Peers mean nothing then.
	// Default: none.
	NATS []string
	// NATSCreds is a file with the credentials for NATS. Default: "".
	NATSCreds string
}

// DefaultClusterConfig returns the settings of a node that nobody configured.
func DefaultClusterConfig() ClusterConfig {
	return ClusterConfig{Listen: ":9222", Replicas: 3, Lease: 3 * time.Second}
}

// Settings lists the settings of a cluster. They stay bound to c.
func (c *ClusterConfig) Settings() []Setting {
	const section = "Cluster"
	return []Setting{
		{"node", section, "name of this node in a cluster, another one for each node and always the same; empty makes the service the only one of its region", text(&c.Node, optional(matching(cluster.NameForm, "1 to 64 letters, digits, - and _")))},
		{"cluster-listen", section, "TCP address where the other nodes connect", text(&c.Listen, fixedAddress)},
		{"cluster-advertise", section, "host:port under which nodes tell each other of this one; empty is the address that its connections come from", text(&c.Advertise, optional(hostPort))},
		{"peer", section, "host:port of the other nodes; this node may be among them", listOf(&c.Peers, hostPort)},
		{"cluster-replicas", section, "on how many nodes everything is kept: 1, 3 or 5", number(&c.Replicas, 1, 5)},
		{"cluster-lease", section, "after how long without a sign of life a node's shards go to others", duration(&c.Lease, time.Second, time.Minute)},
		{"cluster-cert", section, "PEM file with the certificate by which other nodes, or nats, know this one, read again when it changes; for nodes, empty uses one of the local authority in the data directory", text(&c.Cert, nil)},
		{"cluster-key", section, "PEM file with the key of cluster-cert", text(&c.Key, nil)},
		{"cluster-ca", section, "PEM file with the authority of all nodes' certificates, or of that of nats", text(&c.CA, nil)},
		{"nats", section, "URLs of a NATS with JetStream that runs elsewhere; empty embeds one", listOf(&c.NATS, natsURL).hiding(webhook.ShownURL)},
		{"nats-creds", section, "file with the credentials for nats", text(&c.NATSCreds, nil)},
	}
}

// conflicts reports settings that do not go together.
func (c *ClusterConfig) conflicts() (errs []error) {
	complain := func(setting, problem string) {
		errs = append(errs, &SettingError{Setting: setting, Problem: problem})
	}
	switch {
	case c.Node == "" && len(c.Peers) > 0:
		complain("node", "is missing, and peer is set: name this node")
	case c.Node == "" && len(c.NATS) > 0:
		complain("node", "is missing, and nats is set: name this node")
	case c.Node != "" && len(c.Peers) == 0 && len(c.NATS) == 0:
		complain("peer", "is missing, and node is set: name the other nodes' addresses, or a NATS that runs elsewhere with nats")
	case len(c.Peers) > 0 && len(c.NATS) > 0:
		complain("peer", "has no meaning with nats, where the nodes meet: give one of them")
	}
	switch given := len(nonEmpty(c.Cert, c.Key, c.CA)); {
	case len(c.NATS) > 0 && (c.Cert == "") != (c.Key == ""):
		complain("cluster-cert", "give cluster-cert and cluster-key, or none of them")
	case len(c.NATS) == 0 && given != 0 && given != 3:
		complain("cluster-cert", "give cluster-cert, cluster-key and cluster-ca, or none of them")
	}
	if c.NATSCreds != "" && len(c.NATS) == 0 {
		complain("nats", "is missing, and nats-creds is set")
	}
	if c.Replicas%2 == 0 {
		complain("cluster-replicas", fmt.Sprintf("is %d: an even number survives no more than the odd one before it; use 1, 3 or 5", c.Replicas))
	}
	return errs
}

// alone reports whether this service is the only one of its region.
func (c *ClusterConfig) alone() bool { return c.Node == "" }

func nonEmpty(texts ...string) (kept []string) {
	for _, t := range texts {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return kept
}

// fixedAddress is an address with a port that others can be told of before it is
// listened on.
func fixedAddress(s string) error {
	if err := address(s); err != nil {
		return err
	}
	if _, port, _ := net.SplitHostPort(s); port == "0" {
		return fmt.Errorf("%q has port 0, and the other nodes must know the port", s)
	}
	return nil
}

// hostPort is an address that can be dialed.
func hostPort(s string) error {
	host, port, err := net.SplitHostPort(s)
	n, bad := strconv.Atoi(port)
	if err != nil || host == "" || bad != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%q is not of the form host:port", s)
	}
	return nil
}

// natsURL is the address of a NATS server.
func natsURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
		return fmt.Errorf("%q is not of the form nats://host:port or tls://host:port", webhook.ShownURL(s))
	}
	return nil
}
