package fleet

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestPlayerSessionIDNamesItsPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	places := []struct {
		at      Address
		session uint64
	}{
		{Address{0, 1}, 1},
		{Address{255, 1<<16 - 1}, maxOrdinal},
		{Address{255, 0}, 0},
		{Address{0, 1<<16 - 1}, 0},
		{Address{0, 0}, maxOrdinal},
	}
	for range 1000 {
		places = append(places, struct {
			at      Address
			session uint64
		}{Address{uint8(rng.Uint32()), uint16(rng.Uint32())}, rng.Uint64() & maxOrdinal})
	}
	for _, p := range places {
		var random [8]byte
		for i := range random {
			random[i] = byte(rng.Uint32())
		}
		id := newPlayerSessionID(p.at, p.session, random)
		if at, session := id.Locate(); at != p.at || session != p.session {
			t.Errorf("%s names %v %d instead of %v %d", id, at, session, p.at, p.session)
		}
		if u := uuid.UUID(id); u.Version() != 8 || u.Variant() != uuid.RFC4122 {
			t.Errorf("%s is a UUID of version %d, variant %v", id, u.Version(), u.Variant())
		}
		if want := "psess-" + uuid.UUID(id).String(); id.String() != want {
			t.Errorf("the text is %s instead of %s", id, want)
		}
		if back, err := ParsePlayerSessionID(id.String()); err != nil || back != id {
			t.Errorf("%s is read as %s, %v", id, back, err)
		}
	}
}

// TestPlayerSessionIDsDiffer: ids of different places never meet, and within
// a place 62 of the 64 random bits count.
func TestPlayerSessionIDsDiffer(t *testing.T) {
	seen := map[PlayerSessionID]bool{}
	add := func(id PlayerSessionID) {
		t.Helper()
		if seen[id] {
			t.Errorf("%s was given twice", id)
		}
		seen[id] = true
	}
	for shard := range uint8(4) {
		for room := range uint16(4) {
			for session := range uint64(16) {
				add(newPlayerSessionID(Address{shard, room}, session<<32|session, [8]byte{}))
			}
		}
	}
	for bit := range 62 {
		var random [8]byte
		random[7-bit/8] = 1 << (bit % 8)
		add(newPlayerSessionID(Address{200, 1}, 1, random))
	}
}

func TestEventIDsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, at := range []Address{{0, 1}, {0, 2}, {1, 1}} {
		for n := range uint64(300) {
			after := n / 100 // what tells it from an earlier room there
			id := eventID(at, after, n%100)
			if _, err := uuid.Parse(id); err != nil || seen[id] {
				t.Errorf("event %d of %v has the id %s (%v)", n, at, id, err)
			}
			seen[id] = true
		}
	}
}

func TestParsePlayerSessionIDRefuses(t *testing.T) {
	good := newPlayerSessionID(Address{3, 7}, 42, [8]byte{1, 2, 3, 0xff, 5, 6, 7, 8}).String()
	for _, bad := range []string{
		"", "psess-", "psess", good[1:], good[6:], good + "0", good[:len(good)-1], " " + good, good + "\n",
		"psess-psess-" + good[6:], "psess-{" + good[6:] + "}", "psess-" + strings.ReplaceAll(good[6:], "-", ""),
		"psess-urn:uuid:" + good[6:],
		strings.ToUpper(good), "psess-" + strings.ToUpper(good[6:]),
		"psess-00000000-0000-4000-8000-000000000000", // version 4
		"psess-00000000-0000-8000-0000-000000000000", // another variant
		"psess-\xff\xfe",
	} {
		if id, err := ParsePlayerSessionID(bad); !fault.Is(err, fault.NotFound) || id != (PlayerSessionID{}) {
			t.Errorf("%q is read as %s, %v", bad, id, err)
		}
	}
}

func FuzzParsePlayerSessionID(f *testing.F) {
	f.Add("psess-00000000-0000-8000-8000-000000000000")
	f.Add(newPlayerSessionID(Address{3, 7}, 42, [8]byte{1}).String())
	f.Add("psess-")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParsePlayerSessionID(s)
		if err != nil {
			if !fault.Is(err, fault.NotFound) {
				t.Fatalf("%q is refused with %v", s, err)
			}
			return
		}
		if id.String() != s {
			t.Fatalf("%q is read as %s", s, id)
		}
		at, session := id.Locate()
		if again := newPlayerSessionID(at, session, [8]byte(id[8:])); again != id {
			t.Fatalf("%s names %v %d, which make %s", id, at, session, again)
		}
	})
}
