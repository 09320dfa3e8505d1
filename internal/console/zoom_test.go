package console

import (
	"context"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestWindowOf(t *testing.T) {
	for in, want := range map[[2]string]window{
		{"", ""}: {}, {"1.5", "4"}: {1500 * time.Millisecond, 4 * time.Second}, {"", "2"}: {0, 2 * time.Second},
		{"3", ""}: {}, {"4", "4"}: {}, {"5", "4"}: {}, {"-1", "4"}: {}, {"0", "NaN"}: {}, {"NaN", "1"}: {},
		{"0", "1e300"}: {}, {"x", "4"}: {0, 4 * time.Second}, {"0", "0.0001"}: {},
		{"1", " 2 "}: {time.Second, 2 * time.Second},
	} {
		if got := windowOf(in[0], in[1]); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

// TestClip: in any window, marks, lines and labels are inside the drawing, and the table has the facts of the marks.
func TestClip(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		from := time.Duration(random.Int64N(70_000)) * time.Millisecond
		part := window{from, from + time.Duration(1+random.Int64N(70_000))*time.Millisecond}
		w := drawOn(part.axis(), played(), lineStart.Add(65*time.Second))
		w.clip(part)
		w.label()
		marks := 0
		for _, r := range w.Rows {
			marks += len(r.Marks)
			for _, m := range r.Marks {
				if outside(m.X) {
					t.Fatalf("%v: a mark at %d", part, m.X)
				}
			}
			for _, l := range r.Lines {
				if outside(l.From) || outside(l.To) || l.From > l.To {
					t.Fatalf("%v: a line from %d to %d", part, l.From, l.To)
				}
			}
			for _, l := range r.Labels {
				if l.X < 0 || l.X > lineWidth {
					t.Fatalf("%v: a label at %d", part, l.X)
				}
			}
		}
		if marks != len(w.Facts) {
			t.Fatalf("%v: %d marks, %d rows of the table", part, marks, len(w.Facts))
		}
	}
	w := drawOn(window{0, 10 * time.Second}.axis(), played(), lineStart.Add(65*time.Second))
	if x := w.Rows[2].Marks[1].X - w.Rows[2].Marks[0].X; x != (lineRight-lineLeft)*34/100 {
		t.Errorf("3.4 of 10 s are %d pixels", x)
	}
}

// TestZoom: the links lead to windows, and keep what the address has besides.
func TestZoom(t *testing.T) {
	const address = "/console/game-sessions/g?fleet=f-1&location=custom-a"
	z := zoom(address, window{}, 8*time.Second, "")
	if z.Zoomed() || z.In != "/console/game-sessions/g?fleet=f-1&from=2&location=custom-a&to=6" || z.Out+z.Later != "" {
		t.Errorf("%+v", z)
	}
	z = zoom(address, window{time.Second, 3 * time.Second}, 8*time.Second, "a b")
	for got, want := range map[string]string{
		z.Fit: "", z.In: "&from=1.5&to=2.5", z.Out: "&from=0&to=4", z.Earlier: "&from=0&to=2", z.Later: "&from=2&to=4",
	} {
		u, err := url.Parse(got)
		if err != nil || u.Query().Get("with") != "a b" || u.Query().Get("location") != "custom-a" {
			t.Errorf("%s, %v", got, err)
		}
		part := ""
		if u.Query().Has("to") {
			part = "&from=" + u.Query().Get("from") + "&to=" + u.Query().Get("to")
		}
		if part != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if len(z.Hidden) != 2 || z.Hidden[0] != (link{"fleet", "f-1"}) {
		t.Errorf("hidden %v", z.Hidden)
	}
}

// TestCompare: two game sessions on one scale, each with its table, for those who may see both.
func TestCompareTimelines(t *testing.T) {
	const id = "arn:aws:gamelift:eu-west-1::gamesession/fleet-1/g"
	w := newWorld(t)
	w.answers["DescribeGameSessions"] = &wire.DescribeGameSessionsOutput{GameSessions: []wire.GameSession{
		{GameSessionId: id, FleetId: "fleet-1", MatchmakerData: `{"matchId":"m"}`}}}
	w.answers["DescribePlayerSessions"] = &wire.DescribePlayerSessionsOutput{}
	line := played()
	line.GameSessionArn, line.Facts[0].PlacementID = id, "place-1"
	w.answers["Timeline"] = line
	address := gameSessionPath(id)
	text := w.shows("GET", address+"&with=g-2", nil, 200, "Compared with <a", "on one scale", `value="g-2"`,
		`href="/console/placements/place-1"`, "&#34;matchId&#34;: &#34;m&#34;", "&#34;GameSessionId&#34;")
	if n := strings.Count(text, "<caption>"); n != 2 {
		t.Errorf("%d tables", n)
	}
	if got := w.inputs["Timeline"]; got != "g-2 37" {
		t.Errorf("asked for %v", got)
	}
	w.shows("GET", address+"&with="+url.QueryEscape("http://h/console/game-sessions/g-3?fleet=f"), nil, 200)
	if got := w.inputs["Timeline"]; got != "g-3 37" {
		t.Errorf("asked for %v", got)
	}
	text = w.shows("GET", address+"&from=0&to=2", nil, 200, "0 s to 2 s after the beginning", ">Zoom out</a>")
	if strings.Contains(text, "TIMEDOUT") || strings.Contains(text, "drawn longer") {
		t.Errorf("a part has all: %s", text)
	}
	w.h.Region = refusing{w}
	w.shows("GET", address+"&with=g-4", nil, 200, "Game session g-4 does not exist.", "<svg")
}

// refusing is a region with one game session.
type refusing struct{ *world }

func (r refusing) Timeline(ctx context.Context, id string, players int) (*control.Timeline, error) {
	if id == "g-4" {
		return nil, fault.New(fault.NotFound, "Game session g-4 does not exist.")
	}
	return r.world.Timeline(ctx, id, players)
}
