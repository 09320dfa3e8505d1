//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/e2e/netbench/result"
)

// TestMain makes the test program a server or a load when it is called as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == serveCommand || os.Args[1] == loadCommand) {
		if err := execute(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestServers has every server do every work for a moment.
func TestServers(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range works {
		w.connections = min(w.connections, 100)
		for _, p := range (&run{own: own}).order(w, 0) {
			t.Run(w.name+"/"+p.name, func(t *testing.T) {
				const moment, longest = 100 * time.Millisecond, 3 * time.Second
				s, err := trial{w, p.name, p.program, own, 0, moment}.measure(t.Context())
				tooFew := func() bool {
					return errors.Is(err, errNothing) || err == nil && w.part != memoryPart && s.Messages < 100
				}
				for lasts := moment; tooFew() && lasts < longest; lasts *= 2 { // a busy machine
					s, err = trial{w, p.name, p.program, own, 0, lasts}.measure(t.Context())
				}
				if err != nil && !strings.HasPrefix(p.name, "gamenet") { // a peer may stall: netpoll did once
					t.Log("once more:", err)
					s, err = trial{w, p.name, p.program, own, 0, longest}.measure(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				if w.part == memoryPart {
					if s.Resident > 1<<20 {
						t.Errorf("%.0f bytes a connection", s.Resident)
					}
				} else if s.Messages < 100 || s.Seconds < 0.1 || s.CPU <= 0 {
					t.Errorf("measured %+v", s)
				}
			})
		}
	}
}

func TestRunWritesDocs(t *testing.T) {
	page := filepath.Join(t.TempDir(), "benchmarks.md")
	const marks = "<!-- table of make bench-net: begin -->\n<!-- table of make bench-net: end -->\n"
	if err := os.WriteFile(page, []byte(marks), 0o600); err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	args := []string{"-only", "echo", "-rounds", "1", "-time", "50ms", "-docs", page, "-peer", "another=" + own}
	err = bench(t.Context(), args, &out, io.Discard)
	if err == nil || !strings.Contains(err.Error(), `no server "another"`) {
		t.Errorf("got %v; that program has no such server", err)
	}
	if !strings.Contains(out.String(), "|  |  | another | - |") {
		t.Errorf("the server that failed has no gap in\n%s", &out)
	}
	if text, _ := os.ReadFile(page); string(text) != marks {
		t.Error("a table with gaps was written into the page")
	}
	out.Reset()
	if err := bench(t.Context(), args[:len(args)-2], &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), out.String()) || !strings.Contains(out.String(), "| gamenet |") {
		t.Errorf("the page is %q, %v\nbut this was printed: %q", text, err, &out)
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{
		{"-only", "nothing"}, {"-rounds", "0"}, {"-time", "0s"}, {"-peer", "name"}, {"more"},
	} {
		if bench(t.Context(), args, io.Discard, io.Discard) == nil {
			t.Errorf("%v is taken", args)
		}
	}
}

func TestOrderTurns(t *testing.T) {
	r := &run{own: "own", peers: []peer{{"gnet", "program"}}}
	first := map[string]int{}
	for round := range 4 {
		order := r.order(works[0], round)
		first[order[0].name]++
		if len(order) != 4 {
			t.Errorf("round %d has %v", round, order)
		}
	}
	for _, name := range []string{subject, "net", "netpoll", "gnet"} {
		if first[name] != 1 {
			t.Errorf("%s begins %d rounds of 4", name, first[name])
		}
	}
}

func TestGoalsNameWhatIsMeasured(t *testing.T) {
	for _, w := range works {
		s := result.Series{}
		for round := range 2 {
			for _, p := range (&run{}).order(w, round) {
				s.Add(p.name, round, result.Sample{Messages: 1, Seconds: 1, CPU: 1, Heap: 1, Resident: 1})
			}
		}
		for _, g := range w.goals {
			if got := g.Verdict(s, subject, peers); strings.HasSuffix(got, "-") || g.Least == 0 && math.IsNaN(g.Most) {
				t.Errorf("%s: nothing can be said of the goal %s", w.name, got)
			}
		}
	}
}
