package control

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A mishap is what befalls one append.
type mishap struct {
	stored bool // the record is durable all the same
	deadly bool // nothing is appended any more: the process was killed
}

// A fate wraps the journals of a world and lets one append of all go wrong.
type fate struct {
	mu      sync.Mutex
	appends int
	at      int // 0: none
	mishap
	dead   bool
	struck chan struct{} // closed when it has happened
}

// strike lets the n-th append from now on go wrong.
func (f *fate) strike(n int, m mishap) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.mishap, f.struck = f.appends+n, m, make(chan struct{})
}

func (f *fate) revive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.dead = 0, false
}

// next says what befalls the next append.
func (f *fate) next() (m mishap, bad, dead bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return mishap{}, false, true
	}
	f.appends++
	if f.appends != f.at {
		return mishap{}, false, false
	}
	f.dead = f.deadly
	close(f.struck)
	return f.mishap, true, false
}

// A fatedJournal is a journal with a fate.
type fatedJournal struct {
	journal.Journal
	fate *fate
}

func (j fatedJournal) Append(ctx context.Context, last uint64, data []byte) (uint64, error) {
	m, bad, dead := j.fate.next()
	switch {
	case dead:
		return 0, journal.ErrBroken
	case bad && !m.stored && m.deadly:
		return 0, journal.ErrBroken
	case bad && !m.stored:
		return 0, errDisk
	}
	seq, err := j.Journal.Append(ctx, last, data)
	if bad && err == nil {
		err = errDisk
		if m.deadly {
			err = journal.ErrBroken
		}
		return 0, err
	}
	return seq, err
}

// gameServers are processes that do what they are asked to, through all recoveries.
type gameServers struct {
	w       *world
	clients []processes.ConnectRequest
	dies    string // the id of a process that ends instead of activating its game session
}

// run lets them play until the returned function is called.
func (g *gameServers) run() (stop func()) {
	ctx, cancel := context.WithCancel(g.w.ctx)
	var group sync.WaitGroup
	for _, c := range g.clients {
		group.Go(func() { g.play(ctx, c) })
	}
	return func() { cancel(); group.Wait() }
}

func (g *gameServers) play(ctx context.Context, c processes.ConnectRequest) {
	w := g.w
	s := &socket{w: w, connect: c, pushes: make(chan processes.Push, 100), replaced: make(chan struct{}, 10)}
	c.Push = func(p processes.Push) { s.pushes <- p }
	c.Replaced = func() { s.replaced <- struct{}{} }
	var err error
	connect := func() {
		retry(ctx, func() error {
			s.Connection, err = w.processes.Connect(ctx, c)
			return err
		})
	}
	if connect(); err != nil {
		return
	}
	retry(ctx, func() error { return s.ready(7777) })
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.replaced: // its socket was given up, or it has ended
			if connect(); err != nil {
				return
			}
		case push := <-s.pushes:
			start, ok := push.(processes.CreateGameSessionPush)
			switch {
			case !ok:
			case c.ProcessID == g.dies:
				retry(ctx, s.end)
			default:
				retry(ctx, func() error { return s.activate(start.GameSessionID) })
			}
		}
	}
}

// retry repeats a call until it is answered, if only with a refusal.
func retry(ctx context.Context, call func() error) {
	for ctx.Err() == nil {
		err := call()
		if err == nil || !fault.Is(err, fault.InternalService) && !fault.Is(err, fault.ServiceUnavailable) {
			return
		}
	}
}

// After a failure at any step of it a placement has one game session or none, and no
// other one is left behind.
func TestPlacementsThroughFailures(t *testing.T) {
	for name, m := range map[string]mishap{
		"append fails": {}, "answer lost": {stored: true}, "killed before": {deadly: true},
		"killed after": {stored: true, deadly: true},
	} {
		for _, shards := range []int{1, 3} {
			for step := 1; step <= 12; step++ {
				t.Run(fmt.Sprintf("%s/%d shards/append %d", name, shards, step), func(t *testing.T) {
					placeThrough(t, m, shards, step)
				})
			}
		}
	}
}

func placeThrough(t *testing.T, m mishap, shards, step int) {
	f := &fate{}
	w := newWorld(t, withShards(shards), func(w *world) {
		w.broken = m.deadly
		w.wrap = func(j journal.Journal) journal.Journal { return fatedJournal{j, f} }
	})
	p := w.poolAt("", 0, "custom-a", "custom-b")
	w.addQueue("q", nil, p)
	servers := &gameServers{w: w, dies: "custom-a-0"}
	for i, location := range []string{"custom-a", "custom-a", "custom-b"} {
		servers.clients = append(servers.clients, processes.ConnectRequest{
			FleetID: p.fleet, ComputeName: location, ProcessID: fmt.Sprintf("%s-%d", location, i),
			Authorization: w.token(p.fleet, location),
			SDKVersion:    "5.4.0", SDKLanguage: "Go", IdempotencyToken: fmt.Sprint(i),
		})
	}
	stopClock := ticking(w.clock)
	defer func() { stopClock() }()
	f.strike(6+step, m) // the servers connect and are ready before
	stopServers := servers.run()
	w.await("the servers to be ready", func() bool { return w.idle(p.fleet) == 3 || f.hasStruck() })

	ids := []string{"p", "q"}
	var clients sync.WaitGroup
	start := func() {
		for _, id := range ids {
			ctx := WithCall(w.ctx, Call{Principal: "AKIA1", Invocation: id})
			in := placementOfQ(id, object{"DesiredPlayerSessions": []object{{"PlayerId": "x"}, {"PlayerId": "y"}}})
			clients.Go(func() {
				retry(w.ctx, func() error {
					_, err := w.callAs(ctx, "StartGameSessionPlacement", in)
					if f.isDead() {
						return nil
					}
					return err
				})
			})
		}
	}
	start()
	if m.deadly {
		w.await("the end of the process", func() bool { return f.hasStruck() || w.over(ids) })
		f.kill()
		clients.Wait()
		stopServers()
		w.stop()
		for i, j := range w.journals {
			w.journals[i] = j.Reopen()
		}
		f.revive()
		w.start()
		stopServers = servers.run()
		start()
	}
	clients.Wait()
	w.await("the placements to be over", func() bool { return w.over(ids) })
	w.noneLeft()
	w.await("no other game session to be left", func() bool { return len(w.sessions()) == 2 })
	stopServers()
	for _, id := range ids {
		w.wantOneSession(id)
	}
}

// wantOneSession checks the game session of a placement that has had the processes for it.
func (w *world) wantOneSession(id string) {
	w.t.Helper()
	r := w.record(id)
	if r.Status != placement.Fulfilled {
		w.t.Fatalf("placement %s is %s: %+v", id, r.Status, r.Trail.Steps)
	}
	var mine []*fleet.GameSession
	for _, g := range w.sessions() {
		if g.Placement == id {
			mine = append(mine, g)
		}
	}
	if len(mine) != 1 || mine[0].Status != fleet.Active || mine[0].ID != r.Session.ID || len(r.Session.Players) != 2 ||
		mine[0].Players() != 2 {
		w.t.Errorf("placement %s has %+v and the game sessions %+v", id, r.Session, mine)
	}
	for i, player := range r.Session.Players {
		if _, ok := mine[0].PlayerSession(player.PlayerSession); !ok ||
			player.PlayerID != strings.Split("x y", " ")[i] {
			w.t.Errorf("placement %s has the player %+v", id, player)
		}
	}
}

// over reports whether all placements are over.
func (w *world) over(ids []string) bool {
	for _, id := range ids {
		r, err := w.findPlacement(w.ctx, id)
		if err != nil || !r.HasEnded() {
			return false
		}
	}
	return true
}

// idle is how many processes of a fleet wait for a game session.
func (w *world) idle(fleetID string) (n int) {
	idle, err := w.IdleProcesses(w.ctx, fleetID, "")
	if err != nil {
		return 0
	}
	for _, of := range idle {
		n += of
	}
	return n
}

func (f *fate) hasStruck() bool {
	select {
	case <-f.struck:
		return true
	default:
		return false
	}
}

func (f *fate) isDead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

func (f *fate) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
}
