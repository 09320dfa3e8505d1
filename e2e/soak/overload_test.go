//go:build unix

package soak

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/e2e/report"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/bench"
)

var overload = flag.Bool("overload", false, "TestOverload takes its time and judges what it measures")

// An assault says how an overload goes.
type assault struct {
	before, capacity, storm, after time.Duration // of its phases
	hosts                          int           // game servers that host a game session
	usual, connections             int           // over which capacity is measured, and the storm comes
	options                        []string      // of the service
	judged                         bool
}

const (
	excess   = 2.0 // times the capacity that is offered
	patients = 20  // processes that report their health all the time
	others   = 4   // computes of the processes that come and go
	quietly  = 0.1 // share of the capacity that is offered in the quiet phases
)

// What a service must hold to while it is asked for twice what it can do.
const (
	leastOffered = 1.6 // times the capacity: else it was no overload
	// Of the capacity; refusals and the load generator take their share of the processors.
	leastAccepted = 0.3
	slowest       = 400 * time.Millisecond // p99 of accepted calls
	slower        = 10                     // times that at capacity, if that is more
	moreMemory    = 256.0                  // MiB above that at capacity
	recovery      = time.Second
)

// A siege is one run of TestOverload.
type siege struct {
	*world
	assault
	*recorder // of the game servers and their calls
	hosts     []*gameserver.Server
	games     []string
	generator *generator
}

// A service that is asked for twice what it can do refuses some calls, in a way
// that clients repeat, and goes on with the others as usual. Its game servers
// notice nothing.
func TestOverload(t *testing.T) {
	a := assault{before: 2 * time.Second, capacity: 5 * time.Second, storm: 20 * time.Second, after: 3 * time.Second,
		hosts: 800, usual: 96, connections: 1536, judged: true}
	if !*overload {
		a = assault{before: 200 * time.Millisecond, capacity: 400 * time.Millisecond, storm: time.Second,
			after: 300 * time.Millisecond, hosts: 20, usual: 12, connections: 256,
			options: []string{"--max-calls", "16"}}
	}
	// The load needs processors too, or else it could not offer enough.
	t.Setenv("GOMAXPROCS", fmt.Sprint(max(1, runtime.NumCPU()/2)))
	service := startService(t, a.options...)
	ctx := context.Background()
	s := &siege{assault: a, recorder: newRecorder(), world: newWorld(ctx, t, service, 1, a.hosts/perCompute+others)}
	s.assemble(ctx)
	s.generator = newGenerator(t, s.world, s.games, a.connections)
	defer s.generator.close()
	s.run(ctx)
	s.dismiss(ctx)
}

// assemble starts the game servers, and game sessions on them.
func (s *siege) assemble(ctx context.Context) {
	s.t.Helper()
	for i := range s.assault.hosts {
		server, err := s.connect(ctx, s.computes[i/perCompute])
		s.must(err)
		s.hosts = append(s.hosts, server)
		active := make(chan error, 1)
		s.must(server.ProcessReady(ctx, gameserver.ProcessParameters{Port: 7777, OnStartGameSession: func(
			gameserver.GameSession,
		) {
			active <- server.ActivateGameSession(ctx)
		}}))
		places := int32(seatsEach)
		out, err := s.client.CreateGameSession(ctx,
			&gamelift.CreateGameSessionInput{FleetId: &s.fleet, Location: &s.locations[0],
				MaximumPlayerSessionCount: &places})
		s.must(err)
		s.must(<-active)
		s.games = append(s.games, *out.GameSession.GameSessionId)
	}
}

// dismiss ends the game servers.
func (s *siege) dismiss(ctx context.Context) {
	var ending sync.WaitGroup
	for _, server := range s.hosts {
		ending.Go(func() {
			s.do("ProcessEnding at the end", func() error { return server.ProcessEnding(ctx) })
			server.Close()
			server.Wait()
		})
	}
	ending.Wait()
}

// A record is what a run came to.
type record struct {
	before, capacity, storm, after *measure
	atCapacity, inStorm, atEnd     int // resident memory in MiB; the most in the storm
	recovered                      time.Duration
}

// run goes through the phases while game servers live their lives.
func (s *siege) run(ctx context.Context) {
	s.t.Helper()
	living, stop := context.WithCancel(ctx)
	var company sync.WaitGroup
	s.liveOn(living, &company)
	before := s.counters(ctx)

	var r record
	s.generator.run(ctx, s.usual, 0, s.assault.capacity/2) // to warm up
	r.capacity = s.load(ctx, s.usual, 0, s.assault.capacity)
	capacity := r.capacity.rate(len(r.capacity.accepted))
	r.atCapacity = s.resident(ctx)
	r.before = s.load(ctx, s.usual, quietly*capacity, s.before)
	watching, unwatch := context.WithCancel(ctx)
	peak := s.watchMemory(watching)
	r.storm = s.load(ctx, s.connections, excess*capacity, s.assault.storm)
	unwatch()
	r.inStorm = <-peak
	r.after = s.load(ctx, s.usual, quietly*capacity, s.after)
	r.recovered = r.calm()
	r.atEnd = s.resident(ctx)

	during, after := s.snapshot(), s.counters(ctx)
	stop()
	company.Wait()
	s.judge(&r, during, before, after)
}

// load offers calls, and measures what processor time they took.
func (s *siege) load(ctx context.Context, connections int, rate float64, duration time.Duration) *measure {
	s.t.Helper()
	before, own := s.counters(ctx), bench.OwnCPU()
	m := s.generator.run(ctx, connections, rate, duration)
	m.ownCPU = bench.OwnCPU() - own
	after := s.counters(ctx)
	grown := func(name string) float64 { return after[name] - before[name] }
	m.serviceCPU = inSeconds(grown("process_cpu_seconds_total"))
	if n := grown("muster_journal_append_seconds_count"); n > 0 {
		m.append = inSeconds(grown("muster_journal_append_seconds_sum") / n)
	}
	return m
}

func inSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// liveOn has game servers come and go, and report their health.
func (s *siege) liveOn(ctx context.Context, company *sync.WaitGroup) {
	s.t.Helper()
	rest := s.computes[len(s.computes)-others:]
	ward := s.extend(ctx, "custom-ward") // apart: they are not to be given game sessions
	for range patients {
		p, err := s.admit(ctx, ward)
		s.must(err)
		company.Go(func() { p.report(ctx, s.recorder, 100*time.Millisecond) })
	}
	l := &load{recorder: s.recorder, dwell: 500 * time.Millisecond, orderly: true, world: &world{
		t: s.t, service: s.service, client: s.service.client(persistent), fleet: s.fleet, computes: rest,
	}}
	company.Go(func() {
		for tick := time.NewTicker(200 * time.Millisecond); ; {
			select {
			case <-tick.C:
				l.running.Go(func() { l.live(context.WithoutCancel(ctx)) })
			case <-ctx.Done():
				tick.Stop()
				l.running.Wait()
				return
			}
		}
	})
}

// persistent is the usual retryer of the SDK, with more attempts.
func persistent(o *gamelift.Options) {
	o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = 20
		o.MaxBackoff = time.Second
		o.RateLimiter = ratelimit.None
	})
}

// counters are those of the service.
func (s *siege) counters(ctx context.Context) map[string]float64 {
	s.t.Helper()
	m, err := s.service.metrics(ctx)
	s.must(err)
	return m
}

func (s *siege) resident(ctx context.Context) (mib int) {
	return int(s.counters(ctx)["process_resident_memory_bytes"]) / mebibyte
}

// watchMemory gives the most that the service's memory was until ctx is done.
func (s *siege) watchMemory(ctx context.Context) <-chan int {
	most := make(chan int, 1)
	go func() {
		peak := 0
		for pause(ctx, 200*time.Millisecond) {
			if m, err := s.service.metrics(ctx); err == nil {
				peak = max(peak, int(m["process_resident_memory_bytes"])/mebibyte)
			}
		}
		most <- peak
	}()
	return most
}

// calm is how long after the storm the service answered as before it: when for
// three tenths of a second in a row no call was refused, and most took no more
// than twice as long.
func (r *record) calm() time.Duration {
	const window, enough = 100 * time.Millisecond, 3
	limit := max(2*quantile(r.before.accepted, 0.5), 5*time.Millisecond)
	fine, slow, count := 0, 0, 0
	refused := false
	at := window // the end of the present one
	for _, m := range r.after.moments {
		for ; m.at >= at; at += window {
			if fine++; refused || 2*slow > count {
				fine = 0
			}
			if fine == enough {
				return at - enough*window
			}
			refused, slow, count = false, 0, 0
		}
		count++
		refused = refused || m.throttled
		if m.took > limit {
			slow++
		}
	}
	return at // not at all
}

// judge prints the outcome, and fails the test for what must not be.
func (s *siege) judge(r *record, during map[string]int, before, after map[string]float64) {
	s.t.Helper()
	outcome := r.table()
	counts, errs := s.totals()
	s.t.Logf("%s\n%s\n%s\nmeanwhile: %s", s.conditions(), outcome, r.inWords(), inWords(during))
	for _, m := range []*measure{r.before, r.capacity, r.storm, r.after} {
		for name, n := range m.errors {
			errs[name] += n
		}
	}
	maps.Copy(errs, s.service.complaints())
	if len(errs) > 0 {
		s.t.Errorf("failed: %s", inWords(errs))
	}
	if r.storm.throttled() == 0 {
		s.t.Error("no call was throttled")
	}
	lost := `muster_events_total{event="ProcessLost"}`
	if n := after[lost] - before[lost]; n > 0 {
		s.t.Errorf("%v sockets of game servers were lost", n)
	}
	if want := float64(len(s.hosts) + patients); after["muster_server_process_sockets"] < want {
		s.t.Errorf("%v sockets of game servers are left; want %v at least", after["muster_server_process_sockets"],
			want)
	}
	if counts["health reports"] == 0 || counts["lives"] == 0 {
		s.t.Error("no health report went through, or no life")
	}
	if !s.judged {
		return
	}
	for _, problem := range r.problems() {
		s.t.Error(problem)
	}
	if *docs != "" {
		s.write(r, outcome, during)
	}
}

// problems says where a run missed what it has to hold to.
func (r *record) problems() (all []string) {
	check := func(fine bool, format string, args ...any) {
		if !fine {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	capacity := r.capacity.rate(len(r.capacity.accepted))
	check(r.storm.offered() >= leastOffered*capacity, "%.0f calls/s were offered, which is not %.1f times %.0f",
		r.storm.offered(), leastOffered, capacity)
	accepted := r.storm.rate(len(r.storm.accepted))
	check(accepted >= leastAccepted*capacity, "only %.0f calls/s were accepted, of a capacity of %.0f", accepted,
		capacity)
	bound := max(milliseconds(slowest), slower*r.capacity.quantile(0.99))
	check(r.storm.quantile(0.99) <= bound, "p99 of accepted calls is %.0f ms, above %.0f", r.storm.quantile(0.99),
		bound)
	check(float64(r.inStorm-r.atCapacity) <= moreMemory, "memory rose from %d to %d MiB", r.atCapacity, r.inStorm)
	check(r.recovered <= recovery, "recovery took %s", r.recovered)
	return all
}

// table is the outcome.
func (r *record) table() report.Table {
	t := report.Table{{"", "offered/s", "accepted/s", "throttled/s", "other errors", "p50 of accepted",
		"p99 of accepted", "journal's append", "processors: service", "load"}}
	for _, phase := range []struct {
		name string
		*measure
	}{{"a tenth of the capacity", r.before}, {"capacity", r.capacity}, {"overload", r.storm}, {"a tenth " +
		"again", r.after}} {
		others := 0
		for _, n := range phase.errors {
			others += n
		}
		t = append(t, []string{
			phase.name, fmt.Sprintf("%.0f", phase.offered()), fmt.Sprintf("%.0f", phase.rate(len(phase.accepted))),
			fmt.Sprintf("%.0f", phase.rate(phase.throttled())), fmt.Sprint(others),
			fmt.Sprintf("%.1f ms", phase.quantile(0.5)), fmt.Sprintf("%.1f ms", phase.quantile(0.99)),
			fmt.Sprintf("%.1f ms", milliseconds(phase.append)),
			fmt.Sprintf("%.2f", phase.serviceCPU.Seconds()/phase.took.Seconds()),
			fmt.Sprintf("%.2f", phase.ownCPU.Seconds()/phase.took.Seconds()),
		})
	}
	return t
}

// inWords is what the table does not say.
func (r *record) inWords() string {
	return fmt.Sprintf("Resident memory %d MiB at capacity, %d at most in the overload, %d after it. Calm again "+
		"after %s", r.atCapacity, r.inStorm, r.atEnd, r.recovered)
}

// conditions are those that a run was measured under.
func (s *siege) conditions() string {
	return fmt.Sprintf("%s; the service may use %s of the processors. Capacity over %d connections, overload for "+
		"%s over %d, beside %d game servers",
		report.Machine(), os.Getenv("GOMAXPROCS"), s.usual, s.assault.storm, s.connections, len(s.hosts)+patients)
}

// snapshot is what the game servers have done so far.
func (s *siege) snapshot() map[string]int {
	counts, _ := s.totals()
	return maps.Clone(counts)
}

// write puts the outcome into the documents.
func (s *siege) write(r *record, outcome report.Table, during map[string]int) {
	s.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\n%s\n%s. Game servers meanwhile: %d health reports, %d whole lives, nothing refused, "+
		"no socket lost.\n", s.conditions(), outcome, r.inWords(), during["health reports"], during["lives"])
	report.ReplaceBlock(s.t, filepath.Join(*docs, "benchmarks.md"), "overload", b.String())
}
