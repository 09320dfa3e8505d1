package testkit

import (
	"sync"

	"github.com/jonboulle/clockwork"
	"golang.org/x/time/rate"
)

// A callRate is how often an operation may be called: a number of calls at once, and per second from then on.
type callRate struct {
	burst  int
	steady rate.Limit
}

// all is the rate of all operations together.
const all = ""

// rates are those of GameLift for one account, as far as they are published. Source: AWS General Reference, "Amazon
// GameLift Servers endpoints and quotas".
var rates = map[string]callRate{
	all:                              {500, 500},
	"AcceptMatch":                    {100, 100},
	"ClaimGameServer":                {40, 20},
	"CreateAlias":                    {4, 1},
	"CreateBuild":                    {10, 1},
	"CreateFleet":                    {4, 1},
	"CreateFleetLocations":           {4, 1},
	"CreateGameServerGroup":          {5, 0.1},
	"CreateGameSession":              {50, 50},
	"CreateGameSessionQueue":         {4, 1},
	"CreateLocation":                 {4, 1},
	"CreateMatchmakingConfiguration": {4, 1},
	"CreateMatchmakingRuleSet":       {4, 1},
	"CreatePlayerSession":            {200, 200},
	"CreatePlayerSessions":           {200, 200},
	"CreateScript":                   {10, 1},
	"DeleteAlias":                    {4, 1},
	"DeleteBuild":                    {10, 1},
	"DeleteFleet":                    {4, 1},
}

// quotas counts the calls against GameLift's rates.
type quotas struct {
	clock clockwork.Clock
	mu    sync.Mutex
	used  map[string]*rate.Limiter
}

// allow reports whether an operation may be called now.
func (q *quotas) allow(operation string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, name := range []string{operation, all} {
		r, limited := rates[name]
		if !limited {
			continue
		}
		l := q.used[name]
		if l == nil {
			l = rate.NewLimiter(r.steady, r.burst)
			q.used[name] = l
		}
		if !l.AllowN(q.clock.Now(), 1) {
			return false
		}
	}
	return true
}
