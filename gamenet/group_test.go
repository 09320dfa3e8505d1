package gamenet

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
)

func TestGroupMembers(t *testing.T) {
	seen := newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(seen)}})
	g := new(Group)
	if g.Len() != 0 || len(g.Members()) != 0 || g.Broadcast(Packet{ID: 1}) != nil {
		t.Error("a new group is not empty")
	}
	var sessions []*Session
	for range 5 {
		dial(t, server)
		sessions = append(sessions, await(t, "a session", seen.onOpen))
	}
	for _, s := range sessions {
		if g.Has(s) || !g.Add(s) || !g.Has(s) || g.Add(s) {
			t.Error("adding does not add once")
		}
	}
	before := g.Members()
	if !g.Remove(sessions[0]) || g.Remove(sessions[0]) || g.Has(sessions[0]) || g.Len() != 4 {
		t.Error("removing does not remove once")
	}
	if len(before) != 5 || !slices.Contains(before, sessions[0]) || before[4] == nil {
		t.Error("a list of members changed afterwards")
	}
	members := g.Members()
	for _, s := range sessions[1:] {
		if !slices.Contains(members, s) {
			t.Errorf("session %d is missing", s.ID())
		}
	}
	if other := new(Group); !other.Add(sessions[1]) || !g.Has(sessions[1]) || !other.Remove(sessions[1]) ||
		!g.Has(sessions[1]) {
		t.Error("a session cannot be in two groups")
	}
	if !g.Add(sessions[0]) {
		t.Error("a session cannot come back")
	}
}

// TestGroupLeavesByItself: a session has left its groups when its OnDisconnected
// runs, and does not get into one any more.
func TestGroupLeavesByItself(t *testing.T) {
	rooms := []*Group{new(Group), new(Group)}
	opened, ended := make(chan *Session, 2), make(chan *Session, 2)
	h := &script{
		connected: func(s *Session) {
			for _, g := range rooms {
				g.Add(s)
			}
			opened <- s
		},
		disconnected: func(s *Session, _ error) {
			for i, g := range rooms {
				if g.Has(s) || g.Add(s) {
					t.Errorf("room %d: it has not left for good", i)
				}
			}
			ended <- s
		},
	}
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(h)}})
	conn := dial(t, server)
	s := await(t, "a session", opened)
	dial(t, server)
	await(t, "another", opened)
	conn.Close()
	if got := await(t, "its end", ended); got != s {
		t.Errorf("session %d ended", got.ID())
	}
	for i, g := range rooms {
		if g.Len() != 1 {
			t.Errorf("room %d has %d members", i, g.Len())
		}
	}
}

// A counting codec counts how often something is encoded.
type counting struct {
	Codec
	mu      *sync.Mutex
	appends *int
}

func (c counting) Append(dst []byte, p Packet, max int) ([]byte, error) {
	c.mu.Lock()
	*c.appends++
	c.mu.Unlock()
	return c.Codec.Append(dst, p, max)
}

// TestBroadcastEncodesOnce: fifty players hear one encoding.
func TestBroadcastEncodesOnce(t *testing.T) {
	const players = 50
	codec := counting{Codec: U16, mu: new(sync.Mutex), appends: new(int)}
	here, there := newDiary(), newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(here), Codec: codec}})
	startClient(t, server, ClientConfig{Config: Config{NewHandler: always(there)}, Sessions: players})
	g := new(Group)
	for range players {
		g.Add(await(t, "a session", here.onOpen))
	}
	for name, broadcast := range map[string]func(Packet) error{"group": g.Broadcast, "service": server.Broadcast} {
		before := there.count()
		codec.mu.Lock()
		*codec.appends = 0
		codec.mu.Unlock()
		if err := broadcast(Packet{7, []byte(name)}); err != nil {
			t.Error(err)
		}
		eventually(t, "all to hear it", func() bool { return there.count() == before+players })
		codec.mu.Lock()
		if *codec.appends != 1 {
			t.Errorf("%s: encoded %d times", name, *codec.appends)
		}
		codec.mu.Unlock()
		for _, p := range there.copy()[before:] {
			if p.ID != 7 || string(p.Payload) != name {
				t.Errorf("%s: heard %v", name, p)
			}
		}
	}
}

// TestBroadcastWithFailures: what one member's queue says keeps nobody else from
// hearing; members that have ended are no failure.
func TestBroadcastWithFailures(t *testing.T) {
	full, conn := gated(t, Config{WhenFull: FullDropNewest, QueuePackets: 1})
	stuck(t, full, conn)
	well, wellConn := gated(t, Config{})
	gone, goneConn := gated(t, Config{})
	g := new(Group)
	for _, s := range []*Session{gone, full, well} {
		if !g.Add(s) {
			t.Fatal("not added")
		}
	}
	gone.beginClosing(ErrLost, nil) // ends while it is still a member
	defer goneConn.Close()
	err := g.Broadcast(Packet{1, []byte("news")})
	if !errors.Is(err, ErrDropped) || errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	got, want := await(t, "the news", wellConn.writes), encode(t, Packet{1, []byte("news")})
	if !bytes.Equal(got, want) {
		t.Errorf("heard %q", got)
	}
	if err := g.Broadcast(Packet{ID: FirstReservedID}); !errors.Is(err, ErrInvalidID) {
		t.Errorf("a reserved id: %v", err)
	}
}

// TestGroupOfTwoServices: each member hears the packet as its own service encodes
// it.
func TestGroupOfTwoServices(t *testing.T) {
	short, shortConn := gated(t, Config{Codec: Varint})
	long, longConn := gated(t, Config{Codec: U32})
	g := new(Group)
	g.Add(short)
	g.Add(long)
	if err := g.Broadcast(Packet{Payload: []byte("hi")}); err != nil {
		t.Error(err)
	}
	if got := await(t, "a write", shortConn.writes); !bytes.Equal(got, []byte("\x02hi")) {
		t.Errorf("the one with Varint heard %q", got)
	}
	if got := await(t, "a write", longConn.writes); !bytes.Equal(got, []byte("\x02\x00\x00\x00hi")) {
		t.Errorf("the one with U32 heard %q", got)
	}
}

// TestGroupRace: sessions come, go and end while others broadcast. Those who stay
// hear everything in order.
func TestGroupRace(t *testing.T) {
	const broadcasts = 300
	g, here := new(Group), newDiary()
	server := startServer(t, ServerConfig{Config: Config{NewHandler: always(here), WhenFull: FullBlock}})
	there := newDiary()
	startClient(t, server, ClientConfig{Config: Config{NewHandler: always(there)}})
	stays := await(t, "a session", here.onOpen)
	g.Add(stays)
	passing := newDiary()
	startClient(t, server, ClientConfig{Config: Config{NewHandler: always(passing)}, Sessions: 10})
	var guests sync.WaitGroup
	for i := range 10 {
		s := await(t, "a guest", here.onOpen)
		guests.Go(func() {
			for range 20 {
				g.Add(s)
				g.Remove(s)
			}
			g.Add(s)
			if i%2 == 0 {
				s.Disconnect(Reason{})
			}
		})
	}
	var want []string
	for i := range broadcasts {
		text := fmt.Sprint(i)
		want = append(want, text)
		if err := g.Broadcast(Packet{1, []byte(text)}); err != nil {
			t.Error(err)
		}
	}
	guests.Wait()
	eventually(t, "all broadcasts", func() bool { return there.count() == broadcasts })
	if got := there.payloads(); !slices.Equal(got, want) {
		t.Error("the one who stayed heard something else")
	}
	eventually(t, "half of them to leave", func() bool { return g.Len() == 6 })
}
