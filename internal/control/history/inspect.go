package history

import (
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/region"
)

// An Inspected is an entry for people to look at.
type Inspected struct {
	Number uint64       // of all entries
	Time   time.Time    // when it was stored; after a restore, when it was restored
	Room   fleet.RoomID // of a game session or player session
	Record any          // a *fleet.GameSession, *placement.Placement or *matchmaking.Ticket

	// Departed: the record is a game session with one player session, which left memory before it.
	Departed bool
}

// Inspect calls visit with the entries of what a backup or data directory has stored.
func Inspect(s journal.Stored, visit func(Inspected) error) error {
	if strings.HasPrefix(s.Subject, "batch.") {
		s.Subject = ""
	}
	return entriesOf(s, func(e entry) error {
		fact, _, err := region.Events.Next(e.fact)
		if err != nil {
			return err
		}
		return visit(Inspected{e.number, s.Time, e.room, fact.Body, e.kind == departedEntry})
	})
}
