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

// DefaultReplicas is the default number of nodes that keep each stream.
const DefaultReplicas = 3

// A Cluster configures the embedded server as one node of several.
type Cluster struct {
	Node   string   // name, unique and stable: no white space, no dots, no wildcards
	Name   string   // of the cluster, the same on all nodes; default "muster"
	Listen string   // host:port where the other nodes connect
	Peers  []string // host:port of the other nodes, at least one; this node may be among them

	// Advertise is the host:port that the other nodes pass on to each other for this one. Default: the address of
	// Listen and of the connection.
	Advertise string

	// TLS holds this node's certificate for connections in both directions, and the CA (RootCAs) of the other nodes'
	// certificates; a node without one is rejected. Nil: unencrypted and unauthenticated connections.
	TLS *tls.Config

	Replicas int // of each stream; default DefaultReplicas
}

// An External is a NATS deployment with JetStream outside this process.
type External struct {
	URLs     string      // of its servers, separated by commas
	Creds    string      // a file with the user's credentials; "": none
	TLS      *tls.Config // nil: as the URLs say, with the system's CAs
	Replicas int         // of each stream; default DefaultReplicas
}

// Errors of a directory of another kind of node.
var (
	ErrAlone = errors.New("the data directory belongs to a node that ran alone: back it up with that " +
		"configuration, then start the cluster from the backup (muster cluster init --backup)")
	ErrClustered = errors.New("the data directory belongs to a node of a cluster, and is " +
		"incomplete without the other nodes")
)

// clustered reports whether there are, or may be, replicas elsewhere.
func (c *Config) clustered() bool { return c.Cluster != nil || c.External != nil }

// replicas returns the number of nodes that keep a stream.
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

// directly reports whether any replica may serve direct gets. A replica that is behind returns "not found" for messages
// that were acknowledged, so in a cluster only the stream's leader is asked.
func (e *Engine) directly() bool { return !e.cfg.clustered() }

// checkDir rejects a directory of another kind of node: a server that joins a cluster deletes the streams that the
// cluster does not know, and a server that runs alone would return records that were never committed.
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

// Users of the embedded server of a node. All of them may connect only from within this process. Two need its password,
// and the third has no permissions.
const (
	plainUser  = "muster"
	systemUser = "system"
	nobody     = "nobody"
)

// clusterOptions configures the server as one node of its cluster.
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
	// Without a port for clients the server opens none for nodes either. This one listens on the loopback interface,
	// and rejects all users.
	o.DontListen, o.Host, o.Port = false, "127.0.0.1", server.RANDOM_PORT
	o.Cluster = server.ClusterOpts{
		Name: c.Name, Host: host, Port: port, NoAdvertise: true, Advertise: c.Advertise,
		PingInterval: routePing, MaxPingsOut: routePings, TLSConfig: routeTLS(c.TLS),
		TLSTimeout: routeHandshake.Seconds(), AuthTimeout: routeHandshake.Seconds(),
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

// users configures the server's users. Without NoAuthUser the server would create a user with all permissions for
// clients without credentials: see configureAccounts in server.go of nats-server 2.15.
func (e *Engine) users(o *server.Options) {
	system := server.NewAccount(server.DEFAULT_SYSTEM_ACCOUNT)
	here := map[string]struct{}{"IN_PROCESS": {}} // NATS's name of connections that use no socket
	nothing := &server.SubjectPermission{Deny: []string{">"}}
	o.Accounts, o.SystemAccount, o.NoAuthUser = []*server.Account{system}, system.Name, nobody
	o.Users = []*server.User{
		{Username: plainUser, Password: e.password, AllowedConnectionTypes: here},
		{Username: systemUser, Password: e.password, AllowedConnectionTypes: here, Account: system},
		{Username: nobody, AllowedConnectionTypes: here,
			Permissions: &server.Permissions{Publish: nothing, Subscribe: nothing}},
	}
}

const (
	// routePing times routePings is the time after which the connections to a node that does not respond are closed.
	routePing  = time.Second
	routePings = 3

	// routeHandshake bounds the handshake of a connection between nodes. Busy nodes need seconds.
	routeHandshake = 10 * time.Second
)

// withSelf adds this node's own address: the server takes the number of addresses for the number of nodes. It notices a
// connection to itself.
func withSelf(peers []string, host, listen string) []string {
	if slices.Contains(peers, listen) {
		return peers
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		_, port, _ := net.SplitHostPort(listen) // parsed before
		if slices.ContainsFunc(peers, func(peer string) bool { return isHere(peer, port) }) {
			return peers
		}
		listen = net.JoinHostPort("127.0.0.1", port)
	}
	return append(slices.Clone(peers), listen)
}

// isHere reports whether an address is this port of this host, as far as DNS shows.
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

// routeTLS returns the configuration of both sides of a connection between nodes.
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
		return fmt.Errorf("node name %q: must be one word without dots and wildcards", name)
	}
	return nil
}

func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("address %s: the port must be a number from 1 to 65535", address)
	}
	return host, port, nil
}

const (
	// attemptTime bounds one attempt to create a stream while nodes start: without a leader there is no answer.
	attemptTime = time.Second

	// gatherPause is the time between two attempts.
	gatherPause = 200 * time.Millisecond

	// gatherReport is the time between two log lines about the wait.
	gatherReport = 10 * time.Second
)

// gather retries until an attempt succeeds, or fails for another reason than that no majority of the nodes is up. Nodes
// start one after the other.
func gather[T any](ctx context.Context, e *Engine, what string,
	attempt func(context.Context) (T, error)) (made T, err error) {
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
			e.cfg.Log.Info("waiting for the other nodes of the cluster: a majority of them must be up, and all of "+
				"them the first time", "for", what, "since", begun.Format(time.TimeOnly), "reason", err,
				"connected", e.connected())
		}
		if err := pause(ctx, gatherPause); err != nil {
			return made, err
		}
	}
}

// connected returns the names of the nodes that this one is connected to.
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

// passing are the server's error codes that disappear once a majority of the nodes is up: no leader, not enough nodes,
// a stream that another node is creating. Source: NATS JetStream API error codes.
var passing = []jetstream.ErrorCode{
	10004, // incomplete results
	10005, // no peers
	10007, // clustering is required
	10008, // system temporarily unavailable
	10009, // not the leader
	10023, // insufficient resources
	10058, // the name is in use with another configuration: another node has just created it
	10118, // stream offline
	10194, // stream offline, with a reason
}

// passes reports whether an error is temporary.
func passes(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return slices.Contains(passing, api.ErrorCode)
	}
	return slices.ContainsFunc([]error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrReconnectBufExceeded,
		jetstream.ErrNoStreamResponse, jetstream.ErrJetStreamNotEnabled,
	}, func(passing error) bool { return errors.Is(err, passing) })
}

// Conn returns the engine's connection, which Close closes.
func (e *Engine) Conn() *nats.Conn { return e.conn }

// JetStream returns the engine's JetStream.
func (e *Engine) JetStream() jetstream.JetStream { return e.js }

// Replicas returns the number of nodes that keep each stream.
func (e *Engine) Replicas() int { return e.cfg.replicas() }
