package jetstream

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// The server's groups of replicas elect a new leader when they have not heard of
// the old one for 4 to 9 seconds; no option changes that. For a region that is too
// long: leases stand in such a group, too. But a replica that is asked for its
// vote in a new term, by a candidate that has less than itself, stands for
// election at once (raft.processVoteRequest in nats-server 2.15). So each node looks
// after the leaders of its groups, and when one is gone it asks for votes as a
// candidate that has nothing. That one never wins, and what it does to a leader
// who is there after all is what any replica does that misses him: another
// election. A test holds that it works; where a release of the server has it
// otherwise, elections take their 4 to 9 seconds.
const (
	// lookEvery is the time between two looks.
	lookEvery = 200 * time.Millisecond

	// silence is how long a leader is not heard of before he is missed. He is heard of
	// at least every second; what he said last may be another second old.
	silence = 2500 * time.Millisecond

	// stoodStill is the time between two looks after which others may have spoken and
	// were not heard.
	stoodStill = time.Second

	// missedLooks is how often a leader is missed before an election: the connection
	// to him may come back at once.
	missedLooks = 2

	// electionLooks is how long an election has, before there is another one. Each
	// member waits for 0.8 s at most before it stands.
	electionLooks = 6

	// splitLooks is how long one stands who does not get the votes, before there is
	// another election: two have stood at the same time, and would wait for seconds.
	splitLooks = 3
)

// candidate is the id of who asks for votes. Those of servers are hashes in other
// letters.
const candidate = "-muster-"

// A watch is what a node remembers of one group between two looks.
type watch struct {
	term   uint64
	missed int  // looks without a leader
	stands int  // looks at which this node has stood for election
	backed bool // this node leads it, and has had a majority since it does
}

// watchElections begins to look after the leaders of this node's groups, and stops
// the server when the engine is broken: a node that cannot write must not lead.
func (e *Engine) watchElections() error {
	system, err := e.dial(systemUser)
	if err != nil {
		return err
	}
	ear := newEar(e.cfg.Cluster.Node)
	if _, err := system.Subscribe(helloSubject+"*", func(m *nats.Msg) { ear.hear(m.Subject, m.Data, time.Now()) }); err != nil {
		system.Close()
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.lookAfter(ctx, system, ear)
	}()
	e.elections = func() {
		cancel()
		<-done
		system.Close()
	}
	return nil
}

func (e *Engine) lookAfter(ctx context.Context, system *nats.Conn, ear *ear) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	watched, last := map[string]*watch{}, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.broken.Done():
			e.server.Shutdown()
			return
		case <-ticker.C:
		}
		stood := time.Since(last) > stoodStill
		last = time.Now()
		if stood { // this process is the one who was away
			clear(watched)
			continue
		}
		if err := system.Publish(helloSubject+e.cfg.Cluster.Node, ear.hello(last)); err != nil {
			e.cfg.Log.Debug("the other nodes cannot be greeted", "error", err)
		}
		e.look(watched, system, ear.reaches(e.connected(), last))
	}
}

// groups are all groups of replicas that this node is in, by name: that of the servers is in
// the system account, those of streams are in the one that everything of ours is in.
func (e *Engine) groups() iter.Seq2[string, server.RaftzGroup] {
	return func(yield func(string, server.RaftzGroup) bool) {
		for _, account := range []string{server.DEFAULT_SYSTEM_ACCOUNT, server.DEFAULT_GLOBAL_ACCOUNT} {
			status := e.server.Raftz(&server.RaftzOptions{AccountFilter: account})
			if status == nil {
				continue
			}
			for name, group := range (*status)[account] {
				if !yield(name, group) {
					return
				}
			}
		}
	}
}

// look looks at all groups once. reached are the nodes that this one hears and that hear it.
func (e *Engine) look(watched map[string]*watch, system *nats.Conn, reached []string) {
	var alone []string
	for name, group := range e.groups() {
		w := watched[name]
		if w == nil {
			w = &watch{}
			watched[name] = w
		}
		if w.due(&group, reached) {
			e.elect(system, name, &group)
		}
		if w.isAlone(&group, reached) {
			alone = append(alone, name)
		}
	}
	if len(alone) > 0 {
		e.resign(system, alone)
	}
}

// resign lets this node lead groups no more that do not hear it, or that it does not hear. One
// who is not heard has no followers anyway. But one who is heard and hears nobody keeps them from
// electing another: whatever comes from a leader, of a term that is long over, too, lets a
// follower wait anew (raft.processAppendEntry in nats-server 2.15). When he resigns he asks one of
// them to take his place.
func (e *Engine) resign(system *nats.Conn, groups []string) {
	e.cfg.Log.Info("this node leads groups of replicas and reaches no majority: it resigns", "groups", len(groups))
	if slices.Contains(groups, metaGroupName) {
		if err := system.PublishRequest(server.JSApiLeaderStepDown, nats.NewInbox(), nil); err != nil {
			e.cfg.Log.Warn("this node cannot resign", "group", metaGroupName, "error", err)
		}
	}
	here, err := e.server.Jsz(&server.JSzOptions{Account: server.DEFAULT_GLOBAL_ACCOUNT, Streams: true, RaftGroups: true})
	if err != nil {
		e.cfg.Log.Warn("this node cannot resign", "error", err)
		return
	}
	for _, account := range here.AccountDetails {
		for _, s := range account.Streams {
			if !slices.Contains(groups, s.RaftGroup) {
				continue
			}
			if err := e.server.JetStreamStepdownStream(account.Name, s.Name); err != nil {
				e.cfg.Log.Warn("this node cannot resign", "stream", s.Name, "error", err)
			}
		}
	}
}

// metaGroupName is the group of all nodes.
const metaGroupName = "_meta_"

// elect calls for an election in a group.
func (e *Engine) elect(system *nats.Conn, name string, g *server.RaftzGroup) {
	e.cfg.Log.Info("a group of replicas has no leader, and elects one", "group", name, "term", g.Term, "leader", g.Peers[g.Leader].Name)
	if err := system.PublishRequest("$NRG.V."+name, nats.NewInbox(), voteRequest(g.Term+1)); err != nil {
		e.cfg.Log.Warn("an election cannot be called for", "group", name, "error", err)
	}
}

// due reports whether it is time for an election.
func (w *watch) due(g *server.RaftzGroup, reached []string) bool {
	if g.Term != w.term { // there was one just now
		w.term, w.missed, w.stands = g.Term, 0, 0
	}
	if !missesLeader(g, reached) || !hasQuorum(g, reached) {
		w.missed, w.stands = 0, 0
		return false
	}
	w.missed++
	if g.State == server.Candidate.String() {
		w.stands++
	}
	return w.missed == missedLooks && g.Leader != "" || w.missed >= electionLooks || w.stands == splitLooks
}

// isAlone reports whether it is time to resign: at once, before the others call for an election
// and do not listen any more. Who has not had a majority here has just begun.
func (w *watch) isAlone(g *server.RaftzGroup, reached []string) bool {
	leads, backed := g.State == server.Leader.String(), hasQuorum(g, reached)
	w.backed = leads && (w.backed || backed)
	return w.backed && !backed
}

// missesLeader reports whether a group has no leader that is reached. A group
// without records has not begun, and begins by itself.
func missesLeader(g *server.RaftzGroup, reached []string) bool {
	if g.State == server.Leader.String() || g.PTerm == 0 || g.Observer || g.Paused {
		return false
	}
	leader, known := g.Peers[g.Leader]
	if !known {
		return g.Leader == ""
	}
	heard, err := time.ParseDuration(leader.LastSeen)
	return !slices.Contains(reached, leader.Name) || err == nil && heard > silence
}

// hasQuorum reports whether there are enough members to elect a leader.
func hasQuorum(g *server.RaftzGroup, reached []string) bool {
	members := 1
	for _, peer := range g.Peers {
		if slices.Contains(reached, peer.Name) {
			members++
		}
	}
	return members >= g.QuorumNeeded
}

// voteRequest asks for votes in a term for a candidate whose log is empty. Source:
// voteRequest.encode in raft.go of nats-server 2.15.
func voteRequest(term uint64) []byte {
	request := binary.LittleEndian.AppendUint64(nil, term)
	request = append(request, make([]byte, 16)...) // the term and the number of its last entry
	return fmt.Append(request, candidate)
}
