package matchmaking

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// format is what this package promises of its types.
var format = eventtest.Format{
	Set: types, Entries: Events, First: 401, Records: 450, Last: 499,
	IsRecord: func(body any) bool { return New().Restore(body) == nil },
	Words:    []string{"SEARCHING", "PLACING", ReasonCancelled, MessageTimedOut},
}

func TestFormat(t *testing.T) { format.Test(t) }

func TestCodec(t *testing.T) { format.TestCodec(t) }

// FuzzCodec reads any bytes as the library does, or leaves them to it.
func FuzzCodec(f *testing.F) { format.FuzzCodec(f) }

// TestMapsAreWrittenInOrder, so that the same ticket has the same bytes each time.
func TestMapsAreWrittenInOrder(t *testing.T) {
	e := &TicketStarted{ID: "t", Players: []Player{{ID: "p", Attributes: []Attribute{{"votes", ruleset.Value{
		Type: ruleset.NumberMap, SDM: map[string]float64{"keep": 9, "ford": 1, "mill": 0.1, "bridge": 4},
	}}}}}}
	codec := event.NewCodec(reflect.TypeOf(*e))
	first := codec.Append(nil, e)
	for range 20 {
		if again := codec.Append(nil, e); !bytes.Equal(first, again) {
			t.Fatalf("%x, then %x", first, again)
		}
	}
	if !eventtest.SameRead(t, reflect.TypeFor[TicketStarted](), first) {
		t.Errorf("the library has to read %x", first)
	}
}

// TestCodecLeavesTheUnusual to the library, which reads it or says what is wrong.
func TestCodecLeavesTheUnusual(t *testing.T) {
	for name, data := range map[string]string{
		"nothing":             "",
		"later field":         "\xa2\x01\x61a\x18\x99\x00",
		"field twice":         "\xa2\x01\x61a\x01\x61a",
		"another order":       "\xa2\x02\xa0\x01\x61a",
		"null for text":       "\xa1\x01\xf6",
		"number for text":     "\xa1\x01\x05",
		"cut short":           "\xa2\x01\x61a",
		"later field of part": "\xa1\x02\xa1\x03\x61a",
		"later field of item": "\xa1\x03\x81\xa1\x05\x61a",
		"whole number":        "\xa1\x03\x81\xa1\x02\x81\xa1\x02\xa1\x02\x05",
	} {
		for _, v := range []any{new(TicketStarted), new(Ticket)} {
			if _, ok := event.NewCodec(reflect.TypeOf(v).Elem()).Read([]byte(data), v); ok {
				t.Errorf("%s is read as %T", name, v)
			}
		}
	}
	// MatchCompleted with a later field
	f, _, err := types.Next([]byte("\x83\x19\x01\x97\x07\xa3\x01\x61m\x02\x05\x18\x99\x00"))
	if want := (&MatchCompleted{ID: "m", At: 5}); err != nil || !reflect.DeepEqual(f, event.Fact{Room: 7, Body: want}) {
		t.Errorf("got %+v, %v", f.Body, err)
	}
}

// asked is what this package promises of its commands.
var asked = eventtest.Format{Entries: Commands, Words: format.Words}

func TestCommandCodec(t *testing.T) { asked.TestCodec(t) }

// FuzzCommandCodec reads any bytes as the library does, or leaves them to it.
func FuzzCommandCodec(f *testing.F) { asked.FuzzCodec(f) }
