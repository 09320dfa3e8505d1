package matchsim

import (
	"context"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/ruleset"
)

// Options say how to simulate. The zero value is a virtual clock and no time-out.
type Options struct {
	Matcher  matcher.Options
	Timeout  time.Duration // RequestTimeoutSeconds of the configuration; 0: tickets wait to the end
	Clock    Clock
	CPU      func() time.Duration // processor time that the program has used; nil: not reported
	Matched  func(Match) error    // called for each match; may be nil
	Progress func(Progress)       // called now and then and at the end; may be nil
}

// Progress is how far a simulation has come.
type Progress struct {
	At             time.Duration // the simulation's time
	Arrived, Total int           // tickets
	Waiting        int           // tickets in the pool
	Matches        int
}

// progressEach is how many calls of the matcher are made between two reports of progress: a few milliseconds of work,
// whether tickets arrive or not.
const progressEach = 500

// A simulation is one run.
type simulation struct {
	Options
	set     *ruleset.Set
	pool    *matcher.Pool
	tickets []*matcher.Ticket // by start
	origin  time.Time         // the start of the first
	began   time.Time         // on the wall
	arrived int               // of tickets
	expired int               // of tickets: those before it are over or past their time-out
	open    map[string]bool   // ids in the pool
	calls   int               // of the matcher, since the last report of progress
	report  *collector
}

// Run lets the tickets, which are ordered by their start, come to a pool and matches
// form, up to the moment when nothing more can happen; without a Timeout at
// most ten minutes after the last step of the last ticket. Accepted matches need no
// acceptance. It ends early, with the error, when ctx ends or Matched fails.
//
// Events are discrete: a ticket comes, a step of an expansion begins, a ticket times
// out. In between nothing can change, so nothing is computed.
func Run(ctx context.Context, set *ruleset.Set, tickets []*matcher.Ticket, o Options) (*Report, error) {
	s := &simulation{
		Options: o, set: set, pool: matcher.NewPool(set, o.Matcher), tickets: tickets,
		began: time.Now(), open: map[string]bool{}, report: newCollector(set),
	}
	if len(tickets) > 0 {
		s.origin = tickets[0].Start
	}
	cpu := s.cpu()
	now, err := s.run(ctx)
	if err != nil {
		return nil, err
	}
	s.progress(now, true)
	s.finish()
	r := s.report.finished()
	r.Clock, r.SimulatedSeconds = o.Clock.String(), now.Seconds()
	r.ElapsedSeconds = time.Since(s.began).Seconds()
	if used := (s.cpu() - cpu).Seconds(); used > 0 {
		r.CPUSeconds, r.TicketsPerCPUSecond = used, float64(r.Tickets.Matched)/used
	}
	return r, nil
}

func (s *simulation) cpu() time.Duration {
	if s.CPU == nil {
		return 0
	}
	return s.CPU()
}

// run goes from moment to moment, and returns the last.
func (s *simulation) run(ctx context.Context) (now time.Duration, err error) {
	for {
		moment, ok := s.next(now)
		if !ok {
			return now, nil
		}
		if now, err = s.Clock.wait(ctx, s.began, moment); err != nil {
			return now, err
		}
		s.expire(now)
		s.arrive(now)
		if err := s.match(now); err != nil {
			return now, err
		}
	}
}

// next is the next moment at which something happens; ok is false when nothing will.
func (s *simulation) next(now time.Duration) (moment time.Duration, ok bool) {
	earlier := func(t time.Duration) {
		if t = max(t, now); !ok || t < moment {
			moment, ok = t, true
		}
	}
	if s.arrived < len(s.tickets) {
		earlier(s.at(s.tickets[s.arrived].Start))
	}
	if due := s.pool.Due(); !due.IsZero() && s.at(due) > now && s.worthwhile(s.at(due)) { // what was due by now, Match has seen
		earlier(s.at(due))
	}
	if deadline, has := s.deadline(); has {
		earlier(deadline)
	}
	return moment, ok
}

// stillTrying is how long a run without a time-out goes on when nothing comes any
// more and no step begins. The pool repeats searches that were cut short every
// minute, for ever if no match is possible.
const stillTrying = 10 * time.Minute

// worthwhile reports whether a match may form at a moment that the pool names.
func (s *simulation) worthwhile(due time.Duration) bool {
	if s.Timeout > 0 || s.arrived < len(s.tickets) {
		return true
	}
	last := s.at(s.tickets[len(s.tickets)-1].Start)
	if steps := s.set.Levels(); len(steps) > 0 {
		last += steps[len(steps)-1]
	}
	return due <= last+stillTrying
}

func (s *simulation) at(t time.Time) time.Duration { return t.Sub(s.origin) }

// deadline is when the next ticket times out. All have the same time, so they do in
// the order in which they came.
func (s *simulation) deadline() (time.Duration, bool) {
	for s.expired < s.arrived && !s.open[s.tickets[s.expired].ID] {
		s.expired++
	}
	if s.Timeout <= 0 || s.expired == s.arrived {
		return 0, false
	}
	return s.at(s.tickets[s.expired].Start) + s.Timeout, true
}

// expire takes out the tickets whose time is over.
func (s *simulation) expire(now time.Duration) {
	for {
		deadline, has := s.deadline()
		if !has || deadline > now {
			return
		}
		s.drop(s.tickets[s.expired], s.report.timedOut)
	}
}

// drop takes a ticket without a match out of the pool, and tells of what was tried.
func (s *simulation) drop(t *matcher.Ticket, tell func(*matcher.Ticket, []matcher.Metric)) {
	tell(t, s.pool.Metrics(t.ID))
	s.pool.Remove(t.ID)
	delete(s.open, t.ID)
}

// arrive puts the tickets into the pool that have come by now. Those that can never be
// matched do not stay, since nothing depends on them.
func (s *simulation) arrive(now time.Duration) {
	for ; s.arrived < len(s.tickets); s.arrived++ {
		t := s.tickets[s.arrived]
		if s.at(t.Start) > now {
			return
		}
		s.report.arrived(t)
		s.pool.Add(t)
		if why := s.pool.Unmatchable(t.ID); why != "" {
			s.report.unmatchable(t, why)
			s.pool.Remove(t.ID)
			continue
		}
		s.open[t.ID] = true
	}
}

func (s *simulation) match(now time.Duration) error {
	for more := true; more; {
		m, ok, again := s.pool.Match(s.origin.Add(now))
		s.calls++
		s.progress(now, false)
		more = ok || again
		if !ok {
			continue
		}
		for _, t := range m.Tickets {
			delete(s.open, t.ID)
		}
		s.report.matched(m, s.origin.Add(now))
		if s.Matched == nil {
			continue
		}
		if err := s.Matched(matchOf(m, s.origin, now)); err != nil {
			return err
		}
	}
	return nil
}

func (s *simulation) progress(now time.Duration, last bool) {
	if s.Progress == nil || !last && s.calls < progressEach {
		return
	}
	s.calls = 0
	s.Progress(Progress{At: now, Arrived: s.arrived, Total: len(s.tickets), Waiting: len(s.open), Matches: s.report.Matches})
}

// finish tells of the tickets that still wait.
func (s *simulation) finish() {
	for _, t := range s.tickets[:s.arrived] {
		if s.open[t.ID] {
			s.drop(t, s.report.waiting)
		}
	}
}

// A Match is a match as it is written, one a line. Names are those of the events of
// matchmaking where there are such.
type Match struct {
	At      float64       `json:"at"`      // seconds since the start
	Players int           `json:"players"` // those of a backfill ticket included
	Tickets []MatchTicket `json:"tickets"` // oldest first; a backfill ticket stands first
	Teams   []MatchTeam   `json:"teams"`
	Metrics []MatchMetric `json:"ruleEvaluationMetrics"`
}

// A MatchTicket is a ticket of a match.
type MatchTicket struct {
	ID     string  `json:"ticketId"`
	Waited float64 `json:"waitedSeconds"`
}

// A MatchTeam is a team of a match.
type MatchTeam struct {
	Name    string   `json:"name"`
	Players []string `json:"players"` // ids
}

// A MatchMetric counts the evaluations of a rule.
type MatchMetric struct {
	Rule   string `json:"ruleName"`
	Passed int    `json:"passedCount"`
	Failed int    `json:"failedCount"`
}

func matchOf(m *matcher.Match, origin time.Time, now time.Duration) Match {
	out := Match{At: now.Seconds(), Metrics: []MatchMetric{}}
	for _, t := range m.Tickets {
		out.Players += len(t.Players)
		out.Tickets = append(out.Tickets, MatchTicket{t.ID, origin.Add(now).Sub(t.Start).Seconds()})
	}
	for _, team := range m.Teams {
		players := make([]string, len(team.Players))
		for i, p := range team.Players {
			players[i] = p.ID
		}
		out.Teams = append(out.Teams, MatchTeam{team.Name, players})
	}
	for _, rule := range m.Metrics {
		out.Metrics = append(out.Metrics, MatchMetric(rule))
	}
	return out
}
