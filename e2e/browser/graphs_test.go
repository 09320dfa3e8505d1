package browser_test

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/people"
	"github.com/muster-gg/muster/mustertest"
)

// TestConsoleGraphs uses the graphs of a fleet with the mouse: the cross-hair through all of them, zooming by dragging,
// zooming out, and images.
func TestConsoleGraphs(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClockAt(time.Now().Truncate(time.Minute))
	s := people.Start(t, func(c *muster.Config) { c.Clock, c.ClockSkew, c.OpenConsole = clock, time.Hour, "on" })
	fleet := "/console/fleets/" + s.Fleet("custom-home")
	p := open(t, s)
	for range 6 {
		before := p.newest(fleet)
		clock.Advance(10 * time.Second)
		mustertest.Eventually(t, "10 s are measured", func() bool { return p.newest(fleet) != before })
	}
	p.Check("console-graphs")

	const graph = `.graph[data-title="Active instances"] > svg`
	p.Hover(graph, .97)
	mustertest.Eventually(t, "all graphs have the cross-hair", func() bool {
		for _, g := range p.Graphs() {
			if !g.Hair || !strings.Contains(g.Output, " at ") {
				return false
			}
		}
		return true
	})
	if g := p.Graphs(); len(g) != 22 || !strings.HasPrefix(g[0].Output, "0 at ") {
		t.Errorf("the cross-hair shows %+v", g)
	}
	p.Hover("h1", .5)
	mustertest.Eventually(t, "the cross-hair is gone", func() bool { return !p.Graphs()[0].Hair })

	p.Loads(200, func() { p.Drag(graph, .5, .8) })
	zoomed := p.graphTime()
	if zoomed < 4*time.Minute || zoomed > 6*time.Minute || p.URL().Query().Get("tab") != "metrics" {
		t.Errorf("after dragging over a third of 15 minutes the page shows %s: %s", zoomed, p.URL())
	}
	p.Shows("Zoom out")
	p.Loads(200, func() { p.DoubleClick(graph) })
	if out := p.graphTime(); out != 2*zoomed {
		t.Errorf("a double click shows %s instead of %s", out, zoomed)
	}

	name, address := p.Downloaded(".graph[data-title='Active instances'] [data-png]")
	data, ok := strings.CutPrefix(address, "data:image/png;base64,")
	picture, err := base64.StdEncoding.DecodeString(data)
	if err != nil || !ok || name != "active-instances.png" {
		t.Fatalf("%s is saved from %.100s, %v", name, address, err)
	}
	image, err := png.Decode(bytes.NewReader(picture))
	if err != nil || image.Bounds().Dx() != 720 || image.Bounds().Dy() != 356 {
		t.Fatalf("the image: %v", err)
	}
	colours := map[any]bool{}
	for y := range image.Bounds().Dy() {
		for x := range image.Bounds().Dx() {
			colours[image.At(x, y)] = true
		}
	}
	if len(colours) < 10 {
		t.Errorf("the image has %d colours, want those of texts and lines", len(colours))
	}
}

// newest opens the metrics of a fleet, and returns the values of one.
func (p *person) newest(fleet string) string {
	p.Helper()
	p.Go(fleet+"?tab=metrics&range=15m", 200)
	return p.GraphData("Active instances")
}

// graphTime returns the time between from and to of the page's address.
func (p *person) graphTime() time.Duration {
	p.Helper()
	q := p.URL().Query()
	from, err := time.Parse(time.RFC3339, q.Get("from"))
	if err != nil {
		p.Fatal(err)
	}
	to, err := time.Parse(time.RFC3339, q.Get("to"))
	if err != nil {
		p.Fatal(err)
	}
	return to.Sub(from)
}
