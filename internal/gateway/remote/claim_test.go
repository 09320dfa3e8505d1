package remote

import (
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Of all players who reserve a slot in the same game session, exactly one is first, or none if a player is connected
// already.
func TestFirstIsOne(t *testing.T) {
	at := func(id string, status wire.PlayerSessionStatus, second int64) wire.PlayerSession {
		return wire.PlayerSession{PlayerSessionId: id, Status: status, CreationTime: time.Unix(second, 0)}
	}
	for _, tt := range []struct {
		name    string
		players []wire.PlayerSession
		first   string // "" for none
	}{
		{"alone", []wire.PlayerSession{at("b", "RESERVED", 1)}, "b"},
		{"the earlier one", []wire.PlayerSession{at("a", "RESERVED", 2), at("b", "RESERVED", 1)}, "b"},
		{"at the same time", []wire.PlayerSession{at("b", "RESERVED", 1), at("a", "RESERVED", 1),
			at("c", "RESERVED", 1)}, "a"},
		{"players of before", []wire.PlayerSession{at("a", "COMPLETED", 1), at("b", "TIMEDOUT", 1),
			at("c", "RESERVED", 2)}, "c"},
		{"somebody who plays", []wire.PlayerSession{at("a", "RESERVED", 1), at("b", "ACTIVE", 2)}, ""},
	} {
		for i := range tt.players {
			p := &tt.players[i]
			if p.Status == wire.PlayerSessionStatusReserved && first(p, tt.players) != (p.PlayerSessionId == tt.first) {
				t.Errorf("%s: %s is first: %t", tt.name, p.PlayerSessionId, first(p, tt.players))
			}
		}
	}
}

func TestClaimable(t *testing.T) {
	good := wire.GameSession{Status: wire.GameSessionStatusActive, CurrentPlayerSessionCount: wire.Some[int32](0),
		PlayerSessionCreationPolicy: wire.PlayerSessionCreationPolicyAcceptAll}
	over, taken, closed := good, good, good
	over.Status, taken.CurrentPlayerSessionCount = wire.GameSessionStatusTerminating, wire.Some[int32](1)
	closed.PlayerSessionCreationPolicy = wire.PlayerSessionCreationPolicyDenyAll
	if !claimable(&good) || claimable(&over) || claimable(&taken) || claimable(&closed) {
		t.Error("an index that lags is believed")
	}
}

func TestErrorsKeepTheirKind(t *testing.T) {
	for code, want := range map[string]fault.Kind{
		"ConflictException": fault.Conflict, "FleetCapacityExceededException": fault.FleetCapacityExceeded,
		"GameSessionFullException": fault.GameSessionFull,
		"NotFoundException":        fault.NotFound, "UnauthorizedException": fault.Unauthorized,
		"AccessDeniedException": fault.AccessDenied,
		"ThrottlingException":   fault.Throttling, "TooManyRequestsException": fault.Throttling,
		"SomethingNewException": "SomethingNewException",
	} {
		cause := refusal(code)
		f := fault.Of(convertError(t.Context(), "Describe", cause))
		if f.Kind != want || f.Message != "because" || f.Err == nil {
			t.Errorf("%s became %+v", code, f)
		}
	}
}
