package placement

import (
	"errors"
	"fmt"

	"github.com/tidwall/btree"
)

// check holds a State to everything that must be true after every step. It finds anew
// what the State keeps to find placements by.
func check(s *State) error {
	c := checker{state: s}
	s.placements.Scan(func(id string, p *Placement) bool {
		if p.ID != id {
			c.fail("placement %s stands under %s", p.ID, id)
		}
		c.placement(p)
		return true
	})
	c.moments()
	c.announcements()
	return errors.Join(c.errs...)
}

type checker struct {
	state                  *State
	pending, over, waiting int
	errs                   []error
}

func (c *checker) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

func (c *checker) placement(p *Placement) {
	c.listed(p, "pending", c.state.pending, moment{p.Started, p.ID}, !p.HasEnded(), &c.pending)
	c.listed(p, "over", c.state.ended, moment{p.Ended, p.ID}, p.HasEnded(), &c.over)
	if c.state.live != nil {
		c.listed(p, "timers", c.state.timers, moment{p.Deadline, p.ID}, p.waits(), &c.waiting)
	}
	if len(p.Trail.Steps) > MaxSteps || len(p.Trail.Candidates) > MaxCandidates {
		c.fail("the trail of placement %s has %d steps and %d candidates", p.ID, len(p.Trail.Steps),
			len(p.Trail.Candidates))
	}
}

// sound holds placements to what is true of those that commands made; not of any bytes.
func sound(p *Placement) error {
	switch last := p.Trail.Steps[len(p.Trail.Steps)-1].Kind; {
	case p.HasEnded() && p.Attempt != nil && p.Attempt.Running:
		return fmt.Errorf("placement %s is %s and an attempt runs", p.ID, p.Status)
	case p.HasEnded() != (p.Ended != 0):
		return fmt.Errorf("placement %s is %s and ended %d", p.ID, p.Status, p.Ended)
	case (p.Status == Fulfilled) != (p.Session != nil):
		return fmt.Errorf("placement %s is %s with game session %+v", p.ID, p.Status, p.Session)
	case (p.Status == Failed) != (p.Reason != ""):
		return fmt.Errorf("placement %s is %s because %q", p.ID, p.Status, p.Reason)
	case p.HasEnded() && last != StepKind(p.Status), p.AttemptRunning() && last != StepAttempt:
		return fmt.Errorf("placement %s is %s, trying %v, and its trail ends with %s", p.ID, p.Status,
			p.AttemptRunning(),
			last)
	}
	return nil
}

func (c *checker) listed(p *Placement, where string, list *btree.BTreeG[moment], m moment, want bool, count *int) {
	if _, found := list.Get(m); found != want {
		c.fail("placement %s, %s: found among %s %v", p.ID, p.Status, where, found)
	}
	if want {
		*count++
	}
}

func (c *checker) moments() {
	if n := c.state.pending.Len(); n != c.pending {
		c.fail("%d placements are listed as PENDING, and %d are", n, c.pending)
	}
	if n := c.state.ended.Len(); n != c.over {
		c.fail("%d placements are listed as over, and %d are", n, c.over)
	}
	if c.state.live != nil && c.state.timers.Len() != c.waiting {
		c.fail("%d placements have timers, and %d wait", c.state.timers.Len(), c.waiting)
	}
}

func (c *checker) announcements() {
	last := uint64(0)
	for _, a := range c.state.outbox {
		if a.Seq <= last || a.Seq > c.state.header.Announced {
			c.fail("announcement %d stands behind %d, the newest is %d", a.Seq, last, c.state.header.Announced)
		}
		last = a.Seq
	}
}
