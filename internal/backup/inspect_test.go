package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/region"
)

// A memory is a source: shard 0 of a region.
type memory struct {
	Source             // nil: these tests do not read the history
	records   [][]byte // number 1 first
	forgotten uint64   // how many of them are gone
	snapshots map[uint64][]byte
}

func (m *memory) Region() Region { return Region{"us-west-2", "111122223333", 1} }

func (m *memory) Contents(context.Context, int) (journal.ShardContents, error) {
	h := journal.ShardContents{First: m.forgotten + 1, Last: uint64(len(m.records))}
	for seq := range h.Last + 1 {
		if m.snapshots[seq] != nil {
			h.Snapshots = append(h.Snapshots, seq)
		}
	}
	return h, nil
}

func (m *memory) Snapshot(_ context.Context, _ int, newest uint64, read func(uint64, io.Reader) error) error {
	for seq := newest; seq > 0; seq-- {
		if s := m.snapshots[seq]; s != nil {
			return read(seq, bytes.NewReader(s))
		}
	}
	return read(0, nil)
}

func (m *memory) Records(_ context.Context, _ int, after uint64, visit func(journal.Stored) error) error {
	if after < m.forgotten {
		return journal.ErrMissing
	}
	for i, data := range m.records[after:] {
		err := visit(journal.Stored{Seq: after + uint64(i) + 1, Time: time.Unix(int64(after)+int64(i), 0), Data: data})
		if err != nil {
			return err
		}
	}
	return nil
}

// facts encodes facts, one behind the other.
func facts(t *testing.T, all ...event.Fact) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, f := range all {
		if err := region.Events.Append(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// newMemory has locations created and a room opened, one record each.
func newMemory(t *testing.T) *memory {
	m := &memory{snapshots: map[uint64][]byte{}}
	add := func(f event.Fact) {
		m.records = append(m.records, append([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0xab}, facts(t, f)...))
	}
	state := region.New(0, &region.Settings{Shards: 1, Catalog: catalog.DefaultLimits(),
		Fleet: fleet.DefaultSettings("us-west-2")})
	for i := range 3 {
		all, _, err := state.Handle(time.Unix(int64(i), 0),
			region.CatalogCommand{Command: catalog.CreateLocation{Name: fmt.Sprint("custom-", i)}})
		if err != nil {
			t.Fatal(err)
		}
		add(all[0])
	}
	add(event.Fact{Room: 1, Body: &region.RoomOpened{Fleet: "fleet-1", Location: "custom-0"}})
	add(event.Fact{Room: 1, Body: &region.RoomClosed{}})
	return m
}

// snapshot makes the snapshot after a record.
func (m *memory) snapshot(t *testing.T, at uint64) {
	t.Helper()
	s, err := StateAt(t.Context(), m, 0, at)
	if err != nil {
		t.Fatal(err)
	}
	var all []event.Fact
	check := s.machine.Snapshot(func(f event.Fact) error {
		all = append(all, f)
		return nil
	})
	if check != nil {
		t.Fatal(check)
	}
	frame := facts(t, all...)
	data := append([]byte("MSS\x01"), appendUvarint(uint64(len(frame)))...)
	data = append(append(data, frame...), 0)
	m.snapshots[at] = append(data, appendUvarint(uint64(len(all)))...)
}

func appendUvarint(n uint64) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// state is a state as lines, or why there is none.
func state(t *testing.T, m Source, at uint64) string {
	t.Helper()
	s, err := StateAt(t.Context(), m, 0, at)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	err = s.Each(func(f Fact) error {
		body, err := json.Marshal(f.Body)
		fmt.Fprintf(&b, "%s %s %s\n", f.Type, f.In, body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestStatesAndEvents asks for every record: before anything is forgotten, and after.
func TestStatesAndEvents(t *testing.T) {
	m := newMemory(t)
	var states []string
	for at := range uint64(6) {
		states = append(states, state(t, m, at))
	}
	if !strings.Contains(states[3], `Location catalog {"Name":"custom-2","Created":"1970-01-01T00:00:02Z"}`) ||
		strings.Contains(states[2], "custom-2") {
		t.Errorf("after record 3:\n%s\nafter record 2:\n%s", states[3], states[2])
	}
	if !strings.Contains(states[4], `RoomOpened fleet-1/custom-0 {"Fleet":"fleet-1","Location":"custom-0"}`) ||
		strings.Contains(states[5], "RoomOpened") {
		t.Errorf("after record 4:\n%s\nafter record 5:\n%s", states[4], states[5])
	}
	m.snapshot(t, 2)
	m.snapshot(t, 4)
	m.forgotten = 2
	for at := range uint64(6) {
		got := state(t, m, at)
		if at >= 2 && got != states[at] {
			t.Errorf("after record %d, from a snapshot:\n%s\nand without:\n%s", at, got, states[at])
		}
		if at < 2 && !strings.Contains(got, "is not held any more: 3..5 are held, and snapshots of the states "+
			"after [2 4]") {
			t.Errorf("after record %d: %s", at, got)
		}
	}
	if got := state(t, m, 6); !strings.Contains(got, "has come to record 5") {
		t.Errorf("after record 6: %s", got)
	}
	for _, c := range []struct {
		first, last uint64
		want        string
	}{
		{3, 5, "3 LocationCreated catalog; 4 RoomOpened fleet-1/custom-0; 5 RoomClosed fleet-1/custom-0; "},
		{5, 5, "5 RoomClosed fleet-1/custom-0; "}, // the snapshot knows the room
		{2, 5, "there are no events 2..5 of shard 0: 3..5 are held"}, {5, 6, "there are no events"},
		{5, 4, "there are no events"},
	} {
		got := ""
		err := Events(t.Context(), m, 0, c.first, c.last, func(r Record) error {
			for _, f := range r.Facts {
				got += fmt.Sprintf("%d %s %s; ", r.Seq, f.Type, f.In)
			}
			if r.Owner != "00000000000000ab" || r.Opening || r.Time.IsZero() {
				t.Errorf("record %+v", r)
			}
			return nil
		})
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%d..%d: %s; want %s", c.first, c.last, got, c.want)
		}
	}
	all, err := Shards(t.Context(), m)
	if err != nil || len(all) != 1 || *all[0].FirstAt != 2 || all[0].First != 3 || all[0].Last != 5 ||
		all[0].FirstTime.Unix() != 2 || all[0].LastTime.Unix() != 4 {
		t.Errorf("shards are %+v, %v", all, err)
	}
	stop := errors.New("stop")
	if err := Events(t.Context(), m, 0, 3, 5, func(Record) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("a visit that fails: %v", err)
	}
}

// TestUnreadable names the record.
func TestUnreadable(t *testing.T) {
	for name, c := range map[string]struct{ record, want string }{
		"no header":    {"\x01", "record 6"},
		"unknown type": {"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x83\x19\x7f\xff\x00\xa0", "record 6"},
		"fact of no room": {"\x01\x00\x00\x00\x00\x00\x00\x00\x00" +
			string(facts(t, event.Fact{Room: 9, Body: &region.RoomClosed{}})), "panic in the machine"},
	} {
		m := newMemory(t)
		m.records = append(m.records, []byte(c.record))
		if got := state(t, m, 6); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestEmpty has nothing to show.
func TestEmpty(t *testing.T) {
	m := &memory{}
	all, err := Shards(t.Context(), m)
	if err != nil || *all[0].FirstAt != 0 || all[0].First != 0 || all[0].FirstTime != nil {
		t.Errorf("shards are %+v, %v", all, err)
	}
	if err := Events(t.Context(), m, 0, 1, 1, nil); err == nil || !strings.Contains(err.Error(), "none are held") {
		t.Error(err)
	}
}

func TestBody(t *testing.T) {
	type embedded struct{ Key string }
	type sample struct {
		embedded
		Text   string
		At     event.Time
		ID     fleet.PlayerSessionID
		Hash   [2]byte
		Bytes  []byte
		List   []embedded
		Maybe  *int32
		Labels map[string]int
		Any    any
		Score  float64
		Yes    bool
		hidden int
	}
	five := int32(5)
	for want, body := range map[string]any{
		`{}`: &sample{hidden: 1},
		`{"Key":"k","Text":"a�\"","At":"2026-03-01T12:00:00.5Z","ID":"psess-01000000-0000-0000-0000-000000000000",` +
			`"Hash":"0a0b","Bytes":"AQI=",` +
			`"List":[{"Key":"x"},{}],"Maybe":5,"Labels":{"a":1,"b":2},"Any":[1],"Score":1.5,"Yes":true}`: &sample{
			embedded{"k"}, "a\xff\"", event.At(time.Date(2026, 3, 1, 12, 0, 0, 5e8, time.UTC)),
			fleet.PlayerSessionID{1}, [2]byte{10, 11}, []byte{1, 2},
			[]embedded{{"x"}, {}}, &five, map[string]int{"b": 2, "a": 1}, []int{1}, 1.5, true, 0,
		},
		`{"Score":"+Inf"}`: sample{Score: math.Inf(1)},
		`null`:             nil,
	} {
		got, err := json.Marshal(Body{body})
		if err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
}

// TestEveryFactCanBeShown writes the zero value of each type.
func TestEveryFactCanBeShown(t *testing.T) {
	for number, kind := range region.Events.Entries() {
		if text, err := json.Marshal(Body{reflect.New(kind.Elem()).Interface()}); err != nil || !json.Valid(text) {
			t.Errorf("type %d: %s, %v", number, text, err)
		}
	}
}
