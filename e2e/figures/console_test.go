package figures

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/browser"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
)

const (
	// openPages is how many pages are open while the memory of the service is measured, and pagesBeside how many
	// while it answers calls.
	openPages, pagesBeside = 50, 20

	// besideConnections are those of the calls: with as many as the service takes calls at once, pages would leave no
	// room for some.
	besideConnections = 128

	// playersThere is how many player sessions each game session has.
	playersThere = 10

	// pageReads is how often each page is read.
	pageReads = 200

	// paints is how often a page is opened in a browser.
	paints = 10
)

// serveConsole plays the service with a console that needs no sign-in.
func serveConsole(orders *json.Decoder, answer func(any) error) error {
	c := figureConfig()
	c.OpenConsole = config.On
	return serveConfigured(&c, &c.Data, orders, answer)
}

// A watched is a service with many game sessions, whose console is open.
type watched struct {
	tb        testing.TB
	server    *player
	endpoints muster.Endpoints
	fleet     string
	sessions  []string // ids
	load      *load
}

// openWatched makes a service with so many game sessions, each with players, and room for n calls of 25 players.
func openWatched(tb testing.TB, sessions int) *watched {
	tb.Helper()
	tell("console: making %d game sessions with %d player sessions", sessions, sessions*playersThere)
	dir := tb.TempDir()
	_, stop := start(tb, dir) // makes the directory what it is
	stop()
	h := &hall{plane: openPlane(tb, dir, never), tb: tb}
	h.openFleet()
	h.stop()
	w := &watched{tb: tb, fleet: h.fleet}
	r := newRegister(tb, fleet.RoomID{Fleet: fleet.ID(h.fleet), Location: location})
	for i := range sessions {
		id := fmt.Sprintf("gsess-%032x", i*7919)
		r.host(fleet.CreateGameSession{ID: id, Name: "a game", Maximum: seats, Properties: properties(i)}, playersThere)
		w.sessions = append(w.sessions, arn.GameSession(testRegion, h.fleet, location, id))
	}
	r.save(dir)
	w.server = play(tb, "console")
	w.server.order(dir, &w.endpoints)
	const batch = 7 // calls of 25 players that a game session has room for
	kind := reservation{protocol: wire.JSON, players: 25}
	w.load = &load{protocol: kind.protocol, operation: kind.operation(), body: func(dst []byte, call int) []byte {
		return kind.appendBody(dst, w.sessions[call/batch%len(w.sessions)], sessions+call) // none is there yet
	}}
	w.load.reach(w.endpoints)
	return w
}

// pages are the paths of the pages that are measured, by name.
func (w *watched) pages() [][2]string {
	list := "/console/game-sessions?fleet=" + w.fleet
	last := w.sessions[len(w.sessions)/2]
	return [][2]string{
		{"overview", "/console/"},
		{"fleets", "/console/fleets"},
		{"fleet", "/console/fleets/" + w.fleet},
		{"game-sessions", "/console/game-sessions"},
		{"filtered", list + "&status=ACTIVE&filter=" + url.QueryEscape("gameSessionProperties.code='C77'")},
		{"sorted", list + "&sort=" + url.QueryEscape("playerSessionCount DESC")},
		{"game-session", "/console/game-sessions/" + last[strings.LastIndex(last, "/")+1:] + "?fleet=" + w.fleet},
		{"player", "/console/players/" + playerID(uint64(len(w.sessions)))},
		{"search-id", "/console/search?q=" + playerID(uint64(len(w.sessions)))},
		{"search-prefix", "/console/search?q=gsess-00000000000000000000000"},
	}
}

// A pageRead is what reading a page came to.
type pageRead struct {
	first, last time.Duration // until its first byte, and its last one
	body        string
}

// get reads a page.
func (w *watched) get(path string) (p pageRead, err error) {
	begin := time.Now()
	ctx := httptrace.WithClientTrace(w.tb.Context(), &httptrace.ClientTrace{
		GotFirstResponseByte: func() { p.first = time.Since(begin) }})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.endpoints.HTTP+path, nil)
	if err != nil {
		return p, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return p, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, response.Status)
	}
	p.last, p.body = time.Since(begin), string(text)
	return p, err
}

// reads reads a page n times.
func (w *watched) reads(tb testing.TB, path string, n int) (first, last []time.Duration, body string) {
	tb.Helper()
	for range n {
		p, err := w.get(path)
		must(tb, err)
		first, last, body = append(first, p.first), append(last, p.last), p.body
	}
	return first, last, body
}

// asset is the path of the style sheet: what the service answers without looking at the region.
func (w *watched) asset(tb testing.TB) string {
	tb.Helper()
	_, _, body := w.reads(tb, "/console/", 1)
	_, rest, _ := strings.Cut(body, `<link rel="stylesheet" href="`)
	path, _, _ := strings.Cut(rest, `"`)
	return path
}

// open opens so many pages that do what console.js does: they wait for a signal, and read the page again.
func (w *watched) open(tb testing.TB, n int) (stop func() (reads int)) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	var pages sync.WaitGroup
	var reads atomic.Int64
	opened := make(chan error, n)
	paths := w.pages()
	for i := range n {
		path := paths[i%4][1] // those that operators leave open
		pages.Go(func() {
			once := sync.OnceFunc(func() { opened <- nil })
			err := w.watch(ctx, func() error {
				_, err := w.get(path)
				reads.Add(1)
				once()
				return err
			})
			if err != nil && ctx.Err() == nil {
				tb.Error(err)
				opened <- err
			}
		})
	}
	for range n {
		must(tb, <-opened)
	}
	return func() int {
		cancel()
		pages.Wait()
		return int(reads.Load())
	}
}

// watch reads a page whenever the region has changed, until ctx ends.
func (w *watched) watch(ctx context.Context, read func() error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.endpoints.HTTP+"/console/live", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "event: ") { // open or changed
			continue
		}
		if err := read(); err != nil {
			return err
		}
	}
	return lines.Err()
}

// BenchmarkConsole reads pages of the console of a region with many game sessions and players, paints them in a
// browser, and lets the service reserve places for players while pages are open.
func BenchmarkConsole(b *testing.B) {
	w := openWatched(b, 100_000)
	b.Run("pages", func(b *testing.B) { w.benchmarkPages(b) })
	b.Run("paint", func(b *testing.B) { w.benchmarkPaint(b) })
	b.Run("open", func(b *testing.B) { w.benchmarkOpen(b) })
	b.Run("busy", func(b *testing.B) { w.benchmarkBusy(b) })
	b.Run("beside", func(b *testing.B) { w.benchmarkBeside(b) })
}

// benchmarkPages reads each page, and as its peer a file of the console.
func (w *watched) benchmarkPages(b *testing.B) {
	asset := w.asset(b)
	for _, p := range w.pages() {
		b.Run(p[0], func(b *testing.B) {
			for b.Loop() {
				first, last, body := w.reads(b, p[1], pageReads)
				peer, _, _ := w.reads(b, asset, pageReads)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(quantile(first, 0.5), "first-byte-p50-ms")
				b.ReportMetric(quantile(first, 0.99), "first-byte-p99-ms")
				b.ReportMetric(quantile(last, 0.5), "p50-ms")
				b.ReportMetric(quantile(last, 0.99), "p99-ms")
				b.ReportMetric(quantile(peer, 0.5), "peer-p50-ms")
				b.ReportMetric(float64(len(body))/1024, "kB")
			}
		})
	}
}

// almostEmpty is the page beside which the pages are painted.
const almostEmpty = `<!doctype html><title>almost empty</title><link rel="icon" href="data:,"><p>almost empty`

// benchmarkPaint opens pages in a browser, and as its peer an almost empty page.
func (w *watched) benchmarkPaint(b *testing.B) {
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, almostEmpty)
	}))
	defer peer.Close()
	tab := browser.Open(b, w.endpoints.HTTP)
	tab.Allow(peer.URL)
	paint := func(path string) (p50 float64) {
		var took []time.Duration
		for range paints {
			took = append(took, tab.Painted(path))
		}
		return quantile(took, 0.5)
	}
	for _, p := range w.pages() {
		b.Run(p[0], func(b *testing.B) {
			for b.Loop() {
				empty, own := paint(peer.URL), paint(p[1])
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(own, "paint-p50-ms")
				b.ReportMetric(empty, "peer-paint-p50-ms")
				b.ReportMetric(float64(tab.Elements()), "elements")
			}
		})
	}
}

// benchmarkOpen measures what open pages add to the memory of the service while it answers calls: as it is, and
// after a collection.
func (w *watched) benchmarkOpen(b *testing.B) {
	const calls = 4000
	for b.Loop() {
		quiet := w.resident(b, calls)
		stop := w.open(b, openPages)
		peak := w.resident(b, calls)
		opened := w.server.footprint()
		stop()
		closed := w.server.footprint()
		b.ReportMetric(0, "ns/op")
		b.ReportMetric((float64(peak)-float64(quiet))/(1<<20), "resident-MB")
		b.ReportMetric((float64(opened.Resident)-float64(closed.Resident))/(1<<20), "collected-MB")
	}
}

// resident returns the memory of the service in bytes after so many calls, which begin after a collection.
func (w *watched) resident(tb testing.TB, calls int) uint64 {
	tb.Helper()
	w.server.footprint()
	w.load.run(tb, calls)
	w.load.first += calls
	return residentMemory(fmt.Sprint(w.server.command.Process.Pid))
}

// busyTime is how long a page is watched while game sessions change.
const busyTime = 20 * time.Second

// benchmarkBusy measures how long pages keep a processor busy while places are reserved 500 times a second, and what
// the service spends on them.
func (w *watched) benchmarkBusy(b *testing.B) {
	tab := browser.Open(b, w.endpoints.HTTP)
	pid := w.server.command.Process.Pid
	const calls = int(pacedRate * busyTime / time.Second)
	for b.Loop() {
		before := processCPU(b, pid)
		w.load.paced(b, calls)
		alone := processCPU(b, pid) - before
		b.ReportMetric(0, "ns/op")
		for _, p := range w.pages()[:4] {
			tab.Go(p[1], http.StatusOK)
			tab.Shows("live")
			begin, busy, spent := time.Now(), tab.TaskTime(), processCPU(b, pid)
			w.load.paced(b, calls)
			took := time.Since(begin)
			b.ReportMetric((tab.TaskTime()-busy).Seconds()/took.Seconds(), p[0]+"-of-a-core")
			b.ReportMetric((processCPU(b, pid)-spent-alone).Seconds()/took.Seconds(), p[0]+"-of-a-core-in-service")
		}
	}
}

// benchmarkBeside reserves places for players with no page open, and with many, in turns, of which each kind is the
// first as often as the other.
func (w *watched) benchmarkBeside(b *testing.B) {
	const rounds, calls = 6, 16_000
	for b.Loop() {
		w.turn(b, calls, new([2][]float64))
		var alone, beside [2][]float64 // calls/s, CPU of the service per call in µs
		reads := 0
		for i := range 2 * rounds {
			if i%2 == i/2%2 {
				w.turn(b, calls, &alone)
				continue
			}
			stop := w.open(b, pagesBeside)
			w.turn(b, calls, &beside)
			reads += stop()
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(median(alone[0]), "alone-calls/s")
		b.ReportMetric(median(beside[0]), "calls/s")
		b.ReportMetric(median(beside[0])/median(alone[0]), "of-alone")
		b.ReportMetric(median(alone[1]), "alone-cpu-µs")
		b.ReportMetric(median(beside[1]), "cpu-µs")
		b.ReportMetric(median(alone[1])/median(beside[1]), "of-alone-by-cpu")
		b.ReportMetric(float64(reads)/rounds, "pages-read")
	}
}

// turn makes calls and notes what they came to.
func (w *watched) turn(tb testing.TB, calls int, noted *[2][]float64) {
	pid := w.server.command.Process.Pid
	before := processCPU(tb, pid)
	m := w.load.over(tb, besideConnections, calls)
	spent := processCPU(tb, pid) - before
	w.load.first += calls
	noted[0] = append(noted[0], m.rate())
	noted[1] = append(noted[1], float64(spent.Microseconds())/float64(calls))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// processCPU is the processor time that a process has used; 0 where there is no /proc.
func processCPU(tb testing.TB, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if os.IsNotExist(err) {
		return 0
	}
	must(tb, err)
	_, rest, _ := strings.Cut(string(text), ") ")
	var user, system int64
	_, err = fmt.Sscanf(strings.Join(strings.Fields(rest)[11:13], " "), "%d %d", &user, &system)
	must(tb, err)
	return time.Duration(user+system) * (time.Second / 100)
}
