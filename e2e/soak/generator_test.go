//go:build unix

package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/bench"
	"github.com/muster-gg/muster/internal/listen/sigv4"
)

// throttling is the exception that every AWS client takes for "later".
const throttling = "ThrottlingException"

// A generator makes calls as matchmakers do: it searches, reserves places and
// changes game sessions.
type generator struct {
	fleet   string
	games   []string // ARNs of ACTIVE game sessions
	seats   atomic.Int64
	callers []*bench.Caller
}

func newGenerator(t *testing.T, w *world, games []string, connections int) *generator {
	t.Helper()
	env := w.service.env
	g := &generator{fleet: w.fleet, games: games}
	for range connections {
		caller, err := bench.NewCaller(env["MUSTER_HTTP_URL"], nil, sigv4.ClientCredentials{
			AccessKey: env["AWS_ACCESS_KEY_ID"], SecretKey: env["AWS_SECRET_ACCESS_KEY"], Region: env["AWS_REGION"],
		})
		w.must(err)
		g.callers = append(g.callers, caller)
	}
	return g
}

func (g *generator) close() {
	for _, c := range g.callers {
		c.Close()
	}
}

// seatsEach is how many players a game session takes.
// Source: GameLift quotas, "Player sessions per game session".
const seatsEach = 200

// call appends the body of some call to dst and names the operation: seven in ten
// search, for a whole page of the fullest game sessions with a free place, two
// change a game session, one reserves a place as long as there are any. It takes
// calls that cost more than their refusal to ask for twice what can be done and
// still be answered.
func (g *generator) call(dst []byte) (operation string, body []byte) {
	switch n := rand.IntN(10); {
	case n < 7:
		return "SearchGameSessions", fmt.Appendf(dst,
			`{"FleetId":"%s","Limit":100,"FilterExpression":"hasAvailablePlayerSessions=true",`+
				`"SortExpression":"playerSessionCount DESC"}`, g.fleet)
	case n < 8:
		if seat := int(g.seats.Add(1)); seat < seatsEach*len(g.games) {
			return "CreatePlayerSession", fmt.Appendf(dst, `{"GameSessionId":"%s","PlayerId":"player-%d"}`,
				g.games[seat%len(g.games)], seat)
		}
	}
	return "UpdateGameSession", fmt.Appendf(dst, `{"GameSessionId":"%s","Name":"game %d"}`,
		g.games[rand.IntN(len(g.games))], rand.IntN(1000))
}

// A moment is one call that was answered.
type moment struct {
	at        time.Duration // when the call was due, since the beginning
	took      time.Duration // from then to the answer
	throttled bool
}

// A measure is what a load came to.
type measure struct {
	took       time.Duration
	moments    []moment       // by when they were due
	errors     map[string]int // whatever is neither success nor throttling
	leftOut    int            // calls that were due when no connection was free for long
	accepted   []time.Duration
	ownCPU     time.Duration // of the load generator and the game servers
	serviceCPU time.Duration
	append     time.Duration // that the service's journal took for one batch, on average
}

func (m *measure) rate(n int) float64 { return float64(n) / m.took.Seconds() }

func (m *measure) offered() float64 { return m.rate(len(m.moments)) }

func (m *measure) throttled() int { return len(m.moments) - len(m.accepted) }

// quantile is the time, in milliseconds, that so many of the accepted calls did not exceed.
func (m *measure) quantile(q float64) float64 { return milliseconds(quantile(m.accepted, q)) }

// patience is how late a call may begin because all connections are in use. A
// client cannot have more of them than it has, so such calls are left out rather
// than made later and later.
const patience = 50 * time.Millisecond

// run offers rate calls a second over so many of the connections, or with rate 0
// as many as are answered. A call's time counts from the moment that it is due.
func (g *generator) run(ctx context.Context, connections int, rate float64, duration time.Duration) *measure {
	var next atomic.Int64
	begin := time.Now()
	parts := make([]measure, connections)
	var working sync.WaitGroup
	for i, caller := range g.callers[:connections] {
		working.Go(func() {
			part := &parts[i]
			part.errors = map[string]int{}
			var body []byte
			timer := time.NewTimer(time.Hour)
			defer timer.Stop()
			for {
				due := time.Since(begin)
				if rate > 0 {
					due = time.Duration(float64(next.Add(1)-1) / rate * float64(time.Second))
				}
				if due >= duration || ctx.Err() != nil {
					return
				}
				if late := time.Since(begin) - due; late > patience {
					part.leftOut++
					continue
				} else if late < 0 {
					timer.Reset(-late)
					<-timer.C
				}
				operation, full := g.call(body[:0])
				body = full
				_, err := caller.Call(ctx, operation, body)
				part.note(due, time.Since(begin)-due, operation, err)
			}
		})
	}
	working.Wait()
	return merge(parts, time.Since(begin))
}

// note notes how a call went.
func (m *measure) note(due, took time.Duration, operation string, err error) {
	refusal, answered := errors.AsType[*bench.CallError](err)
	switch {
	case err == nil:
		m.moments = append(m.moments, moment{due, took, false})
	case answered && refusal.Exception == throttling:
		m.moments = append(m.moments, moment{due, took, true})
	case answered:
		m.errors[operation+": "+strconv.Itoa(refusal.Status)+" "+refusal.Exception]++
	default:
		m.errors[operation+": "+err.Error()]++
	}
}

// merge puts the parts of a measure together.
func merge(parts []measure, took time.Duration) *measure {
	whole := &measure{took: took, errors: map[string]int{}}
	for _, p := range parts {
		whole.moments = append(whole.moments, p.moments...)
		whole.leftOut += p.leftOut
		for name, n := range p.errors {
			whole.errors[name] += n
		}
	}
	slices.SortFunc(whole.moments, func(a, b moment) int { return int(a.at - b.at) })
	for _, m := range whole.moments {
		if !m.throttled {
			whole.accepted = append(whole.accepted, m.took)
		}
	}
	slices.Sort(whole.accepted)
	return whole
}
