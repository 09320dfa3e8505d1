package catalog

import (
	"bytes"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func tokenHash(n byte) []byte { return bytes.Repeat([]byte{n}, hashLength) }

func machineKey(n byte) []byte { return bytes.Repeat([]byte{n}, 32) }

func tokenMade(n byte, location string, expires event.Time) Event {
	hash := tokenHash(n)
	return &MachineTokenPut{MachineToken{MachineTokenID(hash), hash, location, t0, expires}}
}

// offer is a valid one.
var offer = MachineOffer{MilliCPUs: 2000, MemoryMiB: 4096, IP: "192.0.2.7"}

func machineMade(name, location string, key byte) *MachinePut {
	return &MachinePut{Machine: Machine{Name: name, Location: location, Key: machineKey(key), Offer: offer, Joined: t0,
		Generation: 1}}
}

func (w *world) machineCommand() Command {
	name, n := w.some("box-", 2), byte(w.r.IntN(2))
	location := "us-west-2"
	if w.chance(4) {
		location = w.location()
	}
	switch w.r.IntN(10) {
	case 0, 1, 2:
		return CreateMachineToken{tokenHash(n), location, w.now + event.Time(w.r.Int64N(int64(day)))}
	case 3:
		return DeleteMachineToken{MachineTokenID(tokenHash(n))}
	case 4:
		return DrainMachine{name, w.chance(2)}
	case 5, 6:
		return DeleteMachine{name, w.chance(2)}
	}
	o := offer
	o.MilliCPUs += w.r.Int32N(2)
	return JoinMachine{Name: name, Location: location, Key: machineKey(byte(w.r.IntN(2))), Offer: o,
		Token: tokenHash(n)}
}

// checkMachines holds what is true of the machines of every reachable catalog.
func checkMachines(t *testing.T, s *State) {
	t.Helper()
	if s.machines.Len() > s.limits.Machines || s.machineTokens.Len() > s.limits.MachineTokens {
		t.Errorf("over a limit: %d machines, %d tokens", s.machines.Len(), s.machineTokens.Len())
	}
	for _, m := range s.Machines() {
		if err := m.check(); err != nil || m.Generation < 1 || m.Joined == 0 {
			t.Errorf("machine %+v: %v", m, err)
		}
	}
	for _, token := range s.MachineTokens() {
		if token.ID != MachineTokenID(token.Hash) || token.Expires <= token.Created {
			t.Errorf("token %+v", token)
		}
	}
}

func TestMachineTokenCommands(t *testing.T) {
	create := func(change func(*CreateMachineToken)) CreateMachineToken {
		c := CreateMachineToken{tokenHash(1), "us-west-2", t0 + minute}
		change(&c)
		return c
	}
	id := MachineTokenID(tokenHash(1))
	play(t, []scene{
		{name: "create", when: create(func(*CreateMachineToken) {}),
			then: []Event{tokenMade(1, "us-west-2", t0+minute)}},
		{name: "for a custom location", given: []Event{locationMade("custom-a")},
			when: create(func(c *CreateMachineToken) { c.Location = "custom-a" }),
			then: []Event{tokenMade(1, "custom-a", t0+minute)}},
		{name: "for an unknown location", when: create(func(c *CreateMachineToken) { c.Location = "custom-a" }),
			fault: fault.NotFound, text: "Location custom-a not found"},
		{name: "without a location", when: create(func(c *CreateMachineToken) { c.Location = "" }),
			fault: fault.InvalidRequest},
		{name: "expired", when: create(func(c *CreateMachineToken) { c.Expires = t0 }), fault: fault.InvalidRequest,
			text: "expires must be within the next 30 days"},
		{name: "for too long", when: create(func(c *CreateMachineToken) { c.Expires = t0 + 30*day + 1 }),
			fault: fault.InvalidRequest},
		{name: "no hash", when: create(func(c *CreateMachineToken) { c.Hash = []byte("token") }),
			fault: fault.InvalidRequest},
		{name: "again", given: []Event{tokenMade(1, "us-west-2", t0+minute)},
			when: create(func(*CreateMachineToken) {}), fault: fault.Conflict},
		{name: "too many", given: []Event{tokenMade(2, "us-west-2", t0+1), tokenMade(3, "us-west-2", t0+1)},
			when: create(func(*CreateMachineToken) {}), fault: fault.LimitExceeded,
			text: "The limit of 2 join tokens is reached"},
		{name: "delete", given: []Event{tokenMade(1, "us-west-2", t0+minute)}, when: DeleteMachineToken{id},
			then: []Event{&MachineTokenDeleted{id}}},
		{name: "delete an unknown one", when: DeleteMachineToken{"mt-1"}, fault: fault.NotFound,
			text: "There is no join token mt-1"},
	})
}

func TestJoinMachine(t *testing.T) {
	token := tokenMade(1, "us-west-2", t0+minute)
	join := JoinMachine{Name: "box", Location: "us-west-2", Key: machineKey(1), Offer: offer, Token: tokenHash(1)}
	with := func(change func(*JoinMachine)) JoinMachine {
		c := join
		change(&c)
		return c
	}
	joined := machineMade("box", "us-west-2", 1)
	first := *joined
	first.Token = MachineTokenID(tokenHash(1))
	drained := *joined
	drained.Drained, drained.Generation = true, 4
	restored := *joined
	restored.Generation = 10
	larger := drained
	larger.Offer.MilliCPUs = 4000
	const notValid = "The join token is not valid: it was used or revoked, or has expired. Create another one."
	scenes := []scene{
		{name: "first", given: []Event{token}, when: join, then: []Event{&first}},
		{name: "location of the token", given: []Event{token},
			when: with(func(c *JoinMachine) { c.Location = "" }), then: []Event{&first}},
		{name: "token used", given: []Event{token, &first},
			when: with(func(c *JoinMachine) { c.Name, c.Key = "other", machineKey(2) }), fault: fault.AccessDenied,
			text: notValid},
		{name: "token expired", given: []Event{tokenMade(1, "us-west-2", t0)}, when: join, fault: fault.AccessDenied,
			text: notValid},
		{name: "unknown token", when: join, fault: fault.AccessDenied, text: notValid},
		{name: "same id, other token", given: []Event{token},
			when:  with(func(c *JoinMachine) { c.Token = append(tokenHash(1)[:31:31], 2) }),
			fault: fault.AccessDenied, text: notValid},
		{name: "short token", given: []Event{token}, when: with(func(c *JoinMachine) { c.Token = []byte{1} }),
			fault: fault.AccessDenied, text: notValid},
		{name: "no token", given: []Event{token}, when: with(func(c *JoinMachine) { c.Token = nil }),
			fault: fault.AccessDenied, text: "Machine box has not joined. Start it with a join token."},
		{name: "token of another location", given: []Event{token},
			when: with(func(c *JoinMachine) { c.Location = "eu-west-1" }), fault: fault.AccessDenied,
			text: "The join token is not for location eu-west-1"},
		{name: "location deleted", given: []Event{tokenMade(1, "custom-a", t0+minute)},
			when: with(func(c *JoinMachine) { c.Location = "custom-a" }), fault: fault.NotFound},
		{name: "too many", given: []Event{token, machineMade("a", "us-west-2", 2), machineMade("b", "us-west-2", 3)},
			when: join, fault: fault.LimitExceeded, text: "The limit of 2 machines is reached"},
		{name: "again", given: []Event{joined}, when: with(func(c *JoinMachine) { c.Token = nil })},
		{name: "again without location", given: []Event{joined},
			when: with(func(c *JoinMachine) { c.Token, c.Location = nil, "" })},
		{name: "again with a token", given: []Event{joined, token}, when: join},
		{name: "another offer", given: []Event{&drained},
			when: with(func(c *JoinMachine) { c.Offer.MilliCPUs, c.Token = 4000, nil }), then: []Event{&larger}},
		{name: "a newer generation", given: []Event{joined}, when: with(func(c *JoinMachine) { c.Generation = 9 }),
			then: []Event{&restored}},
		{name: "its generation", given: []Event{joined}, when: with(func(c *JoinMachine) { c.Generation = 1 })},
		{name: "a generation too high", given: []Event{joined},
			when: with(func(c *JoinMachine) { c.Generation = 1<<53 + 1 }), fault: fault.InvalidRequest},
		{name: "another key", given: []Event{joined, token}, when: with(func(c *JoinMachine) { c.Key = machineKey(2) }),
			fault: fault.AccessDenied, text: "Machine box has joined with another key. Choose another name, or " +
				"delete that machine first."},
		{name: "another location", given: []Event{joined},
			when: with(func(c *JoinMachine) { c.Location = "eu-west-1" }), fault: fault.Conflict},
	}
	for name, change := range map[string]func(*JoinMachine){
		"no name":         func(c *JoinMachine) { c.Name = "" },
		"long name":       func(c *JoinMachine) { c.Name = strings.Repeat("x", 129) },
		"name with slash": func(c *JoinMachine) { c.Name = "a/b" },
		"name of stops":   func(c *JoinMachine) { c.Name = ".." },
		"short key":       func(c *JoinMachine) { c.Key = []byte{1} },
		"no CPUs":         func(c *JoinMachine) { c.Offer.MilliCPUs = 0 },
		"no memory":       func(c *JoinMachine) { c.Offer.MemoryMiB = 0 },
		"half a range":    func(c *JoinMachine) { c.Offer.PortFirst = 1 },
		"reversed range":  func(c *JoinMachine) { c.Offer.PortFirst, c.Offer.PortLast = 2, 1 },
		"high port":       func(c *JoinMachine) { c.Offer.PortFirst, c.Offer.PortLast = 1, 65536 },
		"no address":      func(c *JoinMachine) { c.Offer.IP = "box" },
		"long DNS name":   func(c *JoinMachine) { c.Offer.DNS = strings.Repeat("x", 254) },
		"version of two":  func(c *JoinMachine) { c.Offer.Version = "a b" },
	} {
		scenes = append(scenes, scene{name: name, given: []Event{token}, when: with(change),
			fault: fault.InvalidRequest})
	}
	play(t, scenes)
}

func TestMachineCommands(t *testing.T) {
	joined := machineMade("box", "us-west-2", 1)
	drained := &MachineDrainSet{"box", true, 2}
	play(t, []scene{
		{name: "drain", given: []Event{joined}, when: DrainMachine{"box", true}, then: []Event{drained}},
		{name: "drain again", given: []Event{joined, drained}, when: DrainMachine{"box", true}},
		{name: "undrain", given: []Event{joined, drained}, when: DrainMachine{"box", false},
			then: []Event{&MachineDrainSet{"box", false, 3}}},
		{name: "drain an unknown one", when: DrainMachine{"box", true}, fault: fault.NotFound,
			text: "Machine box not found"},
		{name: "delete", given: []Event{joined}, when: DeleteMachine{Name: "box"}, fault: fault.Conflict,
			text: "Machine box is neither drained nor lost. Drain it first."},
		{name: "delete a drained one", given: []Event{joined, drained}, when: DeleteMachine{Name: "box"},
			then: []Event{&MachineDeleted{"box"}}},
		{name: "delete a lost one", given: []Event{joined}, when: DeleteMachine{"box", true},
			then: []Event{&MachineDeleted{"box"}}},
		{name: "delete an unknown one", when: DeleteMachine{"box", true}, fault: fault.NotFound},
	})
}

// TestMachines: tokens expire, records are in snapshots and copies, and below their level there are none.
func TestMachines(t *testing.T) {
	s := given(t, DefaultLimits(), tokenMade(1, "us-west-2", t0+minute), tokenMade(2, "us-west-2", t0+2*minute),
		machineMade("b", "us-west-2", 1), machineMade("a", "us-west-2", 2), &MachineDrainSet{"none", true, 2})
	if list := s.Machines(); len(list) != 2 || list[0].Name != "a" {
		t.Errorf("machines %v", list)
	}
	before := encode(t, s)
	checkEqual(t, "snapshot", decode(t, DefaultLimits(), before), s)
	frozen := s.Copy()
	if s.Deadline() != t0+minute {
		t.Errorf("the deadline is %d", s.Deadline())
	}
	for _, e := range s.Expire(t0 + minute) {
		s.Apply(e)
	}
	if left := s.MachineTokens(); len(left) != 1 || left[0].Expires != t0+2*minute {
		t.Errorf("tokens %v", left)
	}
	do(t, s, t0, DrainMachine{"a", true})
	do(t, s, t0, DeleteMachine{Name: "a"})
	if !bytes.Equal(before, encode(t, frozen)) {
		t.Error("the copy changed with the original")
	}
	s.Raise(MachineLevel - 1)
	for _, c := range []Command{CreateMachineToken{}, DeleteMachineToken{}, JoinMachine{}, DrainMachine{"b", true},
		DeleteMachine{}} {
		if _, err := s.Decide(t0, c); !fault.Is(err, fault.ServiceUnavailable) {
			t.Errorf("%T: %v", c, err)
		}
	}
}
