package session

// An Event is published to the subscribers of a Client: Complete, Reserved, and MatchAcceptance, MatchComplete,
// MatchFailure and MatchError of the tracked ticket.
type Event interface{ event() }

// Complete reports that a call of Client.Async has completed. There is exactly one for each.
type Complete struct {
	Op   OpID
	Call string // the method that was called: "CreateSession", or "Create" of NamedSessions
	Name string // of the named session; "" for other calls
	// Result is the method's result besides its error: the id of CreateSession, the []SearchResult of Find; nil after a
	// failure, or without one.
	Result any
	Err    error // nil after success
}

func (Complete) event() {}

// Reserved reports a reservation for the player, who connects next: in JoinSession, in the Start or Join of a named
// session at the service, and when a match is complete.
type Reserved struct {
	Op          OpID // of the call; 0 for a match
	Reservation Reservation
}

func (Reserved) event() {}

// The events of the tracked ticket: any number of MatchAcceptance and of MatchError that is not Final, then one of the
// others, unless StopTracking ends the tracking before.
type (
	// MatchAcceptance asks players to accept or reject a proposed match with AcceptMatch; once for each match.
	MatchAcceptance struct{ Ticket Ticket }
	// MatchComplete reports that the player is connected to the game of its match: see Client.Connection.
	MatchComplete struct {
		Ticket      Ticket
		Reservation Reservation
	}
	// MatchFailure reports that the ticket ended without a match: it is FAILED, CANCELLED or TIMED_OUT.
	MatchFailure struct{ Ticket Ticket }
	// MatchError reports that the ticket could not be tracked, or that the player could not join its match.
	MatchError struct {
		TicketID string
		Err      error
		Final    bool // tracking has ended; otherwise it is retried
	}
)

func (MatchAcceptance) event() {}
func (MatchComplete) event()   {}
func (MatchFailure) event()    {}
func (MatchError) event()      {}
