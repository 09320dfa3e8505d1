package gameserver_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/muster-gg/muster/gameserver"
)

const configuration = "arn:aws:gamelift:us-west-2:123456789012:matchmakingconfiguration/duel"

// TestBackfillOnTheWire holds the requests to what the official Go SDK sends: the
// texts were made by its version 5.6.0.
func TestBackfillOnTheWire(t *testing.T) {
	s := newService(t)
	s.replies["StartMatchBackfill"] = `"StatusCode":200,"TicketId":"ticket-7"`
	server, _ := hosting(t, s, gameserver.ProcessParameters{})
	ticket, err := server.StartMatchBackfill(t.Context(), gameserver.MatchBackfill{
		MatchmakingConfigurationARN: configuration,
		Players: []gameserver.Player{
			{PlayerID: "p1", Team: "red", LatencyInMS: map[string]int{"us-west-2": 40},
				Attributes: map[string]gameserver.AttributeValue{
					"skill": gameserver.DoubleAttribute(23.5), "zero": gameserver.DoubleAttribute(0),
					"mode": gameserver.StringAttribute("duel"), "none": gameserver.StringAttribute(""),
					"maps": gameserver.StringListAttribute("a", "b"), "empty": gameserver.StringListAttribute(),
					"ranks": gameserver.StringDoubleMapAttribute(map[string]float64{"x": 1}),
				}},
			{PlayerID: "p2"},
		},
	})
	if err != nil || ticket != "ticket-7" {
		t.Fatalf("ticket %q, %v", ticket, err)
	}
	if err := server.StopMatchBackfill(t.Context(), gameserver.MatchBackfill{
		MatchmakingConfigurationARN: configuration, TicketID: ticket,
	}); err != nil {
		t.Fatal(err)
	}
	for action, want := range map[string]string{
		"StartMatchBackfill": `{"Action":"StartMatchBackfill","RequestId":"ID","GameSessionArn":"` + gameSession +
			`","MatchmakingConfigurationArn":"` + configuration +
			`","TicketId":"","Players":[{"PlayerId":"p1","Team":"red",` +
			`"PlayerAttributes":{"empty":{"AttrType":"STRING_LIST"},` +
			`"maps":{"AttrType":"STRING_LIST","SL":["a","b"]},"mode":{"AttrType":"STRING","S":"duel"},` +
			`"none":{"AttrType":"STRING"},` +
			`"ranks":{"AttrType":"STRING_DOUBLE_MAP","SDM":{"x":1}},"skill":{"AttrType":"DOUBLE","N":23.5},` +
			`"zero":{"AttrType":"DOUBLE","N":0}},` +
			`"LatencyInMs":{"us-west-2":40}},{"PlayerId":"p2","Team":"","PlayerAttributes":null,"LatencyInMs":null}]}`,
		"StopMatchBackfill": `{"Action":"StopMatchBackfill","RequestId":"ID","GameSessionArn":"` + gameSession +
			`","MatchmakingConfigurationArn":"` + configuration +
			`","TicketId":"ticket-7"}`,
	} {
		if got := s.sent(action)[0]; got != want {
			t.Errorf("%s\n got  %s\n want %s", action, got, want)
		}
	}
}

func TestBackfillRefused(t *testing.T) {
	s := newService(t)
	server, _ := hosting(t, s, gameserver.ProcessParameters{})
	one := []gameserver.Player{{PlayerID: "p1"}}
	with := func(a gameserver.AttributeValue) []gameserver.Player {
		return []gameserver.Player{{PlayerID: "p1", Attributes: map[string]gameserver.AttributeValue{"skill": a}}}
	}
	for _, test := range []struct {
		b    gameserver.MatchBackfill
		says string
	}{
		{gameserver.MatchBackfill{Players: one}, "MatchmakingConfigurationARN"},
		{gameserver.MatchBackfill{MatchmakingConfigurationARN: configuration, TicketID: "a b", Players: one},
			"TicketID"},
		{gameserver.MatchBackfill{MatchmakingConfigurationARN: configuration, TicketID: strings.Repeat("a", 129),
			Players: one}, "TicketID"},
		{gameserver.MatchBackfill{MatchmakingConfigurationARN: configuration}, "Players must not be empty"},
		{gameserver.MatchBackfill{MatchmakingConfigurationARN: configuration, Players: make([]gameserver.Player, 1)},
			"Players[0].PlayerID"},
		{gameserver.MatchBackfill{MatchmakingConfigurationARN: configuration,
			Players: with(gameserver.AttributeValue{})}, `Players[0].Attributes["skill"]`},
		{gameserver.MatchBackfill{MatchmakingConfigurationARN: configuration,
			Players: with(gameserver.DoubleAttribute(math.NaN()))}, `Players[0].Attributes["skill"]`},
	} {
		if _, err := server.StartMatchBackfill(t.Context(), test.b); !errors.Is(err, gameserver.ErrInvalid) ||
			!strings.Contains(err.Error(), test.says) {
			t.Errorf("starting %+v: %v, want %q", test.b, err, test.says)
		}
	}
	for _, b := range []gameserver.MatchBackfill{{TicketID: "t"}, {MatchmakingConfigurationARN: configuration}} {
		if err := server.StopMatchBackfill(t.Context(), b); !errors.Is(err, gameserver.ErrInvalid) {
			t.Errorf("stopping %+v: %v", b, err)
		}
	}
	fresh := gameserver.New(gameserver.Config{Getenv: noEnvironment})
	b := gameserver.MatchBackfill{MatchmakingConfigurationARN: configuration, TicketID: "t", Players: one}
	if _, err := fresh.StartMatchBackfill(t.Context(), b); !errors.Is(err, gameserver.ErrNoGameSession) {
		t.Errorf("starting without a game session: %v", err)
	}
	if err := fresh.StopMatchBackfill(t.Context(), b); !errors.Is(err, gameserver.ErrNoGameSession) {
		t.Errorf("stopping without a game session: %v", err)
	}
	if len(s.sent("StartMatchBackfill"))+len(s.sent("StopMatchBackfill")) != 0 {
		t.Error("the service was asked")
	}
}

// matched gives the game session matchmaker data with p0 to p79 in two teams.
func (h *hosted) matched() *hosted {
	h.t.Helper()
	var red, blue []string
	for n := range 40 {
		red = append(red, fmt.Sprintf(`{"playerId":"p%d","attributes":{"skill":{"attributeType":"N",`+
			`"valueAttribute":%d}}}`, n, n))
		blue = append(blue, fmt.Sprintf(`{"playerId":"p%d"}`, n+40))
	}
	data := fmt.Sprintf(`{"matchmakingConfigurationArn":%q,"teams":[{"name":"red","players":[%s]},{"name":"blue",`+
		`"players":[%s]}]}`,
		configuration, strings.Join(red, ","), strings.Join(blue, ","))
	h.Subscribe(noting(h.s, ""))
	h.active().push(fmt.Sprintf(`{"Action":"UpdateGameSession","GameSession":{"MatchmakerData":%q},`+
		`"UpdateReason":"MATCHMAKING_DATA_UPDATED"}`, data))
	h.s.await("the update", h.s.has("UpdateEnd"))
	return h
}

// TestHostBackfill finds the players by itself, page after page.
func TestHostBackfill(t *testing.T) {
	h := newHost(t, newService(t), nil).matched()
	pages := map[string]string{
		`"Limit":30}`:                  `"NextToken":"n1","PlayerSessions":[{"PlayerId":"p3"},{"PlayerId":"stranger"}]`,
		`"NextToken":"n1","Limit":30}`: `"NextToken":"","PlayerSessions":[{"PlayerId":"p40"}]`,
	}
	h.s.set(func() {
		h.s.replies["StartMatchBackfill"] = `"StatusCode":200,"TicketId":"t"`
		h.s.respond["DescribePlayerSessions"] = func(body string) string {
			_, rest, _ := strings.Cut(body, `"PlayerSessionStatusFilter":"ACTIVE",`)
			return `"StatusCode":200,` + pages[rest]
		}
	})
	if ticket, err := h.StartMatchBackfill(t.Context(), "t", nil); err != nil || ticket != "t" {
		t.Fatalf("ticket %q, %v", ticket, err)
	}
	want := `{"Action":"StartMatchBackfill","RequestId":"ID","GameSessionArn":"` + gameSession +
		`","MatchmakingConfigurationArn":"` + configuration +
		`","TicketId":"t","Players":[{"PlayerId":"p3","Team":"red","PlayerAttributes":{"skill":{"AttrType":"DOUBLE",` +
		`"N":3}},"LatencyInMs":null},` +
		`{"PlayerId":"p40","Team":"blue","PlayerAttributes":{},"LatencyInMs":null}]}`
	if got := h.s.sent("StartMatchBackfill")[0]; got != want {
		t.Errorf("\n got  %s\n want %s", got, want)
	}
	if err := h.StopMatchBackfill(t.Context(), "t"); err != nil {
		t.Error(err)
	}
	named := []gameserver.Player{{PlayerID: "me", Team: "red"}}
	if _, err := h.StartMatchBackfill(t.Context(), "", named); err != nil ||
		!strings.Contains(h.s.sent("StartMatchBackfill")[1], `"Players":[{"PlayerId":"me"`) {
		t.Errorf("with players: %v, %s", err, h.s.sent("StartMatchBackfill"))
	}
	if n := len(h.s.sent("DescribePlayerSessions")); n != 2 {
		t.Errorf("%d pages were asked for", n)
	}
}

func TestHostBackfillFails(t *testing.T) {
	h := newHost(t, newService(t), nil).active()
	if _, err := h.StartMatchBackfill(t.Context(), "t", nil); !errors.Is(err, gameserver.ErrMatchmakerData) {
		t.Errorf("starting without matchmaker data: %v", err)
	}
	if err := h.StopMatchBackfill(t.Context(), "t"); !errors.Is(err, gameserver.ErrMatchmakerData) {
		t.Errorf("stopping without matchmaker data: %v", err)
	}
	h = newHost(t, newService(t), nil).matched()
	for sessions, says := range map[string]string{
		`"StatusCode":200,"PlayerSessions":[{"PlayerId":"stranger"}]`:        "no player of the match",
		`"StatusCode":200,"PlayerSessions":[],"NextToken":"again and again"`: "the same page",
		`"StatusCode":429,"ErrorMessage":"ThrottlingException: slow down"`:   "429",
	} {
		h.s.set(func() { h.s.replies["DescribePlayerSessions"] = sessions })
		if _, err := h.StartMatchBackfill(t.Context(), "t", nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", sessions, err)
		}
	}
	if len(h.s.sent("StartMatchBackfill")) != 0 {
		t.Error("the matchmaker was asked")
	}
}
