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

	"github.com/muster-gg/muster/internal/cluster/nodes"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/listen"
	"github.com/muster-gg/muster/internal/listen/localca"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/telemetry"
)

// engineConfig returns the configuration of the journals' engine.
func engineConfig(c *config.Config) (jetstream.Config, error) {
	engine := jetstream.Config{Dir: filepath.Join(c.Data, journalDir), Log: c.Log, HistoryAge: c.HistoryRetention,
		HistoryBytes: int64(c.MaxHistorySize) << 20}
	switch {
	case c.Cluster.Alone():
	case len(c.Cluster.NATS) > 0:
		given, err := clusterCertificates(c)
		if err != nil {
			return engine, err
		}
		engine.External = &jetstream.External{
			URLs: strings.Join(c.Cluster.NATS, ","), Creds: c.Cluster.NATSCreds, TLS: given,
			Replicas: c.Cluster.Replicas,
		}
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

// clusterRoutes returns the TLS configuration between nodes.
func clusterRoutes(c *config.Config) (*tls.Config, error) {
	if c.Cluster.Cert == "" {
		return localca.Node(filepath.Join(c.Data, tlsDir), c.Clock.Now)
	}
	return clusterCertificates(c)
}

// clusterCertificates returns the configured certificates of this node and of the CA; nil if there are none.
func clusterCertificates(c *config.Config) (*tls.Config, error) {
	files := &c.Cluster
	if files.Cert == "" && files.CA == "" {
		return nil, nil
	}
	given := &tls.Config{MinVersion: tls.VersionTLS12}
	if files.Cert != "" {
		pair, err := listen.LoadCertificate(files.Cert, files.Key, c.Clock.Now, c.Log)
		if err != nil {
			return nil, settingError(c, "cluster-cert", err)
		}
		given = pair.Both()
	}
	if files.CA != "" {
		authority, err := os.ReadFile(files.CA)
		if err != nil {
			return nil, settingError(c, "cluster-ca", err)
		}
		given.RootCAs = x509.NewCertPool()
		if !given.RootCAs.AppendCertsFromPEM(authority) {
			return nil, settingError(c, "cluster-ca", fmt.Errorf("%s has no certificate", files.CA))
		}
	}
	return given, nil
}

// agree compares the identity of this node's data directory with that of the cluster, and records the feature level
// that this node supports. It refuses a node that does not support the level in force, before the node takes part.
func (s *service) agree(ctx context.Context, own identity) error {
	agreed, err := s.amend(ctx, func(all *identity) error {
		if all.Region == "" { // the first node
			*all = own
			all.Secret = fingerprint(s.secret)
		}
		if all.Secret != fingerprint(s.secret) {
			return errors.New("the region.secret of this node differs from that of the other nodes: " +
				"create the data directories of all nodes with muster cluster init")
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

const identityKey = "identity"

// amend changes the identity of the cluster, and returns it. change may be called several times.
func (s *service) amend(ctx context.Context, change func(all *identity) error) (agreed identity, err error) {
	err = s.engine.Amend(ctx, identityKey, func(value []byte) ([]byte, error) {
		agreed = identity{}
		if len(value) > 0 {
			if err := json.Unmarshal(value, &agreed); err != nil {
				return nil, fmt.Errorf("decode the identity of the cluster: %w", err)
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

// joinNodes makes this service a node of its region.
func (s *service) joinNodes(ctx context.Context) error {
	if s.cfg.Cluster.Alone() {
		return nil
	}
	joined, err := nodes.Join(ctx, nodes.Config{
		Node: s.cfg.Cluster.Node, Shards: s.cfg.Shards, Conn: s.engine.Conn(), Replicas: s.engine.Replicas(),
		Lease: s.cfg.Cluster.Lease,
		Lead:  s.engine.Lead, Connected: s.engine.Connected, Settle: s.awaitCopies, Journal: s.engine,
		Level: s.raiseLevel, Figures: s.encodedFigures, Clock: s.cfg.Clock, Log: s.cfg.Log,
	})
	if err != nil {
		return fmt.Errorf("join the cluster: %w", err)
	}
	s.nodes = joined
	return nil
}

// copiesOfObjects returns how many nodes keep the bytes of an object: as many as keep the journal.
func (s *service) copiesOfObjects() int {
	if s.nodes == nil {
		return 1
	}
	return s.engine.Replicas()
}

// place returns the state of this node in its cluster.
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

// transferLimit is how long a stopping node waits for others to take its shards. They take the rest when its lease has
// expired.
const transferLimit = 5 * time.Second

func (s *service) transferShards() {
	if s.nodes == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), transferLimit)
	defer cancel()
	begin := s.cfg.Clock.Now()
	if err := s.nodes.Transfer(ctx); err != nil {
		s.cfg.Log.Warn("shards not transferred", "reason", err)
		return
	}
	s.cfg.Log.Info("shards transferred", "took", s.cfg.Clock.Since(begin))
}

// leave removes this node from the live ones.
func (s *service) leave() {
	if s.nodes == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), transferLimit)
	defer cancel()
	if err := s.nodes.Leave(ctx); err != nil {
		s.cfg.Log.Warn("leaving the cluster failed", "reason", err)
	}
}

// present waits until the other nodes know that this one is live, for as long as they may not have noticed. Until then
// nothing is answered here, because this node's state may be stale.
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

const presencePause = 20 * time.Millisecond

// copiesLimit is how long a starting node is not ready because of incomplete copies. With a new disk copying may take
// hours.
const (
	copiesLimit = 20 * time.Second
	copiesPause = 50 * time.Millisecond
)

// awaitCopies waits until this node's copies are complete: then it can lead. If a leader stepped down for an incomplete
// node, there would be no leader for a second or two. A rolling restart that waits for readiness then always keeps a
// majority.
func (s *service) awaitCopies(ctx context.Context) {
	defer close(s.complete)
	begun := s.cfg.Clock.Now()
	for {
		reason := s.engine.Incomplete()
		if reason == "" {
			s.cfg.Log.Debug("copies of this node complete", "took", s.cfg.Clock.Since(begun))
			return
		}
		if s.cfg.Clock.Since(begun) >= copiesLimit {
			s.cfg.Log.Warn("copies of this node incomplete: do not stop another node before they are complete",
				"reason", reason, "see", "muster cluster nodes")
			return
		}
		select {
		case <-s.cfg.Clock.After(copiesPause):
		case <-ctx.Done():
			return
		}
	}
}

// inCluster reports whether load balancers should route requests to this node. A shard without an owner does not
// matter: all nodes wait for the next one.
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

// watchPresence closes the sockets of an unreachable node: its server processes then connect to another one, if load
// balancers use /readyz.
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
			s.cfg.Log.Error("other nodes unreachable: calls are refused, sockets of server processes closed")
			s.servers.CloseSockets()
			s.agents.CloseSockets()
			s.machines.CloseSockets()
		} else if was && !gone {
			s.cfg.Log.Info("other nodes reachable again")
		}
	}
}
