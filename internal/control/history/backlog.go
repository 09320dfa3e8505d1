package history

import (
	"context"
	"math"
	"runtime/debug"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// This file watches whether the history keeps up: whether what has ended leaves memory in time, and whether the index
// of this node follows. Each node does so for itself, from the shards' state.

const (
	// tendEvery is the interval of a node's checks.
	tendEvery = 10 * time.Second

	// grace is how late something may be moved, or the index be behind, before there is a warning.
	grace = time.Minute

	// recordSize is about how much memory a record needs, in bytes: see docs/scaling.md.
	recordSize = 300

	// mostOverdue is how many records may be overdue before new work is refused.
	mostOverdue = 1_000_000
)

// overdueLimit returns mostOverdue, or less if they would take an eighth of the process's memory limit.
func overdueLimit() int {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return int(min(limit/8/recordSize, mostOverdue))
	}
	return mostOverdue
}

// A backlog counts records that should have left memory some time ago.
type backlog struct {
	Records int           // game sessions, player sessions, placements and tickets, as far as they were counted
	Late    time.Duration // of the one that ended first
}

// hold returns how long a few records may wait for others of their batch.
func (h *History) hold() time.Duration { return min(maxHold, h.cfg.Retention/2) }

// Admit returns ThrottlingException while so much is overdue that new work would use up the memory.
func (h *History) Admit() error {
	if o := h.overdue.Load(); o != nil && o.Records >= h.cfg.MaxOverdue {
		return fault.New(fault.Throttling, "What has ended is not moved to the history in time: at least %d records "+
			"wait, the first one for %s longer than it should. Try again later.", o.Records, o.Late.Round(time.Second))
	}
	return nil
}

// tend runs the periodic checks of the history until ctx is done.
func (h *History) tend(ctx context.Context) {
	ticker := h.cfg.Clock.NewTicker(tendEvery)
	defer ticker.Stop()
	var w warnings
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.Chan():
		}
		h.warn(ctx, "expired entries of the history not deleted from its index; trying again later", h.expireNow(ctx))
		h.watch(ctx, &w)
	}
}

// warnings are those of one node: that too little is moved, that the index is behind.
type warnings struct{ slow, behind warning }

// watch counts what is overdue, for Admit, and warns.
func (h *History) watch(ctx context.Context, w *warnings) {
	now := h.cfg.Clock.Now()
	if o, err := h.countOverdue(ctx); err == nil {
		h.overdue.Store(&o)
		if w.slow.due(now, o.Records > 0, 0) {
			h.cfg.Log.Warn("ended records not moved to the history in time", "records", o.Records, "late", o.Late,
				"refusing_new_work", o.Records >= h.cfg.MaxOverdue,
				"reason", reason(h.moving.Load(), "none on this node; see the log of the node that leads"))
		}
	}
	if s, err := h.State(ctx); err == nil && w.behind.due(now, s.Behind > 0, grace) {
		h.cfg.Log.Warn("the index of the history is behind; calls about what has ended wait for it",
			"batches", s.Behind, "reason", reason(h.following.Load(), "it is being built, or the disk is slow"))
	}
}

// A warning is repeated each minute while something is wrong.
type warning struct{ since, last time.Time }

// due reports whether to warn about something that has been wrong for so long.
func (w *warning) due(now time.Time, wrong bool, after time.Duration) bool {
	switch {
	case !wrong:
		*w = warning{}
		return false
	case w.since.IsZero():
		w.since = now
	}
	if now.Sub(w.since) < after || !w.last.IsZero() && now.Sub(w.last) < time.Minute {
		return false
	}
	w.last = now
	return true
}

// reason returns an error, or what else may be the reason.
func reason(err *error, otherwise string) string {
	if err != nil && *err != nil {
		return (*err).Error()
	}
	return otherwise
}

// countOverdue counts what is overdue, up to the limit.
func (h *History) countOverdue(ctx context.Context) (o backlog, err error) {
	now := event.At(h.cfg.Clock.Now())
	soon := now.Add(-h.cfg.Retention - h.hold() - grace)
	first := now
	for _, s := range h.cfg.Shards {
		if s.Level() < BatchLevel {
			continue // nothing is moved yet
		}
		type counted struct {
			n     int
			first event.Time
		}
		found, err := read(ctx, s, func(m *region.Machine) counted {
			c := counted{first: first}
			limit := h.cfg.MaxOverdue
			for _, r := range m.Rooms() {
				for _, g := range r.EndedBefore(soon, limit/4+1) {
					c.n, c.first = c.n+1+len(g.PastPlayers), min(c.first, g.Ended)
				}
			}
			for _, p := range m.Placements().EndedBefore(soon, limit) {
				c.n, c.first = c.n+1, min(c.first, p.Ended)
			}
			if m.Matchmaking() != nil {
				for _, t := range m.Matchmaking().EndedBefore(soon, limit) {
					c.n, c.first = c.n+1, min(c.first, t.Ended)
				}
			}
			return c
		})
		if err != nil {
			return o, err
		}
		o.Records += found.n
		first = min(first, found.first)
	}
	if o.Records > 0 {
		o.Late = soon.Sub(first) + grace
	}
	return o, nil
}
