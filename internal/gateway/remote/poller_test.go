package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// within checks that a pause is as wanted, or longer by the jitter.
func within(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got < want || got > want+want/5+time.Millisecond {
		t.Errorf("%s: a pause of %s, want %s and up to a fifth more", what, got, want)
	}
}

// pauses are the times between calls.
func pauses(calls []asked) (p []time.Duration) {
	for i := 1; i < len(calls); i++ {
		p = append(p, calls[i].at-calls[i-1].at)
	}
	return p
}

func TestAwaitAsksLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{session: func(call int, id string) (*types.GameSession, error) {
			if call < 9 {
				return session(id, types.GameSessionStatusActivating, 0), nil
			}
			return session(id, types.GameSessionStatusActive, 0), nil
		}}
		g, err := s.service().AwaitGameSession(t.Context(), "gsess-1")
		if err != nil || g.Status != wire.GameSessionStatusActive {
			t.Fatalf("%+v, %v", g, err)
		}
		got := pauses(s.asked())
		want := []time.Duration{250, 375, 562, 843, 1265, 1898, 2000, 2000}
		if len(got) != len(want) {
			t.Fatalf("%d pauses: %v", len(got), got)
		}
		for i := range want {
			within(t, fmt.Sprint("pause ", i), got[i], want[i]*time.Millisecond)
		}
	})
}

func TestAwaitSharesCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{session: func(call int, id string) (*types.GameSession, error) {
			if call < 4 {
				return session(id, types.GameSessionStatusActivating, 0), nil
			}
			return session(id, types.GameSessionStatusError, 0), nil
		}}
		service := s.service()
		var waiters sync.WaitGroup
		for range 100 {
			waiters.Go(func() {
				if g, err := service.AwaitGameSession(t.Context(), "gsess-1"); err != nil ||
					g.Status != wire.GameSessionStatusError {
					t.Errorf("%+v, %v", g, err)
				}
			})
		}
		waiters.Wait()
		if n := len(s.asked()); n != 4 {
			t.Errorf("100 waiters asked %d times", n)
		}
		if service.states.run != nil || len(service.states.entries) != 0 {
			t.Error("the poller is still at work")
		}
	})
}

func TestAwaitSitsThrottlingOut(t *testing.T) {
	for _, code := range []string{"ThrottlingException", "TooManyRequestsException"} {
		t.Run(code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{session: func(call int, id string) (*types.GameSession, error) {
					if call <= 8 {
						return nil, refusal(code)
					}
					return session(id, types.GameSessionStatusActive, 0), nil
				}}
				if _, err := s.service().AwaitGameSession(t.Context(), "gsess-1"); err != nil {
					t.Fatal(err)
				}
				got := pauses(s.asked())
				for i, want := range []time.Duration{500, 1000, 2000, 4000, 8000, 15000, 15000, 15000} {
					within(t, fmt.Sprint("pause ", i), got[i], want*time.Millisecond)
				}
			})
		})
	}
}

func TestAwaitSitsShortFailuresOut(t *testing.T) {
	for _, failure := range []error{
		refusal("InternalServiceException"), refusal("ServiceUnavailableException"), errors.New("connection refused"),
	} {
		synctest.Test(t, func(t *testing.T) {
			failures := patience
			s := &scripted{session: func(call int, id string) (*types.GameSession, error) {
				if call <= failures {
					return nil, failure
				}
				return session(id, types.GameSessionStatusActive, 0), nil
			}}
			service := s.service()
			if _, err := service.AwaitGameSession(t.Context(), "gsess-1"); err != nil {
				t.Errorf("%v ended the wait: %v", failure, err)
			}
			failures = 1000
			if _, err := service.AwaitGameSession(t.Context(), "gsess-1"); !errors.Is(err, failure) {
				t.Errorf("got %v, want %v in the end", err, failure)
			}
		})
	}
}

func TestAwaitEndsWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{session: func(int, string) (*types.GameSession, error) { return nil, nil }}
		if _, err := s.service().AwaitGameSession(t.Context(), "gsess-1"); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v for a game session that does not exist", err)
		}
		s.session = func(int, string) (*types.GameSession, error) { return nil, refusal("UnauthorizedException") }
		if _, err := s.service().AwaitGameSession(t.Context(), "gsess-1"); !fault.Is(err, fault.Unauthorized) {
			t.Errorf("got %v for a refusal", err)
		}
		s.session = func(_ int, id string) (*types.GameSession, error) {
			return session(id, types.GameSessionStatusActivating, 0), nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if g, err := s.service().AwaitGameSession(ctx, "gsess-1"); !errors.Is(err, context.DeadlineExceeded) ||
			g != nil {
			t.Errorf("got %v, %v after the deadline", g, err)
		}
	})
}

// One waiter that leaves must not take the answers of the others away, and the
// calls must end with the last one.
func TestWaitersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{session: func(call int, id string) (*types.GameSession, error) {
			return session(id, types.GameSessionStatusActive, int32(call)), nil
		}}
		service := s.service()
		var waiters sync.WaitGroup
		for i := range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
			waiters.Go(func() {
				defer cancel()
				err := service.WatchGameSession(ctx, fmt.Sprint("gsess-", i%2),
					func(*wire.GameSession) error { return nil })
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
		}
		waiters.Wait()
		n := len(s.asked())
		time.Sleep(time.Minute)
		if again := len(s.asked()); again != n {
			t.Errorf("%d calls for nobody", again-n)
		}
	})
}

func TestWatchTellsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		states := []*types.GameSession{
			session("gsess-1", types.GameSessionStatusActivating, 0),
			session("gsess-1", types.GameSessionStatusActive, 0),
			session("gsess-1", types.GameSessionStatusActive, 0), session("gsess-1", types.GameSessionStatusActive, 1),
			session("gsess-1", types.GameSessionStatusActive, 1),
			session("gsess-1", types.GameSessionStatusTerminated, 0),
		}
		s := &scripted{session: func(call int, _ string) (*types.GameSession, error) { return states[call-1], nil }}
		var seen []string
		err := s.service().WatchGameSession(t.Context(), "gsess-1", func(g *wire.GameSession) error {
			seen = append(seen, fmt.Sprintf("%s %d", g.Status, g.CurrentPlayerSessionCount.Or(-1)))
			g.Status = "" // what is handed out is the caller's
			return nil
		})
		if want := []string{"ACTIVATING 0", "ACTIVE 0", "ACTIVE 1", "TERMINATED 0"}; err != nil ||
			!slices.Equal(seen, want) {
			t.Errorf("saw %v, %v; want %v", seen, err, want)
		}
		stop := errors.New("enough")
		s = &scripted{session: func(_ int, id string) (*types.GameSession, error) {
			return session(id, types.GameSessionStatusActive, 0), nil
		}}
		err = s.service().WatchGameSession(t.Context(), "gsess-1", func(*wire.GameSession) error { return stop })
		if !errors.Is(err, stop) {
			t.Errorf("got %v, want the watcher's error", err)
		}
	})
}

func TestNudgeAsksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{session: func(call int, id string) (*types.GameSession, error) {
			return session(id, types.GameSessionStatusActive, 0), nil
		}}
		service := s.service()
		ctx, cancel := context.WithCancel(t.Context())
		var watcher sync.WaitGroup
		watcher.Go(func() {
			_ = service.WatchGameSession(ctx, "gsess-1", func(*wire.GameSession) error { return nil })
		})
		time.Sleep(time.Minute) // the pause is 2 s by now
		synctest.Wait()
		before := len(s.asked())
		service.states.nudge("gsess-1")
		service.states.nudge("gsess-2")
		synctest.Wait()
		if n := len(s.asked()) - before; n != 1 {
			t.Errorf("a nudge made %d calls", n)
		}
		cancel()
		watcher.Wait()
	})
}

func TestPlacementsAreAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{placement: func(call int, id string) (*types.GameSessionPlacement, error) {
			p := &types.GameSessionPlacement{PlacementId: &id, Status: types.GameSessionPlacementStatePending}
			if call == 5 {
				p.Status = types.GameSessionPlacementStateFulfilled
			}
			return p, nil
		}}
		service := s.service()
		p, err := service.AwaitPlacement(t.Context(), "p-1")
		if err != nil || p.Status != wire.GameSessionPlacementStateFulfilled || len(s.asked()) != 5 {
			t.Errorf("%+v, %v after %d calls", p, err, len(s.asked()))
		}
		out, err := service.DescribeGameSessionPlacement(t.Context(),
			&wire.DescribeGameSessionPlacementInput{PlacementId: "p-1"})
		if err != nil || out.GameSessionPlacement.Status != wire.GameSessionPlacementStatePending {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// Twelve tickets are asked about in two calls, at once and then every ten seconds.
func TestTicketsAreAskedAboutTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun time.Time
		s := &scripted{tickets: func(_ int, ids []string) (list []types.MatchmakingTicket, err error) {
			for _, id := range ids {
				status := types.MatchmakingConfigurationStatusSearching
				if time.Since(begun) > 25*time.Second {
					status = types.MatchmakingConfigurationStatusCompleted
				}
				list = append(list, ticket(id, status))
			}
			return list, nil
		}}
		begun = time.Now()
		service := s.service()
		var watchers sync.WaitGroup
		for i := range 12 {
			watchers.Go(func() {
				var seen []wire.MatchmakingConfigurationStatus
				err := service.WatchTicket(t.Context(), fmt.Sprint("t-", i), func(m *wire.MatchmakingTicket) error {
					seen = append(seen, m.Status)
					return nil
				})
				if want := []wire.MatchmakingConfigurationStatus{"SEARCHING", "COMPLETED"}; err != nil ||
					!slices.Equal(seen, want) {
					t.Errorf("ticket %d was %v, %v", i, seen, err)
				}
			})
		}
		watchers.Wait()
		when := map[string][]time.Duration{}
		for _, c := range s.asked() {
			if len(c.ids) > maxTickets {
				t.Errorf("one call asked about %d tickets", len(c.ids))
			}
			for _, id := range c.ids {
				when[id] = append(when[id], c.at)
			}
		}
		for id, times := range when {
			if times[0] != 0 {
				t.Errorf("%s was first asked about after %s", id, times[0])
			}
			for i := range times[1:] {
				within(t, id, times[i+1]-times[i], 10*time.Second)
			}
		}
	})
}

// An id that the service does not take must not harm the others in its call.
func TestTicketsSufferOnlyForThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{tickets: func(_ int, ids []string) (list []types.MatchmakingTicket, err error) {
			for _, id := range ids {
				switch id {
				case "bad":
					return nil, refusal("InvalidRequestException")
				case "good":
					list = append(list, ticket(id, types.MatchmakingConfigurationStatusFailed))
				}
			}
			return list, nil
		}}
		service := s.service()
		var watchers sync.WaitGroup
		for id, want := range map[string]fault.Kind{
			"good": "", "bad": fault.InvalidRequest, "unknown": fault.NotFound,
		} {
			watchers.Go(func() {
				err := service.WatchTicket(t.Context(), id, func(*wire.MatchmakingTicket) error { return nil })
				if err != nil && !fault.Is(err, want) || err == nil && want != "" {
					t.Errorf("%s: %v", id, err)
				}
			})
		}
		watchers.Wait()
		if _, err := service.DescribeTicket(t.Context(), "unknown"); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v for an unknown ticket", err)
		}
	})
}

// A run that has lost its last waiter and is not stopped yet takes no entry of the next run: its result would reach no
// waiter.
func TestStoppingRunTakesNothing(t *testing.T) {
	old, next := &run{}, &run{wake: make(chan struct{}, 1)}
	p := &poller[int]{clock: clockwork.NewFakeClock(), batch: 1, run: next}
	e := p.join("a")
	if batch, _ := p.due(old); len(batch) > 0 || e.busy {
		t.Errorf("the old run took %v", batch)
	}
	if batch, _ := p.due(next); len(batch) != 1 {
		t.Errorf("the new run took %v", batch)
	}
}

func TestDescribeTicketUsesWhatIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{tickets: func(_ int, ids []string) ([]types.MatchmakingTicket, error) {
			return []types.MatchmakingTicket{ticket(ids[0], types.MatchmakingConfigurationStatusQueued)}, nil
		}}
		service := s.service()
		ctx, cancel := context.WithCancel(t.Context())
		var watcher sync.WaitGroup
		watcher.Go(func() {
			_ = service.WatchTicket(ctx, "t-1", func(*wire.MatchmakingTicket) error { return nil })
		})
		synctest.Wait()
		for range 50 {
			if m, err := service.DescribeTicket(ctx, "t-1"); err != nil ||
				m.Status != wire.MatchmakingConfigurationStatusQueued {
				t.Fatalf("%+v, %v", m, err)
			}
		}
		if n := len(s.asked()); n != 1 {
			t.Errorf("%d calls for one ticket within a moment", n)
		}
		cancel()
		watcher.Wait()
	})
}

// TestFirstFleet is the oldest ACTIVE one with server processes, or else the oldest.
func TestFirstFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := func(id string, status types.FleetStatus, day int) types.FleetAttributes {
			created := time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)
			return types.FleetAttributes{FleetId: &id, Status: status, CreationTime: &created}
		}
		pages := map[string]*gamelift.DescribeFleetAttributesOutput{
			"": {NextToken: aws.String("2"), FleetAttributes: []types.FleetAttributes{
				fleet("fleet-0", types.FleetStatusDeleting, 1), fleet("fleet-3", types.FleetStatusActive, 4)}},
			"2": {FleetAttributes: []types.FleetAttributes{fleet("fleet-e", types.FleetStatusError, 1),
				fleet("fleet-1", types.FleetStatusActive, 2), fleet("fleet-2", types.FleetStatusActive, 3)}},
		}
		s := &scripted{}
		s.fleets = func(next string) (*gamelift.DescribeFleetAttributesOutput, error) { return pages[next], nil }
		service := s.service()
		for _, c := range []struct {
			name      string
			processes map[string]int32 // of fleets
			err       error
			want      string
		}{
			{"no process", map[string]int32{"fleet-2": 0}, nil, "fleet-1"},
			{"processes", map[string]int32{"fleet-3": 2, "fleet-1": 0, "fleet-2": 1}, nil, "fleet-2"},
			{"no permission", nil, refusal("AccessDeniedException"), "fleet-1"},
		} {
			s.processes = func(ids []string) (*gamelift.DescribeFleetUtilizationOutput, error) {
				out := &gamelift.DescribeFleetUtilizationOutput{}
				for id, n := range c.processes {
					if !slices.Contains(ids, id) {
						t.Errorf("%s: asked for %v", c.name, ids)
					}
					out.FleetUtilization = append(out.FleetUtilization,
						types.FleetUtilization{FleetId: &id, ActiveServerProcessCount: &n})
				}
				return out, c.err
			}
			before := len(s.asked())
			for range 3 {
				if id, err := service.Fleet(t.Context()); err != nil || id != c.want {
					t.Errorf("%s: got %q, %v; want %s", c.name, id, err, c.want)
				}
			}
			if n := len(s.asked()) - before; n != 3 {
				t.Errorf("%s: %d calls, want 2 pages and 1 of processes, and the answer kept", c.name, n)
			}
			time.Sleep(fleetsKept)
		}
		before := len(s.asked())
		pages[""] = pages["2"]
		pages[""].FleetAttributes = pages[""].FleetAttributes[:2]
		if id, err := service.Fleet(t.Context()); err != nil || id != "fleet-1" || len(s.asked()) != before+1 {
			t.Errorf("of one fleet: %q, %v, %d calls", id, err, len(s.asked())-before)
		}
		time.Sleep(fleetsKept)
		pages[""] = &gamelift.DescribeFleetAttributesOutput{}
		if _, err := service.Fleet(t.Context()); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v without a fleet", err)
		}
	})
}
