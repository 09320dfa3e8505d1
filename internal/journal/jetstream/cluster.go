package jetstream

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal"
)

// DefaultReplicas is on how many nodes each stream is kept.
const DefaultReplicas = 3

// A Cluster says how the embedded server is one node of several.
type Cluster struct {
	Node   string   // its name: no white space, no dots, no wildcards; another one for each node, and always the same
	Name   string   // of the cluster, the same on all nodes; default "muster"
	Listen string   // host:port where the other nodes connect
	Peers  []string // host:port of the other nodes, at least one; this node may be among them

	// Advertise is the host:port under which the other nodes tell each other of this
	// one, so that each connects to it that has been told of one of them alone. "":
	// the address that Listen and the connection show.
	Advertise string

	// TLS holds the certificate with which this node meets the others, on both
	// sides, and the authority (RootCAs) that has signed theirs. Who has no such
	// certificate is refused. Nil: plain text, for whoever can reach Listen.
	TLS *tls.Config

	Replicas int // of each stream; default DefaultReplicas
}

// An External is a NATS with JetStream that runs elsewhere.
type External struct {
	URLs     string      // of its servers, separated by commas
	Creds    string      // a file with the user's credentials; "": none
	TLS      *tls.Config // nil: what the URLs and the system's authorities say
	Replicas int         // of each stream; default DefaultReplicas
}

// Errors of a directory that is opened as what it is not.
var (
	ErrAlone     = errors.New("the data directory is that of a node that ran alone: make a backup of it with that configuration, and begin the cluster with it (muster cluster init --backup)")
	ErrClustered = errors.New("the data directory is that of a node of a cluster, and holds nothing that is whole without the others")
)

// clustered reports whether there are, or may be, replicas elsewhere.
func (c *Config) clustered() bool { return c.Cluster != nil || c.External != nil }

// replicas is on how many nodes a stream is kept.
func (c *Config) replicas() int {
	n := 1
	switch {
	case c.Cluster != nil:
		n = c.Cluster.Replicas
	case c.External != nil:
		n = c.External.Replicas
	}
	if n == 0 {
		return DefaultReplicas
	}
	return n
}

// directly reports whether single messages may be got from whoever has them. A
// replica that is behind says that there are none, when they were acknowledged
// already; so in a cluster the stream's leader is asked.
func (e *Engine) directly() bool { return !e.cfg.clustered() }

// checkDir refuses what the server would take for its own: one that joins a
// cluster removes the streams that the cluster does not know, and one alone would
// show records that were never committed.
func (e *Engine) checkDir() error {
	jets := filepath.Join(e.cfg.Dir, "jetstream")
	meta, err := filepath.Glob(filepath.Join(jets, "*", "_js_", "_meta_"))
	if err != nil {
		return err
	}
	streams, err := filepath.Glob(filepath.Join(jets, "*", "streams", "*"))
	switch {
	case err != nil:
		return err
	case e.cfg.Cluster == nil && len(meta) > 0:
		return ErrClustered
	case e.cfg.Cluster != nil && len(meta) == 0 && len(streams) > 0:
		return ErrAlone
	}
	return nil
}

// Users of the embedded server when it is a node. All of them may connect within
// this process alone, and two need its password; the third may do nothing.
const (
	plainUser  = "muster"
	systemUser = "system"
	nobody     = "nobody"
)

// clusterOptions makes the server one node of its cluster.
func (e *Engine) clusterOptions(o *server.Options) error {
	c := e.cfg.Cluster
	if c == nil {
		return nil
	}
	if err := checkNode(c.Node); err != nil {
		return err
	}
	if len(c.Peers) == 0 {
		return errors.New("a node of a cluster has at least one peer")
	}
	host, port, err := splitAddress(c.Listen)
	if err != nil {
		return fmt.Errorf("listen address of the cluster: %w", err)
	}
	o.ServerName = c.Node
	// Without a port for clients the server opens none for nodes either. This one is
	// bound to the loopback interface, and no user may connect there.
	o.DontListen, o.Host, o.Port = false, "127.0.0.1", server.RANDOM_PORT
	o.Cluster = server.ClusterOpts{
		Name: c.Name, Host: host, Port: port, NoAdvertise: true, Advertise: c.Advertise,
		PingInterval: routePing, MaxPingsOut: routePings, TLSConfig: routeTLS(c.TLS), TLSTimeout: routeHandshake.Seconds(), AuthTimeout: routeHandshake.Seconds(),
	}
	if o.Cluster.Name == "" {
		o.Cluster.Name = "muster"
	}
	for _, peer := range withSelf(c.Peers, host, c.Listen) {
		if _, _, err := splitAddress(peer); err != nil {
			return fmt.Errorf("address of a peer: %w", err)
		}
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: peer})
	}
	e.password = rand.Text()
	e.users(o)
	return nil
}

// users says who may connect to the server as a client. Without a user for those who
// give no credentials the server would make one, which may do everything: see
// configureAccounts in server.go of nats-server 2.15.
func (e *Engine) users(o *server.Options) {
	system := server.NewAccount(server.DEFAULT_SYSTEM_ACCOUNT)
	here := map[string]struct{}{"IN_PROCESS": {}} // NATS's name of connections that use no socket
	nothing := &server.SubjectPermission{Deny: []string{">"}}
	o.Accounts, o.SystemAccount, o.NoAuthUser = []*server.Account{system}, system.Name, nobody
	o.Users = []*server.User{
		{Username: plainUser, Password: e.password, AllowedConnectionTypes: here},
		{Username: systemUser, Password: e.password, AllowedConnectionTypes: here, Account: system},
		{Username: nobody, AllowedConnectionTypes: here, Permissions: &server.Permissions{Publish: nothing, Subscribe: nothing}},
	}
}

const (
	// routePing times routePings is how long a node does not answer before its
	// connections are given up.
	routePing  = time.Second
	routePings = 3

	// routeHandshake bounds the beginning of a connection between nodes. Busy nodes
	// take their time.
	routeHandshake = 10 * time.Second
)

// withSelf adds this node's own address: the number of addresses is how the
// server knows how many nodes there will be. It notices that it met itself.
func withSelf(peers []string, host, listen string) []string {
	if slices.Contains(peers, listen) {
		return peers
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		_, port, _ := net.SplitHostPort(listen) // was parsed before
		if slices.ContainsFunc(peers, func(peer string) bool { return isHere(peer, port) }) {
			return peers
		}
		listen = net.JoinHostPort("127.0.0.1", port)
	}
	return append(slices.Clone(peers), listen)
}

// isHere reports whether an address is this port of this host, as far as names tell.
func isHere(address, port string) bool {
	host, p, err := net.SplitHostPort(address)
	if err != nil || p != port {
		return false
	}
	ips, err := net.LookupIP(host)
	if err != nil {
		return false
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && slices.ContainsFunc(ips, n.IP.Equal)
	})
}

// routeTLS is the configuration of both sides of a connection between nodes.
func routeTLS(given *tls.Config) *tls.Config {
	if given == nil {
		return nil
	}
	c := given.Clone()
	c.ClientAuth = tls.RequireAndVerifyClientCert
	if c.ClientCAs == nil {
		c.ClientCAs = c.RootCAs
	}
	c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
	return c
}

func checkNode(name string) error {
	if journal.CheckSubject(name) != nil || strings.Contains(name, ".") {
		return fmt.Errorf("the name of a node is a word without dots and wildcards, not %q", name)
	}
	return nil
}

func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("address %s: the port is no number from 1 to 65535", address)
	}
	return host, port, nil
}

const (
	// attemptTime bounds one attempt to make a stream while the cluster gathers: who has
	// no leader does not answer.
	attemptTime = time.Second

	// gatherPause lies between two attempts.
	gatherPause = 200 * time.Millisecond

	// gatherReport lies between two lines in the log that say what is waited for.
	gatherReport = 10 * time.Second
)

// gather makes attempts until one succeeds, or fails for another reason than that
// the cluster has not gathered. Nodes start one after the other, and a
// majority of them has to be there.
func gather[T any](ctx context.Context, e *Engine, what string, attempt func(context.Context) (T, error)) (made T, err error) {
	begun := time.Now()
	reported := begun.Add(1*time.Second - gatherReport)
	for {
		trying, cancel := context.WithTimeout(ctx, attemptTime)
		made, err = attempt(trying)
		cancel()
		switch {
		case ctx.Err() != nil:
			return made, fmt.Errorf("%w (%w)", context.Cause(ctx), err)
		case e.broken.Err() != nil:
			return made, context.Cause(e.broken)
		case err == nil || !passes(err):
			return made, err
		}
		if time.Since(reported) >= gatherReport {
			reported = time.Now()
			e.cfg.Log.Info("waiting for the other nodes of the cluster: a majority of them must be up, and all of them the first time", "for", what, "since", begun.Format(time.TimeOnly), "reason", err, "connected", e.connected())
		}
		if err := pause(ctx, gatherPause); err != nil {
			return made, err
		}
	}
}

// connected are the nodes that this one has a connection to.
func (e *Engine) connected() []string {
	if e.server == nil {
		return nil
	}
	var names []string
	routes, err := e.server.Routez(nil)
	if err != nil {
		return nil
	}
	for _, r := range routes.Routes {
		if !slices.Contains(names, r.RemoteName) {
			names = append(names, r.RemoteName)
		}
	}
	slices.Sort(names)
	return names
}

// passing are the server's error codes for what is over when the cluster has
// gathered: no leader, not enough nodes, a stream that another node is making.
// Source: NATS JetStream API error codes.
var passing = []jetstream.ErrorCode{
	10004, // incomplete results
	10005, // no peers
	10007, // required for a group that has none
	10008, // system temporarily unavailable
	10009, // not the leader
	10023, // insufficient resources
	10058, // the name is in use, with another configuration: another node has just made it
	10118, // the stream is offline
	10194, // so, with a reason
}

// passes reports whether an error is one that passes.
func passes(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return slices.Contains(passing, api.ErrorCode)
	}
	return slices.ContainsFunc([]error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrReconnectBufExceeded, jetstream.ErrNoStreamResponse, jetstream.ErrJetStreamNotEnabled,
	}, func(passing error) bool { return errors.Is(err, passing) })
}

// Conn is the engine's connection. It is closed with the engine.
func (e *Engine) Conn() *nats.Conn { return e.conn }

// JetStream is the engine's JetStream.
func (e *Engine) JetStream() jetstream.JetStream { return e.js }

// Replicas is on how many nodes each stream of the engine is kept.
func (e *Engine) Replicas() int { return e.cfg.replicas() }
