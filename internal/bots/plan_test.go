package bots

import (
	"errors"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/session"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func kind(k error) Result { return Result{Err: session.Errorf("op", k, "no")} }

// found is the result of a search.
func found(ids ...string) (r Result) {
	for _, id := range ids {
		r.Found = append(r.Found, session.SearchResult{SessionID: id})
	}
	return r
}

// TestPlan follows bots from step to step: the result of each, and the next.
func TestPlan(t *testing.T) {
	t.Parallel()
	type turn struct {
		ended  Step
		result Result
		want   Move // without Failure, which is the result's unless the bot retries at once
	}
	ok := Result{}
	join := func(id string) Move { return Move{Step: Join, Session: session.SearchResult{SessionID: id}} }
	rest := func(d time.Duration) Move { return Move{Step: Rest, Wait: d} }
	hopeless := Move{Step: Rest, Wait: time.Second, Hopeless: true}
	for name, test := range map[string]struct {
		plan  Plan
		turns []turn
	}{
		"a search, and again": {turns: []turn{{Arrive, ok, Move{Step: Find}}, {Find, found("a", "b"), join("a")},
			{Join, ok, Move{Step: Stay}}, {Stay, ok, Move{Step: Leave}}, {Leave, ok, Move{Step: Arrive}}}},
		"none found": {turns: []turn{{Find, found(), Move{Step: Host}}, {Host, ok, Move{Step: Stay}}}},
		"another bot creates one": {turns: []turn{{Find, found(), Move{Step: Host}},
			{Host, Result{Again: true}, Move{Step: Find}}, {Find, found("a"), join("a")}}},
		"too late": {turns: []turn{{Find, found("a", "b", "c"), join("a")}, {Join, kind(session.ErrFull), join("b")},
			{Join, kind(session.ErrNotFound), join("c")}, {Join, kind(session.ErrState), Move{Step: Host}}}},
		"rejected by the game server": {turns: []turn{{Find, found("a", "b"), join("a")},
			{Join, Result{Err: &ConnectError{"h:1", kind(session.ErrDenied).Err}}, rest(time.Second)},
			{Rest, ok, Move{Step: Arrive}}}},
		"rejected for its version": {turns: []turn{{Join, Result{Err: &ConnectError{"h:1",
			&session.Error{Kind: session.ErrDenied, Code: "VersionMismatch"}}}, hopeless}}},
		"no capacity": {turns: []turn{{Host, kind(session.ErrUnavailable), rest(time.Second)},
			{Host, kind(session.ErrUnavailable), rest(2 * time.Second)},
			{Host, kind(session.ErrUnavailable), rest(4 * time.Second)},
			{Host, kind(session.ErrUnavailable), rest(8 * time.Second)},
			{Host, kind(session.ErrUnavailable), rest(8 * time.Second)}, {Host, ok, Move{Step: Stay}},
			{Host, kind(session.ErrUnavailable), rest(time.Second)}}},
		"lost": {turns: []turn{{Stay, kind(session.ErrTransport), Move{Step: Leave}}, {Leave, ok, rest(time.Second)},
			{Rest, ok, Move{Step: Arrive}}, {Stay, ok, Move{Step: Leave}}, {Leave, ok, Move{Step: Arrive}}}},
		"no such fleet": {turns: []turn{{Find, kind(session.ErrNotFound), hopeless}}},
		"no gateway":    {turns: []turn{{Find, kind(session.ErrTransport), hopeless}}},
		"a match": {plan: Plan{Matchmaking: true}, turns: []turn{{Arrive, ok, Move{Step: Match}},
			{Match, ok, Move{Step: Stay}}}},
		"no match": {plan: Plan{Matchmaking: true}, turns: []turn{
			{Match, kind(session.ErrUnavailable), rest(time.Second)}, {Rest, ok, Move{Step: Arrive}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := test.plan
			for i, turn := range test.turns {
				got := plan.Next(turn.ended, turn.result)
				retry := got.Step == Join || got.Step == Host
				if !retry && !errors.Is(got.Failure, turn.result.Err) || retry && got.Failure != nil {
					t.Errorf("turn %d: the failure is %v after %v", i+1, got.Failure, turn.result.Err)
				}
				got.Failure = nil
				if !equal(got, turn.want) {
					t.Errorf("turn %d: got %+v, want %+v", i+1, got, turn.want)
				}
			}
		})
	}
}

func equal(a, b Move) bool {
	return a.Step == b.Step && a.Session.SessionID == b.Session.SessionID && a.Wait == b.Wait &&
		a.Hopeless == b.Hopeless
}

func TestReason(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"no_capacity":         &session.Error{Op: "Start", Kind: session.ErrUnavailable, Code: "no_capacity"},
		"the session is full": session.Errorf("Join", session.ErrFull, "x"),
		"connection failed":   &ConnectError{"h:1", session.Errorf("Connect", session.ErrTransport, "x")},
		"refused by the game server: Denied": &ConnectError{"h:1",
			&session.Error{Kind: session.ErrDenied, Code: "Denied"}},
		"other": errors.New("other"),
	} {
		if got := Reason(err); got != want {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	}
}
