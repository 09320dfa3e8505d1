package bench

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func event(kind, match string, tickets ...string) []byte {
	detail := `"type":"` + kind + `"`
	if match != "" {
		detail += `,"matchId":"` + match + `"`
	}
	return []byte(`{"position":"1.1","event":{"detail":{` + detail + `,"tickets":[{"ticketId":"` +
		strings.Join(tickets, `"},{"ticketId":"`) + `"}]}}}`)
}

// The time of a match counts from its newest ticket. What other runs do is no match
// of this one.
func TestLobby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLobby()
		finish := l.observe()
		for _, id := range []string{"old", "new", "alone", "refused"} {
			l.enter(id)
			time.Sleep(time.Second)
		}
		l.leave("refused")
		for _, line := range [][]byte{
			event("MatchmakingSearching", "", "old"), event("MatchmakingSearching", "", "alone"),
			event("MatchmakingSearching", "", "stranger"),
			event("PotentialMatchCreated", "m1", "stranger"), event("PotentialMatchCreated", "m2", "old", "new"),
		} {
			l.observeEvent(line)
		}
		if quiet, _ := l.quiet(); quiet {
			t.Error("quiet before the match is placed")
		}
		l.observeEvent(event("MatchmakingSucceeded", "m2", "old", "new"))
		r := &Result{Errors: map[string]int64{}}
		finish(context.Background(), r)
		if m := r.Matchmaking; m.Matches != 1 || m.Latency.Max != 3 || m.WaitingBefore != 0 || m.WaitingAfter != 1 ||
			len(r.Errors) != 0 {
			t.Errorf("got %+v, errors %v", m, r.Errors)
		}
		l.enter("unheard")
		if err := l.settle(context.Background()); err != errUnsettled {
			t.Errorf("a ticket that the feed does not show: got %v", err)
		}
		l.fail(errMalformed)
		if err := l.settle(context.Background()); err != errMalformed {
			t.Errorf("a feed that has ended: got %v", err)
		}
	})
}
