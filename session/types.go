package session

import "time"

// A Status is the status of a session, by its name in the O3DE session interface.
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

// SessionConfig describes a session.
type SessionConfig struct { //nolint:revive // session.SessionConfig is the name in the interface that this follows
	SessionID         string
	SessionName       string
	CreatorID         string
	SessionProperties map[string]string
	MatchmakingData   string // JSON; "" without
	CreationTime      time.Time
	TerminationTime   time.Time // zero: it has not ended
	DNSName           string    // "" if the host has none
	IPAddress         string    // "", with Port 0, where only a Reservation has it
	Port              int
	MaxPlayer         int
	CurrentPlayer     int // reserved slots included
	Status            Status
	StatusReason      string // "NotSet", "Interrupted" or another word of the service
	Location          string
	FleetID           string
}

// A Reservation is a slot in a session that is reserved for a player, with the address to connect to. It expires after
// about a minute.
type Reservation struct {
	SessionID       string
	PlayerID        string
	PlayerSessionID string // the ticket for the game server; "" on a LAN
	DNSName         string // "" if the host has none
	IPAddress       string
	Port            int
}

// Address returns the host:port to connect to. It uses the DNS name of a managed host, as O3DE's client does, because
// the host's certificate is for that name. For other hosts it uses the DNS name only if there is no IP address.
func (r Reservation) Address() string { return address(r.DNSName, r.IPAddress, r.Port) }

// A TicketStatus is the status of a matchmaking ticket.
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

// Over reports whether the ticket has ended and cannot change any more.
func (s TicketStatus) Over() bool {
	switch s {
	case TicketCompleted, TicketFailed, TicketCancelled, TicketTimedOut:
		return true
	}
	return false
}

// A Ticket is a matchmaking request with its status at the service.
type Ticket struct {
	TicketID      string
	Status        TicketStatus
	StatusReason  string
	StatusMessage string
	// MatchID identifies the proposed match, as far as the service allows; it changes with each proposal.
	MatchID string
	// Reservations are those in the match, by player id; with TicketCompleted.
	Reservations map[string]Reservation
}

// A Placement is a request to a queue for a session.
type Placement struct {
	PlacementID string
	Status      string // PENDING, FULFILLED, CANCELLED, TIMED_OUT or FAILED
	SessionID   string // with FULFILLED
	IPAddress   string
	DNSName     string
	Port        int
}
