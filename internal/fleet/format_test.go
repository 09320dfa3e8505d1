package fleet

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
)

// format is what this package promises of its types.
var format = eventtest.Format{
	Set: types, Entries: Events, First: 101, Records: 150, Last: 199, IsRecord: isRecord,
	Words: []string{"ACTIVE", "RESERVED", "DENY_ALL", "TERMINATED"},
	Fill: func(n int) []any {
		return []any{newPlayerSessionID(Address{Shard: 3, Room: 7}, 42, [8]byte{0: 1, 7: byte(n)})}
	},
}

func isRecord(v any) bool {
	switch v.(type) {
	case *Header, *Compute, *Process, *GameSession, *MorePlayers, *FleetEvent:
		return true
	default:
		return false
	}
}

func TestFormat(t *testing.T) { format.Test(t) }

func TestCodec(t *testing.T) { format.TestCodec(t) }

// FuzzCodec reads any bytes as the library does, or leaves them to it.
func FuzzCodec(f *testing.F) { format.FuzzCodec(f) }

// TestZeroIsNotAbsent keeps values apart whose zero has a meaning.
func TestZeroIsNotAbsent(t *testing.T) {
	zero := int32(0)
	var buf bytes.Buffer
	err := types.Append(&buf, event.Fact{Room: 7, Body: &GameSessionUpdated{Ordinal: 1, Maximum: &zero}})
	if err != nil {
		t.Fatal(err)
	}
	f := eventtest.Facts(t, types, buf.Bytes())[0]
	if got := f.Body.(*GameSessionUpdated).Maximum; got == nil || *got != 0 {
		t.Errorf("a maximum of 0 is read as %v", got)
	}
}

// TestCodecLeavesTheUnusual to the library, which reads it or says what is wrong.
func TestCodecLeavesTheUnusual(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":               "",
		"later field":           "\xa2\x01\x05\x18\x99\x00",
		"unknown field":         "\xa1\x09\x00",
		"field twice":           "\xa2\x01\x05\x01\x06",
		"another order":         "\xa2\x02\x05\x01\x06",
		"map without an end":    "\xbf\x01\x05\xff",
		"null":                  "\xa1\x01\xf6",
		"null for the whole":    "\xf6",
		"index beyond 32 bits":  "\xa1\x02\x1b\x00\x00\x00\x01\x00\x00\x00\x00",
		"negative index":        "\xa1\x02\x20",
		"text for a number":     "\xa1\x01\x61a",
		"cut short":             "\xa2\x01\x05",
		"cut short in a number": "\xa1\x01\x19\x05",
		"reserved byte":         "\xa1\x01\x1c",
	} {
		if _, ok := event.NewCodec(reflect.TypeFor[PlayerAccepted]()).Read([]byte(data), new(PlayerAccepted)); ok {
			t.Errorf("%s is read", name)
		}
	}
	for name, data := range map[string]string{
		"short id":            "\xa1\x02\x81\xa1\x01\x41a",
		"long id":             "\xa1\x02\x81\xa1\x01\x51aaaaaaaaaaaaaaaaa",
		"more than there is":  "\xa1\x02\x9b\x7f\xff\xff\xff\xff\xff\xff\xff",
		"time beyond 63 bits": "\xa1\x03\x1b\x80\x00\x00\x00\x00\x00\x00\x00",
		"text beyond the end": "\xa1\x02\x81\xa1\x02\x7b\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		if _, ok := event.NewCodec(reflect.TypeFor[PlayersReserved]()).Read([]byte(data), new(PlayersReserved)); ok {
			t.Errorf("%s is read", name)
		}
	}
	// PlayerAccepted with a later field
	f, _, err := types.Next([]byte("\x83\x18\x78\x07\xa3\x01\x05\x02\x06\x18\x99\x00"))
	if want := (&PlayerAccepted{Session: 5, Index: 6}); err != nil || !reflect.DeepEqual(f.Body, want) {
		t.Errorf("got %+v, %v", f.Body, err)
	}
}

// BenchmarkCodec writes and reads the event of a reservation of 25 places, and
// that of one acceptance.
func BenchmarkCodec(b *testing.B) {
	reserved := &PlayersReserved{Session: 100_000, At: start, Expires: start, Players: make([]Slot, 25)}
	for i := range reserved.Players {
		reserved.Players[i] = Slot{ID: PlayerSessionID{1, 2, 3}, PlayerID: fmt.Sprintf("player-%012d", i)}
	}
	for _, body := range []any{reserved, &PlayerAccepted{Session: 100_000, Index: 117}} {
		f := event.Fact{Room: 1, Body: body}
		var buf bytes.Buffer
		b.Run(types.Name(body)+"/write", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf.Reset()
				if err := types.Append(&buf, f); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(types.Name(body)+"/read", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := types.Next(buf.Bytes()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// asked is what this package promises of its commands, and of an answer.
var asked = eventtest.Format{
	Entries: append([]event.Entry{{Number: 1, Type: (*Reservation)(nil)}}, Commands...),
	Words:   []string{"ACTIVE", "RESERVED", "DENY_ALL"},
}

func TestCommandCodec(t *testing.T) { asked.TestCodec(t) }

// FuzzCommandCodec reads any bytes as the library does, or leaves them to it.
func FuzzCommandCodec(f *testing.F) { asked.FuzzCodec(f) }
