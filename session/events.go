package session

// An Event is published to the subscribers of a Client: Complete, Reserved, and MatchAcceptance, MatchComplete,
// MatchFailure and MatchError of the tracked ticket.
type Event interface{ event() }

// Complete reports that a call of Client.Async has completed. There is exactly one for each.
type Complete struct {
	Op   OpID
	Call string // the method that was called: "CreateSession", or "Create" of NamedSessions
	Name string // of the named session; "" for other calls
	// Result is what the method has returned besides its error: the id of CreateSession, the []SearchResult of Find;
	// nil after a failure, or without one.
	Result any
	Err    error // nil after success
}

func (Complete) event() {}

// Reserved tells that a place in a game has been reserved for the player, who now connects: in JoinSession, in the
// Start or Join of a named session at the service, and when a match is complete.
type Reserved struct {
	Op          OpID // of the call; 0 for a match
	Reservation Reservation
}

func (Reserved) event() {}

// The events of the ticket that is tracked: any number of MatchAcceptance and of MatchError that is not Final, then one
// of the others, unless StopTracking ends it before.
type (
	// MatchAcceptance tells that players have to accept a match: once for each match that is proposed. Answer with
	// AcceptMatch.
	MatchAcceptance struct{ Ticket Ticket }
	// MatchComplete tells that there is a match and that the player is in its game: see Client.Connection.
	MatchComplete struct {
		Ticket      Ticket
		Reservation Reservation
	}
	// MatchFailure tells that there is no match: the ticket has FAILED, is CANCELLED or TIMED_OUT.
	MatchFailure struct{ Ticket Ticket }
	// MatchError tells that the ticket could not be followed, or that the player could not come into the match.
	MatchError struct {
		TicketID string
		Err      error
		Final    bool // it is not tracked any more; otherwise it is tried again
	}
)

func (MatchAcceptance) event() {}
func (MatchComplete) event()   {}
func (MatchFailure) event()    {}
func (MatchError) event()      {}
