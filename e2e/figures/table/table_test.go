package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const someResults = `command: make bench
machine: 2 × a processor
goos: linux
pkg: example.com/figures
cpu: a processor
BenchmarkSockets/lives-2 	 3000	 10 allocations/op	 5 bare-allocations/op	 0 errors	 1500 rate/s	 3000 bare-rate/s	 0.5 of-bare
BenchmarkSockets/lives-2 	 3000	 11 allocations/op	 5 bare-allocations/op	 2 errors	 1700 rate/s	 3000 bare-rate/s	 0.57 of-bare
BenchmarkSockets/sessions-at-1000-2
--- FAIL: BenchmarkSockets/sessions-at-1000-2
BenchmarkStart 	 1	 250 ready-ms	 61 idle-MiB
BenchmarkIdleSockets/19000-2	 3166	 11.5 resident-KiB	 18.6 bare-resident-KiB	 1.62 of-bare	 10 heap-KiB	 220 cpu-µs/op	 3 errors
BenchmarkRestart/replay-2	 1	 490000 rate/s	 0.74 cpu-µs/op	 4000000 decoded-rate/s	 0.12 of-decoded
PASS
`

func readText(t *testing.T, text string) results {
	t.Helper()
	r, err := read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRead(t *testing.T) {
	r := readText(t, someResults)
	if got, want := r.about["machine"], "2 × a processor"; got != want {
		t.Errorf("the machine is %q, want %q", got, want)
	}
	for _, c := range []struct {
		benchmark, unit string
		want            float64
		ok              bool
	}{
		{"Sockets/lives", "rate/s", 1600, true},
		{"Sockets/lives", "p50-ms", 0, false},
		{"Sockets/sessions-at-1000", "p99-ms", 0, false},
		{"Start", "idle-MiB", 61, true},
	} {
		if got, ok := r.median(c.benchmark, c.unit); got != c.want || ok != c.ok {
			t.Errorf("%s of %s: got %v, %v", c.unit, c.benchmark, got, ok)
		}
	}
	for _, text := range []string{"BenchmarkX-2 1 5", "BenchmarkX-2 1 five rate/s"} {
		if _, err := read(strings.NewReader(text)); err == nil {
			t.Errorf("%q was read without an error", text)
		}
	}
}

// A row says whether it reaches its goals, and whether there were errors.
func TestGoals(t *testing.T) {
	var text bytes.Buffer
	if err := writeText(&text, rowsOf(runs), readText(t, someResults)); err != nil {
		t.Fatal(err)
	}
	for work, want := range map[string][]string{
		"whole process lives":                {"1,600/s", "≥ 1,500/s ✓, 2 ERRORS", "3,000/s", "0.53 ×", "10.5 (5)"},
		"start to ready":                     {"250 ms", "≤ 300 ms ✓"},
		"idle memory":                        {"61 MB", "≤ 60 MB ✗"},
		"idle server process socket":         {"11.5 KiB", "≤ 16 KiB ✓, 3 ERRORS", "18.6 KiB", "1.62 ×", "  220 µs  "},
		"restart, 1,000,000 players: events": {"490,000/s", "≥ 500,000/s ✗", "4,000,000/s", "0.12 ×"},
		"AcceptPlayerSession over WebSocket": {"FAILED"},
	} {
		lines := strings.Split(text.String(), "\n")
		i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, work) })
		if i < 0 {
			t.Errorf("there is no row %q", work)
			continue
		}
		for _, w := range want {
			if !strings.Contains(lines[i], w) {
				t.Errorf("%q is missing in %q", w, lines[i])
			}
		}
	}
}

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"50 µs": milliseconds(0.05), "1.5 ms": milliseconds(1.5), "2.04 s": milliseconds(2041),
		"233,542/s": perSecond(233_541.6), "1,000/s": perSecond(1000), "0.31 ×": timesOf(0.312),
		"1,204 ×": timesOf(1204),
	} {
		if want != got {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

const someComparison = `pkg: example.com/figures
,before.txt,,after.txt,,,
,rate/s,CI,rate/s,CI,vs base,P
Sockets/lives-2,1600,3%,2000,2%,+25.00%,p=0.002 n=6
Sockets/accept-2,50000,3%,50100,2%,~,p=0.700 n=6
geomean,9000,,10000,,+11.00%,

,before.txt,,after.txt,,,
,cpu-µs/op,CI,cpu-µs/op,CI,vs base,P
Sockets/lives-2,500,3%,505,2%,+1.00%,p=0.002 n=6
Sockets/accept-2,25,3%,30,2%,+20.00%,p=0.015 n=6

,before.txt,,after.txt,,,
,bare-rate/s,CI,bare-rate/s,CI,vs base,P
Sockets/lives-2,3000,3%,2700,2%,-10.00%,p=0.002 n=6
`

func TestWords(t *testing.T) {
	all, err := moves([]byte(someComparison))
	if err != nil {
		t.Fatal(err)
	}
	want := `What moved, beyond chance:
  whole process lives: operations/s 1,600 → 2,000 (+25 %, better, p=0.002)
  AcceptPlayerSession over WebSocket, 64 × 8 in flight: CPU µs 25 → 30 (+20 %, worse, p=0.015)
The peers moved too: where they did, the machine is not the same, and the ratios tell more than the figures.
  whole process lives: bare rate/s 3,000 → 2,700 (-10 %, worse, p=0.002)
`
	if got := words(rowsOf(runs), all); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := words(rowsOf(runs), nil); got != "Nothing moved beyond chance.\n" {
		t.Errorf("got %q", got)
	}
}

// A run measures its rows and no others: its pattern matches their benchmarks,
// part by part, as the testing package does.
func TestPatterns(t *testing.T) {
	for _, r := range runs {
		for _, other := range rowsOf(runs) {
			own := slices.ContainsFunc(r.rows, func(o row) bool { return o.benchmark == other.benchmark })
			if got := matches(t, r.pattern, "Benchmark"+other.benchmark); got != own {
				t.Errorf("%s: the pattern %q matches %s: %v, want %v", r.name, r.pattern, other.benchmark, got, own)
			}
		}
	}
}

func matches(t *testing.T, pattern, benchmark string) bool {
	t.Helper()
	names := strings.Split(benchmark, "/")
	for i, part := range strings.Split(pattern, "/") {
		if i == len(names) || !regexp.MustCompile(part).MatchString(names[i]) {
			return false
		}
	}
	return true
}

// The table in the documentation is that of the committed results.
func TestDocumentation(t *testing.T) {
	baseline, err := readFile("../../../" + baselineFile)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../" + documentation)
	if err != nil {
		t.Fatal(err)
	}
	want, err := withTable(page, baseline)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, want) {
		t.Errorf("the table in %s is not that of %s: run make bench-accept after make bench", documentation,
			baselineFile)
	}
	if missing := baseline.missing(); len(missing) > 0 {
		t.Error(fmt.Errorf("the committed results are not whole: %v", missing))
	}
}

func TestProcessors(t *testing.T) {
	begin := processorsIn("cpu  100 0 50 300 5 1 4 40 7 0\ncpu0 1 2 3\n")
	if want := (processorTime{stolen: 40, all: 500}); begin != want {
		t.Errorf("got %+v, want %+v", begin, want)
	}
	if got := processorsIn("cpu  150 0 50 320 5 1 4 70 9 0\n").since(begin); got != 0.3 {
		t.Errorf("stolen is %v of 100 ticks, want 30", got)
	}
	for _, text := range []string{"", "cpu", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8 9", "cpu a b c d e f g h i j"} {
		if got := processorsIn(text).since(processorTime{}); got != 0 {
			t.Errorf("%q: %v was stolen", text, got)
		}
	}
}
