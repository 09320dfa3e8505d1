//go:build unix

package soak

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/e2e/report"
)

var (
	soak = flag.Duration("soak", 0,
		"how long TestSoak goes on after its warm-up; 0 is a few seconds without a verdict")
	lives = flag.Int("lives", 60, "lives of server processes that TestSoak begins each second")
	ended = flag.Int("ended", 0,
		"how many player sessions end in TestSoakHistory after its warm-up; 0 is a few seconds without a verdict")
	docs = flag.String("docs", "", "directory of the documents that the outcome is written into; \"\" writes nothing")
)

// The service forgets soon, so that what it keeps stops growing within the
// warm-up: what has ended stays in memory for seconds, and journals are cut
// every few thousand records.
var forgetful = []string{
	"--session-retention", "5s", "--process-retention", "30s", "--snapshot-every", "2000",
	"--reservation-timeout", "2s",
	"--process-grace", "5s",
}

// warmUp is how long it takes until all of this has come to rest.
const warmUp = 90 * time.Second

// A plan says what a soak does.
type plan struct {
	name                    string // of its picture
	options                 []string
	warmUp, duration, dwell time.Duration
	lives                   int // that begin each second
	crowd                   int // calls for 25 further players, of each life
	judged                  bool
	keeps                   bool // the history grows
}

func (p plan) interval() time.Duration {
	return max(100*time.Millisecond, min(5*time.Second, p.duration/100))
}

// Under a steady load nothing grows: neither memory nor disk nor the time that
// calls take. What has ended is in the history for a minute.
func TestSoak(t *testing.T) {
	p := plan{name: "soak", options: append([]string{"--history-retention", "1m"}, forgetful...), warmUp: warmUp,
		duration: *soak, dwell: 3 * time.Second, lives: *lives, judged: true}
	if *soak == 0 {
		p = p.short()
	}
	p.run(t)
}

const (
	// historyLives begin each second in TestSoakHistory, and historyCrowd says with how many players.
	historyLives, historyCrowd = 100, 7
	historyPlayers             = party + 1 + 25*historyCrowd

	// historyEach is how much disk a player session may take in the history, in
	// bytes. Source: docs/scaling.md, h.
	historyEach = 105
)

// While the history keeps all that has ended, only its files grow.
func TestSoakHistory(t *testing.T) {
	p := plan{name: "soak-history", options: forgetful, warmUp: warmUp, dwell: time.Second, lives: historyLives,
		crowd: historyCrowd, judged: true, keeps: true,
		duration: time.Duration(*ended) * time.Second / (historyLives * historyPlayers)}
	if *ended == 0 {
		p = p.short()
		p.lives /= 4
	}
	prof, counts := p.run(t)
	players := counts["lives"] * historyPlayers
	history := prof.last("history") * mebibyte
	t.Logf("%d player sessions ended; %.0f B in the history for each", players, history/float64(players))
	if p.judged && history > historyEach*float64(players) {
		t.Errorf("%.0f B in the history for each player session, want at most %d", history/float64(players),
			historyEach)
	}
}

// short is a plan of a few seconds, without a verdict.
func (p plan) short() plan {
	p.warmUp, p.duration, p.dwell, p.judged = time.Second, 2*time.Second, 500*time.Millisecond, false
	return p
}

func (p plan) String() string {
	return fmt.Sprintf("%d lives of server processes of %d players a second", p.lives, party+1+25*p.crowd)
}

// run carries out the plan, and fails the test for what is not as it should be.
func (p plan) run(t *testing.T) (*profile, map[string]int) {
	t.Helper()
	s := startService(t, p.options...)
	ctx := context.Background()
	const locations, computes = 2, 8
	l := &load{recorder: newRecorder(), world: newWorld(ctx, t, s, locations, computes), rate: p.lives, dwell: p.dwell,
		crowd: p.crowd}
	if p.lives*int(p.dwell/time.Second) > locations*computes*perCompute/2 {
		t.Fatalf("%d lives a second are too many for the computes", p.lives)
	}
	t.Logf("warming up for %s, then %s, with %s", p.warmUp, p.duration, p)
	prof := l.observe(ctx, p)
	counts, errs := l.totals()
	t.Logf("done: %s", inWords(counts))
	maps.Copy(errs, s.complaints())
	if len(errs) > 0 {
		t.Errorf("failed: %s", inWords(errs))
	}
	if missing := l.missing(p, counts); missing != "" {
		t.Errorf("no %s: the load was none", missing)
	}
	verdicts := prof.judge()
	if verdicts == nil {
		t.Fatalf("%d samples are too few", len(prof.times))
	}
	outcome := verdictTable(verdicts, p.judged)
	t.Logf("%s\n%s", report.Machine(), outcome)
	check(t, prof, verdicts, p.judged)
	if *docs != "" {
		write(t, prof, p, outcome, counts)
	}
	return prof, counts
}

// observe runs the load and samples the service meanwhile.
func (l *load) observe(ctx context.Context, p plan) *profile {
	ctx, cancel := context.WithTimeout(ctx, p.warmUp+p.duration)
	defer cancel()
	s := &sampler{service: l.world.service, recorder: l.recorder, profile: newProfile(p.warmUp, p.keeps),
		begin: time.Now(), syncs: newRecorder()}
	var sampling sync.WaitGroup
	sampling.Go(func() { s.run(ctx, p.interval()) })
	sampling.Go(func() {
		if err := s.measureSyncs(ctx, filepath.Join(l.world.service.data, "..", "yardstick")); err != nil {
			l.fail("the yardstick: " + err.Error())
		}
	})
	l.run(ctx)
	sampling.Wait()
	return s.profile
}

// missing names something that the load should have done and has not.
func (l *load) missing(p plan, counts map[string]int) string {
	for _, name := range []string{
		"lives", "AcceptPlayerSession", "RemovePlayerSession", "TerminateGameSession", "game sessions found",
		"DescribePlayerSessions", "fleets made and deleted",
	} {
		if counts[name] == 0 {
			return name
		}
	}
	if p.judged && counts["lives"] < l.rate*int((p.warmUp+p.duration-sessionLimit)/time.Second)*9/10 {
		return "lives at the rate that was asked for"
	}
	return ""
}

// check fails the test for what was not sampled, and for what grows.
func check(t *testing.T, prof *profile, verdicts []verdict, judged bool) {
	t.Helper()
	for _, v := range verdicts {
		if v.end <= 0 && (v.name != "history" || judged) {
			t.Errorf("%s was not sampled", v.name)
		}
		if judged && !v.flat {
			t.Errorf("%s grows: %s to %s %s", v.name, shortNumber(v.start), shortNumber(v.end), v.unit)
		}
	}
	if err := wellFormed(prof.svg("check")); err != nil {
		t.Errorf("the picture: %v", err)
	}
}

// write puts the outcome into the documents.
func write(t *testing.T, prof *profile, p plan, outcome report.Table, counts map[string]int) {
	t.Helper()
	title := fmt.Sprintf("make %s: %s after a warm-up of %s (grey), %s", p.name, shortTime(p.duration),
		shortTime(p.warmUp), p)
	if err := os.WriteFile(filepath.Join(*docs, p.name+".svg"), []byte(prof.svg(title)), 0o644); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s after a warm-up of %s; %s. %d lives of server processes in all, with %d game sessions "+
		"found by search.\n\n", shortTime(p.duration), shortTime(p.warmUp), report.Machine(), counts["lives"],
		counts["game sessions found"])
	b.WriteString(outcome.String())
	fmt.Fprintf(&b, "\n![course of the run](%s.svg)\n", p.name)
	report.ReplaceBlock(t, filepath.Join(*docs, "benchmarks.md"), p.name, b.String())
}
