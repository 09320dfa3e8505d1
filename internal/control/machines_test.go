package control

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/machines"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A machineSocket is what a machine receives.
type machineSocket struct {
	machines.Connection
	mu     sync.Mutex
	wanted []*protocol.Wanted
	ended  error
}

// joinMachine joins a machine by this node.
func (w *world) joinMachine(name, location, token string, key byte) (*machineSocket, error) {
	s := &machineSocket{}
	c, err := w.MachineConnector().Join(w.ctx, machines.Request{
		Join: &protocol.Join{Name: name, Location: location, Token: token, PublicKey: bytes.Repeat([]byte{key}, 32),
			Offer: protocol.Offer{MilliCPUs: 1500, MemoryMiB: 1024, PortFirst: 1, PortLast: 9}},
		Push: func(m *protocol.Wanted) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.wanted = append(s.wanted, m)
		},
		End: func(err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ended = err
		},
	})
	s.Connection = c
	return s, err
}

func (s *machineSocket) newest() *protocol.Wanted {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted[len(s.wanted)-1]
}

func (s *machineSocket) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

func (w *world) machineToken(location string, ttl time.Duration) string {
	w.t.Helper()
	made, err := w.CreateMachineToken(w.ctx, MachineTokenInput{location, int64(ttl / time.Second)})
	if err != nil {
		w.t.Fatal(err)
	}
	return made.Token
}

func wantFault(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: %v, want %s", what, err, kind)
	}
}

func TestMachineTokens(t *testing.T) {
	w := newWorld(t)
	for what, in := range map[string]MachineTokenInput{
		"no location": {"", 60}, "no Region": {"somewhere", 60}, "no time": {testRegion, 0},
		"a long time": {testRegion, maxTokenSeconds + 1}, "no end": {testRegion, 1 << 60},
	} {
		_, err := w.CreateMachineToken(w.ctx, in)
		wantFault(t, what, err, fault.InvalidRequest)
	}
	_, err := w.CreateMachineToken(w.ctx, MachineTokenInput{"custom-none", 60})
	wantFault(t, "an unknown location", err, fault.NotFound)

	token := w.machineToken(testRegion, time.Hour)
	_, err = w.joinMachine("box", "eu-west-1", token, 1)
	wantFault(t, "another location", err, fault.AccessDenied)
	w.clock.Advance(time.Hour)
	_, err = w.joinMachine("box", "", token, 1)
	wantFault(t, "an expired token", err, fault.AccessDenied)
	w.await("the token is deleted", func() bool { return len(w.MachineTokens()) == 0 })

	token = w.machineToken(testRegion, time.Hour)
	list := w.MachineTokens()
	if len(list) != 1 || list[0].Expires.Sub(list[0].Created) != time.Hour || strings.Contains(list[0].ID, token) {
		t.Errorf("the tokens are %+v", list)
	}
	if err := w.DeleteMachineToken(w.ctx, list[0].ID); err != nil {
		t.Error(err)
	}
	wantFault(t, "revoked twice", w.DeleteMachineToken(w.ctx, list[0].ID), fault.NotFound)
	_, err = w.joinMachine("box", "", token, 1)
	wantFault(t, "a revoked token", err, fault.AccessDenied)

	token = w.machineToken(testRegion, time.Hour)
	if _, err := w.joinMachine("box", "", token, 1); err != nil {
		t.Error(err)
	}
	_, err = w.joinMachine("other", "", token, 2)
	wantFault(t, "a used token", err, fault.AccessDenied)
	for i, j := range w.journals {
		err := j.Reopen().Replay(w.ctx, 0, func(_ uint64, record []byte) error {
			if bytes.Contains(record, []byte(token)) {
				t.Errorf("journal %d has a token", i)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestMachineRows(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"c", "a", "b"} {
		if _, err := w.joinMachine(name, testRegion, w.machineToken(testRegion, time.Minute), name[0]); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	q := MachineQuery{Location: testRegion, Status: "ONLINE", Limit: 2}
	for {
		list, err := w.Machines(w.ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list.Machines {
			names = append(names, m.Name)
		}
		if q.After = list.NextToken; q.After == "" {
			break
		}
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("pages of %v", names)
	}
	for q, want := range map[MachineQuery]int{
		{Limit: 9}: 3, {Limit: 9, Location: "custom-a"}: 0, {Limit: 9, Status: "LOST"}: 0,
	} {
		if list, err := w.Machines(w.ctx, q); err != nil || len(list.Machines) != want {
			t.Errorf("%+v: %+v, %v", q, list, err)
		}
	}
	_, err := w.Machines(w.ctx, MachineQuery{Limit: 1, Status: "GONE"})
	wantFault(t, "an unknown status", err, fault.InvalidRequest)
	_, err = w.Machines(w.ctx, MachineQuery{Limit: 1, After: "x"})
	wantFault(t, "an unknown page", err, fault.InvalidRequest)
	m, err := w.Machine(w.ctx, "b")
	if err != nil || m.CPUs != 1.5 || m.PortRange != "1-9" || m.Status != machines.Online || m.LastReport == nil {
		t.Errorf("machine b is %+v, %v", m, err)
	}
	_, err = w.Machine(w.ctx, "d")
	wantFault(t, "an unknown machine", err, fault.NotFound)
	_, err = w.DrainMachine(w.ctx, "d", true)
	wantFault(t, "drain an unknown machine", err, fault.NotFound)
	wantFault(t, "delete an unknown machine", w.DeleteMachine(w.ctx, "d", true), fault.NotFound)
	wantFault(t, "delete one that is used", w.DeleteMachine(w.ctx, "a", true), fault.Conflict)
}

// TestMachinesOfThreeNodes: each node shows the same machines, and a change by any of them reaches the machine.
func TestMachinesOfThreeNodes(t *testing.T) {
	n := newNet(t, 3)
	socket, err := n.worlds[1].joinMachine("box", "", n.worlds[0].machineToken(testRegion, time.Hour), 1)
	if err != nil {
		t.Fatal(err)
	}
	same := func(status machines.Status, drained bool) {
		t.Helper()
		for i, w := range n.worlds {
			list, err := w.Machines(w.ctx, MachineQuery{Limit: 9})
			if err != nil || len(list.Machines) != 1 || list.Machines[0].Status != status ||
				list.Machines[0].Drained != drained {
				t.Errorf("node %d lists %+v, %v", i, list, err)
			}
		}
	}
	same(machines.Online, false)
	if m, err := n.worlds[2].DrainMachine(n.worlds[2].ctx, "box", true); err != nil || !m.Drained {
		t.Errorf("drained: %+v, %v", m, err)
	}
	n.worlds[1].await("the drain reaches the machine", func() bool {
		w := socket.newest()
		return w.Drain && w.Generation == 2
	})
	same(machines.Online, true)
	n.give(0, 2) // the catalog's shard
	if _, err := n.worlds[0].DrainMachine(n.worlds[0].ctx, "box", false); err != nil {
		t.Error(err)
	}
	n.worlds[1].await("the end of the drain reaches it", func() bool { return socket.newest().Generation == 3 })
	socket.Disconnected()
	same(machines.Reconnecting, false)
	if _, err := n.worlds[2].joinMachine("box", "", "", 1); err != nil { // another node, with the key
		t.Error(err)
	}
	same(machines.Online, false)
	if _, err := n.worlds[0].joinMachine("box", "", "", 2); !fault.Is(err, fault.AccessDenied) {
		t.Errorf("another key: %v", err)
	}
	if err := n.worlds[0].Change(context.Background(), catalog.DeleteMachine{Name: "box", Lost: true}); err != nil {
		t.Error(err)
	}
	if socket.end() != nil {
		t.Error("a closed socket was ended")
	}
}
