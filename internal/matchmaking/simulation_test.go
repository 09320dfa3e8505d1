package matchmaking

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
	"github.com/muster-gg/muster/internal/wire/fault"
)

var seeds = flag.Int("seeds", 41, "number of simulations")

// stepsPerSeed is the length of one simulation.
const stepsPerSeed = 250

// TestSimulation draws commands, clock steps and crashes from a seed and holds the
// State to its invariants after every step. To see one again:
// go test -run 'TestSimulation/seed=17$'
func TestSimulation(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(*seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, 1)), now: start, state: New(), seen: seen}
			s.forgetHistory()
			for step := range stepsPerSeed {
				if what, err := s.step(); err != nil {
					t.Fatalf("step %d, %s: %v", step, what, err)
				}
			}
			if err := s.replayed(); err != nil {
				t.Fatal(err)
			}
		})
	}
	t.Log(seen)
	if seen["steps"] < 10_000 {
		return // a few seeds need not meet everything
	}
	for _, e := range Events {
		if name := types.Name(e.Type); e.Number < 450 && seen[name] < 25 {
			t.Errorf("all simulations together gave %d events %s: they do not draw what leads to it", seen[name], name)
		}
	}
	for _, kind := range []Type{
		MatchmakingSearching, PotentialMatchCreated, AcceptMatch, AcceptMatchCompleted, MatchmakingSucceeded,
		MatchmakingTimedOut, MatchmakingCancelled, MatchmakingFailed,
	} {
		if seen[string(kind)] < 25 {
			t.Errorf("all simulations together announced %d times %s", seen[string(kind)], kind)
		}
	}
}

// A simulation is a State with a journal that is always a little behind, as the
// journal of a shard is: a crash loses what it does not hold.
type simulation struct {
	t     *testing.T
	rng   *rand.Rand
	state *State
	now   event.Time
	seen  map[string]int // events, announcements and refusals, counted over all seeds

	journal  bytes.Buffer // durable
	pending  bytes.Buffer // speculation, lost in a crash
	snapshot []byte       // the state at some point of the journal
	tail     int          // where the journal goes on behind the snapshot

	twin        *State // restored from a snapshot; must do whatever state does
	frozen      *State // a copy that must stay as it was made
	frozenState []byte

	// What the events have said, for the rules of a whole life.
	tickets   map[string]*Ticket // as they were after the last step
	over      map[string]bool    // matches
	published uint64             // the newest announcement that was seen
	serial    int                // makes names
}

// forgetHistory begins the rules of a whole life at the state as it is.
func (s *simulation) forgetHistory() {
	s.tickets, s.over, s.published = map[string]*Ticket{}, map[string]bool{}, s.state.announced
	s.state.tickets.Scan(func(id string, t *Ticket) bool { s.tickets[id] = t; return true })
	if first, _, ok := s.state.outbox.Min(); ok {
		s.published = first - 1
	}
}

// step does one random thing and says what it was.
func (s *simulation) step() (string, error) {
	s.seen["steps"]++
	switch n := s.rng.IntN(100); {
	case n < 80:
		c := s.command()
		return fmt.Sprintf("%T %+v", c, c), s.handle(c)
	case n < 90:
		d := s.pause()
		return fmt.Sprintf("wait %s", d), s.pass(d)
	case n < 96:
		s.commit()
		return "commit and freeze", s.freeze()
	case n < 97:
		s.commit()
		s.snapshot, s.tail = snapshotOf(s.t, s.state.Freeze()), s.journal.Len()
		return "snapshot", nil
	case n < 98 && s.chance(50):
		return "crash", s.crash()
	case n < 99:
		return "replay", s.replayed()
	default:
		s.twin = restored(s.t, snapshotOf(s.t, s.state))
		return "twin", nil
	}
}

func (s *simulation) chance(percent int) bool { return s.rng.IntN(100) < percent }

// pause draws a step of the clock: mostly short, some long, some backwards.
func (s *simulation) pause() time.Duration {
	longest := []time.Duration{time.Second, 20 * time.Second, time.Minute, time.Hour}
	if s.chance(5) {
		return -time.Duration(s.rng.Int64N(int64(time.Minute)))
	}
	return time.Duration(s.rng.Int64N(int64(longest[min(s.rng.IntN(8), s.rng.IntN(8))/2])))
}

// command draws one that makes sense more often than not.
func (s *simulation) command() Command {
	switch n := s.rng.IntN(100); {
	case n < 30:
		return s.starting()
	case n < 34:
		return Stop{s.ticketID()}
	case n < 60:
		return s.proposing()
	case n < 80:
		return s.answering()
	case n < 94:
		return s.outcome()
	case n < 95:
		return Discard{s.configuration()}
	case n < 97:
		return Forget{[]string{s.ticketID(), s.ticketID()}}
	default:
		return Trim{s.published - min(s.published, uint64(s.rng.IntN(3)))}
	}
}

func (s *simulation) configuration() Configuration {
	n := s.rng.IntN(2)
	return Configuration{fmt.Sprint("ladder-", n), fmt.Sprint("c-", n)}
}

func (s *simulation) arena() string {
	return fmt.Sprint("arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-home/g-", s.rng.IntN(5))
}

func (s *simulation) starting() Command {
	s.serial++
	c := Start{ID: fmt.Sprint("t-", s.serial), Configuration: s.configuration(), Timeout: int32(1 + s.rng.IntN(120)),
		Call: fmt.Sprint(s.serial)}
	if s.chance(5) {
		c.ID = s.ticketID()
	}
	for range 1 + s.rng.IntN(3) {
		c.Players = append(c.Players, Player{ID: fmt.Sprint("p-", s.rng.IntN(30)),
			Latencies: []Latency{{"custom-away", 9}, {"custom-home", 5}}})
	}
	if c.Backfill = s.chance(20); c.Backfill && s.chance(70) {
		c.GameSession = s.arena()
	}
	return c
}

// proposing makes a match of tickets that are open, as a matcher does; sometimes it
// knows old rounds.
func (s *simulation) proposing() Command {
	s.serial++
	c := Propose{ID: fmt.Sprint("m-", s.serial), Settings: MatchSettings{
		Configuration: s.configuration(), Acceptance: int32(s.rng.IntN(2) * 30), Standalone: s.chance(15),
		AutomaticBackfill: s.chance(50),
		RequestTimeout:    int32(20 + s.rng.IntN(60)), Capacity: int32(2 + s.rng.IntN(8)),
	}, Teams: []Team{{Name: "red"}, {Name: "blue"}}, Metrics: []Metric{{"Close", s.serial, 1}}}
	size := 1 + s.rng.IntN(4)
	s.state.Searching(func(t *Ticket) bool {
		if t.Configuration.ID != c.Settings.Configuration.ID || s.chance(30) || t.Backfill && len(c.Tickets) > 0 &&
			s.chance(90) {
			return true
		}
		c.Tickets = append(c.Tickets, Proposed{t.ID, t.Round - s.rng.IntN(50)/49})
		for _, p := range t.Players {
			team := &c.Teams[s.rng.IntN(2)]
			team.Players = append(team.Players, p.ID)
		}
		return len(c.Tickets) < size
	})
	return c
}

func (s *simulation) answering() Command {
	m := s.match(func(m *Match) bool { return m.Stage == StageAcceptance })
	if m == nil || s.chance(3) {
		return Accept{s.ticketID(), []string{"p-1"}, true}
	}
	t, _ := s.state.Ticket(m.Tickets[s.rng.IntN(len(m.Tickets))])
	c := Accept{ID: t.ID, Accept: s.chance(93)}
	for _, p := range t.Players {
		if s.chance(80) {
			c.Players = append(c.Players, p.ID)
		}
	}
	return c
}

// outcome says what became of a match that is played, or of a game session.
func (s *simulation) outcome() Command {
	m := s.match(func(m *Match) bool { return m.Stage != StageAcceptance })
	if m == nil {
		return GameSessionEnded{s.arena()}
	}
	where := Connection{GameSession: s.arena()}
	switch n := s.rng.IntN(10); {
	case m.Stage == StageCancelling && s.chance(70):
		return PlacementTimedOut{m.ID}
	case n == 0:
		return GameSessionEnded{s.arena()}
	case n == 1:
		return PlacementFailed{Match: m.ID}
	case n == 2:
		return FillFailed{Match: m.ID}
	case n < 5:
		return PlacementTimedOut{m.ID}
	case m.Stage == StageFilling:
		where.GameSession = m.Backfill
		return Filled{m.ID, where}
	}
	return Placed{m.ID, where}
}

func (s *simulation) match(fits func(*Match) bool) (found *Match) {
	s.state.Matches(func(m *Match) bool {
		if fits(m) && (found == nil || s.chance(30)) {
			found = m
		}
		return true
	})
	return found
}

func (s *simulation) ticketID() string {
	ids := slices.Sorted(func(yield func(string) bool) {
		s.state.tickets.Scan(func(id string, _ *Ticket) bool { return yield(id) })
	})
	if len(ids) == 0 || s.chance(5) {
		return "t-unknown"
	}
	return ids[s.rng.IntN(len(ids))]
}

// handle gives a command to the State, and to its twin.
func (s *simulation) handle(c Command) error {
	before := s.state.Freeze()
	events, answer, err := s.state.Handle(s.now, c)
	if err != nil {
		s.seen[fmt.Sprintf("%T %s", c, fault.Of(err).Kind)]++
		if _, ok := errors.AsType[*fault.Error](err); !ok || len(events) > 0 {
			return fmt.Errorf("refused with %v and %d events", err, len(events))
		}
		if s.chance(30) && !bytes.Equal(snapshotOf(s.t, before), snapshotOf(s.t, s.state)) {
			return fmt.Errorf("refused (%w), and the state has changed", err)
		}
	}
	if s.twin != nil {
		twins, _, twinErr := s.twin.Handle(s.now, c)
		if (err == nil) != (twinErr == nil) || !bytes.Equal(s.encode(events), s.encode(twins)) {
			return fmt.Errorf("gave %v and %v, the restored state %v and %v", names(events), err, names(twins), twinErr)
		}
	}
	if propose, ok := c.(Propose); ok && len(events) == 0 && answer.(*Match) != nil {
		return fmt.Errorf("proposal %s is not taken, and answered", propose.ID)
	}
	return s.happened(events)
}

// pass moves the clock and does what is due.
func (s *simulation) pass(d time.Duration) error {
	s.now = s.now.Add(d)
	for rounds := 0; ; rounds++ {
		at := s.state.Deadline()
		if at == 0 || at > s.now {
			return errors.Join(s.happened(nil), s.nobodyIsLate())
		}
		if rounds > 100 {
			return fmt.Errorf("deadline %d stays before %d", at, s.now)
		}
		events := s.state.Expire(s.now)
		if s.twin != nil {
			if twins := s.twin.Expire(s.now); !bytes.Equal(s.encode(events), s.encode(twins)) {
				return fmt.Errorf("expired %v, the restored state %v", names(events), names(twins))
			}
		}
		if err := s.happened(events); err != nil {
			return err
		}
	}
}

// nobodyIsLate: no ticket outlives its deadline, unless its match fills a game session.
func (s *simulation) nobodyIsLate() (err error) {
	s.state.tickets.Scan(func(id string, t *Ticket) bool {
		m, ok := s.state.Match(t.Match)
		if !t.HasEnded() && t.Deadline <= s.now && !(ok && m.Stage == StageFilling) {
			err = fmt.Errorf("ticket %s is %s at %d and had time until %d", id, t.Status, s.now, t.Deadline)
		}
		return err == nil
	})
	return err
}

// happened writes events down and checks everything that must hold between two steps.
func (s *simulation) happened(events []any) error {
	s.pending.Write(s.encode(events))
	for _, e := range events {
		s.seen[types.Name(e)]++
	}
	if err := check(s.state); err != nil {
		return err
	}
	return errors.Join(s.matchesEndOnce(events), s.ticketsEndOnce(), s.acceptancesStay(events), s.announcementsFollow(),
		s.sameTwin())
}

func (s *simulation) matchesEndOnce(events []any) error {
	for _, e := range events {
		id := ""
		switch e := e.(type) {
		case *MatchProposed:
			if _, known := s.over[e.ID]; known {
				return fmt.Errorf("match %s is proposed twice", e.ID)
			}
			s.over[e.ID] = false
		case *MatchDropped:
			if !e.Cancel { // else its placement is yet to end
				id = e.ID
			}
		case *MatchCompleted:
			id = e.ID
		}
		if id != "" && s.over[id] {
			return fmt.Errorf("match %s has ended twice", id)
		} else if id != "" {
			s.over[id] = true
		}
	}
	return nil
}

// moves are the ways that the status of a ticket may go in one command. With
// acceptance or without, a STANDALONE match may be over at once.
var moves = map[Status][]Status{
	Searching:          {RequiresAcceptance, Placing, Completed, Cancelled, TimedOut, Failed},
	RequiresAcceptance: {Searching, Placing, Completed, Cancelled, TimedOut, Failed},
	Placing:            {Searching, Completed, Cancelled, TimedOut, Failed},
}

// ticketsEndOnce: a ticket that is over never changes, and is forgotten only then;
// its round counts how often it has come back.
func (s *simulation) ticketsEndOnce() error {
	for id, old := range s.tickets {
		t, ok := s.state.Ticket(id)
		switch {
		case !ok && !old.HasEnded():
			return fmt.Errorf("ticket %s was %s and is gone", id, old.Status)
		case !ok:
		case t != old && old.HasEnded():
			return fmt.Errorf("ticket %s was over and has changed", id)
		case t.Status != old.Status && !slices.Contains(moves[old.Status], t.Status):
			return fmt.Errorf("ticket %s went from %s to %s", id, old.Status, t.Status)
		case (t.Round != old.Round) != (t.Status == Searching && old.Status != Searching):
			return fmt.Errorf("ticket %s went from %s, round %d, to %s, round %d", id, old.Status, old.Round, t.Status,
				t.Round)
		case t.Started != old.Started || t.Deadline != old.Deadline || len(t.Players) != len(old.Players):
			return fmt.Errorf("ticket %s was %+v and is %+v", id, old, t)
		}
	}
	clear(s.tickets)
	s.state.tickets.Scan(func(id string, t *Ticket) bool { s.tickets[id] = t; return true })
	return nil
}

// acceptancesStay in their match for as long as it lasts.
func (s *simulation) acceptancesStay(events []any) error {
	for _, e := range events {
		if e, ok := e.(*MatchAnswered); ok {
			m, ok := s.state.Match(e.ID)
			if !ok { // it was the last one, or a rejection
				continue
			}
			for _, a := range e.Answers {
				if got, known := m.answer(a.PlayerID); !known || got != a {
					return fmt.Errorf("the answer of %s to match %s is lost", a.PlayerID, e.ID)
				}
			}
		}
	}
	return nil
}

// announcementsFollow one another without gaps, and what was announced of a ticket
// is how it was then.
func (s *simulation) announcementsFollow() error {
	for _, a := range s.state.Announcements(0, -1) {
		if a.Seq <= s.published {
			continue
		}
		if a.Seq != s.published+1 {
			return fmt.Errorf("announcement %d follows %d", a.Seq, s.published)
		}
		s.published = a.Seq
		s.seen[string(a.Type)]++
		if len(a.Tickets) == 0 || (a.Type == MatchmakingSearching) != (a.Tickets[0].Status == Searching) {
			return fmt.Errorf("announced is %s", describe(a))
		}
	}
	if s.published != s.state.announced {
		return fmt.Errorf("%d announcements are counted, the newest is %d", s.state.announced, s.published)
	}
	return nil
}

// sameTwin compares the State now and then with the one that was restored.
func (s *simulation) sameTwin() error {
	if s.twin == nil || !s.chance(5) {
		return nil
	}
	if !bytes.Equal(snapshotOf(s.t, s.state), snapshotOf(s.t, s.twin)) {
		return errors.New("the state and the one restored from its snapshot have drifted apart")
	}
	return check(s.twin)
}

func (s *simulation) encode(events []any) []byte {
	var buf bytes.Buffer
	for _, e := range events {
		if err := types.Append(&buf, event.Fact{Room: 2, Body: e}); err != nil {
			s.t.Fatal(err)
		}
	}
	return buf.Bytes()
}

func (s *simulation) commit() {
	s.journal.Write(s.pending.Bytes())
	s.pending.Reset()
}

// freeze makes a copy, after a last look at the one before.
func (s *simulation) freeze() error {
	if s.frozen != nil && !bytes.Equal(snapshotOf(s.t, s.frozen), s.frozenState) {
		return errors.New("a frozen copy has changed")
	}
	s.frozen = s.state.Freeze()
	s.frozenState = snapshotOf(s.t, s.frozen)
	return nil
}

// crash loses the speculation.
func (s *simulation) crash() error {
	s.pending.Reset()
	s.twin = nil
	s.state = s.recovered()
	s.forgetHistory()
	return s.happened(nil)
}

// recovered makes a State of the newest snapshot and the journal behind it.
func (s *simulation) recovered() *State {
	state := New()
	if s.snapshot != nil {
		state = restored(s.t, s.snapshot)
	}
	for _, f := range eventtest.Facts(s.t, types, s.journal.Bytes()[s.tail:]) {
		state.Apply(f.Body)
	}
	return state
}

// replayed compares the state with those that come from all events, from the newest
// snapshot and the events behind it, and from a snapshot alone.
func (s *simulation) replayed() error {
	s.commit()
	live := snapshotOf(s.t, s.state)
	whole := New()
	for _, f := range eventtest.Facts(s.t, types, s.journal.Bytes()) {
		whole.Apply(f.Body)
	}
	for name, state := range map[string]*State{"replay": whole, "snapshot and replay": s.recovered(),
		"snapshot": restored(s.t, live)} {
		if !bytes.Equal(snapshotOf(s.t, state), live) {
			return fmt.Errorf("the state after %s differs from the live one", name)
		}
		if err := check(state); err != nil {
			return fmt.Errorf("the state after %s: %w", name, err)
		}
		if !reflect.DeepEqual(state.players, s.state.players) || !reflect.DeepEqual(state.sessions, s.state.sessions) {
			return fmt.Errorf("the indexes after %s differ from the live ones", name)
		}
	}
	return nil
}
