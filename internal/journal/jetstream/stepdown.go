package jetstream

import (
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// lookEvery is the time between two checks of the groups that this node leads.
	lookEvery = 200 * time.Millisecond

	// silence is the age from which the last response of a follower no longer counts. Followers respond to a heartbeat
	// every 1 to 2 s. The server transfers leadership only to a follower that responded within 3 s.
	silence = 2500 * time.Millisecond

	// stalled is the time between two checks from which this process was stalled: responses may be unread.
	stalled = time.Second
)

// watchGroups starts to check the groups that this node leads, and to stop the server when the engine is broken: a node
// that cannot write must not lead. stop ends that and waits for it.
func (e *Engine) watchGroups() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.checkGroups(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (e *Engine) checkGroups(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	backed, last := backed{}, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.broken.Done():
			e.server.Shutdown()
			return
		case <-ticker.C:
		}
		if time.Since(last) > stalled {
			clear(backed)
		}
		last = time.Now()
		var lost []string
		for name, group := range e.groups() {
			if backed.lost(name, &group) {
				lost = append(lost, name)
			}
		}
		if len(lost) > 0 {
			e.stepDownFrom(ctx, lost)
		}
	}
}

// backed holds the names of the groups that this node leads, and has received responses from a majority of since it
// leads them.
type backed map[string]bool

// lost reports whether this node leads a group and has lost its majority since the check before.
func (b backed) lost(name string, g *server.RaftzGroup) bool {
	leads, majority := g.State == server.Leader.String(), hearsMajority(g)
	had := b[name]
	b[name] = leads && majority
	return leads && had && !majority
}

// hearsMajority reports whether the leader of a group, and followers that responded lately, are a majority.
func hearsMajority(g *server.RaftzGroup) bool {
	members := 1
	for _, peer := range g.Peers {
		if ago, err := time.ParseDuration(peer.LastSeen); err == nil && ago <= silence {
			members++
		}
	}
	return members >= g.QuorumNeeded
}

// stepDownFrom ends this node's leadership of groups. If the connections fail in one direction, its followers still
// receive its heartbeats and elect no other leader, and the server itself waits for 10 to 20 s (lostQuorumCheck in
// raft.go). On its way out a leader asks a follower to succeed it.
func (e *Engine) stepDownFrom(ctx context.Context, groups []string) {
	e.cfg.Log.Info("leader lost its majority, stepping down", "groups", len(groups))
	if slices.Contains(groups, metaGroupName) {
		ctx, cancel := context.WithTimeout(ctx, leadAsk)
		defer cancel()
		if _, err := e.systemRequest(ctx, server.JSApiLeaderStepDown, nil); err != nil {
			e.cfg.Log.Warn("step-down failed", "group", metaGroupName, "error", err)
		}
	}
	local, err := e.server.Jsz(&server.JSzOptions{Account: server.DEFAULT_GLOBAL_ACCOUNT, Streams: true,
		RaftGroups: true})
	if err != nil {
		e.cfg.Log.Warn("step-down failed", "error", err)
		return
	}
	for _, account := range local.AccountDetails {
		for _, s := range account.Streams {
			if !slices.Contains(groups, s.RaftGroup) {
				continue
			}
			if err := e.server.JetStreamStepdownStream(account.Name, s.Name); err != nil {
				e.cfg.Log.Warn("step-down failed", "stream", s.Name, "error", err)
			}
		}
	}
}
