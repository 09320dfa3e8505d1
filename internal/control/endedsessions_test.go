package control

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// ended returns the ids of all pages of a question.
func (w *world) ended(q EndedQuery, between func()) (ids []string) {
	w.t.Helper()
	for {
		page, err := w.EndedSessions(w.ctx, q)
		if err != nil {
			w.t.Fatal(err)
		}
		for i, g := range page.GameSessions {
			ids = append(ids, g.GameSessionArn)
			if i > 0 && g.EndTime.After(page.GameSessions[i-1].EndTime) {
				w.t.Errorf("%v after %v", g.EndTime, page.GameSessions[i-1].EndTime)
			}
		}
		if len(page.GameSessions) > q.Limit {
			w.t.Errorf("%d on a page of %d", len(page.GameSessions), q.Limit)
		}
		if q.NextToken = page.NextToken; q.NextToken == "" {
			return ids
		}
		between()
	}
}

func TestEndedSessions(t *testing.T) {
	w := newWorld(t)
	fleets := []string{w.fleetAt("custom-a", "custom-b"), w.fleetAt("custom-a")}
	var all []string // those that ended last first
	var times []time.Time
	play := func(i int) {
		of, location := fleets[i/2%2], []string{"custom-a", "custom-b"}[i%2&^(i/2)]
		compute := "c-" + location
		s := w.process(of, compute, w.compute(of, location, compute), fmt.Sprint("p", i))
		id := w.active(of, object{"Location": location, "CreatorId": fmt.Sprint("creator-", i%3),
			"GameProperties": []object{{"Key": "mode", "Value": fmt.Sprint(i % 4)}}}, s)
		w.must("CreatePlayerSession", object{"GameSessionId": id, "PlayerId": fmt.Sprint("player-", i%5)})
		if i%3 == 0 {
			w.must("TerminateGameSession",
				object{"GameSessionId": id, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
		}
		s.ok(s.end())
		all, times = slices.Insert(all, 0, id), append(times, w.clock.Now())
		w.elapse(time.Second)
	}
	const total = 24
	for i := range total / 2 {
		play(i)
	}
	w.archived(all[0])
	for i := total / 2; i < total; i++ {
		play(i)
	}
	where := func(wanted func(i int) bool) (ids []string) {
		for i := range slices.Backward(all) {
			if wanted(i) {
				ids = append(ids, all[total-1-i])
			}
		}
		return ids
	}
	check := func(when string, between func()) {
		for name, c := range map[string]struct {
			q      EndedQuery
			wanted func(i int) bool
		}{
			"all":      {EndedQuery{}, func(int) bool { return true }},
			"fleet":    {EndedQuery{FleetID: fleets[1]}, func(i int) bool { return i/2%2 == 1 }},
			"location": {EndedQuery{Location: "custom-b"}, func(i int) bool { return i%2&^(i/2) == 1 }},
			"reason": {EndedQuery{Reason: fleet.TriggeredOnProcessTerminate},
				func(i int) bool { return i%3 == 0 }},
			"creator": {EndedQuery{CreatorID: "creator-1"}, func(i int) bool { return i%3 == 1 }},
			"property": {EndedQuery{Property: &fleet.Property{Key: "mode", Value: "3"}},
				func(i int) bool { return i%4 == 3 }},
			"player": {EndedQuery{PlayerID: "player-4"}, func(i int) bool { return i%5 == 4 }},
			"player and fleet": {EndedQuery{PlayerID: "player-4", FleetID: fleets[0]},
				func(i int) bool { return i%5 == 4 && i/2%2 == 0 }},
			"span":   {EndedQuery{From: times[3], To: times[20]}, func(i int) bool { return i >= 3 && i < 20 }},
			"nobody": {EndedQuery{PlayerID: "nobody"}, func(int) bool { return false }},
		} {
			for _, limit := range []int{1, 2, 5, total, 100} {
				c.q.Limit = limit
				if got, want := w.ended(c.q, between), where(c.wanted); !slices.Equal(got, want) {
					t.Errorf("%s, %s, in pages of %d: %d, want %d:\n%q\n%q", when, name, limit, len(got), len(want),
						got, want)
				}
			}
		}
	}
	check("half in memory", func() {})
	moved := false
	check("moving", func() {
		if !moved {
			moved = true
			w.archived(all[0])
		}
	})
	check("all in the history", func() {})

	page, err := w.EndedSessions(w.ctx, EndedQuery{Limit: 1})
	if err != nil || page.GameSessions[0].PlayerSessions != 1 || page.GameSessions[0].Compute == "" ||
		page.GameSessions[0].Properties["mode"] != "3" {
		t.Errorf("%+v, %v", page, err)
	}
	_, err = w.EndedSessions(w.ctx, EndedQuery{Limit: 1, FleetID: fleets[0], NextToken: page.NextToken})
	if !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("a token of another question: %v", err)
	}
}
