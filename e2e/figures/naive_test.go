package figures

import (
	"cmp"
	"slices"

	"github.com/muster-gg/muster/internal/fleet"
)

// naiveGames is the peer of the searches: the same game sessions in a slice, of
// which every search looks at each.
type naiveGames struct {
	games []naiveGame
	asked int // searches, so far
}

type naiveGame struct {
	id               string
	maximum, players int
	created          int
	properties       []fleet.Property
}

func newNaiveGames(ids []string) *naiveGames {
	all := &naiveGames{games: make([]naiveGame, len(ids))}
	for i, id := range ids {
		maximum, players := filling(i, len(ids))
		all.games[i] = naiveGame{id, maximum, players, i, properties(i)}
	}
	return all
}

// naivePage is how many game sessions a search answers.
// Source: API reference, SearchGameSessions, Limit.
const naivePage = 20

// search finds the first page of the game sessions that a filter lets through.
func (n *naiveGames) search(
	filter func(wanted int) func(*naiveGame) bool, order func(a, b *naiveGame) int,
) []*naiveGame {
	n.asked++
	matches := filter(n.asked * 7919 % len(n.games))
	var found []*naiveGame
	for i := range n.games {
		if g := &n.games[i]; matches(g) {
			found = append(found, g)
		}
	}
	if order != nil {
		slices.SortStableFunc(found, order)
	}
	return found[:min(len(found), naivePage)]
}

func isAvailable(int) func(*naiveGame) bool {
	return func(g *naiveGame) bool { return g.players < g.maximum }
}

func isLarge(int) func(*naiveGame) bool {
	return func(g *naiveGame) bool { return g.maximum > 200 }
}

func hasCode(wanted int) func(*naiveGame) bool {
	property := fleet.Property{Key: "code", Value: code(wanted)}
	return func(g *naiveGame) bool { return slices.Contains(g.properties, property) }
}

func byCreation(a, b *naiveGame) int { return cmp.Compare(a.created, b.created) }
func byPlayers(a, b *naiveGame) int  { return cmp.Compare(b.players, a.players) }
