package control

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/matcher/ruleset"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Whenever the service stops and starts again, matchmaking continues where it was.
func TestMatchingSurvivesRestarts(t *testing.T) {
	a := careful(t, 2)
	back := func() {
		a.restart()
		for i, s := range a.sockets {
			a.sockets[i] = a.mustDial(s.connect)
		}
	}
	a.seek("careful", "t1", "p1")
	back()
	a.remain("SEARCHING", "t1")
	a.seek("careful", "t2", "p2")
	a.becomes("REQUIRES_ACCEPTANCE", "t1", "t2")
	back()
	a.answer("t1", "ACCEPT", "p1")
	back()
	a.answer("t2", "ACCEPT", "p2")
	a.becomes("PLACING", "t1", "t2")
	back()
	_, push := a.play()
	back()
	a.becomes("COMPLETED", "t1", "t2")
	for _, s := range a.sockets {
		s.quiet()
	}
	if got := text(a.ticketNow("t1"), "GameSessionConnectionInfo", "GameSessionArn"); got != push.GameSessionID {
		t.Errorf("t1 plays at %s, the match at %s", got, push.GameSessionID)
	}
}

// A failure behind any record of the journal leaves no ticket behind and makes no
// match twice.
func TestMatchingSurvivesEveryFailure(t *testing.T) {
	const records = 9 // more than the scenario has
	for record := range records {
		t.Run(fmt.Sprint("record ", record), func(t *testing.T) {
			var left atomic.Int64
			a := matchmakers(t, 2, withShards(1), func(w *world) {
				w.config.Observe = func(*router.Commit) {
					if left.Add(-1) == 0 {
						w.journals[0].FailAppend(errDisk)
					}
				}
			})
			a.must("UpdateMatchmakingConfiguration", object{"Name": "duel", "RequestTimeoutSeconds": 43200})
			t.Cleanup(ticking(a.clock)) // the shard waits before it recovers
			a.seek("duel", "t1", "p1")
			left.Store(int64(record) + 1)
			a.await("t2 to start", func() bool {
				_, err := a.call("StartMatchmaking", object{"ConfigurationName": "duel", "TicketId": "t2",
					"Players": players("p2")})
				return err == nil || fault.Is(err, fault.InvalidRequest) // it has, and the answer was lost
			})
			a.await("the match", func() bool { return a.is("PLACING", "t1") && a.is("PLACING", "t2") })
			var told []string
			a.await("the game", func() bool {
				for _, s := range a.sockets {
					select {
					case p := <-s.pushes:
						told = append(told, p.(processes.CreateGameSessionPush).GameSessionID)
					default:
					}
					if len(told) > 0 {
						_ = s.activate(told[0]) // refused to the process that does not host it
					}
				}
				return a.is("COMPLETED", "t1") && a.is("COMPLETED", "t2")
			})
			left.Store(0) // what has not failed by now does not
			arn := text(a.ticketNow("t1"), "GameSessionConnectionInfo", "GameSessionArn")
			if got := text(a.ticketNow("t2"), "GameSessionConnectionInfo", "GameSessionArn"); len(told) != 1 ||
				got != told[0] || arn != got {
				t.Errorf("t1 plays at %s, t2 at %s, told were %v", arn, got, told)
			}
		})
	}
}

// is reports whether a ticket is known to have a status.
func (a *arcade) is(status, ticket string) bool {
	t, err := a.DescribeTicket(a.ctx, ticket)
	return err == nil && string(t.Status) == status
}

// A proposal that the shard does not take leaves its tickets in the pool.
func TestProposalsThatFail(t *testing.T) {
	a := matchmakers(t, 0, withShards(1))
	a.configure("plain", duelRules, object{"FlexMatchMode": "STANDALONE"})
	for i := range 5 {
		one, two := fmt.Sprint("a", i), fmt.Sprint("b", i)
		a.seek("plain", one, one)
		a.journals[0].FailAppend(errDisk)
		in := object{"ConfigurationName": "plain", "TicketId": two, "Players": players(two)}
		if _, err := a.call("StartMatchmaking", in); err == nil {
			t.Fatal("the append did not fail")
		}
		a.recovered()
		if a.ticketNow(two) == nil {
			a.seek("plain", two, two)
		}
		a.becomes("COMPLETED", one, two)
	}
}

// A panic in the matching of a configuration affects only that one, for a while.
func TestPanicWhileMatching(t *testing.T) {
	a := matchmakers(t, 0)
	a.configure("other", duelRules, nil)
	a.seek("duel", "t1", "p1")
	a.seek("other", "t2", "p2")
	explain := func(ticket string) error {
		_, err := a.ExplainTicket(a.ctx, ticket)
		return err
	}
	if err := explain("t1"); err != nil {
		t.Fatal(err)
	}
	record, _ := a.Catalog().RuleSet("duel")
	replace := func(next *ruleset.Set) (old *ruleset.Set) {
		a.ruleSets.mu.Lock()
		defer a.ruleSets.mu.Unlock()
		old = a.ruleSets.byID[record.ID].set
		a.ruleSets.byID[record.ID] = readRuleSet{"duel", next}
		return old
	}
	good := replace(&ruleset.Set{Rules: []ruleset.Rule{{Type: ruleset.Distance}}}) // no pool can be made with it
	a.must("UpdateMatchmakingConfiguration", object{"Name": "duel",
		"Description": "the Maker looks at the rule set again"})
	a.await("the configuration to rest", func() bool { return explain("t1") != nil })
	wantKind(t, "while it rests", explain("t1"), fault.ServiceUnavailable)
	if err := explain("t2"); err != nil {
		t.Errorf("the other configuration: %v", err)
	}
	replace(good)
	wantKind(t, "while it still rests", explain("t1"), fault.ServiceUnavailable)
	a.advance("the end of the rest", time.Second, func() bool { return explain("t1") == nil })
	a.remain("SEARCHING", "t1", "t2")
}

// A plane that stops answers those who ask, and leaves nothing running.
func TestExplainWhileStopping(t *testing.T) {
	a := matchmakers(t, 0)
	a.seek("duel", "t1", "p1")
	answered := make(chan error, 1)
	stopping, cancel := context.WithTimeout(a.ctx, time.Minute)
	defer cancel()
	go func() {
		for {
			if _, err := a.ExplainTicket(stopping, "t1"); err != nil {
				answered <- err
				return
			}
		}
	}()
	a.stop()
	if err := <-answered; !fault.Is(err, fault.ServiceUnavailable) {
		t.Errorf("it was answered %v", err)
	}
	a.start()
	if err := a.TicketShard().Read(a.ctx, func(*region.Machine) {}); err != nil {
		t.Fatal(err)
	}
}
