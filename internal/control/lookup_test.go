package control

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestLookup(t *testing.T) {
	a := matchmakers(t, 1)
	game := a.active(a.fleet, object{"Name": "Friday night", "MaximumPlayerSessionCount": 4}, a.sockets...)
	last := game[strings.LastIndexByte(game, '/')+1:]
	player := text(a.must("CreatePlayerSession", object{"GameSessionId": game, "PlayerId": "anna"}), "PlayerSession",
		"PlayerSessionId")
	a.must("StartMatchmaking", object{"ConfigurationName": "duel", "TicketId": "ticket-77", "Players": players("ben")})
	a.must("StartGameSessionPlacement", object{"PlacementId": "place-42", "GameSessionQueueName": "games",
		"MaximumPlayerSessionCount": 1})
	prefix := strings.TrimSuffix(a.FleetARN(a.fleet), "fleet/"+a.fleet)
	kinds := func(q LookupQuery) (list []string) {
		found, err := a.Lookup(a.ctx, q)
		if err != nil || found.Partial {
			t.Fatalf("%q: %+v, %v", q.Text, found, err)
		}
		for _, h := range found.Hits {
			if !strings.HasPrefix(h.Path, "/console/") || h.ID == "" ||
				(h.Status != "") != (h.Kind == gameSessionKind) {
				t.Errorf("%q: %+v", q.Text, h)
			}
			exact := ""
			if h.Exact {
				exact = "!"
			}
			list = append(list, h.Kind+exact)
		}
		return list
	}
	for query, want := range map[string]string{
		game: "gameSession!", last: "gameSession!", last[:8]: "gameSession", "Friday night": "gameSession!",
		"friday": "gameSession", "Frid": "gameSession", "Fri": "", "10.0.0.1:7777": "gameSession!",
		a.fleet: "fleet!", a.FleetARN(a.fleet): "fleet!", a.fleet[:14]: "fleet", "fleet": "fleet!",
		"duel": "configuration! ruleSet!", "games": "queue!", "custom-a": "location!", "c1": "compute!",
		"10.0.0.1": "compute! gameSession", "anna": "player!", "ann": "", player: "playerSession!",
		"ticket-77": "ticket!", "ticket": "ticket", "place-42": "placement!", "place-": "placement", "ben": "",
		"arn:aws:gamelift:us-west-2::gamesession/fleet-x/custom-a/g": "",
		prefix + "matchmakingruleset/duel":                           "ruleSet!",
		prefix + "matchmakingconfiguration/duel":                     "configuration!",
		prefix + "gamesessionqueue/games":                            "queue!",
		prefix + "location/custom-a":                                 "location!",
		prefix + "compute/c1":                                        "compute!", prefix + "other/duel": "",
		prefix + "fleet/anna": "", prefix + "fleet/duel": "", "arn:duel": "", "arn:": "",
	} {
		if got := strings.Join(kinds(LookupQuery{Text: query}), " "); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{game, last, a.fleet, "anna", player} {
		if got := kinds(LookupQuery{Text: query, Hidden: func(string) bool { return true }}); got != nil {
			t.Errorf("%q in a hidden fleet: %q", query, got)
		}
	}
	a.archivedPlayer(game)
	for _, query := range []string{game, "anna", player} {
		if got := kinds(LookupQuery{Text: query}); len(got) != 1 {
			t.Errorf("%q in the history: %q", query, got)
		}
	}
	for _, query := range []string{"", "  ", strings.Repeat("x", 1025)} {
		if _, err := a.Lookup(a.ctx, LookupQuery{Text: query}); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%.10q: %v", query, err)
		}
	}
	ctx, cancel := context.WithCancel(a.ctx)
	cancel()
	found, err := a.Lookup(ctx, LookupQuery{Text: "duel"})
	if err != nil || !found.Partial || len(found.Hits) != 2 {
		t.Errorf("without time: %+v, %v", found, err)
	}
}

func TestLookupLimit(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		w.queueOf(fmt.Sprintf("ranked-%d", i))
	}
	w.queueOf("ranked")
	found, err := w.Lookup(w.ctx, LookupQuery{Text: "ranked"})
	if err != nil || len(found.Hits) != lookupHits || !found.Partial || !found.Hits[0].Exact || found.Hits[1].Exact {
		t.Errorf("%+v, %v", found, err)
	}
}

func BenchmarkLookup(b *testing.B) {
	w := newWorld(b, withFleet(func(s *fleet.Settings) { s.Processes = 1 << 20 }))
	w.populate(200, 100_000)
	for _, query := range []string{"gsess-150-77", "no such thing", "anna"} {
		b.Run(query, func(b *testing.B) {
			for b.Loop() {
				if _, err := w.Lookup(context.Background(), LookupQuery{Text: query}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestOverview(t *testing.T) {
	a := matchmakers(t, 2)
	game := a.active(a.fleet, object{"MaximumPlayerSessionCount": 4}, a.sockets...)
	a.must("CreatePlayerSession", object{"GameSessionId": game, "PlayerId": "anna"})
	o, err := a.Overview(a.ctx, nil)
	if err != nil || o.Fleets != 1 || o.Computes != 1 || o.Processes != 2 || o.FreeProcesses != 1 ||
		o.GameSessions != 1 || o.Players != 1 || o.MaximumPlayers != 4 || len(o.Attention) != 0 || len(o.Events) == 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	a.create(a.fleet, nil) // no process is free
	a.must("StartMatchmaking", object{"ConfigurationName": "duel", "TicketId": "t", "Players": players("ben")})
	for i := range 2 {
		a.must("StartGameSessionPlacement", object{"PlacementId": fmt.Sprint("p", i), "GameSessionQueueName": "games",
			"MaximumPlayerSessionCount": 1})
	}
	a.elapse(11 * time.Second)
	o, err = a.Overview(a.ctx, nil)
	if err != nil || o.Activating != 1 || o.FreeProcesses != 0 || o.PendingPlacements != 2 || o.WaitingTickets != 1 ||
		o.OldestPlacementMS != 11000 || o.OldestTicketMS != 11000 {
		t.Errorf("%+v, %v", o, err)
	}
	kinds := func(o *Overview) (list []string) {
		for _, n := range o.Attention {
			list = append(list, n.Kind)
		}
		return list
	}
	since := a.clock.Now().Add(-11 * time.Second).UTC()
	text := "queue games: 2 placements without an attempt, the oldest since " + since.Format(time.TimeOnly) + " UTC"
	if got := kinds(o); !slices.Equal(got, []string{"queueWaits", "noFreeProcess"}) || o.Attention[0].Count != 2 ||
		o.Attention[0].Text != text || !o.Attention[0].Since.Equal(since) {
		t.Errorf("%+v", o.Attention)
	}
	o, err = a.Overview(a.ctx, func(string) bool { return true })
	if err != nil || o.GameSessions != 2 || len(o.Events) != 0 || !slices.Equal(kinds(o), []string{"queueWaits"}) {
		t.Errorf("hidden: %+v, %v", o, err)
	}
}

// TestFleetRows lists the busiest fleet first.
func TestFleetRows(t *testing.T) {
	a := matchmakers(t, 2)
	idle := a.fleetAt("custom-b")
	game := a.active(a.fleet, object{"MaximumPlayerSessionCount": 4}, a.sockets...)
	a.must("CreatePlayerSession", object{"GameSessionId": game, "PlayerId": "anna"})
	a.must("CreateAlias", object{"Name": "live", "RoutingStrategy": object{"Type": "SIMPLE", "FleetId": a.fleet}})
	list, err := a.FleetRows(a.ctx, nil, 2)
	if err != nil || len(list.Fleets) != 2 || list.Fleets[1].FleetID != idle {
		t.Fatalf("%+v, %v", list, err)
	}
	want := FleetRow{FleetID: a.fleet, Name: list.Fleets[0].Name, Status: "ACTIVE",
		Locations: []string{"custom-a"}, Aliases: []string{"live"},
		Load: Load{Computes: 1, Processes: 2, FreeProcesses: 1, GameSessions: 1, Players: 1, MaximumPlayers: 4}}
	if got := list.Fleets[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	list, err = a.FleetRows(a.ctx, nil, 1)
	if err != nil || len(list.Fleets) != 1 || list.Fleets[0].FleetID != a.fleet || list.Omitted != 1 {
		t.Errorf("limited: %+v, %v", list, err)
	}
	list, err = a.FleetRows(a.ctx, func(id string) bool { return id == a.fleet }, 2)
	if err != nil || len(list.Fleets) != 1 || list.Fleets[0].FleetID != idle || list.Omitted != 0 {
		t.Errorf("hidden: %+v, %v", list, err)
	}
}

// TestCrashLoop: several processes that end abnormally within ten minutes need attention, until that is long ago.
func TestCrashLoop(t *testing.T) {
	w := newWorld(t, withFleet(func(s *fleet.Settings) { s.ProcessGrace = time.Second }))
	_, sockets := w.host(crashLoop)
	for _, s := range sockets {
		s.Disconnected()
	}
	loops := func() (n int) {
		o, err := w.Overview(w.ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range o.Attention {
			if a.Kind == "crashLoop" {
				n = a.Count
			}
		}
		return n
	}
	w.advance("the crash loop", time.Second, func() bool { return loops() == crashLoop })
	w.elapse(recent + time.Second)
	if n := loops(); n != 0 {
		t.Errorf("after a while: %d", n)
	}
}
