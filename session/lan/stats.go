package lan

import (
	"errors"
	"sync/atomic"
)

// Stats count what a Network has done and heard since it was made.
type Stats struct {
	// Of announced sessions.
	Queries uint64 // heard, of this application
	Replies uint64 // sent
	Silent  uint64 // queries without reply: the session cannot be joined, or is of another build
	OffLink uint64 // queries without reply: the asker is not on a link of this machine
	Limited uint64 // queries without reply: too many (Limits), or shorter than the reply

	// Of searches.
	Asked    uint64 // queries sent
	Answers  uint64 // replies accepted, those of sessions found before included
	Unasked  uint64 // replies ignored: to another search, to a query of long ago, or of another build
	Overflow uint64 // replies ignored: the search has as many results as it may have

	// Of both.
	Malformed uint64 // packets ignored: not of the protocol
	Foreign   uint64 // packets ignored: of another application or version
	Failed    uint64 // packets that could not be sent
}

// counters are Stats while they are counted.
type counters struct {
	queries, replies, silent, offLink, limited atomic.Uint64
	asked, answers, unasked, overflow          atomic.Uint64
	malformed, foreign, failed                 atomic.Uint64
}

// ignore counts a packet that could not be read.
func (c *counters) ignore(err error) {
	if errors.Is(err, errForeign) {
		c.foreign.Add(1)
		return
	}
	c.malformed.Add(1)
}

// Stats returns the counts up to now.
func (n *Network) Stats() Stats {
	c := &n.stats
	return Stats{
		Queries: c.queries.Load(), Replies: c.replies.Load(), Silent: c.silent.Load(),
		OffLink: c.offLink.Load(), Limited: c.limited.Load(),
		Asked: c.asked.Load(), Answers: c.answers.Load(), Unasked: c.unasked.Load(), Overflow: c.overflow.Load(),
		Malformed: c.malformed.Load(), Foreign: c.foreign.Load(), Failed: c.failed.Load(),
	}
}
