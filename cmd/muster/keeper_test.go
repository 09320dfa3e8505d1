package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const childMode = "SAMPLE_CHILD_MODE"

// child is the program that the keeper's tests run.
func child(mode string) int {
	switch mode {
	case "end":
		fmt.Println("ended")
		return 0
	case "stay": // until the end of standard input
		fmt.Println("staying")
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return 1
		}
		fmt.Println("goodbye")
		return 0
	default:
		return 3
	}
}

// lockedBuffer may be read while programs write to it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// eventually waits until the condition holds.
func eventually(t *testing.T, ctx context.Context, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Error("the condition never held")
			return
		}
	}
}

func TestKeeperStartsAgainAndStops(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	output, log := &lockedBuffer{}, &lockedBuffer{}
	var starts atomic.Int32
	modes := []string{"end", "fail", "stay"}
	k := keeper{
		program: program,
		environment: func(context.Context) ([]string, error) {
			n := int(starts.Add(1)) - 1
			return append(os.Environ(), childMode+"="+modes[min(n, len(modes)-1)]), nil
		},
		output: output,
		log:    slog.New(slog.NewTextHandler(log, nil)),
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.run(ctx)
	}()
	eventually(t, t.Context(), func() bool { return strings.Contains(output.String(), "staying") })
	cancel()
	<-done
	if got, want := output.String(), "ended\nstaying\ngoodbye\n"; got != want {
		t.Errorf("the programs printed %q, want %q", got, want)
	}
	if n := starts.Load(); n != 3 {
		t.Errorf("%d starts, want 3", n)
	}
	if got := log.String(); !strings.Contains(got, "exit status 3") {
		t.Errorf("the failure is not in the log: %s", got)
	}
}

func TestKeeperGivesUpWaitingAtTheEnd(t *testing.T) {
	log := &lockedBuffer{}
	ctx, cancel := context.WithCancel(t.Context())
	k := keeper{
		environment: func(context.Context) ([]string, error) { return nil, errors.New("no token today") },
		log:         slog.New(slog.NewTextHandler(log, nil)),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.run(ctx)
	}()
	eventually(t, t.Context(), func() bool { return log.String() != "" })
	cancel()
	<-done
	if !strings.Contains(log.String(), "no token today") {
		t.Errorf("log: %s", log)
	}
}
