package server

import (
	"context"
	"encoding/json"

	"github.com/muster-gg/muster/internal/cluster"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/region"
)

// raiseLevel raises the feature level in force of a cluster as far as all members support it, and returns it; see
// nodes.Config.
func (s *service) raiseLevel(ctx context.Context, known []cluster.Member) (int, error) {
	agreement, err := s.engine.Agreement(ctx)
	if err != nil {
		return 0, err
	}
	value, _, err := agreement.Read(ctx, identityKey)
	if err != nil {
		return 0, err
	}
	var all identity
	if err := json.Unmarshal(value, &all); err != nil {
		return 0, err
	}
	raise := func(all *identity) bool { return all.Raise(s.announced(all.Nodes, known)) }
	if before := all.InForce(); !raise(&all) {
		return before, nil
	}
	raised := false
	if all, err = s.amend(ctx, func(all *identity) error { raised = raise(all); return nil }); err != nil {
		return 0, err
	}
	if raised {
		s.cfg.Log.Info("feature level in force raised", "level", all.InForce())
	}
	return all.InForce(), nil
}

// announced returns the levels in the members' last heartbeats, 0 without one; see region.Levels.Raise. The embedded
// engine knows the members; with an external NATS each node that ever ran is one, until it is removed.
func (s *service) announced(noted map[string]int, known []cluster.Member) map[string]int {
	peers, embedded := s.engine.Peers()
	levels := map[string]int{}
	for _, m := range known {
		id := jetstream.NodeID(m.Node)
		if _, member := peers[id]; member || !m.Gone || !embedded {
			levels[m.Node] = max(1, m.Level)
		}
		delete(peers, id)
	}
	for node := range noted {
		delete(peers, jetstream.NodeID(node))
	}
	for id := range peers { // running with a release without levels
		levels[id] = 0
	}
	return levels
}

// levelInForce returns the feature level in force during the call.
func (s *service) levelInForce(ctx context.Context) (int, error) {
	if s.nodes == nil {
		return region.MaxLevel, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cutLimit)
	defer cancel()
	all, err := s.amend(ctx, func(*identity) error { return nil })
	return all.InForce(), err
}

// forgetNode removes a node from those that count for the feature level, and reports whether it was one of them. The
// node may be given by its id in the engine.
func (s *service) forgetNode(ctx context.Context, node string) (forgotten bool, err error) {
	is := func(name string) bool { return name == node || jetstream.NodeID(name) == node }
	for _, m := range s.nodes.Known() {
		if is(m.Node) {
			known, err := s.nodes.Forget(ctx, m.Node)
			if err != nil {
				return false, err
			}
			forgotten = forgotten || known
		}
	}
	_, err = s.amend(ctx, func(all *identity) error {
		for name := range all.Nodes {
			if is(name) && all.Remove(name) {
				forgotten = true
			}
		}
		return nil
	})
	return forgotten, err
}
