package sim

import (
	"time"

	"github.com/muster-gg/muster/internal/agent/plan"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
)

// A server is a game server: a process with a socket to the service.
type server struct {
	w     *world
	room  fleet.RoomID
	key   fleet.ProcessKey
	run   string // its idempotency token
	alive bool
	open  bool // it has a socket
	ready bool
	hung  bool // it reports no health and does not end when asked

	reported bool // its agent has reported its end, or is about to

	session string // that it was told to start
	asking  bool   // it is about to announce a socket

	box   *box  // that it runs on; nil: none, nothing below is set
	slot  *slot // of the agent that knows it
	entry plan.Entry
	build string // that it was started from; "": the fleet's own
	port  int
	begun time.Time
}

type serverKey struct {
	room fleet.RoomID
	key  fleet.ProcessKey
}

type sessionKey struct {
	room fleet.RoomID
	id   string
}

func (w *world) shardOf(room fleet.RoomID) int { return region.ShardOf(room, len(w.shards)) }

// askRoom asks the room of a fleet location.
func (w *world) askRoom(room fleet.RoomID, c fleet.Command, repeat bool, answered func(any, error)) {
	w.ask(&question{
		shard: w.shardOf(room), cmd: region.RoomCommand{Room: room, Command: c}, repeat: repeat, answered: answered,
	})
}

// launch starts a game server on a compute.
func (w *world) launch(room fleet.RoomID, compute string) {
	key := fleet.ProcessKey{Compute: compute, ID: w.id("process")}
	s := &server{w: w, room: room, key: key, alive: true, hung: !w.calm && w.chance(4)}
	s.run = "run-" + s.key.ID
	w.servers = append(w.servers, s)
	w.byKey[serverKey{room, s.key}] = s
	s.connect()
	w.in(time.Minute, s.beat)
}

func (s *server) ask(c fleet.Command, answered func(any, error)) {
	s.w.askRoom(s.room, c, true, answered)
}

// connect announces a new socket.
func (s *server) connect() {
	if !s.alive || s.asking {
		return
	}
	s.asking = true
	s.ask(fleet.ConnectProcess{ProcessKey: s.key, Idempotency: s.run}, func(_ any, err error) {
		s.asking = false
		switch {
		case !s.alive:
			s.lose()
		case undecided(err):
			s.w.in(s.w.between(time.Second, 5*time.Second), func(*world) { s.connect() })
		case err != nil:
			s.open = false
			s.die(0)
		default:
			s.open = true
			s.catchUp()
			if !s.ready {
				s.getReady()
			}
		}
	})
}

func (s *server) getReady() {
	if !s.alive || s.ready {
		return
	}
	s.ask(fleet.ReadyProcess{ProcessKey: s.key, Port: 7777}, func(_ any, err error) {
		if undecided(err) {
			s.w.in(s.w.between(time.Second, 5*time.Second), func(*world) { s.getReady() })
			return
		}
		s.ready = err == nil
		if s.ready && s.slot != nil && s.slot.plan != nil {
			s.slot.plan.Registered(s.key.ID)
		}
		s.ask(fleet.IssueToken{Compute: s.key.Compute}, nil)
	})
}

// catchUp asks what the process has yet to be told, as a new socket does.
func (s *server) catchUp() {
	var process fleet.Process
	var session fleet.GameSession
	s.w.look(s.room, func(r *fleet.Room) {
		if p, ok := r.Process(s.key); ok {
			process = *p
			if g, ok := r.GameSessionAt(p.Session); ok {
				session = *g
			}
		}
	}, func(err error) {
		switch {
		case !s.alive || !s.open:
		case err != nil:
			s.w.in(s.w.between(time.Second, 3*time.Second), func(*world) { s.catchUp() })
		case process.Status == 0 || process.Status == fleet.ProcessEnded:
			s.stop()
		case !process.Connected:
			s.connect()
		default:
			if session.Status == fleet.Activating && process.Status == fleet.ProcessHosting {
				s.start(session.ID)
			}
			if process.TerminateBy != 0 {
				s.terminate()
			}
		}
	})
}

// look reads a room.
func (w *world) look(room fleet.RoomID, read func(*fleet.Room), answered func(error)) {
	number := w.shardOf(room)
	q := &question{shard: number, room: w.numberOf(room), answered: func(_ any, err error) { answered(err) }}
	q.read = func(m *region.Machine) {
		if r, ok := m.Room(room); ok {
			read(r)
		}
	}
	w.ask(q)
}

// numberOf is the number of a room within its shard; 0 when it has none yet.
func (w *world) numberOf(room fleet.RoomID) uint32 {
	if r, ok := w.shards[w.shardOf(room)].mirror.machine.Room(room); ok {
		return uint32(r.Address().Room)
	}
	return 0
}

// start is the word that the process has a game session to host.
func (s *server) start(session string) {
	switch {
	case !s.alive || s.session == session:
		return
	case s.session != "":
		s.w.fail("server process %v hosts game session %s and is told to start %s", s.key, s.session, session)
		return
	}
	if p := s.w.process(s.room, s.key); p.Build != s.build {
		s.w.fail("server process %v of build %q is told to start %s, and the room has it with build %q", s.key, s.build,
			session, p.Build)
	}
	s.session = session
	if !s.w.calm && s.w.chance(10) {
		return // it never becomes active
	}
	if s.w.calm {
		s.activate()
	} else {
		s.w.in(s.w.between(0, 15*time.Second), func(*world) { s.activate() })
	}
	s.w.in(s.w.between(time.Minute, 8*time.Minute), func(*world) { s.end() })
}

func (s *server) activate() {
	if s.alive {
		s.ask(fleet.ActivateGameSession{ProcessKey: s.key, GameSession: s.session}, func(_ any, err error) {
			if undecided(err) {
				s.w.in(s.w.between(time.Second, 5*time.Second), func(*world) { s.activate() })
			}
		})
	}
}

// accept lets a player in who has come to the server.
func (s *server) accept(session string, p fleet.PlayerSessionID) {
	if !s.alive {
		return
	}
	s.ask(fleet.AcceptPlayer{ProcessKey: s.key, GameSession: session, PlayerSession: p}, func(_ any, err error) {
		if err == nil {
			s.w.in(s.w.between(time.Second, 4*time.Minute), func(*world) {
				if s.alive {
					s.ask(fleet.RemovePlayer{ProcessKey: s.key, GameSession: session, PlayerSession: p}, nil)
				}
			})
		}
	})
}

// beat reports the process's health, each minute.
func (s *server) beat(w *world) {
	if !s.alive || w.over && s.hung {
		return
	}
	if s.open && s.ready && !(s.hung && s.session != "") {
		s.ask(fleet.ReportHealth{ProcessKey: s.key, Healthy: !w.chance(5)}, nil)
	}
	w.in(time.Minute, s.beat)
}

// terminate is the word that the process shall end.
func (s *server) terminate() {
	if !s.hung {
		s.w.in(s.w.between(0, 20*time.Second), func(*world) { s.end() })
	}
}

// end ends the process, properly.
func (s *server) end() {
	if !s.alive {
		return
	}
	s.ask(fleet.EndProcess{ProcessKey: s.key}, func(_ any, err error) {
		if undecided(err) {
			s.w.in(s.w.between(time.Second, 5*time.Second), func(*world) { s.end() })
			return
		}
		s.stop()
	})
}

// stop is the end of the process without a word. If an agent has started it, the agent reports the end.
func (s *server) stop() {
	if s.box != nil {
		s.die(0)
	}
	if s.alive {
		s.alive = false
		s.drop()
		if s.w.chance(50) {
			s.w.in(s.w.between(0, 5*time.Second), func(*world) { s.exited() })
		}
	}
}

// die ends the process with an exit code, which its agent learns.
func (s *server) die(code int) {
	if s.alive {
		s.alive = false
		s.drop()
		if s.slot != nil {
			s.slot.exited(s, code)
		}
	}
}

func (s *server) exited() {
	s.reported = true
	s.ask(fleet.ExitProcess{ProcessKey: s.key, Reason: fleet.ExitCrashed}, func(_ any, err error) {
		if undecided(err) {
			s.w.in(s.w.between(time.Second, 5*time.Second), func(*world) { s.exited() })
		}
	})
}

// drop closes the socket; the service notices after a while.
func (s *server) drop() {
	if s.open {
		s.open = false
		s.w.in(s.w.between(0, 3*time.Second), func(*world) { s.lose() })
	}
}

// lose is the word of the node that had the socket.
func (s *server) lose() {
	if !s.open {
		s.ask(fleet.LoseProcess{ProcessKey: s.key}, nil)
	}
}

// flicker drops the socket and comes back with another one.
func (s *server) flicker() {
	s.w.seen["dropped socket"]++
	s.drop()
	s.w.in(s.w.between(0, 150*time.Second), func(*world) { s.connect() })
}

// heard tells servers what has become durable in their room.
func (w *world) roomHappened(room fleet.RoomID, body any) {
	find := func(k fleet.ProcessKey) *server { return w.byKey[serverKey{room, k}] }
	switch e := body.(type) {
	case *fleet.GameSessionCreated:
		if s := find(e.Host); s != nil && s.alive && s.open {
			s.start(e.ID)
		}
	case *fleet.ProcessRequested:
		w.in(w.latency(5*time.Millisecond), func(*world) { w.request(room, e.ProcessKey) })
	case *fleet.GameSessionHosted:
		r, _ := w.shards[w.shardOf(room)].mirror.machine.Room(room)
		if s := find(e.Host); s != nil && s.alive && s.open {
			if g, ok := r.GameSessionAt(e.Ordinal); ok && g.Status == fleet.Activating {
				s.start(g.ID)
			}
		}
	case *fleet.ProcessAskedToEnd:
		if s := find(e.ProcessKey); s != nil && s.alive && s.open {
			s.terminate()
		}
	case *fleet.ProcessHasEnded:
		if s := find(e.ProcessKey); s != nil && s.alive && s.open {
			s.open = false
			s.die(0)
		}
	case *fleet.ProcessLost:
		if s := find(e.ProcessKey); s != nil && s.alive && s.open {
			s.connect()
		}
	case *fleet.Interrupted:
		for _, s := range w.servers {
			if e.Pause == 0 && s.room == room && s.alive && s.open {
				w.in(w.between(0, 2*time.Second), func(*world) { s.connect() })
			}
		}
	}
}

// capacity keeps computes registered and processes on them.
func (w *world) capacity() { w.equip(w.rooms[w.rng.IntN(len(w.rooms))]) }

// equip starts processes in a room.
func (w *world) equip(room fleet.RoomID) {
	compute := sprintf("host-%d", w.rng.IntN(2))
	number := w.shardOf(room)
	w.ask(&question{
		shard: number, repeat: true,
		cmd: region.RoomCommand{Room: room, Command: fleet.RegisterCompute{Name: compute, IPAddress: "10.0.0.1"},
			Open: true},
		answered: func(_ any, err error) {
			if err == nil {
				for range 1 + w.rng.IntN(2) {
					w.launch(room, compute)
				}
			}
		},
	})
}
