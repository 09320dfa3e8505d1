package session

// An Event is something that a Client tells its subscribers: the completion of an
// Async call (CreateSessionComplete and so on, exactly one for each), a step on
// the way of a call (Reserved), or what becomes of the ticket that is tracked.
// The types of this package whose names end in Complete, and Reserved,
// MatchAcceptance, MatchError and MatchFailure are all that there are.
type Event interface{ event() }

// A Completion says which call is complete, and how. It is part of each
// completion event.
type Completion struct {
	Op  OpID
	Err error // nil: it was successful
}

func (Completion) event() {}

// Outcome is the completion itself, for a subscriber that does not mind of which
// call: every completion event, and no other, has this method.
func (c Completion) Outcome() Completion { return c }

// The completions of calls to the service. Results are zero after a failure.
type (
	// ConfigureComplete completes ConfigureAsync.
	ConfigureComplete struct{ Completion }
	// CreateSessionComplete completes CreateSessionAsync, with the session's id, and
	// CreateSessionOnQueueAsync, with the placement's.
	CreateSessionComplete struct {
		Completion
		ID string
	}
	// PlacementComplete completes PlacementAsync.
	PlacementComplete struct {
		Completion
		Placement Placement
	}
	// SearchSessionsComplete completes SearchSessionsAsync.
	SearchSessionsComplete struct {
		Completion
		Response SearchSessionsResponse
	}
	// JoinSessionComplete completes JoinSessionAsync: the player is in the game.
	JoinSessionComplete struct{ Completion }
	// LeaveSessionComplete completes LeaveSessionAsync.
	LeaveSessionComplete struct{ Completion }
	// StartMatchmakingComplete completes StartMatchmakingAsync.
	StartMatchmakingComplete struct {
		Completion
		TicketID string
	}
	// StopMatchmakingComplete completes StopMatchmakingAsync.
	StopMatchmakingComplete struct{ Completion }
	// AcceptMatchComplete completes AcceptMatchAsync.
	AcceptMatchComplete struct{ Completion }
)

// Reserved tells that a place in a game has been reserved for the player, who now
// connects: in JoinSession, in the Start or Join of a named session at the
// service, and when a match is complete.
type Reserved struct {
	Op          OpID // of the call; 0 for a match
	Reservation Reservation
}

func (Reserved) event() {}

// The events of the ticket that is tracked: any number of MatchAcceptance and of
// MatchError that is not Final, then one of the others, unless StopTracking ends
// it before.
type (
	// MatchAcceptance tells that players have to accept a match: once for each match
	// that is proposed. Answer with AcceptMatch.
	MatchAcceptance struct{ Ticket Ticket }
	// MatchComplete tells that there is a match and that the player is in its game:
	// see Client.Connection.
	MatchComplete struct {
		Ticket      Ticket
		Reservation Reservation
	}
	// MatchFailure tells that there is no match: the ticket has FAILED, is CANCELLED
	// or TIMED_OUT.
	MatchFailure struct{ Ticket Ticket }
	// MatchError tells that the ticket could not be followed, or that the player
	// could not come into the match.
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

// The completions of calls for named sessions.
type (
	// NamedCreateComplete completes NamedSessions.CreateAsync.
	NamedCreateComplete struct {
		Completion
		Name string
	}
	// NamedStartComplete completes NamedSessions.StartAsync.
	NamedStartComplete struct {
		Completion
		Name string
	}
	// NamedJoinComplete completes NamedSessions.JoinAsync.
	NamedJoinComplete struct {
		Completion
		Name string
	}
	// NamedUpdateComplete completes NamedSessions.UpdateAsync.
	NamedUpdateComplete struct {
		Completion
		Name string
	}
	// NamedEndComplete completes NamedSessions.EndAsync.
	NamedEndComplete struct {
		Completion
		Name string
	}
	// NamedDestroyComplete completes NamedSessions.DestroyAsync.
	NamedDestroyComplete struct {
		Completion
		Name string
	}
	// RegisterPlayerComplete completes NamedSessions.RegisterPlayerAsync.
	RegisterPlayerComplete struct {
		Completion
		Name, PlayerID string
	}
	// UnregisterPlayerComplete completes NamedSessions.UnregisterPlayerAsync.
	UnregisterPlayerComplete struct {
		Completion
		Name, PlayerID string
	}
	// FindComplete completes NamedSessions.FindAsync.
	FindComplete struct {
		Completion
		Results []SearchResult
	}
	// CancelFindComplete completes NamedSessions.CancelFindAsync.
	CancelFindComplete struct{ Completion }
)
