//go:build unix

package crash

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/report"
	"github.com/muster-gg/muster/gameserver"
)

// The comparison notices what it is there for.
func TestRegisters(t *testing.T) {
	answered := func() error { return nil }
	silent := func() error { return errors.New("connection reset") }
	no := func() error { return &gameserver.Error{Code: 409} }
	for name, c := range map[string]struct {
		calls         []func() error // each writes the next of the values a, b, c
		seen          string
		lost, doubled int
	}{
		"as acknowledged":            {calls: []func() error{answered, answered}, seen: "b"},
		"older than acknowledged":    {calls: []func() error{answered, answered}, seen: "a", lost: 1},
		"gone":                       {calls: []func() error{answered}, lost: 1},
		"unanswered, happened":       {calls: []func() error{answered, silent}, seen: "b"},
		"unanswered, did not happen": {calls: []func() error{answered, silent}, seen: "a"},
		"unanswered, then answered":  {calls: []func() error{silent, answered}, seen: "a", lost: 1},
		"refused, and done":          {calls: []func() error{answered, no}, seen: "b", lost: 1},
		"never asked for":            {seen: "x", doubled: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var r registers
			for i, call := range c.calls {
				r.write("thing", string(rune('a'+i)), call)
			}
			seen, found := sightings{}, &report.Findings{}
			if c.seen != "" {
				seen.add("thing", "thing", c.seen, found)
			}
			r.compare("thing", seen, found)
			if lost, doubled := found.Counts(); lost != c.lost || doubled != c.doubled {
				t.Errorf("%d lost, %d doubled", lost, doubled)
			}
			if len(c.calls) > 0 && c.lost == 0 && !r.is("thing", c.seen) {
				t.Errorf("taken for %q afterwards", r.values("thing"))
			}
		})
	}
}

func TestComparePlayer(t *testing.T) {
	for name, c := range map[string]struct {
		known, asked stage
		status       types.PlayerSessionStatus
		over, wrong  bool
	}{
		"reserved": {known: reserved, asked: reserved, status: types.PlayerSessionStatusReserved},
		"accepted without being asked": {known: reserved, asked: reserved, status: types.PlayerSessionStatusActive,
			wrong: true},
		"accepted, no answer": {known: reserved, asked: inGame, status: types.PlayerSessionStatusActive},
		"accepted, forgotten": {known: inGame, asked: inGame, status: types.PlayerSessionStatusReserved,
			wrong: true},
		"removed, forgotten": {known: gone, asked: gone, status: types.PlayerSessionStatusActive,
			wrong: true},
		"removed without being asked": {known: inGame, asked: inGame, status: types.PlayerSessionStatusCompleted,
			wrong: true},
		"removed with its game session": {known: inGame, asked: inGame, status: types.PlayerSessionStatusCompleted,
			over: true},
		"timed out too early": {known: reserved, asked: reserved, status: types.PlayerSessionStatusTimedout,
			wrong: true},
		"playing in what is over": {known: inGame, asked: inGame, status: types.PlayerSessionStatusActive,
			over: true, wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			trial := &trial{found: &report.Findings{}}
			s := &session{players: map[string]*player{"psess": {id: "psess", playerID: "p",
				progress: progress{c.known, c.asked}}}}
			trial.comparePlayer(s, types.PlayerSession{PlayerSessionId: aws.String("psess"), PlayerId: aws.String("p"),
				PlayerData: aws.String("data of p"), Status: c.status}, c.over)
			if lost, _ := trial.found.Counts(); lost > 0 != c.wrong {
				t.Errorf("%d findings", lost)
			}
		})
	}
}
