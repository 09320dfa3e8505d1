package direct_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/session"
	"github.com/muster-gg/muster/session/direct"
)

func TestStartMatchmaking(t *testing.T) {
	t.Parallel()
	got := make(chan *wire.StartMatchmakingInput, 1)
	s := newScript(t, wire.OpStartMatchmaking.Handle(func(
		_ context.Context, in *wire.StartMatchmakingInput,
	) (*wire.StartMatchmakingOutput, error) {
		got <- in
		return &wire.StartMatchmakingOutput{}, nil
	}))
	p := s.provider(direct.Target{})
	r := session.StartMatchmakingRequest{ConfigurationName: "duels", Players: []session.Player{{
		PlayerID: "ada", Team: "red", LatencyInMS: map[string]int{"eu-central-1": 20},
		PlayerAttributes: map[string]json.RawMessage{
			"skill": json.RawMessage(`{"N": 23}`), "maps": json.RawMessage(`{"SL": ["a", "b"]}`),
			"mode": json.RawMessage(`{"S":"ctf"}`), "roles": json.RawMessage(`{"SDM":{"tank":0.5}}`),
		},
	}}}
	id, err := p.StartMatchmaking(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := &wire.StartMatchmakingInput{TicketId: id, ConfigurationName: "duels", Players: []wire.Player{{
		PlayerId: "ada", Team: "red", LatencyInMs: map[string]int32{"eu-central-1": 20},
		PlayerAttributes: map[string]wire.AttributeValue{
			"skill": {N: wire.Some(23.0)}, "maps": {SL: []string{"a", "b"}}, "mode": {S: "ctf"},
			"roles": {SDM: map[string]float64{"tank": 0.5}},
		},
	}}}
	if in := <-got; id == "" || !reflect.DeepEqual(in, want) {
		t.Errorf("sent %+v, want %+v", in, want)
	}
	r.TicketID = "ticket-1"
	if id, err := p.StartMatchmaking(t.Context(), r); err != nil || id != "ticket-1" || (<-got).TicketId != id {
		t.Error(id, err)
	}
	r.Players[0].PlayerAttributes["skill"] = json.RawMessage(`{"N": "23"}`)
	_, err = p.StartMatchmaking(t.Context(), r)
	wantError(t, err, session.ErrInvalid, "")
	if !strings.Contains(err.Error(), `player "ada", attribute "skill"`) {
		t.Errorf("%v does not name the attribute", err)
	}
}

// TestStartMatchmakingLost takes a ticket back whose answer did not arrive, and does
// not send it twice.
func TestStartMatchmakingLost(t *testing.T) {
	t.Parallel()
	s := newScript(t, wire.OpStartMatchmaking.Handle(func(
		context.Context, *wire.StartMatchmakingInput,
	) (*wire.StartMatchmakingOutput, error) {
		lost()
		return nil, nil
	}), wire.OpStopMatchmaking.Handle(func(
		_ context.Context, in *wire.StopMatchmakingInput,
	) (*wire.StopMatchmakingOutput, error) {
		if in.TicketId != "ticket-1" {
			t.Errorf("stopped %q", in.TicketId)
		}
		return nil, nil
	}))
	_, err := s.provider(direct.Target{}).StartMatchmaking(t.Context(), session.StartMatchmakingRequest{
		ConfigurationName: "duels", TicketID: "ticket-1", Players: []session.Player{{PlayerID: "ada"}},
	})
	wantError(t, err, session.ErrTransport, "")
	if got := s.made(); got != "StartMatchmaking StopMatchmaking" {
		t.Error(got)
	}
}

func TestStopAndAccept(t *testing.T) {
	t.Parallel()
	accepted := make(chan *wire.AcceptMatchInput, 2)
	s := newScript(t, answers(wire.OpStopMatchmaking, &wire.StopMatchmakingOutput{}),
		wire.OpAcceptMatch.Handle(func(_ context.Context, in *wire.AcceptMatchInput) (*wire.AcceptMatchOutput, error) {
			accepted <- in
			return nil, nil
		}))
	p := s.provider(direct.Target{})
	if err := p.StopMatchmaking(t.Context(), session.StopMatchmakingRequest{TicketID: "t"}); err != nil {
		t.Error(err)
	}
	for yes, want := range map[bool]wire.AcceptanceType{
		true: wire.AcceptanceTypeAccept, false: wire.AcceptanceTypeReject,
	} {
		if err := p.AcceptMatch(t.Context(), session.AcceptMatchRequest{
			TicketID: "t", PlayerIDs: []string{"ada"}, AcceptMatch: yes,
		}); err != nil {
			t.Error(err)
		}
		if in := <-accepted; in.AcceptanceType != want || in.TicketId != "t" || len(in.PlayerIds) != 1 {
			t.Errorf("sent %+v", in)
		}
	}
}

// TestTicket follows a ticket through two proposals to its match.
func TestTicket(t *testing.T) {
	t.Parallel()
	var list []*wire.DescribeMatchmakingOutput
	for _, ticket := range []wire.MatchmakingTicket{
		{Status: wire.MatchmakingConfigurationStatusQueued},
		{Status: wire.MatchmakingConfigurationStatusRequiresAcceptance},
		{Status: wire.MatchmakingConfigurationStatusRequiresAcceptance},
		{Status: wire.MatchmakingConfigurationStatusSearching, StatusReason: "AcceptanceFailed"},
		{Status: wire.MatchmakingConfigurationStatusRequiresAcceptance, StatusReason: "AcceptanceFailed"},
		// Nobody saw the search.
		{Status: wire.MatchmakingConfigurationStatusRequiresAcceptance, StatusReason: "AcceptanceFailed",
			StatusMessage: "again"},
		{Status: wire.MatchmakingConfigurationStatusPlacing},
		{Status: wire.MatchmakingConfigurationStatusCompleted,
			GameSessionConnectionInfo: &wire.GameSessionConnectionInfo{
				GameSessionArn: gsess, IpAddress: "203.0.113.7", DnsName: "host-1.example.com",
				Port: wire.Some[int32](7777),
				MatchedPlayerSessions: []wire.MatchedPlayerSession{{PlayerId: "ada", PlayerSessionId: "psess-1"},
					{PlayerId: "bob"}},
			}},
	} {
		ticket.TicketId = "t"
		list = append(list, &wire.DescribeMatchmakingOutput{TicketList: []wire.MatchmakingTicket{ticket}})
	}
	list = append(list, &wire.DescribeMatchmakingOutput{})
	p := newScript(t, answers(wire.OpDescribeMatchmaking, list...)).provider(direct.Target{})
	var last session.Ticket
	for i, match := range []string{"", "t/1", "t/1", "", "t/2", "t/3", "t/3", ""} {
		var err error
		if last, err = p.Ticket(t.Context(), "t"); err != nil || last.MatchID != match || last.TicketID != "t" {
			t.Errorf("look %d: %+v, %v; want match %q", i, last, err, match)
		}
	}
	want := map[string]session.Reservation{"ada": {
		SessionID: gsess, PlayerID: "ada", PlayerSessionID: "psess-1", DNSName: "host-1.example.com",
		IPAddress: "203.0.113.7", Port: 7777,
	}}
	if last.Status != session.TicketCompleted || !reflect.DeepEqual(last.Reservations, want) {
		t.Errorf("%+v", last)
	}
	_, err := p.Ticket(t.Context(), "t")
	wantError(t, err, session.ErrNotFound, "")
}
