package control

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matchmaking/matchdriver"
	"github.com/muster-gg/muster/internal/placement/placer"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Of some things there must be one in a region: what drives placements and matchmaking,
// publishes events and tidies up. The node that owns the shard of the catalog leads: it
// runs them. They begin with the state of all shards, which they are reminded of, and
// everything they do can be done twice: so nothing is lost or doubled when the lead
// changes hands, nor when two nodes believe to lead for a while.

// A Cluster is what a control plane needs of the nodes that it shares its shards with.
type Cluster interface {
	router.Cluster

	// Tell sends a message to all other nodes, to Plane.Hear, at most once.
	Tell(message []byte)

	// Level raises the feature level in force as far as all members of the region read it, and returns
	// it. The node that leads calls it.
	Level(ctx context.Context) (int, error)

	// AskLead has the Plane.Answer of the node that leads answer a question.
	AskLead(ctx context.Context, question []byte) (answer []byte, err error)
}

// A leader says whether this node leads.
type leader struct {
	number atomic.Uint64 // not 0 while it does; another one each time
	shards []ledShard

	begun chan struct{} // closed when the drivers have begun with all shards for the first time
	with  atomic.Int64  // with how many they have

	mu   sync.Mutex
	last uint64
	over chan struct{} // while it does: closed at the end
}

// A ledShard belongs to the commit goroutine of a shard.
type ledShard struct {
	number uint64 // of the leadership for which the drivers have begun with this shard
	begun  bool   // they have begun with it at some time
}

// drives reports whether a commit is for the drivers: when this node leads, from a commit on that shows the state, with
// which they begin.
func (l *leader) drives(c *router.Commit) bool {
	number := l.number.Load()
	if c.Recovered || c.Refresh {
		l.shards[c.Shard].number = number
	}
	return number != 0 && l.shards[c.Shard].number == number
}

// hasBegun notes that the drivers have begun with a shard.
func (l *leader) hasBegun(shard int) {
	if s := &l.shards[shard]; !s.begun {
		s.begun = true
		if int(l.with.Add(1)) == len(l.shards) {
			close(l.begun)
		}
	}
}

// ended is closed when this node does not lead any more; nil when it does not.
func (l *leader) ended() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

func (l *leader) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.over = make(chan struct{})
	l.number.Store(l.last)
}

func (l *leader) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.number.Store(0)
	close(l.over)
	l.over = nil
}

// lead runs the drivers whenever this node leads, until ctx is done.
func (p *Plane) lead(ctx context.Context) error {
	catalog := p.Shards()[region.CatalogShard]
	for ctx.Err() == nil {
		if !catalog.Owned() {
			select {
			case <-catalog.OwnershipChanged():
			case <-ctx.Done():
			}
			continue
		}
		if err := p.leadOnce(ctx); err != nil {
			return err
		}
	}
	return nil
}

// leadOnce leads until another node does, or ctx is done.
func (p *Plane) leadOnce(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := p.history.Begin(ctx); err != nil && ctx.Err() == nil {
		p.cfg.Log.Warn("the history does not answer; listings may show what is moved there twice", "err", err)
	}
	p.placing.step((*placer.Machine).Begin)
	p.matching.begin()
	p.publisher.Begin()
	p.leader.begin()
	defer func() {
		p.leader.end()
		p.placing.step((*placer.Machine).End)
		p.matching.step((*matchdriver.Driver).End)
	}()
	for _, s := range p.Shards() {
		s.Refresh()
	}
	group, ctx := errgroup.WithContext(ctx)
	drivers := []func(context.Context) error{p.placing.review, p.matching.review, p.publisher.Run, p.tidy, p.raiseLevel}
	for _, run := range append(drivers, p.cfg.Drivers...) {
		group.Go(func() error { return run(ctx) })
	}
	group.Go(func() error {
		defer cancel()
		p.awaitSuccessor(ctx)
		return nil
	})
	return group.Wait()
}

// awaitSuccessor returns when this node does not own the catalog any more.
func (p *Plane) awaitSuccessor(ctx context.Context) {
	catalog := p.Shards()[region.CatalogShard]
	for catalog.Owned() {
		select {
		case <-catalog.OwnershipChanged():
		case <-ctx.Done():
			return
		}
	}
}

// A message is an update of a backfill ticket, for the node to which its process is connected.
type message struct {
	Location string                          `json:"location"`
	Fleet    fleet.ID                        `json:"fleet"`
	Compute  string                          `json:"compute"`
	Process  string                          `json:"process"`
	Update   processes.UpdateGameSessionPush `json:"update"`
}

// Hear receives a message of another node.
func (p *Plane) Hear(data []byte) {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		p.cfg.Log.Warn("a message of another node cannot be read", "err", err)
		return
	}
	p.processes.Push(processes.Key{
		Room:    fleet.RoomID{Fleet: m.Fleet, Location: m.Location},
		Process: fleet.ProcessKey{Compute: m.Compute, ID: m.Process},
	}, m.Update)
}

// tellNodes sends the other nodes an update, for the one to which the process is connected.
func (p *Plane) tellNodes(host processes.Key, update processes.UpdateGameSessionPush) {
	if p.cfg.Cluster == nil {
		return
	}
	data, err := json.Marshal(message{
		Fleet: host.Room.Fleet, Location: host.Room.Location,
		Compute: host.Process.Compute, Process: host.Process.ID, Update: update,
	})
	if err != nil {
		p.cfg.Log.Error("an update cannot be written", "err", err)
		return
	}
	p.cfg.Cluster.Tell(data)
}

// An explanationAnswer is the answer to the one question that nodes have: why a ticket
// waits. The question is its id.
type explanationAnswer struct {
	Explanation matcher.Explanation `json:"explanation"`
	Fault       fault.Kind          `json:"fault,omitempty"` // with Message: there is none
	Message     string              `json:"message,omitempty"`
}

// leadMoves is the error of a question while no node leads: it may be asked again.
func (p *Plane) leadMoves() error {
	if p.cfg.Cluster == nil {
		return shard.Stopped()
	}
	return &fault.Error{
		Kind: fault.ServiceUnavailable, Message: "Matchmaking is changing hands. Try again.", Err: shard.ErrNotDone,
	}
}

// explainElsewhere asks the node that leads why a ticket waits.
func (p *Plane) explainElsewhere(ctx context.Context, ticket string) (matcher.Explanation, error) {
	if p.cfg.Cluster == nil {
		return matcher.Explanation{}, p.leadMoves()
	}
	data, err := p.cfg.Cluster.AskLead(ctx, []byte(ticket))
	if err != nil {
		return matcher.Explanation{}, p.leadMoves()
	}
	var a explanationAnswer
	if err := json.Unmarshal(data, &a); err != nil {
		return matcher.Explanation{}, fault.Internal(err)
	}
	if a.Fault != "" {
		return matcher.Explanation{}, fault.New(a.Fault, "%s", a.Message)
	}
	return a.Explanation, nil
}

// Answer answers a question of another node, if this one leads and knows the answer in time.
func (p *Plane) Answer(ctx context.Context, question []byte) (answer []byte, ok bool) {
	if p.leader.ended() == nil {
		return nil, false
	}
	var a explanationAnswer
	x, err := p.explainTicket(ctx, string(question))
	if err == nil && x.Explanation == nil {
		err = matchdriver.JustMatched(x.Ticket)
	}
	if errors.Is(err, shard.ErrNotDone) || errors.Is(err, shard.ErrOutcomeUnknown) || ctx.Err() != nil {
		return nil, false
	}
	if err != nil {
		f := fault.Of(err)
		a.Fault, a.Message = f.Kind, f.Message
	} else {
		a.Explanation = *x.Explanation
	}
	answer, err = json.Marshal(a)
	return answer, err == nil
}
