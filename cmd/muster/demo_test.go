package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/muster-gg/muster"
)

// TestDemo runs the demo with the real service and the real game server.
func TestDemo(t *testing.T) {
	stdout, stderr := &lockedBuffer{}, &lockedBuffer{}
	a := &app{environ: os.Environ(), stdout: stdout, stderr: stderr, serve: muster.Run}
	status := a.run(t.Context(), []string{"demo"})
	told := stdout.String()
	if status != exitOK || !strings.Contains(told, "\nDemo passed.\n") {
		t.Fatalf("status %d: %s\n%s", status, stderr, told)
	}
	if strings.Contains(told, "[game server]") || !strings.HasSuffix(told, afterDemo) ||
		strings.Contains(told, "\x1b") {
		t.Errorf("the demo shows a log or colours, or lacks the next steps:\n%s", told)
	}
	rest := told
	for _, line := range []string{
		"== 1/7  An operator prepares a fleet ==", " s <- fleet-",
		"GameSessionFullException", "joined as player 1", "joined as player 2", "player-1 sees player-2 at",
		"player-2 sees player-1 at",
		"refused: NotFoundException", "are not affected", "player-2 receives: player-1 says hello",
		"player-1 sees that player-2 has left",
		"joined as player 3", "exit status 0", "the game session is TERMINATED",
	} {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("the demo lacks %q after the lines before it:\n%s", line, told)
		}
		rest = after
	}
}

// TestDemoWatch: with --watch the demo goes on behind the story, its console is open, and a stop leaves nothing behind.
func TestDemoWatch(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stdout, stderr := &lockedBuffer{}, &lockedBuffer{}
	a := &app{environ: os.Environ(), stdout: stdout, stderr: stderr, serve: muster.Run}
	status := make(chan int, 1)
	go func() { status <- a.run(ctx, []string{"demo", "--watch", "--verbose"}) }()
	var page string
	eventually(t, ctx, func() bool {
		_, after, found := strings.Cut(stdout.String(), "The console is at ")
		page, _, _ = strings.Cut(after, "\n")
		return found || len(status) > 0
	})
	shows := func(path, text string) bool {
		response, err := http.Get(page + path)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return err == nil && strings.Contains(string(body), text)
	}
	eventually(t, ctx, func() bool { return shows("fleets", sampleFleet) || len(status) > 0 })
	eventually(t, ctx, func() bool { return shows("players?id=guest-1", "psess-") })
	if !strings.Contains(stdout.String(), "[game server]") {
		t.Error("--verbose shows no log of the game server")
	}
	stop()
	if got := <-status; got != exitOK || stderr.String() != "" {
		t.Errorf("status %d: %s", got, stderr)
	}
}
