package main

import (
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
	rest := told
	for _, line := range []string{
		"GameSessionFullException", "joined as player 1", "joined as player 2", "player-1 sees player 2 at",
		"player-2 sees player 1 at",
		"refused: NotFoundException", "are not affected", "player-2 receives: player 1 says hello",
		"player-1 sees that player 2 has left",
		"joined as player 3", "exit status 0", "the game session is TERMINATED",
	} {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("the demo lacks %q after the lines before it:\n%s", line, told)
		}
		rest = after
	}
}
