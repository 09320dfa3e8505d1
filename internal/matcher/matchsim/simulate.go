package matchsim

import (
	"context"
	"time"

	"github.com/muster-gg/muster/internal/matcher"
	"github.com/muster-gg/muster/internal/matcher/ruleset"
)

// Options configure a simulation. The zero value is a virtual clock and no time-out.
type Options struct {
	Matcher  matcher.Options
	Timeout  time.Duration // RequestTimeoutSeconds of the configuration; 0: none
	Clock    Clock
	CPU      func() time.Duration // processor time used by the program; nil: not reported
	Matched  func(Match) error    // called for each match; may be nil
	Progress func(Progress)       // called regularly and at the end; may be nil
}

// DefaultSeed is the seed of the random batches, of muster match simulate and of the console alike.
const DefaultSeed = 1

// Progress is the state of a running simulation.
type Progress struct {
	At             time.Duration // simulated time
	Arrived, Total int           // tickets
	Waiting        int           // tickets in the pool
	Matches        int
}

// progressEach is the number of matcher calls per report of progress: a few milliseconds of work.
const progressEach = 500

type simulation struct {
	Options
	set     *ruleset.Set
	pool    *matcher.Pool
	tickets []*matcher.Ticket // by start
	origin  time.Time         // the start of the first
	began   time.Time         // in real time
	arrived int               // number of tickets
	expired int               // all tickets before this index have ended or timed out
	open    map[string]bool   // ids in the pool
	calls   int               // of the matcher, since the last progress
	report  *collector
}

// Run adds the tickets, ordered by their start, to a pool and matches them until nothing more can happen; without a
// Timeout at most ten minutes after the last step of the last ticket. Matches need no acceptance. It ends early, with
// the error, when ctx ends or Matched fails.
//
// Events are discrete: a ticket arrives, a step of an expansion begins, a ticket times out. Nothing is computed in
// between.
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

// run processes all events, and returns the time of the last.
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

// next returns the time of the next event; ok is false if there is none.
func (s *simulation) next(now time.Duration) (moment time.Duration, ok bool) {
	earlier := func(t time.Duration) {
		if t = max(t, now); !ok || t < moment {
			moment, ok = t, true
		}
	}
	if s.arrived < len(s.tickets) {
		earlier(s.at(s.tickets[s.arrived].Start))
	}
	// Match has processed what was due until now.
	if due := s.pool.Due(); !due.IsZero() && s.at(due) > now && s.worthwhile(s.at(due)) {
		earlier(s.at(due))
	}
	if deadline, has := s.deadline(); has {
		earlier(deadline)
	}
	return moment, ok
}

// stillTrying is how long a run without a time-out continues after the last arrival and step: the pool repeats
// unfinished searches every minute, without end if no match is possible.
const stillTrying = 10 * time.Minute

// worthwhile reports whether a match may form at a time due in the pool.
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

// deadline returns when the next ticket times out. The time-out is the same for all, so they time out in order.
func (s *simulation) deadline() (time.Duration, bool) {
	for s.expired < s.arrived && !s.open[s.tickets[s.expired].ID] {
		s.expired++
	}
	if s.Timeout <= 0 || s.expired == s.arrived {
		return 0, false
	}
	return s.at(s.tickets[s.expired].Start) + s.Timeout, true
}

func (s *simulation) expire(now time.Duration) {
	for {
		deadline, has := s.deadline()
		if !has || deadline > now {
			return
		}
		s.drop(s.tickets[s.expired], s.report.timedOut)
	}
}

// drop removes a ticket without a match, and reports its evaluations.
func (s *simulation) drop(t *matcher.Ticket, report func(*matcher.Ticket, []matcher.Metric)) {
	report(t, s.pool.Metrics(t.ID))
	s.pool.Remove(t.ID)
	delete(s.open, t.ID)
}

// arrive adds the tickets that have started by now. Unmatchable ones are removed at once.
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
	s.Progress(Progress{
		At: now, Arrived: s.arrived, Total: len(s.tickets), Waiting: len(s.open), Matches: s.report.Matches,
	})
}

// finish reports the tickets that still wait.
func (s *simulation) finish() {
	for _, t := range s.tickets[:s.arrived] {
		if s.open[t.ID] {
			s.drop(t, s.report.waiting)
		}
	}
}

// A Match is written as one line. Names are those of matchmaking events where possible.
type Match struct {
	At      float64       `json:"at"`      // seconds since the start
	Players int           `json:"players"` // including those of a backfill ticket
	Tickets []MatchTicket `json:"tickets"` // oldest first, after the backfill ticket if there is one
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

// A Clock is how time passes in a simulation.
type Clock int

// The clocks.
const (
	Virtual Clock = iota // no waiting
	Real                 // real time
)

// String returns the name used on the command line.
func (c Clock) String() string {
	if c == Real {
		return "real"
	}
	return "virtual"
}

// wait waits for a moment, counted from began, and returns the present moment.
func (c Clock) wait(ctx context.Context, began time.Time, moment time.Duration) (time.Duration, error) {
	if c == Virtual {
		return moment, ctx.Err()
	}
	timer := time.NewTimer(moment - time.Since(began))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-timer.C:
		return max(moment, time.Since(began)), nil
	}
}
