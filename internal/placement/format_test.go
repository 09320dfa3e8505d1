package placement

import (
	"testing"

	"github.com/muster-gg/muster/internal/event/eventtest"
	"github.com/muster-gg/muster/internal/fleet"
)

// format is what this package promises of its types.
var format = eventtest.Format{
	Set: types, Entries: Events, First: 301, Records: 350, Last: 399, IsRecord: isRecord,
	Words: []string{"PENDING", "FULFILLED", "ATTEMPT", "REFUSED"},
	Fill:  func(n int) []any { return []any{fleet.PlayerSessionID{0: 1, 15: byte(n)}} },
}

func isRecord(v any) bool {
	switch v.(type) {
	case *Header, *Placement, *Announcement:
		return true
	default:
		return false
	}
}

func TestFormat(t *testing.T) { format.Test(t) }

func TestCodec(t *testing.T) { format.TestCodec(t) }

// FuzzCodec reads any bytes as the library does, or leaves them to it.
func FuzzCodec(f *testing.F) { format.FuzzCodec(f) }

// asked is what this package promises of its commands.
var asked = eventtest.Format{Entries: Commands, Words: format.Words}

func TestCommandCodec(t *testing.T) { asked.TestCodec(t) }

// FuzzCommandCodec reads any bytes as the library does, or leaves them to it.
func FuzzCommandCodec(f *testing.F) { asked.FuzzCodec(f) }
