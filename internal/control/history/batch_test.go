package history

import (
	"errors"
	"reflect"
	"testing"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
)

func sampleBatch(t testing.TB) []byte {
	t.Helper()
	m := mover{}
	of := crowd{room: fleet.RoomID{Fleet: "fleet-1", Location: "custom-a"}, at: fleet.Address{Shard: 2, Room: 3}}
	g := &fleet.GameSession{Ordinal: 9, ID: "g", Status: fleet.Terminated,
		PastPlayers: []*fleet.PlayerSession{{ID: fleet.PlayerSessionID{1}, PlayerID: "ann"}}}
	p := &placement.Placement{Request: placement.Request{ID: "p"}}
	if err := errors.Join(m.add(sessionEntry, of, 3, g), m.add(departedEntry, of, 3, g),
		m.add(placementEntry, crowd{}, region.PlacementsRoom, p)); err != nil {
		t.Fatal(err)
	}
	return m.packed.message()
}

func entries(seq uint64, data []byte) (all []entry, err error) {
	err = unpack(seq, data, func(e entry) error {
		all = append(all, e)
		return nil
	})
	return all, err
}

func TestBatch(t *testing.T) {
	data := sampleBatch(t)
	all, err := entries(7, data)
	if err != nil || len(all) != 3 {
		t.Fatalf("%d entries, %v", len(all), err)
	}
	for i, kind := range []byte{sessionEntry, departedEntry, placementEntry} {
		if e := all[i]; e.kind != kind || e.number != 7<<numberBits|uint64(i) {
			t.Errorf("entry %d is %+v", i, e)
		}
	}
	s, err := all[0].session()
	if err != nil || s.ID != "g" || s.at != (fleet.Address{Shard: 2, Room: 3}) || all[0].room.Location != "custom-a" {
		t.Errorf("got %+v, %v", s, err)
	}
	var p packed // with their numbers, in another batch
	for _, e := range all {
		if err := p.add(&e); err != nil {
			t.Fatal(err)
		}
	}
	again, err := entries(9, p.message())
	if err != nil || !reflect.DeepEqual(again, all) {
		t.Errorf("got %+v, %v; want %+v", again, err, all)
	}
}

func TestLargestEntry(t *testing.T) {
	var p packed
	if err := p.add(&entry{kind: ticketEntry, fact: make([]byte, maxEntry-2)}); err != nil {
		t.Error(err)
	}
	if err := p.add(&entry{kind: ticketEntry, fact: make([]byte, maxEntry-1)}); !errors.Is(err, journal.ErrTooLarge) {
		t.Error(err)
	}
}

// FuzzBatch decodes any bytes, as a batch and as what is in one.
func FuzzBatch(f *testing.F) {
	f.Add(sampleBatch(f))
	inside, err := unpacker.DecodeAll(sampleBatch(f)[1:], nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(inside)
	f.Add([]byte("s\x00\x01f\x01l\x02"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		keys := func(e entry) error { _, err := e.keys(); return err }
		_ = unpack(1, data, keys)
		_ = unpack(1, packer.EncodeAll(data, []byte{batchVersion}), keys)
		if e, err := decodeEntry(data); err == nil {
			_ = keys(e)
		}
	})
}

// FuzzOldEntry decodes any subject.
func FuzzOldEntry(f *testing.F) {
	f.Add("s.fleet-1.custom-a.g.2-3-9", []byte{1})
	f.Add("q.a", []byte{})
	f.Fuzz(func(_ *testing.T, subject string, data []byte) {
		_ = entriesOf(journal.Stored{Seq: 1, Subject: subject, Data: data}, func(e entry) error {
			_, err := e.keys()
			return err
		})
	})
}
