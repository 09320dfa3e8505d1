package nodes

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/nats-io/nats.go"

	"github.com/muster-gg/muster/internal/cluster"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Journal is this node's journal engine, which can be paused. See jetstream.Region.
type Journal interface {
	Keep(ctx context.Context) (release func(), err error)
	Hold(ctx context.Context) (acknowledged map[string]uint64, release func() error, err error)
}

// pauseSubject is the prefix of the subjects on which a node is paused for a backup; its name follows.
const pauseSubject = "muster.standstill."

// The steps of a pause, in this order.
type step string

const (
	keepStep    step = "keep"    // delete nothing; repeated until endStep
	holdStep    step = "hold"    // do not publish
	releaseStep step = "release" // publish again
	endStep     step = "end"     // delete and publish again
)

const (
	// keepWait bounds the wait for the end of deletions in progress.
	keepWait = 5 * time.Second

	// keepRenew is the interval of keepStep, and keepLimit the time without one after which a node deletes again.
	keepRenew = 4 * time.Second
	keepLimit = 15 * time.Second

	// holdWait bounds the wait for the end of publishes in progress. After holdLimit a node publishes again by itself.
	// Appends time out after 10 s.
	holdWait  = 2 * time.Second
	holdLimit = 3500 * time.Millisecond

	// answerSlack is added to the timeout of a request, so that the response can report what took too long.
	answerSlack = 300 * time.Millisecond
)

// An order is a request to a node during a backup.
type order struct {
	Backup string `json:"backup"` // its id
	Step   step   `json:"step"`
}

// A report is the response to an order.
type report struct {
	Failure string `json:"failure,omitempty"` // why it failed
	Busy    bool   `json:"busy,omitempty"`    // with Failure: another backup is in progress

	// Of hold, when nothing is published any more, and of release, before anything is published again:
	Shards       []int             `json:"shards,omitempty"`       // that the node certainly owns
	Acknowledged map[string]uint64 `json:"acknowledged,omitempty"` // see Journal; only of hold
}

// A pauser pauses this node on request.
type pauser struct {
	node    string
	shards  int // number in the region
	conn    *nats.Conn
	clock   clockwork.Clock
	log     *slog.Logger
	journal Journal
	members func() []cluster.Member
	owns    func(shard int) bool // certainly: see replica.Replica.Holds

	mu      sync.Mutex
	backup  string // that has paused the node
	keeping *pause
	holding *pause
}

// A pause ends by itself after a while.
type pause struct {
	end   func()
	timer clockwork.Timer
}

// handle executes an order. One goroutine calls it.
func (s *pauser) handle(ctx context.Context, m *nats.Msg) {
	var o order
	if err := json.Unmarshal(m.Data, &o); err != nil {
		s.log.Warn("malformed order of another node", "subject", m.Subject, "error", err)
		return
	}
	r, err := s.follow(ctx, o)
	if err != nil {
		r.Failure, r.Busy = err.Error(), errors.Is(err, journal.ErrSnapshotOpen)
		s.log.Debug("node not paused for a backup", "step", o.Step, "reason", err)
	}
	if m.Reply == "" {
		return
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil {
		s.log.Debug("response not sent", "subject", m.Subject, "error", err)
	}
}

var (
	errOver    = errors.New("no message about the backup arrived for too long")
	errUnknown = errors.New("unknown step")
)

func (s *pauser) follow(ctx context.Context, o order) (report, error) {
	switch o.Step {
	case keepStep:
		return report{}, s.keep(ctx, o.Backup)
	case holdStep:
		return s.hold(ctx, o.Backup)
	case releaseStep:
		return s.release(o.Backup)
	case endStep:
		s.end(o.Backup)
		return report{}, nil
	}
	return report{}, errUnknown
}

// keep starts or extends the pause of deletions.
func (s *pauser) keep(ctx context.Context, backup string) error {
	s.mu.Lock()
	if s.keeping != nil {
		defer s.mu.Unlock()
		if s.backup != backup {
			return journal.ErrSnapshotOpen
		}
		s.keeping.timer.Reset(keepLimit)
		return nil
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, keepWait)
	defer cancel()
	release, err := s.journal.Keep(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backup = backup
	s.keeping = &pause{release, s.clock.AfterFunc(keepLimit, func() { s.end(backup) })}
	return nil
}

func (s *pauser) hold(ctx context.Context, backup string) (report, error) {
	s.mu.Lock()
	known := s.keeping != nil && s.backup == backup && s.holding == nil
	s.mu.Unlock()
	if !known {
		return report{}, errOver
	}
	ctx, cancel := context.WithTimeout(ctx, holdWait)
	defer cancel()
	acknowledged, release, err := s.journal.Hold(ctx)
	if err != nil {
		return report{}, err
	}
	open := func() { _ = release() } // this node alone: its release cannot fail
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = &pause{open, s.clock.AfterFunc(holdLimit, func() { s.expire(backup) })}
	return report{Shards: s.owned(), Acknowledged: acknowledged}, nil
}

// expire lets this node publish again if no order to do so arrives.
func (s *pauser) expire(backup string) {
	if _, err := s.release(backup); err == nil {
		s.log.Warn("publishing resumed: no message from the node that takes the backup")
	}
}

// release fails if something may have been published since hold.
func (s *pauser) release(backup string) (report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holding == nil || s.backup != backup {
		return report{}, errOver
	}
	owned := s.owned()
	s.holding = s.holding.over()
	return report{Shards: owned}, nil
}

// end ends the pause for a backup; "" for any.
func (s *pauser) end(backup string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if backup == "" || s.backup == backup {
		s.holding, s.keeping = s.holding.over(), s.keeping.over()
	}
}

// over ends a pause, if there is one.
func (p *pause) over() *pause {
	if p != nil {
		p.timer.Stop()
		p.end()
	}
	return nil
}

// owned returns the shards that this node certainly owns.
func (s *pauser) owned() (shards []int) {
	for i := range s.shards {
		if s.owns(i) {
			shards = append(shards, i)
		}
	}
	return shards
}

// A RegionPause pauses all nodes of the region for one backup. It is a jetstream.Region.
type RegionPause struct {
	*pauser
	backup string
	paused []cluster.Member // members at the time of Keep
}

// RegionPause returns the pause of the region for one backup.
func (n *Nodes) RegionPause() *RegionPause {
	return &RegionPause{pauser: n.pauser, backup: rand.Text()}
}

// Keep prevents deletions on all nodes, including later members.
func (s *RegionPause) Keep(ctx context.Context) (release func(), err error) {
	s.paused = s.members()
	if _, err := s.order(ctx, keepStep, keepWait); err != nil {
		s.send(endStep)
		return nil, err
	}
	stop := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() { s.renew(stop) })
	return sync.OnceFunc(func() {
		close(stop)
		renewing.Wait()
		s.send(endStep)
	}), nil
}

func (s *RegionPause) renew(stop <-chan struct{}) {
	ticker := s.clock.NewTicker(keepRenew)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.Chan():
			s.send(keepStep)
		case <-stop:
			return
		}
	}
}

// Hold holds the publishing of all nodes. Only the owner of a shard can append to its journal. So if all shards have
// the same owners from the reports of hold to those of release, and these published nothing, no journal changed
// meanwhile, whatever other nodes did.
func (s *RegionPause) Hold(ctx context.Context) (acknowledged map[string]uint64, release func() error, err error) {
	reports, err := s.order(ctx, holdStep, holdWait)
	if err == nil {
		err = s.complete(reports)
	}
	if err != nil {
		s.send(releaseStep)
		return nil, nil, err
	}
	acknowledged = map[string]uint64{}
	for _, r := range reports {
		for stream, seq := range r.Acknowledged {
			acknowledged[stream] = max(acknowledged[stream], seq)
		}
	}
	return acknowledged, func() error {
		last, err := s.order(context.WithoutCancel(ctx), releaseStep, 0)
		if err != nil {
			return err
		}
		return s.unchanged(reports, last)
	}, nil
}

// complete checks that each shard is owned by a paused node.
func (s *RegionPause) complete(reports []report) error {
	for shard := range s.shards {
		if !slices.ContainsFunc(reports, func(r report) bool { return slices.Contains(r.Shards, shard) }) {
			return fault.New(fault.ServiceUnavailable,
				"Shard %d is being transferred, so no backup was taken. Try again.", shard)
		}
	}
	return nil
}

// unchanged checks that the owners of the shards are the same as before.
func (s *RegionPause) unchanged(before, after []report) error {
	for i := range before {
		for _, shard := range before[i].Shards {
			if !slices.Contains(after[i].Shards, shard) {
				return fault.New(fault.ServiceUnavailable,
					"Shard %d was transferred meanwhile, so no backup was taken. Try again.", shard)
			}
		}
	}
	return nil
}

// order sends an order to all nodes, and returns their reports.
func (s *RegionPause) order(ctx context.Context, what step, wait time.Duration) ([]report, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+answerSlack)
	defer cancel()
	reports, errs := make([]report, len(s.paused)), make([]error, len(s.paused))
	var asking sync.WaitGroup
	for i, m := range s.paused {
		asking.Go(func() { reports[i], errs[i] = s.ask(ctx, m.Node, what) })
	}
	asking.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return reports, nil
}

func (s *RegionPause) ask(ctx context.Context, node string, what step) (r report, err error) {
	data, err := json.Marshal(order{Backup: s.backup, Step: what})
	if err != nil {
		return r, err
	}
	m, err := s.conn.RequestWithContext(ctx, pauseSubject+node, data)
	if err == nil {
		err = json.Unmarshal(m.Data, &r)
	}
	switch {
	case err != nil:
		return r, &fault.Error{
			Kind: fault.ServiceUnavailable, Err: err,
			Message: fmt.Sprintf("Node %s did not answer, so no backup was taken. Try again; if it is lost, the "+
				"others continue without it after some seconds.", node),
		}
	case r.Busy:
		return r, fmt.Errorf("node %s: %w", node, journal.ErrSnapshotOpen)
	case r.Failure != "":
		return r, fault.New(fault.ServiceUnavailable, "Node %s did not pause, so no backup was taken: %s. Try again.",
			node, r.Failure)
	}
	return r, nil
}

// send sends an order to all present and former members, and waits for no response.
func (s *RegionPause) send(what step) {
	data, err := json.Marshal(order{Backup: s.backup, Step: what})
	if err != nil {
		s.log.Error("order not encoded", "error", err)
		return
	}
	var nodes []string
	for _, m := range slices.Concat(s.paused, s.members()) {
		nodes = append(nodes, m.Node)
	}
	slices.Sort(nodes)
	for _, node := range slices.Compact(nodes) {
		if err := s.conn.Publish(pauseSubject+node, data); err != nil {
			s.log.Debug("order not sent", "node", node, "error", err)
		}
	}
}
