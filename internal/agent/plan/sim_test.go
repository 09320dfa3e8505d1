package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A simulation is a compute under one seed: a configuration that changes, processes that live and crash at random, a
// service that ends some of them, and an agent that is killed and adopts what runs.
type simulation struct {
	*testing.T
	*rand.Rand
	m        *Machine
	now      time.Time
	entries  []Entry
	alive    map[string]*simulated
	ever     map[string]bool
	launched time.Time // the last launch
	ids      int
}

type simulated struct {
	start      Start
	began      time.Time
	ends       time.Time
	code       int
	asked      time.Time // to end; zero: not
	registered bool
}

func TestSimulation(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			s := &simulation{T: t, Rand: rand.New(rand.NewPCG(seed, 0)), now: t0, alive: map[string]*simulated{},
				ever: map[string]bool{}}
			s.restart()
			for range 400 {
				s.step()
			}
			s.settle()
		})
	}
}

// restart replaces the agent.
func (s *simulation) restart() {
	s.m = New(NewPorts(20000, 20000+s.IntN(30)))
	for id, p := range s.alive {
		s.m.Adopt(s.now, id, p.start.Entry, p.start.Build, p.start.Port, p.began)
	}
	s.launched = time.Time{}
	s.m.Configure(s.entries)
	s.do(s.m.Heartbeat(s.now, Initializing, nil, nil))
}

func (s *simulation) step() {
	switch s.IntN(12) {
	case 0:
		s.entries = nil
		for i := range s.IntN(4) {
			parameters := []string{"", "-port={port}"}[s.IntN(2)]
			s.entries = append(s.entries, Entry{fmt.Sprint("/s", i), parameters, s.IntN(6)})
		}
		s.m.Configure(s.entries)
	case 1:
		if s.IntN(4) == 0 {
			s.restart()
		}
	case 2:
		for id, p := range s.alive {
			p.registered = true
			s.m.Registered(id)
		}
	case 3:
		for id := range s.alive {
			s.do(s.m.ForceExit(s.now, id, Unhealthy))
			break
		}
	case 4:
		var unregistered []string
		for id, p := range s.alive {
			if !p.registered {
				unregistered = append(unregistered, id)
			}
		}
		s.do(s.m.Heartbeat(s.now, Active, nil, unregistered))
	default:
		s.pass(time.Duration(s.IntN(20)) * time.Second)
	}
	s.do(s.m.Tick(s.now, s.id()))
}

func (s *simulation) id() string {
	s.ids++
	return fmt.Sprint("p", s.ids)
}

// pass lets time pass, event by event.
func (s *simulation) pass(d time.Duration) {
	end := s.now.Add(d)
	for turns := 0; ; turns++ {
		if turns > 10000 {
			s.Fatal("the time does not advance")
		}
		next, who := end, ""
		if t := s.m.Next(); !t.IsZero() && t.Before(next) {
			next = t
		}
		for id, p := range s.alive {
			if p.ends.Before(next) {
				next, who = p.ends, id
			}
		}
		if next.After(s.now) {
			s.now = next
		}
		if p := s.alive[who]; p != nil {
			delete(s.alive, who)
			s.do(s.m.Exited(s.now, who, p.code, s.Float64()))
		}
		s.do(s.m.Tick(s.now, s.id()))
		s.check()
		if !s.now.Before(end) {
			return
		}
	}
}

func (s *simulation) do(actions []Action) {
	s.Helper()
	for _, a := range actions {
		switch a := a.(type) {
		case Start:
			s.start(a)
		case Signal:
			p := s.alive[a.ID]
			switch {
			case p == nil:
				s.Fatalf("signal for %s, which has ended", a.ID)
			case a.Kill:
				p.ends, p.code = s.now, -9
			default:
				p.asked = s.now
				if s.IntN(2) == 0 { // it obeys
					p.ends, p.code = s.now.Add(time.Second), 0
				}
			}
		}
	}
}

// start checks a launch, and decides the life of the process.
func (s *simulation) start(a Start) {
	s.Helper()
	equal, wanted := 0, 0
	for _, p := range s.alive {
		if p.start.Entry == a.Entry {
			equal++
		}
		if a.Port != 0 && p.start.Port == a.Port {
			s.Fatalf("port %d is leased twice", a.Port)
		}
	}
	for _, e := range s.entries {
		wanted += e.Count
	}
	switch {
	case s.ever[a.ID]:
		s.Fatalf("%s is started twice", a.ID)
	case equal >= a.Entry.Count:
		s.Fatalf("%d processes of %+v run", equal, a.Entry)
	case len(s.alive) >= wanted:
		s.Fatalf("%d processes run, %d are wanted", len(s.alive), wanted)
	case !s.launched.IsZero() && s.now.Before(s.launched.Add(lastPace)):
		s.Fatalf("launched at %s, then at %s", s.launched, s.now)
	case (a.Port != 0) != (a.Entry.Parameters != ""):
		s.Fatalf("port %d for %+v", a.Port, a.Entry)
	}
	s.ever[a.ID], s.launched = true, s.now
	if s.IntN(8) == 0 {
		s.do(s.m.StartFailed(s.now, a.ID, s.Float64()))
		return
	}
	s.alive[a.ID] = &simulated{start: a, began: s.now, code: s.IntN(2),
		ends: s.now.Add(time.Duration(s.ExpFloat64() * float64(2*time.Minute)))}
}

func (s *simulation) check() {
	s.Helper()
	if got := len(s.m.Processes()); got != len(s.alive) {
		s.Fatalf("the machine has %d processes, %d run", got, len(s.alive))
	}
	for id, p := range s.alive {
		if !p.asked.IsZero() && s.m.processes[id].reason != "" && s.now.After(p.asked.Add(killDelay)) {
			s.Fatalf("%s was asked to end at %s and runs at %s", id, p.asked, s.now)
		}
	}
}

// settle lets all live for ever: then what is configured runs, and nothing else but old processes.
func (s *simulation) settle() {
	s.entries = []Entry{{"/last", "", 3}, {"/other", "", 2}}
	s.m.Configure(s.entries)
	s.pass(30 * time.Minute)
	for range 100 { // processes of old entries end meanwhile
		for id, p := range s.alive {
			p.registered = true
			s.m.Registered(id)
		}
		s.pass(time.Minute)
	}
	running := map[Entry]int{}
	for _, p := range s.alive {
		running[p.start.Entry]++
	}
	for e, n := range running {
		if n > e.Count || e.LaunchPath != "/last" && e.LaunchPath != "/other" && s.m.Status() == Active {
			s.Errorf("%d of %+v run", n, e)
		}
	}
	if len(s.alive) > 5 {
		s.Errorf("%d processes run", len(s.alive))
	}
}
