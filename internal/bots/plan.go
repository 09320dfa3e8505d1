package bots

import (
	"errors"
	"slices"
	"time"

	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/session"
)

// A Step is what a bot does.
type Step int

// The steps of a bot. It begins with Arrive.
const (
	Arrive Step = iota // wait for its turn to join
	Find               // search for game sessions with free slots
	Join               // join the one in Move.Session
	Host               // create a game session and join it
	Match              // wait for a match and join its game session
	Stay               // play
	Leave              // leave the game session
	Rest               // wait for Move.Wait, after a failure
)

// A Result is how a step ended.
type Result struct {
	Found []session.SearchResult // by Find
	Again bool                   // by Host: other bots have created a game session, which may have a free slot
	Err   error
}

// A Move is the next step of a bot.
type Move struct {
	Step    Step
	Session session.SearchResult // to Join
	Wait    time.Duration        // of Rest
	Failure error                // of the attempt to join, or of the connection; nil: none
	// Hopeless is set if trying again cannot help, unless the same has worked before.
	Hopeless bool
}

// The time of Rest doubles with each failed attempt.
const (
	firstRest = time.Second
	maxRest   = 8 * time.Second
)

// maxFound is the number of game sessions that a bot tries to join before it creates one.
const maxFound = 20

// A Plan decides what one bot does. The zero value searches for game sessions.
type Plan struct {
	Matchmaking bool

	found    []session.SearchResult // not tried yet
	failures int                    // since the last success
	lost     bool                   // the last connection ended too early
}

// Next returns the step after one that has ended.
func (p *Plan) Next(ended Step, r Result) Move {
	switch ended {
	case Arrive:
		if p.Matchmaking {
			return Move{Step: Match}
		}
		return Move{Step: Find}
	case Find:
		p.found = r.Found
		return p.tryNext(r.Err)
	case Join:
		if late(r.Err) {
			return p.tryNext(nil)
		}
		return p.joined(r.Err)
	case Host, Match:
		if r.Again {
			return Move{Step: Find}
		}
		return p.joined(r.Err)
	case Stay:
		p.lost = r.Err != nil
		return Move{Step: Leave, Failure: r.Err}
	case Leave:
		if p.lost {
			return Move{Step: Rest, Wait: firstRest}
		}
	case Rest:
	}
	return Move{Step: Arrive}
}

// tryNext joins the next game session that was found, or a new one.
func (p *Plan) tryNext(err error) Move {
	switch {
	case err != nil:
		return p.joined(err)
	case len(p.found) == 0:
		return Move{Step: Host}
	}
	next := p.found[0]
	p.found = p.found[1:]
	return Move{Step: Join, Session: next}
}

// joined ends an attempt to join.
func (p *Plan) joined(err error) Move {
	if err == nil {
		p.failures = 0
		return Move{Step: Stay}
	}
	wait := min(firstRest<<min(p.failures, 10), maxRest)
	p.failures++
	return Move{Step: Rest, Wait: wait, Failure: err, Hopeless: hopeless(err)}
}

// late reports whether a game session has filled up or ended since it was found.
func late(err error) bool {
	return is(err, session.ErrFull, session.ErrNotFound, session.ErrState)
}

// hopeless reports whether an error of the service is the caller's to correct. A game server that rejects a player may
// accept the next one, unless the player has another version.
func hopeless(err error) bool {
	if IsVersionMismatch(err) {
		return true
	}
	if _, connecting := errors.AsType[*ConnectError](err); connecting {
		return false
	}
	return is(err, session.ErrInvalid, session.ErrNotFound, session.ErrDenied, session.ErrUnsupported,
		session.ErrTransport, session.ErrNotConfigured)
}

func is(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// IsVersionMismatch reports whether a game server has rejected the version of a bot's protocol.
func IsVersionMismatch(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == handshake.VersionMismatch.String()
}
