package serversdk

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

// What a process asked is remembered for no longer than the service knows
// processes that have ended.
func TestProcessRetention(t *testing.T) {
	for memory, want := range map[time.Duration]time.Duration{
		0: keptAfter, time.Hour: keptAfter, 10 * time.Second: 10 * time.Second,
	} {
		clock := clockwork.NewFakeClock()
		d := New(Config{Servers: newFakeServers(), Clock: clock, Log: slog.New(slog.DiscardHandler),
			ProcessRetention: memory})
		known := func() int { return len(d.processes.known) }
		d.processes.detach(d.processes.attach(processKey{id: "one"}))
		clock.Advance(want - time.Second)
		d.processes.detach(d.processes.attach(processKey{id: "two"}))
		if known() != 2 {
			t.Errorf("memory %s: %d processes are known after %s, want 2", memory, known(), want-time.Second)
		}
		clock.Advance(time.Second)
		d.processes.detach(d.processes.attach(processKey{id: "three"}))
		if known() != 2 {
			t.Errorf("memory %s: %d processes are known after %s, want 2 of 3", memory, known(), want)
		}
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
