//go:build unix

package fault

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/e2e/report"
)

// A game is a game session that callers and game servers know of.
type game struct {
	arn      string
	location string
	input    *gamelift.CreateGameSessionInput // nil for one of a placement
	answered bool                             // its creation was acknowledged
	host     string                           // as the acknowledgement says; "" before
	process  *process                         // that was given it; nil before, and for an arena's
	arena    bool
	active   bool // its process was told that it is
	ending   bool // somebody has asked for its end
	seats    []*seat
}

// A seat is a player session that was acknowledged.
type seat struct {
	id, player string
	stage      stage
}

// A stage is how far a player is, as far as it has been asked for.
type stage int

const (
	reserved stage = iota
	accepting
	playing
	leaving
)

// Games are all that are known of.
type games struct {
	found *report.Findings

	mu      sync.Mutex
	all     map[string]*game // by ARN
	numbers int
}

// number gives a number that was not given before.
func (g *games) number() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.numbers++
	return g.numbers
}

// change changes a game, or a new one.
func (g *games) change(arn string, change func(*game)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	known, ok := g.all[arn]
	if !ok {
		known = &game{arn: arn}
		g.all[arn] = known
	}
	change(known)
}

// look calls visit with each game, in order. It may change them.
func (g *games) look(visit func(*game)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, arn := range slices.Sorted(maps.Keys(g.all)) {
		visit(g.all[arn])
	}
}

// playing picks a game of a location in which players come and go, nil for none, and says
// how many players it has seen.
func (g *games) playing(location string, random *rand.Rand) (picked *game, seen int) {
	among := 0
	g.look(func(k *game) {
		if k.location != location || !k.active || k.ending {
			return
		}
		if among++; random.IntN(among) == 0 {
			picked, seen = k, len(k.seats)
		}
	})
	return picked, seen
}

// take picks a seat of a game at one stage, and moves it to the next.
func (g *games) take(of *game, at stage) *seat {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range of.seats {
		if s.stage == at {
			s.stage++
			return s
		}
	}
	return nil
}

// move moves a seat to a stage.
func (g *games) move(s *seat, to stage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.stage = to
}
