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
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/journal"
)

// A Journal is what this node writes into, and how it is brought to rest. See
// jetstream.Region.
type Journal interface {
	Keep(ctx context.Context) (release func(), err error)
	Hold(ctx context.Context) (acknowledged map[string]uint64, release func() error, err error)
}

// standstillSubject is the beginning of the subjects on which a node is told to stand
// still for a backup; its name follows.
const standstillSubject = "muster.standstill."

// What a node is told, in this order.
type step string

const (
	keepStep    step = "keep"    // forget nothing; again and again, as long as that is to last
	holdStep    step = "hold"    // publish nothing
	releaseStep step = "release" // publish again
	endStep     step = "end"     // forget and publish again
)

const (
	// keepWait is how long a node takes, at most, to end its forgetting.
	keepWait = 5 * time.Second

	// keepRenew is how often nodes are told to keep, and keepLimit how long they do without
	// hearing it.
	keepRenew = 4 * time.Second
	keepLimit = 15 * time.Second

	// holdWait is how long a node takes, at most, to end its publishing, and holdLimit
	// after how long it publishes again by itself. Appends give up after 5 s.
	holdWait  = 2 * time.Second
	holdLimit = 3500 * time.Millisecond

	// answerSlack is how much longer an answer is waited for, which says what took too long.
	answerSlack = 300 * time.Millisecond
)

// An order is what a node is told for a backup.
type order struct {
	Backup string `json:"backup"` // its id
	Step   step   `json:"step"`
}

// A report is the answer to an order.
type report struct {
	Failure string `json:"failure,omitempty"` // why it was not followed
	Busy    bool   `json:"busy,omitempty"`    // with Failure: there is another backup

	// Of hold, when nothing is published any more, and of release, before anything is
	// published again:
	Shards       []int             `json:"shards,omitempty"`       // that the node owns for certain
	Acknowledged map[string]uint64 `json:"acknowledged,omitempty"` // see Journal; of hold alone
}

// A stander brings this node to rest when it is told to.
type stander struct {
	node    string
	shards  int // of the region
	conn    *nats.Conn
	clock   clockwork.Clock
	log     *slog.Logger
	journal Journal
	members func() []cluster.Member
	owns    func(shard int) bool // for certain: see replica.Replica.Holds

	mu      sync.Mutex
	backup  string // for which it stands still
	keeping *pause
	holding *pause
}

// A pause ends by itself after a while.
type pause struct {
	end   func()
	timer clockwork.Timer
}

// told follows an order. Orders are followed one after the other.
func (s *stander) told(ctx context.Context, m *nats.Msg) {
	var o order
	if err := json.Unmarshal(m.Data, &o); err != nil {
		s.log.Warn("an order of another node cannot be read", "subject", m.Subject, "error", err)
		return
	}
	r, err := s.follow(ctx, o)
	if err != nil {
		r.Failure, r.Busy = err.Error(), errors.Is(err, journal.ErrCut)
		s.log.Debug("the node does not stand still for a backup", "step", o.Step, "reason", err)
	}
	if m.Reply == "" {
		return
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = m.Respond(data)
	}
	if err != nil {
		s.log.Debug("an answer to another node was not sent", "subject", m.Subject, "error", err)
	}
}

var (
	errOver    = errors.New("it has not heard of the backup for too long")
	errUnknown = errors.New("it does not know this order")
)

func (s *stander) follow(ctx context.Context, o order) (report, error) {
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

// keep begins to keep, or goes on.
func (s *stander) keep(ctx context.Context, backup string) error {
	s.mu.Lock()
	if s.keeping != nil {
		defer s.mu.Unlock()
		if s.backup != backup {
			return journal.ErrCut
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

func (s *stander) hold(ctx context.Context, backup string) (report, error) {
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
	open := func() { _ = release() } // of this node alone: it cannot have published
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = &pause{open, s.clock.AfterFunc(holdLimit, func() { s.expire(backup) })}
	return report{Shards: s.owned(), Acknowledged: acknowledged}, nil
}

// expire lets this node publish again when nobody has told it to.
func (s *stander) expire(backup string) {
	if _, err := s.release(backup); err == nil {
		s.log.Warn("the node publishes again: whoever takes the backup is not heard any more")
	}
}

// release fails when something may have been published since hold.
func (s *stander) release(backup string) (report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holding == nil || s.backup != backup {
		return report{}, errOver
	}
	owned := s.owned()
	s.holding = s.holding.over()
	return report{Shards: owned}, nil
}

// end ends the standstill for a backup; "" for whichever.
func (s *stander) end(backup string) {
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

// owned lists the shards that this node owns for certain.
func (s *stander) owned() (shards []int) {
	for i := range s.shards {
		if s.owns(i) {
			shards = append(shards, i)
		}
	}
	return shards
}

// A Standstill brings all nodes of the region to rest for one backup. It is a
// jetstream.Region.
type Standstill struct {
	*stander
	backup string
	told   []cluster.Member // to keep, all at the beginning
}

// Standstill is for one backup.
func (n *Nodes) Standstill() *Standstill { return &Standstill{stander: n.stander, backup: rand.Text()} }

// Keep has all nodes keep, also those that come later.
func (s *Standstill) Keep(ctx context.Context) (release func(), err error) {
	s.told = s.members()
	if _, err := s.order(ctx, keepStep, keepWait); err != nil {
		s.tell(endStep)
		return nil, err
	}
	stop := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() { s.renew(stop) })
	return sync.OnceFunc(func() {
		close(stop)
		renewing.Wait()
		s.tell(endStep)
	}), nil
}

func (s *Standstill) renew(stop <-chan struct{}) {
	ticker := s.clock.NewTicker(keepRenew)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.Chan():
			s.tell(keepStep)
		case <-stop:
			return
		}
	}
}

// Hold holds the publishing of all nodes. The owner of a shard is the only one who can append to its
// journal; so when all shards have had the same owners from the answers to hold until those to release, and
// these published nothing, all journals stood still meanwhile, whoever else there was.
func (s *Standstill) Hold(ctx context.Context) (acknowledged map[string]uint64, release func() error, err error) {
	reports, err := s.order(ctx, holdStep, holdWait)
	if err == nil {
		err = s.complete(reports)
	}
	if err != nil {
		s.tell(releaseStep)
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

// complete checks that each shard is owned by a node that stands still.
func (s *Standstill) complete(reports []report) error {
	for shard := range s.shards {
		if !slices.ContainsFunc(reports, func(r report) bool { return slices.Contains(r.Shards, shard) }) {
			return fault.New(fault.ServiceUnavailable, "Shard %d is changing hands, so no backup was taken. Try again.", shard)
		}
	}
	return nil
}

// unchanged checks that the owners of the shards are those of before.
func (s *Standstill) unchanged(before, after []report) error {
	for i := range before {
		for _, shard := range before[i].Shards {
			if !slices.Contains(after[i].Shards, shard) {
				return fault.New(fault.ServiceUnavailable, "Shard %d has changed hands meanwhile, so no backup was taken. Try again.", shard)
			}
		}
	}
	return nil
}

// order has all nodes follow an order, and returns what each reports.
func (s *Standstill) order(ctx context.Context, what step, wait time.Duration) ([]report, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+answerSlack)
	defer cancel()
	reports, errs := make([]report, len(s.told)), make([]error, len(s.told))
	var asking sync.WaitGroup
	for i, m := range s.told {
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

func (s *Standstill) ask(ctx context.Context, node string, what step) (r report, err error) {
	data, err := json.Marshal(order{Backup: s.backup, Step: what})
	if err != nil {
		return r, err
	}
	m, err := s.conn.RequestWithContext(ctx, standstillSubject+node, data)
	if err == nil {
		err = json.Unmarshal(m.Data, &r)
	}
	switch {
	case err != nil:
		return r, &fault.Error{
			Kind: fault.ServiceUnavailable, Err: err,
			Message: fmt.Sprintf("Node %s did not answer, so no backup was taken. Try again; if it is gone, the others do without it in some seconds.", node),
		}
	case r.Busy:
		return r, fmt.Errorf("node %s: %w", node, journal.ErrCut)
	case r.Failure != "":
		return r, fault.New(fault.ServiceUnavailable, "Node %s did not stand still, so no backup was taken: %s. Try again.", node, r.Failure)
	}
	return r, nil
}

// tell gives an order to all nodes that there are or were, and waits for nobody.
func (s *Standstill) tell(what step) {
	data, err := json.Marshal(order{Backup: s.backup, Step: what})
	if err != nil {
		s.log.Error("an order for the other nodes cannot be written", "error", err)
		return
	}
	var nodes []string
	for _, m := range slices.Concat(s.told, s.members()) {
		nodes = append(nodes, m.Node)
	}
	slices.Sort(nodes)
	for _, node := range slices.Compact(nodes) {
		if err := s.conn.Publish(standstillSubject+node, data); err != nil {
			s.log.Debug("an order to another node was not sent", "node", node, "error", err)
		}
	}
}
