package catalog

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/muster-gg/muster/internal/event"
)

// BenchmarkSnapshotRestore says how long a new owner waits for the catalog of a
// large region: 1000 fleets, each with 3 locations, 20 computes, 50 events, tags
// and one counted creation. An operation writes the snapshot and restores it.
func BenchmarkSnapshotRestore(b *testing.B) {
	s := largeCatalog(1000)
	var buf bytes.Buffer
	for b.Loop() {
		buf.Reset()
		records := 0
		err := s.Snapshot(func(body any) error {
			records++
			return types.Append(&buf, event.Fact{Body: body})
		})
		if err != nil {
			b.Fatal(err)
		}
		decode(b, DefaultLimits(), buf.Bytes())
		b.ReportMetric(float64(records), "records/op")
	}
	b.SetBytes(int64(buf.Len()))
}

// BenchmarkCopy says what it costs to freeze the catalog for a reader.
func BenchmarkCopy(b *testing.B) {
	s := largeCatalog(1000)
	for b.Loop() {
		s.Copy()
	}
}

func largeCatalog(fleets int) *State {
	s := New(DefaultLimits())
	names := []string{"custom-a", "custom-b", "custom-c"}
	for _, name := range names {
		s.Apply(&LocationCreated{Name: name, At: t0})
	}
	limited := plain("arena")
	limited.CreationLimit = &CreationLimit{10, 60}
	for i := range fleets {
		id := fmt.Sprintf("fleet-%08d", i)
		s.Apply(&FleetCreated{ID: id, At: t0, Locations: names, Attributes: limited})
		s.Apply(&ResourceTagged{Resource: fleetKind + id, Tags: []Tag{{"team", "red"}, {"zone", "a"}}})
		s.Apply(&CreationClaimed{Fleet: id, Creator: "ada", At: t0})
		for n := range 20 {
			s.Apply(&ComputeClaimed{Fleet: id, Name: fmt.Sprint("host-", n), Location: names[n%3]})
		}
		for n := range uint64(50) {
			s.Apply(line(id, n+1, fmt.Sprint("event-", n), "SERVER_PROCESS_CRASHED",
				"Server process ended without a word"))
		}
	}
	return s
}
