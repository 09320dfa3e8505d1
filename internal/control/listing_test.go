package control

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// listed returns the names and statuses of all pages of a query.
func (w *world) listed(q SessionQuery, between func()) (rows []string) {
	w.t.Helper()
	for range 200 {
		page, err := w.ListSessions(w.ctx, q)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(page.GameSessions) > q.Limit {
			w.t.Errorf("%d on a page of %d", len(page.GameSessions), q.Limit)
		}
		for _, g := range page.GameSessions {
			rows = append(rows, g.Name+" "+string(g.Status))
		}
		if q.NextToken = page.NextToken; q.NextToken == "" {
			return rows
		}
		between()
	}
	w.t.Fatalf("%+v: the pages never end", q)
	return nil
}

// listedWorld has game sessions 0 to 17 in two fleets and three rooms: of three in a row, the first is ACTIVE with a
// player, the second ACTIVATING, the third TERMINATING; those from 12 on have ended, and each was created one second
// after the one before it.
func listedWorld(t *testing.T) (w *world, fleets []string, last string) {
	w = newWorld(t)
	fleets = []string{w.fleetAt("custom-a", "custom-b"), w.fleetAt("custom-a")}
	for i := range 18 {
		of, location := fleets[i%2], []string{"custom-a", "custom-b"}[i/2%2&^(i%2)]
		compute := "c-" + location + strconv.Itoa(i)
		s := w.process(of, compute, w.compute(of, location, compute), fmt.Sprint("p", i))
		in := object{"Location": location, "Name": fmt.Sprint("g", i), "MaximumPlayerSessionCount": 20 - i,
			"GameProperties": []object{{"Key": "mode", "Value": fmt.Sprint(i % 4)}}}
		switch {
		case i%3 == 1 && i < 12:
			w.create(of, in)
		default:
			last = w.active(of, in, s)
			w.must("CreatePlayerSession", object{"GameSessionId": last, "PlayerId": "anna"})
			if i%3 == 2 {
				w.must("TerminateGameSession",
					object{"GameSessionId": last, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
			}
		}
		w.elapse(time.Second)
		if i >= 12 {
			s.ok(s.end())
		}
	}
	return w, fleets, last
}

func TestListSessions(t *testing.T) {
	w, fleets, last := listedWorld(t)
	statuses := []string{"ACTIVE", "ACTIVATING", "TERMINATING"}
	// rows describes the game sessions for which wanted returns true, the newest first.
	rows := func(wanted func(i int) bool) (list []string) {
		for i := 17; i >= 0; i-- {
			if i < 12 && wanted(i) {
				list = append(list, fmt.Sprintf("g%d %s", i, statuses[i%3]))
			}
		}
		for i := 17; i >= 12; i-- {
			if wanted(i) {
				list = append(list, fmt.Sprintf("g%d TERMINATED", i))
			}
		}
		return list
	}
	reversed := func(list []string) []string { slices.Reverse(list); return list }
	live := func(i int) bool { return i < 12 }
	cases := map[string]struct {
		q    SessionQuery
		want []string
	}{
		"live":  {SessionQuery{}, rows(live)},
		"since": {SessionQuery{Since: birth}, rows(func(int) bool { return true })},
		"since later": {SessionQuery{Since: birth.Add(16 * time.Second)},
			rows(func(i int) bool { return i < 12 || i >= 15 })},
		"ended":  {SessionQuery{Status: fleet.Terminated}, rows(func(i int) bool { return i >= 12 })},
		"active": {SessionQuery{Status: fleet.Active}, rows(func(i int) bool { return i < 12 && i%3 == 0 })},
		"activating": {SessionQuery{Status: fleet.Activating},
			rows(func(i int) bool { return i < 12 && i%3 == 1 })},
		"terminating": {SessionQuery{Status: fleet.Terminating},
			rows(func(i int) bool { return i < 12 && i%3 == 2 })},
		"fleet": {SessionQuery{FleetID: fleets[1], Since: birth}, rows(func(i int) bool { return i%2 == 1 })},
		"location": {SessionQuery{Location: "custom-b", Since: birth},
			rows(func(i int) bool { return i%2 == 0 && i/2%2 == 1 })},
		"property": {SessionQuery{Filter: "gameSessionProperties.mode = '2'", Since: birth},
			rows(func(i int) bool { return i%4 == 2 })},
		"oldest first": {SessionQuery{Sort: "creationTimeMillis ASC"}, reversed(rows(live))},
		"maximum":      {SessionQuery{Sort: "maximumSessions ASC"}, rows(live)},
		"hidden": {SessionQuery{Since: birth, Hidden: func(id string) bool { return id == fleets[0] }},
			rows(func(i int) bool { return i%2 == 1 })},
		"none": {SessionQuery{FleetID: "fleet-x", Since: birth}, nil},
	}
	check := func(when string, between func()) {
		for name, c := range cases {
			for _, limit := range []int{1, 2, 5, 100} {
				c.q.Limit = limit
				if got := w.listed(c.q, between); !slices.Equal(got, c.want) {
					t.Errorf("%s, %s, in pages of %d:\n%q, want\n%q", when, name, limit, got, c.want)
				}
			}
		}
	}
	check("in memory", func() {})
	for _, c := range []string{"live", "active", "activating", "terminating", "oldest first", "maximum"} {
		delete(cases, c)
	}
	// The processes of the others send no reports and end. What has ended is the same in the history.
	for name, c := range cases {
		c.q.Filter = strings.TrimPrefix(c.q.Filter+" AND maximumSessions < 9", " AND ")
		c.q.Status, c.q.Since = fleet.Terminated, time.Time{}
		c.want = slices.DeleteFunc(c.want, func(row string) bool { return !strings.HasSuffix(row, "TERMINATED") })
		cases[name] = c
	}
	delete(cases, "since later")
	moved := false
	check("moving", func() {
		if !moved {
			moved = true
			w.archived(last)
		}
	})
	check("in the history", func() {})
}

func TestListSessionsRefuses(t *testing.T) {
	w := newWorld(t)
	for text, q := range map[string]SessionQuery{
		"status is \"IDLE\": it must be ACTIVATING": {Status: "IDLE"},
		"leave it out with status ACTIVE":           {Status: fleet.Active, Since: birth},
		"filter":                                    {Filter: "playerSessionCount >"},
		"sort":                                      {Sort: "age"},
		"NextToken":                                 {NextToken: "x"},
	} {
		q.Limit = 1
		_, err := w.ListSessions(w.ctx, q)
		if !fault.Is(err, fault.InvalidRequest) || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: %v, want %s", q, err, text)
		}
	}
}

// populate makes game sessions in rooms of their own fleets, by the commands of the rooms.
func (w *world) populate(rooms, sessions int) {
	w.t.Helper()
	group, ctx := errgroup.WithContext(context.Background())
	for n := range rooms {
		group.Go(func() error {
			id := fleet.RoomID{Fleet: fleet.ID(fmt.Sprintf("fleet-%03d", n)), Location: "custom-a"}
			ask := func(commands ...fleet.Command) error {
				for _, c := range commands {
					if _, err := router.AskRoom[any](ctx, w.Router, id, c); err != nil {
						return err
					}
				}
				return nil
			}
			_, err := w.RoomShard(id).Do(ctx, region.RoomCommand{Room: id, Open: true,
				Command: fleet.RegisterCompute{Name: "c", IPAddress: "10.0.0.1"}})
			for i := 0; i < sessions/rooms && err == nil; i++ {
				key := fleet.ProcessKey{Compute: "c", ID: fmt.Sprint("p", i)}
				game := fmt.Sprintf("gsess-%03d-%d", n, i)
				err = ask(fleet.ConnectProcess{ProcessKey: key, Idempotency: key.ID},
					fleet.ReadyProcess{ProcessKey: key, Port: 7777},
					fleet.CreateGameSession{ID: game, Name: game, Maximum: int32(i % 50), ActivationTimeout: time.Hour,
						MaxActivations: sessions,
						Properties:     []fleet.Property{{Key: "mode", Value: fmt.Sprint(i % 7)}}})
				if err == nil && i%100 != 0 {
					err = ask(fleet.ActivateGameSession{ProcessKey: key, GameSession: game})
				}
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		w.t.Fatal(err)
	}
}

// BenchmarkListSessions reads pages of 100 in a region with 100,000 game sessions in 200 rooms.
func BenchmarkListSessions(b *testing.B) {
	w := newWorld(b, withFleet(func(s *fleet.Settings) { s.Processes = 1 << 20 }))
	w.populate(200, 100_000)
	for name, q := range map[string]SessionQuery{
		"newest":     {},
		"activating": {Status: fleet.Activating},
		"sorted":     {Sort: "maximumSessions DESC"},
		"filtered":   {Filter: "gameSessionProperties.mode = '3'"},
		"none":       {Filter: "maximumSessions > 100", Sort: "maximumSessions ASC"},
	} {
		q.Limit = 100
		b.Run(name, func(b *testing.B) {
			first := q
			for b.Loop() {
				page, err := w.ListSessions(context.Background(), q)
				if err != nil || len(page.GameSessions) == 0 && name != "none" {
					b.Fatal(len(page.GameSessions), err)
				}
				if q.NextToken = page.NextToken; len(page.GameSessions) < q.Limit || page.NextToken == "" {
					q = first
				}
			}
		})
	}
}
