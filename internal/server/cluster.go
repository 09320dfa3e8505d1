package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/localca"
	"github.com/muster-gg/muster/internal/nodes"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/telemetry"
)

// engineConfig says what the journals are kept in.
func engineConfig(c *config.Config) (jetstream.Config, error) {
	engine := jetstream.Config{Dir: filepath.Join(c.Data, journalDir), Log: c.Log, HistoryAge: c.History}
	switch {
	case c.Cluster.Alone():
	case len(c.Cluster.NATS) > 0:
		given, err := clusterCertificates(c)
		if err != nil {
			return engine, err
		}
		engine.External = &jetstream.External{URLs: strings.Join(c.Cluster.NATS, ","), Creds: c.Cluster.NATSCreds, TLS: given, Replicas: c.Cluster.Replicas}
	default:
		routes, err := clusterRoutes(c)
		if err != nil {
			return engine, fmt.Errorf("certificate of the node: %w", err)
		}
		engine.Cluster = &jetstream.Cluster{
			Node: c.Cluster.Node, Listen: c.Cluster.Listen, Advertise: c.Cluster.Advertise, Peers: c.Cluster.Peers,
			TLS: routes, Replicas: c.Cluster.Replicas,
		}
	}
	return engine, nil
}

// clusterRoutes is how this node meets the others.
func clusterRoutes(c *config.Config) (*tls.Config, error) {
	if c.Cluster.Cert == "" {
		return localca.Node(filepath.Join(c.Data, tlsDir), c.Clock.Now)
	}
	return clusterCertificates(c)
}

// clusterCertificates are those that were given, of this node and of the authority; nil when none was.
func clusterCertificates(c *config.Config) (*tls.Config, error) {
	files := &c.Cluster
	if files.Cert == "" && files.CA == "" {
		return nil, nil
	}
	given := &tls.Config{MinVersion: tls.VersionTLS12}
	if files.Cert != "" {
		pair, err := listen.LoadCertificate(files.Cert, files.Key, c.Clock.Now, c.Log)
		if err != nil {
			return nil, fmt.Errorf("cluster-cert: %w", err)
		}
		given = pair.Both()
	}
	if files.CA != "" {
		authority, err := os.ReadFile(files.CA)
		if err != nil {
			return nil, fmt.Errorf("cluster-ca: %w", err)
		}
		given.RootCAs = x509.NewCertPool()
		if !given.RootCAs.AppendCertsFromPEM(authority) {
			return nil, fmt.Errorf("cluster-ca: %s holds no certificate", files.CA)
		}
	}
	return given, nil
}

// agree compares what this node's data directory is of with what the others' are, and notes which
// feature level this node reads. It refuses a node that does not read the level in force, before
// that takes part.
func (s *service) agree(ctx context.Context, own identity) error {
	agreed, err := s.amend(ctx, func(all *identity) error {
		if all.Region == "" { // the first node
			*all = own
			all.Secret = fingerprint(s.secret)
		}
		if all.Secret != fingerprint(s.secret) {
			return errors.New("this node has another region.secret than the others: make the data directories of all nodes with muster cluster init")
		}
		if err := all.disagrees(own); err != nil {
			return err
		}
		return all.Join(s.cfg.Cluster.Node, region.MaxLevel)
	})
	if err != nil {
		return err
	}
	return own.raise(s.cfg.Data, agreed.InForce())
}

// identityKey is where the nodes of a cluster find what all of them are of.
const identityKey = "identity"

// amend changes what all nodes are of, and returns it. change may be called several times.
func (s *service) amend(ctx context.Context, change func(all *identity) error) (agreed identity, err error) {
	err = s.engine.Amend(ctx, identityKey, func(value []byte) ([]byte, error) {
		agreed = identity{}
		if len(value) > 0 {
			if err := json.Unmarshal(value, &agreed); err != nil {
				return nil, fmt.Errorf("what the other nodes say cannot be read: %w", err)
			}
			if err := checkFormat("the region", agreed.Version, agreed.Level); err != nil {
				return nil, err
			}
		}
		if err := change(&agreed); err != nil {
			return nil, err
		}
		agreed.Version = layoutOf(agreed.InForce())
		return json.Marshal(agreed)
	})
	return agreed, err
}

// joinNodes makes this service one node of its region.
func (s *service) joinNodes(ctx context.Context) error {
	if s.cfg.Cluster.Alone() {
		return nil
	}
	joined, err := nodes.Join(ctx, nodes.Config{
		Node: s.cfg.Cluster.Node, Shards: s.cfg.Shards, Conn: s.engine.Conn(), Replicas: s.engine.Replicas(), Lease: s.cfg.Cluster.Lease,
		Lead: s.engine.Lead, Connected: s.engine.Connected, Settle: s.awaitCopies, Journal: s.engine, Level: s.raiseLevel, Clock: s.cfg.Clock, Log: s.cfg.Log,
	})
	if err != nil {
		return fmt.Errorf("join the cluster: %w", err)
	}
	s.nodes = joined
	return nil
}

// place is what this node is in its cluster.
func (s *service) place() telemetry.Place {
	p := telemetry.Place{Members: 1, Owned: make([]bool, s.cfg.Shards)}
	for i := range p.Owned {
		p.Owned[i] = s.plane.Shard(i).Owned()
	}
	if s.nodes != nil {
		p.Members = len(s.nodes.Members())
	}
	return p
}

// handOverLimit bounds how long a node that stops waits for others to take its shards.
// They take what is left when its lease has run out.
const handOverLimit = 5 * time.Second

// handOver gives this node's shards to the others.
func (s *service) handOver() {
	if s.nodes == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), handOverLimit)
	defer cancel()
	begin := s.cfg.Clock.Now()
	if err := s.nodes.Transfer(ctx); err != nil {
		s.cfg.Log.Warn("shards not transferred", "reason", err)
		return
	}
	s.cfg.Log.Info("shards transferred", "took", s.cfg.Clock.Since(begin))
}

// leave ends this node's part in the cluster.
func (s *service) leave() {
	if s.nodes == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), handOverLimit)
	defer cancel()
	if err := s.nodes.Leave(ctx); err != nil {
		s.cfg.Log.Warn("the node did not leave in order", "reason", err)
	}
}

// present waits until the other nodes know that this one lives, for as long as they may not
// have noticed otherwise. Until then nothing is answered here: what this node knows may be
// out of date.
func (s *service) present(ctx context.Context) bool {
	if s.nodes == nil {
		return true
	}
	for {
		switch {
		case s.nodes.Away() == 0:
			return true
		case s.nodes.CutOff():
			return false
		}
		select {
		case <-s.cfg.Clock.After(presencePause):
		case <-s.stopping:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// presencePause lies between two looks.
const presencePause = 20 * time.Millisecond

// copiesLimit is how long a node that starts is not ready for lack of what it is to keep. One
// whose disk is new may take hours.
const (
	copiesLimit = 20 * time.Second
	copiesPause = 50 * time.Millisecond
)

// awaitCopies waits until this node keeps all that the others have stored meanwhile: then it can
// lead it. A leader who makes way for one that cannot leaves nobody, for a second or two. And who restarts
// one node after the other, as each is ready, stops the next one when there is a majority without it.
func (s *service) awaitCopies(ctx context.Context) {
	defer close(s.complete)
	begun := s.cfg.Clock.Now()
	for {
		reason := s.engine.Incomplete()
		if reason == "" {
			s.cfg.Log.Debug("this node's copies are complete", "took", s.cfg.Clock.Since(begun))
			return
		}
		if s.cfg.Clock.Since(begun) >= copiesLimit {
			s.cfg.Log.Warn("this node's copies are not complete yet, and it serves all the same: do not stop another one before; see muster cluster nodes", "reason", reason)
			return
		}
		select {
		case <-s.cfg.Clock.After(copiesPause):
		case <-ctx.Done():
			return
		}
	}
}

// inCluster reports whether requests are to be sent to this node. A shard without an
// owner is no reason against it: all nodes wait for the next one.
func (s *service) inCluster() bool {
	return isClosed(s.ready) && isClosed(s.complete) && !s.nodes.CutOff()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// watchPresence cuts the sockets of a node that the others do not hear any more: its server
// processes then find another one, if load balancers believe /readyz.
func (s *service) watchPresence(ctx context.Context) error {
	look := s.cfg.Clock.NewTicker(s.cfg.Cluster.Lease / 4)
	defer look.Stop()
	gone := false
	for {
		select {
		case <-look.Chan():
		case <-ctx.Done():
			return nil
		}
		was := gone
		if gone = s.nodes.CutOff(); gone && !was {
			s.cfg.Log.Error("the node does not reach the others: it answers nothing, and server processes are sent away")
			s.servers.CloseSockets()
		} else if was && !gone {
			s.cfg.Log.Info("the node reaches the others again")
		}
	}
}
