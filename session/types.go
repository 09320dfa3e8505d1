package session

import "time"

// A Status is where a session is in its life, in the words of the O3DE session interface.
type Status string

// The statuses.
const (
	StatusNotSet      Status = "NotSet"
	StatusActivating  Status = "Activating"
	StatusActive      Status = "Active"
	StatusTerminating Status = "Terminating"
	StatusTerminated  Status = "Terminated"
	StatusError       Status = "Error"
)

// SessionConfig is what is known of a session.
type SessionConfig struct { //nolint:revive // session.SessionConfig is the name in the interface that this follows
	SessionID         string
	SessionName       string
	CreatorID         string
	SessionProperties map[string]string
	MatchmakingData   string // JSON; "" without
	CreationTime      time.Time
	TerminationTime   time.Time // zero: it has not ended
	DNSName           string    // "" if the host has none
	IPAddress         string    // "", with Port 0, where only a Reservation tells it
	Port              int
	MaxPlayer         int
	CurrentPlayer     int // reserved places included
	Status            Status
	StatusReason      string // "NotSet", "Interrupted" or another word of the service
	Location          string
	FleetID           string
}

// A Reservation is a place that is kept for a player in a session, and where to take it. It holds for about a minute.
type Reservation struct {
	SessionID       string
	PlayerID        string
	PlayerSessionID string // the ticket for the game server; "" on a LAN
	DNSName         string // "" if the host has none
	IPAddress       string
	Port            int
}

// Address is where to connect: host:port. The DNS name is used where the service has made it for the purpose, as O3DE's
// client does: a managed host's certificate is for that name.
func (r Reservation) Address() string { return address(r.DNSName, r.IPAddress, r.Port) }

// A TicketStatus is where a matchmaking ticket is in its life.
type TicketStatus string

// The statuses of tickets. Source: API reference, MatchmakingTicket.
const (
	TicketQueued             TicketStatus = "QUEUED"
	TicketSearching          TicketStatus = "SEARCHING"
	TicketRequiresAcceptance TicketStatus = "REQUIRES_ACCEPTANCE"
	TicketPlacing            TicketStatus = "PLACING"
	TicketCompleted          TicketStatus = "COMPLETED"
	TicketFailed             TicketStatus = "FAILED"
	TicketCancelled          TicketStatus = "CANCELLED"
	TicketTimedOut           TicketStatus = "TIMED_OUT"
)

// Over reports whether the ticket will not change any more.
func (s TicketStatus) Over() bool {
	switch s {
	case TicketCompleted, TicketFailed, TicketCancelled, TicketTimedOut:
		return true
	}
	return false
}

// A Ticket is a matchmaking request as the service sees it.
type Ticket struct {
	TicketID      string
	Status        TicketStatus
	StatusReason  string
	StatusMessage string
	// MatchID names the proposed match, as far as the service tells; it changes with each proposal.
	MatchID string
	// Reservations are the places in the match, by player id; with TicketCompleted.
	Reservations map[string]Reservation
}

// A Placement is a session that is looked for by a queue.
type Placement struct {
	PlacementID string
	Status      string // PENDING, FULFILLED, CANCELLED, TIMED_OUT or FAILED
	SessionID   string // with FULFILLED
	IPAddress   string
	DNSName     string
	Port        int
}
