//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/e2e/netbench/result"
	"github.com/muster-gg/muster/e2e/netbench/table"
)

// warmUp is how long a server runs before it is measured.
const warmUp = 300 * time.Millisecond

// A run is all measurements together.
type run struct {
	stderr  io.Writer
	own     string // this program
	works   []work
	peers   []peer
	rounds  int
	lasts   time.Duration
	results map[string]result.Series // by the name of the work
}

// A peer is a server of another program.
type peer struct{ name, program string }

// bench measures, prints the table, and writes it into the documentation.
func bench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	r := &run{stderr: stderr, results: map[string]result.Series{}}
	flags := flag.NewFlagSet("netbench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", "", "make only this part: echo, room or memory")
	docs := flags.String("docs", "", "write the table into this file too, between its marks")
	flags.IntVar(&r.rounds, "rounds", 5, "how often each figure is measured")
	flags.DurationVar(&r.lasts, "time", time.Second, "how long each measurement lasts")
	flags.Func("peer", "name=program: another server to compare with; may be repeated", r.addPeer)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || r.rounds < 1 || r.lasts <= 0 {
		return fmt.Errorf("what is %q? There are flags alone, and -rounds and -time must be positive", flags.Args())
	}
	if r.works = worksOf(*only); len(r.works) == 0 {
		return fmt.Errorf("-only %s: there are echo, room and memory", *only)
	}
	var err error
	if r.own, err = os.Executable(); err != nil {
		return err
	}
	about := table.About(ctx, r.rounds, r.lasts)
	failed := r.measure(ctx)
	text := about + r.markdown()
	fmt.Fprint(stdout, text)
	if failed != nil || *docs == "" {
		return failed
	}
	return table.Write(*docs, text)
}

func worksOf(part string) []work {
	return slices.DeleteFunc(slices.Clone(works), func(w work) bool { return part != "" && w.part != part })
}

func (r *run) addPeer(text string) error {
	name, program, ok := strings.Cut(text, "=")
	if !ok || name == "" || program == "" {
		return errors.New("it is not name=program")
	}
	r.peers = append(r.peers, peer{name, program})
	return nil
}

// measure makes all rounds. A measurement that fails leaves a gap; the others are made all the same.
func (r *run) measure(ctx context.Context) (failed error) {
	begin := time.Now()
	for round := range r.rounds {
		for i, w := range r.works {
			fmt.Fprintf(r.stderr, "[round %d/%d, %d/%d, %s] %s\n", round+1, r.rounds, i+1, len(r.works),
				time.Since(begin).Round(time.Second), w.name)
			for _, p := range r.order(w, round) {
				sample, err := trial{w, p.name, p.program, r.own, warmUp, r.lasts}.measure(ctx)
				if ctx.Err() != nil {
					return errors.Join(failed, ctx.Err())
				}
				if err != nil {
					failed = errors.Join(failed, fmt.Errorf("%s, %s, round %d: %w", w.name, p.name, round+1, err))
					continue
				}
				r.series(w).Add(p.name, round, sample)
			}
		}
	}
	fmt.Fprintf(r.stderr, "measured for %s\n", time.Since(begin).Round(time.Second))
	return failed
}

func (r *run) series(w work) result.Series {
	if r.results[w.name] == nil {
		r.results[w.name] = result.Series{}
	}
	return r.results[w.name]
}

// order is in which order a round measures the servers: another one begins each time, so that none always follows the
// same.
func (r *run) order(w work, round int) []peer {
	var all []peer
	for _, name := range slices.Concat([]string{subject}, peers, w.info) {
		all = append(all, peer{name, r.own})
	}
	all = append(all, r.peers...)
	first := round % len(all)
	return append(slices.Clone(all[first:]), all[:first]...)
}

// markdown is the table.
func (r *run) markdown() string {
	names := slices.Clone(peers)
	for _, p := range r.peers {
		names = append(names, p.name)
	}
	var speed, memory table.Table
	for _, w := range r.works {
		to := &speed
		if w.part == memoryPart {
			to = &memory
		}
		*to = append(*to, table.Row{Work: w.name, Subject: subject, Peers: names, Info: w.info, Goals: w.goals,
			Series: r.series(w)})
	}
	return speed.Speed() + memory.Memory()
}
