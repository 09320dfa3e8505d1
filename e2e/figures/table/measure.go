package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/muster-gg/muster/e2e/machine"
)

// build makes the program of the benchmarks in a directory.
func (t *table) build(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "figures.test")
	command := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "./figures")
	command.Dir, command.Stdout, command.Stderr = t.path("e2e"), t.stderr, t.stderr
	return program, command.Run()
}

const (
	// calm is the share of the processors' time that a host may give to others during a run whose figures count.
	calm = 0.03

	// attempts is how often a run is made until one is calm.
	attempts = 4
)

// measure makes all runs that are wanted and writes their results to a file. A run that fails leaves its rows empty;
// the others are made all the same.
func (t *table) measure(ctx context.Context, to io.Writer) error {
	dir, err := os.MkdirTemp("", "muster-figures-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left there harms nobody
	program, err := t.build(ctx, dir)
	if err != nil {
		return fmt.Errorf("building the benchmarks: %w", err)
	}
	about, err := t.about(ctx)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(to, about); err != nil {
		return err
	}
	var failed error
	worst, begin := 0.0, time.Now()
	for i, r := range t.runs {
		fmt.Fprintf(t.stderr, "\n[%d/%d, %s] %s\n", i+1, len(t.runs), time.Since(begin).Round(time.Second), r.name)
		results, stolen, err := t.calmest(ctx, program, r)
		if _, writeErr := to.Write(results); err != nil || writeErr != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", r.name, errors.Join(err, writeErr)))
		}
		worst = max(worst, stolen)
		if ctx.Err() != nil {
			break
		}
	}
	if processors() != (processorTime{}) { // else it is not known
		_, err := fmt.Fprintf(to, "stolen: %.0f %%\n", 100*worst)
		failed = errors.Join(failed, err)
	}
	fmt.Fprintf(t.stderr, "\nmeasured for %s\n", time.Since(begin).Round(time.Second))
	return failed
}

// stopLimit is how long a run may take to stop when it is interrupted.
const stopLimit = 30 * time.Second

// calmest makes a run until the host leaves the machine its processors meanwhile, and returns the results of the
// attempt from which least was taken, and how much.
func (t *table) calmest(ctx context.Context, program string, r run) (results []byte, stolen float64, err error) {
	for attempt := range attempts {
		begin := processors()
		out, err := t.execute(ctx, program, r)
		share := processors().since(begin)
		if err != nil {
			return out, share, err
		}
		if attempt == 0 || share < stolen {
			results, stolen = out, share
		}
		if stolen <= calm {
			break
		}
		fmt.Fprintf(t.stderr, "others took %.0f %% of the processors meanwhile\n", 100*share)
	}
	return results, stolen, nil
}

// execute makes one run.
func (t *table) execute(ctx context.Context, program string, r run) ([]byte, error) {
	command := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", r.pattern, "-test.benchtime",
		r.benchtime(r.count(t.rounds)),
		"-test.count", strconv.Itoa(r.count(t.rounds)), "-test.timeout", "20m", "-progress")
	command.Dir = t.path("e2e/figures")
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, t.stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = stopLimit
	err := command.Run()
	if err != nil {
		_, _ = t.stderr.Write(out.Bytes()) // it says what went wrong
	}
	return out.Bytes(), err
}

// about says what is measured, on what, and how, in lines that benchstat takes for the configuration of the benchmarks.
func (t *table) about(ctx context.Context) (string, error) {
	before := machine.Load()
	disk, err := diskProbe()
	if err != nil {
		return "", fmt.Errorf("probing the disk: %w", err)
	}
	return fmt.Sprintf("command: make bench\ndate: %s\ncommit: %s\nrounds: %d\nmachine: %s\nload: %s\nmemory: "+
		"%s\ndisk: %s\n",
		time.Now().Format("2 January 2006, 15:04"), machine.Commit(ctx, t.root), t.rounds, machine.Describe(ctx),
		before, memoryProbe(), disk), nil
}
