package machines

import (
	"context"
	"encoding/json"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/catalog"
)

// A Status is whether a machine is connected.
type Status string

// The statuses; see the documentation of the package.
const (
	Online       Status = "ONLINE"
	Reconnecting Status = "RECONNECTING"
	Lost         Status = "LOST"
)

// A state is what a node knows of a machine, as nodes send it to each other.
type state struct {
	Name          string         `json:"name"`
	Connected     bool           `json:"connected,omitempty"` // this node has its socket
	Generation    uint64         `json:"generation,omitempty"`
	Load          *float64       `json:"load,omitempty"`
	FreeMemoryMiB *int64         `json:"free,omitempty"`
	Processes     map[string]int `json:"processes,omitempty"` // by instance
	Outdated      map[string]int `json:"outdated,omitempty"`  // by instance
	// Versions are the states of builds besides those of instances, by instance.
	Versions map[string][]protocol.VersionState `json:"versions,omitempty"`
	AgeMS    int64                              `json:"ageMs"` // since the last report: the clocks of nodes differ

	seen time.Time // of the last report, by the clock of this node
}

// A Machine is a machine of the catalog with what is known of its connection.
type Machine struct {
	*catalog.Machine
	Status        Status
	Seen          time.Time      // of the last report; zero: not known
	Generation    uint64         // of the state that the machine acts on; 0: not known
	Load          *float64       // nil: not known
	FreeMemoryMiB *int64         // nil: not known
	Processes     map[string]int // by instance, as far as it is known
	Outdated      map[string]int // those of Processes that were started from an earlier build
	// Versions are the states of builds besides those of instances, by instance, as far as they are known.
	Versions map[string][]protocol.VersionState
	Missed   time.Duration // how long it has been without a report, for all that is known here
}

// Shared returns what this node sends to the others: the machines that are connected to it, or were until recently.
func (all *Machines) Shared() []byte {
	all.mu.Lock()
	now := all.Clock.Now()
	list := []state{}
	for name, s := range all.known {
		s.Connected = all.open[name] != nil // and not what another node has answered before
		if age := now.Sub(s.seen); s.Connected || age < protocol.LostAfter {
			s.AgeMS = age.Milliseconds()
			list = append(list, s)
		}
	}
	all.mu.Unlock()
	data, _ := json.Marshal(list) // texts and finite numbers cannot fail
	return data
}

// refresh learns what the other nodes know, and forgets the machines that were deleted.
func (all *Machines) refresh(ctx context.Context) {
	var answers [][]byte
	if all.Others != nil {
		answers = all.Others(ctx)
	}
	stored := all.Catalog.Catalog()
	all.mu.Lock()
	defer all.mu.Unlock()
	for name, s := range all.known {
		if s.Connected = all.open[name] != nil; !s.Connected { // until a node answers that it is
			all.known[name] = s
		}
	}
	now := all.Clock.Now()
	for _, answer := range answers {
		var list []state
		if err := json.Unmarshal(answer, &list); err != nil {
			all.Log.Warn("machines of another node not decoded", "error", err)
			continue
		}
		for _, s := range list {
			all.merge(&s, now)
		}
	}
	for name := range all.known {
		if _, ok := stored.Machine(name); !ok && all.open[name] == nil {
			delete(all.known, name)
		}
	}
}

// merge adds what a node knows of a machine. Its last report counts, and whether any node has its socket.
func (all *Machines) merge(s *state, now time.Time) {
	if all.open[s.Name] != nil {
		return // this node knows best
	}
	s.seen = now.Add(-time.Duration(s.AgeMS) * time.Millisecond)
	old, known := all.known[s.Name]
	connected := s.Connected || old.Connected
	if !known || s.seen.After(old.seen) {
		old = *s
	}
	old.Connected = connected
	all.known[s.Name] = old
}

// List returns the machines of the region by name. It asks the other nodes.
func (all *Machines) List(ctx context.Context) []Machine {
	all.noticePause()
	all.refresh(ctx)
	stored := all.Catalog.Catalog().Machines()
	all.mu.Lock()
	defer all.mu.Unlock()
	now := all.Clock.Now()
	list := make([]Machine, len(stored))
	for i, m := range stored {
		s := all.known[m.Name]
		list[i] = Machine{m, all.statusOf(&s, m.Joined.Time(), now), s.seen, s.Generation, s.Load, s.FreeMemoryMiB,
			s.Processes, s.Outdated, s.Versions, all.missed(&s, m.Joined.Time(), now)}
	}
	return list
}

// missed returns the time since the last report, since this node began or since the machine joined, the shortest one.
func (all *Machines) missed(s *state, joined, now time.Time) time.Duration {
	last := joined
	for _, at := range []time.Time{s.seen, all.begun} {
		if at.After(last) {
			last = at
		}
	}
	return now.Sub(last)
}

func (all *Machines) statusOf(s *state, joined, now time.Time) Status {
	if s.Connected && now.Sub(s.seen) < protocol.LostAfter {
		return Online
	}
	if all.missed(s, joined, now) < protocol.LostAfter {
		return Reconnecting
	}
	return Lost
}
