package control

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// told returns the facts as lines: milliseconds since birth, what, and the duration.
func told(t *Timeline) (lines []string) {
	for _, f := range t.Facts {
		line := fmt.Sprint(f.Time.Sub(birth).Milliseconds(), " ", f.Subject, " ", f.Kind)
		for _, more := range []string{f.PlayerID, f.MatchID, f.Location, f.Text} {
			if more != "" {
				line += " " + more
			}
		}
		if f.DurationMS != nil {
			line += fmt.Sprint(" +", *f.DurationMS)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestTimelineOf(t *testing.T) {
	at := func(ms int) event.Time { return event.At(birth) + event.Time(ms) }
	player := func(index uint32, status fleet.PlayerSessionStatus, created, joined, ended int) *fleet.PlayerSession {
		p := &fleet.PlayerSession{ID: fleet.PlayerSessionID{15: byte(index)}, Index: index, Status: status,
			PlayerID: fmt.Sprint("p", index), Created: at(created)}
		if joined > 0 {
			p.Joined = uint32(joined - created + 1)
		}
		if ended > 0 {
			p.Ended = at(ended)
		}
		return p
	}
	ended := &fleet.GameSession{Status: fleet.Terminated, StatusReason: "R", Created: at(10), Activated: at(1210),
		TerminatingSince: at(9000), Ended: at(9500), Filled: "m2", FilledAt: at(5000),
		PastPlayers: []*fleet.PlayerSession{
			player(1, fleet.TimedOut, 2000, 0, 8000), player(0, fleet.Completed, 1210, 1210, 9500),
			player(2, fleet.Completed, 5000, 0, 9500),
		}}
	room := fleet.RoomID{Fleet: "f", Location: "l"}
	placed := &placement.Placement{Request: placement.Request{ID: "p", Match: "m1"}, Started: at(0),
		Trail: placement.Trail{Steps: []placement.Step{{At: at(0), Kind: placement.StepAttempt, Room: room},
			{At: at(1210), Kind: placement.StepFulfilled, Room: room, Text: "t"}}}}
	for name, c := range map[string]struct {
		g       *fleet.GameSession
		placed  *placement.Placement
		limit   int
		want    string // lines
		omitted int
	}{
		"new": {g: &fleet.GameSession{Created: at(10)}, limit: 10, want: `10 gameSession CREATED`},
		"all": {g: ended, placed: placed, limit: 10, want: `0 placement REQUESTED m1
			0 placement ATTEMPT l +0
			10 gameSession CREATED
			1210 gameSession ACTIVE +1200
			1210 playerSession RESERVED p0
			1210 playerSession ACCEPTED p0 +0
			1210 placement FULFILLED l t +1210
			2000 playerSession RESERVED p1
			5000 backfill BACKFILLED m2
			5000 playerSession RESERVED p2
			8000 playerSession TIMEDOUT p1 +6000
			9000 gameSession TERMINATING +7790
			9500 playerSession COMPLETED p0 +8290
			9500 playerSession COMPLETED p2 +4500
			9500 gameSession TERMINATED R +500`},
		"clock set back": {g: &fleet.GameSession{Created: at(50), Activated: at(20), Ended: at(60)},
			want: `50 gameSession CREATED
			50 gameSession ACTIVE +0
			60 gameSession TERMINATED +10`},
		"limit": {g: &fleet.GameSession{Created: at(0), Archived: 100,
			CurrentPlayers: []*fleet.PlayerSession{player(103, fleet.Reserved, 40, 0, 0)},
			PastPlayers: []*fleet.PlayerSession{player(101, fleet.TimedOut, 10, 0, 20),
				player(102, fleet.TimedOut, 20, 0, 30)}}, limit: 2, omitted: 101,
			want: `0 gameSession CREATED
			20 playerSession RESERVED p102
			30 playerSession TIMEDOUT p102 +10
			40 playerSession RESERVED p103`},
	} {
		got := timelineOf(c.g, c.placed, c.limit)
		want := strings.Split(strings.ReplaceAll(c.want, "\t", ""), "\n")
		if lines := told(got); !slices.Equal(lines, want) || got.Omitted != c.omitted {
			t.Errorf("%s: omitted %d, want %d; got\n%s\nwant\n%s", name, got.Omitted, c.omitted,
				strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestTimelinesAreOrdered: whatever the state, times do not decrease and durations are not negative.
func TestTimelinesAreOrdered(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	moment := func() event.Time { return event.Time(random.Int64N(50)) } // often 0, often the same
	for range 2000 {
		g := &fleet.GameSession{Created: 1 + moment(), Activated: moment(), TerminatingSince: moment(), Ended: moment(),
			FilledAt: moment(), Archived: random.Uint32N(3)}
		for i := range random.Uint32N(8) {
			p := &fleet.PlayerSession{ID: fleet.PlayerSessionID{15: byte(i)}, Index: i, Status: fleet.Completed,
				Created: 1 + moment(), Joined: uint32(moment()), Ended: moment()}
			if p.Ended == 0 {
				g.CurrentPlayers = append(g.CurrentPlayers, p)
			} else {
				g.PastPlayers = append(g.PastPlayers, p)
			}
		}
		placed := &placement.Placement{Started: 1 + moment(), Trail: placement.Trail{Steps: []placement.Step{
			{At: 1 + moment(), Kind: placement.StepWaiting}, {At: 1 + moment(), Kind: placement.StepFulfilled}}}}
		limit := random.IntN(9)
		line := timelineOf(g, placed, limit)
		last := map[string]time.Time{}
		for i, f := range line.Facts {
			if i > 0 && f.Time.Before(line.Facts[i-1].Time) {
				t.Fatalf("times decrease: %v", told(line))
			}
			before, ok := last[f.of()]
			if ok != (f.DurationMS != nil) || ok && *f.DurationMS != f.Time.Sub(before).Milliseconds() {
				t.Fatalf("a duration is wrong: %v", told(line))
			}
			last[f.of()] = f.Time
		}
		all := int(g.Archived) + len(g.CurrentPlayers) + len(g.PastPlayers)
		if n := len(line.PlayerSessions); n > limit || n+line.Omitted != all {
			t.Fatalf("%d player sessions and %d omitted, of %d, with a limit of %d", n, line.Omitted, all, limit)
		}
	}
}

func TestTimeline(t *testing.T) {
	w := newWorld(t)
	of, sockets := w.host(1)
	id := w.active(of, nil, sockets...)
	short := id[strings.LastIndexByte(id, '/')+1:]
	out := w.must("CreatePlayerSessions", object{"GameSessionId": id, "PlayerIds": []string{"ada", "bob"}})
	w.elapse(3400 * time.Millisecond)
	s := sockets[0]
	s.ok(s.accept(id, text(out, "PlayerSessions", 0, "PlayerSessionId")))
	w.elapse(time.Minute - 3400*time.Millisecond)
	w.elapse(3400 * time.Millisecond)
	check := func(when string, want ...string) {
		t.Helper()
		for _, name := range []string{id, short} {
			line, err := w.Timeline(w.ctx, name, 100)
			if err != nil {
				t.Fatalf("%s, by %s: %v", when, name, err)
			}
			if got := told(line); line.GameSessionArn != id || line.FleetID != of || !slices.Equal(got, want) {
				t.Errorf("%s, by %s: %s of %s\n%q\nwant\n%q", when, name, line.GameSessionArn, line.FleetID, got, want)
			}
		}
	}
	want := []string{"0 gameSession CREATED", "0 gameSession ACTIVE +0", "0 playerSession RESERVED ada",
		"0 playerSession RESERVED bob", "3400 playerSession ACCEPTED ada +3400",
		"60000 playerSession TIMEDOUT bob +60000"}
	check("running", want...)
	w.must("TerminateGameSession", object{"GameSessionId": id, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	w.elapse(time.Second)
	s.ok(s.end())
	want = append(want, "63400 gameSession TERMINATING +63400", "64400 playerSession COMPLETED ada +61000",
		"64400 gameSession TERMINATED TRIGGERED_ON_PROCESS_TERMINATE +1000")
	check("ended", want...)
	w.archived(id)
	check("in the history", want...)
	for name, kind := range map[string]fault.Kind{"nobody": fault.NotFound, "": fault.NotFound,
		id + "x": fault.NotFound, "arn:x": fault.InvalidRequest,
		strings.Repeat("x", 5000): fault.NotFound} {
		if _, err := w.Timeline(w.ctx, name, 100); !fault.Is(err, kind) {
			t.Errorf("%.50q: %v", name, err)
		}
	}
}
