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
	"runtime"
	"strconv"
	"strings"
	"time"
)

// build makes the program of the benchmarks in a directory.
func (t *table) build(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "figures.test")
	command := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "./e2e/figures")
	command.Dir, command.Stdout, command.Stderr = t.root, t.stderr, t.stderr
	return program, command.Run()
}

// measure makes all runs that are wanted and writes their results to a file. A
// run that fails leaves its rows empty; the others are made all the same.
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
	begin := time.Now()
	for i, r := range t.runs {
		fmt.Fprintf(t.stderr, "\n[%d/%d, %s] %s\n", i+1, len(t.runs), time.Since(begin).Round(time.Second), r.name)
		if err := t.execute(ctx, program, r, to); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", r.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	fmt.Fprintf(t.stderr, "\nmeasured for %s\n", time.Since(begin).Round(time.Second))
	return failed
}

// stopLimit is how long a run may take to stop when it is interrupted.
const stopLimit = 30 * time.Second

// execute makes one run.
func (t *table) execute(ctx context.Context, program string, r run, to io.Writer) error {
	command := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", r.pattern, "-test.benchtime", r.benchtime(t.rounds),
		"-test.count", strconv.Itoa(t.rounds), "-test.timeout", "20m", "-progress")
	command.Dir = filepath.Join(t.root, "e2e", "figures")
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, t.stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = stopLimit
	err := command.Run()
	if err != nil {
		_, _ = t.stderr.Write(out.Bytes()) // it says what went wrong
	}
	_, writeErr := to.Write(out.Bytes())
	return errors.Join(err, writeErr)
}

// about says what is measured, on what, and how, in lines that benchstat takes
// for the configuration of the benchmarks.
func (t *table) about(ctx context.Context) (string, error) {
	before := load()
	disk, err := diskProbe()
	if err != nil {
		return "", fmt.Errorf("probing the disk: %w", err)
	}
	return fmt.Sprintf("command: make bench\ndate: %s\ncommit: %s\nrounds: %d\nmachine: %s\nload: %s\nmemory: %s\ndisk: %s\n",
		time.Now().Format("2 January 2006, 15:04"), t.commit(ctx), t.rounds, machine(ctx), before, memoryProbe(), disk), nil
}

// commit names the state of the sources.
func (t *table) commit(ctx context.Context) string {
	command := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty=, changed")
	command.Dir = t.root
	text, err := command.Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// machine names processors, memory and system, as far as they can be found out.
func machine(ctx context.Context) string {
	parts := []string{fmt.Sprintf("%d × %s", runtime.NumCPU(), fileMember("/proc/cpuinfo", "model name", runtime.GOARCH))}
	if kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(fileMember("/proc/meminfo", "MemTotal", ""), " kB"), 64); err == nil {
		parts = append(parts, fmt.Sprintf("%.0f GB", kilobytes/(1<<20)))
	}
	system := runtime.GOOS
	if text, err := exec.CommandContext(ctx, "uname", "-sr").Output(); err == nil {
		system, _, _ = strings.Cut(strings.TrimSpace(string(text)), "-") // what follows is the build's own name
	}
	return strings.Join(append(parts, system, runtime.Version()), ", ")
}

// load is the load average of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return minute
}

// fileMember is the value of the first line "name: value" of a file.
func fileMember(path, name, otherwise string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return otherwise
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return otherwise
}
