package placement

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/event/eventtest"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestSessionID(t *testing.T) {
	for attempt, want := range map[int]string{1: "place-1", 2: "place-1-2", 10: "place-1-10"} {
		if got := SessionID("place-1", attempt); got != want {
			t.Errorf("attempt %d has game session %s", attempt, got)
		}
	}
}

// TestStartIsRepeated tells who may send a request twice.
func TestStartIsRepeated(t *testing.T) {
	const taken = "Placement place-1 exists already: a PlacementId is used once, so choose another one"
	for _, c := range []struct{ call, match, againCall, againMatch, want string }{
		{"call-1", "", "call-1", "", ""},
		{"call-1", "", "call-2", "", taken},
		{"call-1", "", "", "", taken},
		{"", "", "", "", taken},
		{"", "", "call-1", "", taken},
		{"", "match-1", "", "match-1", ""},
		{"", "match-1", "", "match-2", taken},
		{"", "match-1", "", "", taken},
		{"", "match-1", "call-1", "", taken},
		{"call-1", "match-1", "call-2", "match-1", ""},
	} {
		w := newWorld(t)
		first := w.do(others(c.call, c.match))
		w.wait(time.Second)
		again := others(c.againCall, c.againMatch)
		again.Room, again.Timeout, again.Request.Maximum = nil, 5, 99
		events, answer, err := w.try(again)
		checkFault(t, err, fault.InvalidRequest, c.want)
		if len(events) > 0 || err == nil && answer.(*Placement) != first {
			t.Errorf("%+v: the repetition gives %v and answers %+v", c, names(events), answer)
		}
	}
}

// TestStartKeepsTheRequest: what was asked for stands in the record, whatever follows.
func TestStartKeepsTheRequest(t *testing.T) {
	w := newWorld(t)
	c := usualStart("place-1")
	c.Request.Match, c.Request.MatchmakerData, c.Request.Data = "place-1", "{}", "data"
	w.do(c)
	p := w.do(Fulfil{"place-1", 1, session("place-1")})
	if fmt.Sprintf("%+v", p.Request) != fmt.Sprintf("%+v", c.Request) {
		t.Errorf("the request has become %+v", p.Request)
	}
	if p.Started != start || p.Deadline != start.Add(time.Minute) ||
		!slices.Equal(p.Trail.Candidates, c.Trail.Candidates) {
		t.Errorf("got %+v", p)
	}
	ended := eventtest.Facts(t, types, w.journal.Bytes())[1].Body.(*PlacementFulfilled)
	if ended.Session.ID != "place-1" {
		t.Errorf("the event is %+v", ended)
	}
}

// TestDeadline follows the timer: it counts while no attempt runs.
func TestDeadline(t *testing.T) {
	w := newWorld(t)
	deadline := func(want event.Time) {
		t.Helper()
		if got := w.state.Deadline(); got != want {
			t.Fatalf("the deadline is %d instead of %d", got, want)
		}
	}
	deadline(0)
	w.do(trying("place-1"))
	deadline(0)
	w.do(Refused{"place-1", 1, "no process is free"})
	deadline(start.Add(time.Minute))
	w.do(Begin{ID: "place-1", Number: 2, Room: roomB})
	deadline(0)
	w.now = start.Add(time.Minute - 1)
	w.do(Ended{"place-1", 2, false, "the process has ended"})
	deadline(start.Add(time.Minute))
	if events := w.state.Expire(start.Add(time.Minute - 1)); len(events) > 0 {
		t.Fatalf("too early: %s", names(events))
	}
	if got := names(w.wait(time.Millisecond)); got != "PlacementEnded" {
		t.Fatalf("at the deadline: %s", got)
	}
	deadline(0)
	p, _ := w.state.Placement("place-1")
	if p.Status != TimedOut || p.Ended != p.Deadline || p.Attempt.Running {
		t.Errorf("got %+v", p)
	}
}

// TestExpireIsBounded ends a crowd of placements part by part, the earliest first.
func TestExpireIsBounded(t *testing.T) {
	w := newWorld(t)
	for i := range maxDue + 3 {
		c := waiting(fmt.Sprintf("place-%04d", i))
		c.Timeout = int32(maxDue + 10 - i)
		if _, _, err := w.state.Handle(w.now, c); err != nil {
			t.Fatal(err)
		}
	}
	w.now = start.Add(time.Hour)
	first := w.state.Expire(w.now)
	if last := first[len(first)-1].(*PlacementEnded); len(first) != maxDue || last.ID != "place-0003" {
		t.Fatalf("%d events, the last of %s", len(first), last.ID)
	}
	if rest := w.state.Expire(w.now); len(rest) != 3 || w.state.Deadline() != 0 {
		t.Fatalf("%d events are left", len(rest))
	}
}

// TestReaders lists placements in the orders that are promised.
func TestReaders(t *testing.T) {
	w := newWorld(t)
	pending := func(s *State) string {
		var ids []string
		s.Pending(func(p *Placement) bool {
			ids = append(ids, p.ID)
			return len(ids) < 3
		})
		return strings.Join(ids, " ")
	}
	over := func(s *State, before event.Time, limit int) string {
		var ids []string
		for _, p := range s.EndedBefore(before, limit) {
			ids = append(ids, p.ID)
		}
		return strings.Join(ids, " ")
	}
	expect := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, id := range []string{"b", "a"} {
		w.do(waiting(id))
	}
	w.wait(time.Second)
	w.do(trying("0"))
	w.do(waiting("c"))
	expect(pending(w.state), "a b 0")
	frozen := w.state.Freeze()
	if w.state.Freeze() != frozen || frozen.Freeze() != frozen {
		t.Error("a copy is made though nothing has changed")
	}

	w.do(Stop{"b"})
	w.wait(time.Second)
	w.do(Stop{"a"})
	w.do(Fulfil{"0", 1, session("0")})
	expect(over(w.state, w.now, 9), "b")
	expect(over(w.state, w.now+1, 9), "b 0 a")
	expect(over(w.state, w.now+1, 2), "b 0")
	expect(over(w.state, w.now+1, 0), "")
	expect(pending(w.state), "c")
	expect(pending(frozen), "a b 0")
	expect(over(frozen, w.now+1, 9), "")
	if p, ok := frozen.Placement("0"); !ok || p.Status != Pending {
		t.Errorf("the frozen copy shows %+v", p)
	}
	if _, ok := w.state.Placement("d"); ok {
		t.Error("a placement is found that nobody started")
	}
}

// TestAnnouncements: each end is announced once, as the placement was then, until it is
// trimmed; whether it is forgotten meanwhile does not matter.
func TestAnnouncements(t *testing.T) {
	w := newWorld(t)
	list := func(s *State, limit int) string {
		var texts []string
		for _, a := range s.Announcements(0, limit) {
			texts = append(texts, fmt.Sprint(a.Seq, " ", a.Placement.ID, " ", a.Placement.Status))
		}
		return strings.Join(texts, ", ")
	}
	expect := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, id := range []string{"a", "b", "c"} {
		w.do(waiting(id))
		w.do(Stop{id})
	}
	w.do(trying("d"))
	w.do(Ended{"d", 1, true, "it was terminated"})
	frozen := w.state.Freeze()
	w.do(Forget{[]string{"a", "b", "c", "d", "a", "x"}})
	all := "1 a CANCELLED, 2 b CANCELLED, 3 c CANCELLED, 4 d FAILED"
	expect(list(w.state, 100), all)
	expect(list(w.state, 2), "1 a CANCELLED, 2 b CANCELLED")
	expect(list(w.state, 0), "")
	expect(list(w.state, -1), "")

	w.do(Trim{2})
	expect(list(w.state, 100), "3 c CANCELLED, 4 d FAILED")
	w.do(Trim{2})
	w.do(waiting("e"))
	w.do(Fail{"e", "its queue was deleted"})
	expect(list(w.state, 100), "3 c CANCELLED, 4 d FAILED, 5 e FAILED")
	w.do(Trim{99})
	expect(list(w.state, 100), "")
	w.do(waiting("f"))
	w.do(Stop{"f"})
	expect(list(w.state, 100), "6 f CANCELLED")
	expect(list(frozen, 100), all)

	w.do(Trim{6})
	again := restored(t, snapshotOf(t, w.state))
	if _, _, err := again.Handle(w.now, waiting("g")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := again.Handle(w.now, Stop{"g"}); err != nil {
		t.Fatal(err)
	}
	expect(list(again, 100), "7 g CANCELLED")
}

// TestTrailIsBounded tries again and again.
func TestTrailIsBounded(t *testing.T) {
	w := newWorld(t)
	many := make([]Considered, MaxCandidates+9)
	c := trying("place-1")
	c.Trail = Trail{Candidates: many, Omitted: 3}
	p := w.do(c)
	if len(p.Trail.Candidates) != MaxCandidates || p.Trail.Omitted != 12 {
		t.Errorf("%d candidates are kept, %d omitted", len(p.Trail.Candidates), p.Trail.Omitted)
	}
	old := p.Trail.Steps
	for n := 2; n <= 30; n++ {
		w.do(Refused{"place-1", n - 1, strings.Repeat("ö", maxText)})
		p = w.do(Begin{ID: "place-1", Number: n, Room: roomB, Candidates: many[:n], Omitted: 1})
	}
	if n := len(p.Trail.Steps); n != MaxSteps || p.Trail.Earlier != 59-MaxSteps {
		t.Errorf("%d steps are kept, %d are not", n, p.Trail.Earlier)
	}
	if last := p.Trail.Steps[MaxSteps-1]; last.Kind != StepAttempt || last.Room != roomB {
		t.Errorf("the last step is %+v", last)
	}
	if text := p.Trail.Steps[MaxSteps-2].Text; text != strings.Repeat("ö", maxText/2)+"…" {
		t.Errorf("a long text has become %q", text)
	}
	if len(p.Trail.Candidates) != 30 || p.Trail.Omitted != 1 {
		t.Errorf("the candidates are not those of the newest look: %d, %d omitted", len(p.Trail.Candidates),
			p.Trail.Omitted)
	}
	if len(old) != 1 || old[0].Kind != StepAttempt || old[0].Room != roomA {
		t.Errorf("the first record has become %+v", old)
	}
}

func TestWaitingSaysWhatFor(t *testing.T) {
	for _, c := range []struct {
		candidates []Considered
		want       string
	}{
		{nil, "the queue has no destinations"},
		{[]Considered{{Dropped: "Fleet f is DELETING"}}, "no fleet location can take it now"},
		{[]Considered{{Room: roomA, Dropped: "not in AllowedLocations"}},
			"no fleet location can take it now"},
		{[]Considered{{Room: roomA}, {Room: roomB, Dropped: "not in AllowedLocations"}},
			"waits for a free server process"},
	} {
		start := waiting("place-1")
		start.Trail.Candidates = c.candidates
		if steps := newWorld(t).do(start).Trail.Steps; len(steps) != 1 || steps[0].Kind != StepWaiting ||
			steps[0].Text != c.want {
			t.Errorf("got %+v, want %q", steps, c.want)
		}
	}
}

// TestSnapshotStops at the first failure of the writer.
func TestSnapshotStops(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"a", "b", "c"} {
		w.do(waiting(id))
	}
	w.do(Stop{"a"})
	w.do(Stop{"b"})
	failed := fmt.Errorf("the disk is full")
	for stop := range 6 {
		calls := 0
		err := w.state.Snapshot(func(any) error {
			if calls++; calls > stop {
				return failed
			}
			return nil
		})
		if err != failed || calls != stop+1 {
			t.Errorf("after %d records: %d calls, %v", stop, calls, err)
		}
	}
}

// TestRestoreRefuses what no snapshot holds, or not there.
func TestRestoreRefuses(t *testing.T) {
	ended := &Placement{Request: Request{ID: "a"}, Status: Failed}
	for _, c := range []struct {
		name    string
		records []any
	}{
		{"an event", []any{&PlacementStarted{}}},
		{"no pointer", []any{Placement{}}},
		{"a second header", []any{&Header{}, ended, &Header{}}},
		{"an announcement from the future", []any{&Header{Announced: 1}, &Announcement{2, ended}}},
		{"an announcement twice", []any{&Header{Announced: 1}, &Announcement{1, ended}, &Announcement{1, ended}}},
		{"an announcement of nothing", []any{&Header{Announced: 1}, &Announcement{Seq: 1}}},
	} {
		s := New()
		for i, r := range c.records {
			if err := s.Restore(r); (err != nil) != (i == len(c.records)-1) {
				t.Errorf("%s: record %d: %v", c.name, i, err)
			}
		}
	}
}

// TestApplyPanics on an event that is none of ours.
func TestApplyPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an unknown event was applied")
		}
	}()
	New().Apply(&Header{})
}

// TestFrozenCopyIsReadBesideTheWriter is for the race detector.
func TestFrozenCopyIsReadBesideTheWriter(t *testing.T) {
	w := newWorld(t)
	done := make(chan struct{})
	for i := range 50 {
		w.do(trying(fmt.Sprint("place-", i)))
		if i%3 == 0 {
			w.do(Fulfil{fmt.Sprint("place-", i), 1, session("x")})
		} else {
			w.do(Refused{fmt.Sprint("place-", i), 1, "no process is free"})
		}
	}
	frozen := w.state.Freeze()
	want := snapshotOf(t, frozen)
	go func() {
		defer close(done)
		for range 20 {
			if !bytes.Equal(snapshotOf(t, frozen), want) {
				t.Error("the frozen copy has changed")
			}
			frozen.Announcements(0, 100)
			frozen.EndedBefore(w.now+1, 100)
			frozen.Pending(func(*Placement) bool { return true })
		}
	}()
	for i := range 50 {
		if i%3 != 0 {
			w.do(Begin{ID: fmt.Sprint("place-", i), Number: 2, Room: roomB})
			w.do(Fulfil{fmt.Sprint("place-", i), 2, session("x")})
		}
		if i == 25 {
			w.do(Trim{3})
		}
	}
	<-done
}

func TestRequestIsBounded(t *testing.T) {
	s := New()
	r := Request{ID: "p", Queue: "q", Latencies: make([]Latency, 100_000)}
	for i := range r.Latencies {
		r.Latencies[i].PlayerID = "player-with-a-long-name"
	}
	if _, _, err := s.Handle(1, Start{Request: r, Timeout: 60}); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("got %v", err)
	}
}
