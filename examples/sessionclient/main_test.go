// Package main_test runs the client as players do: processes that talk by way of
// the service, its session gateway and a game server.
package main_test

import (
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// TestEvening has one player create a game session and another one find it. They
// talk, and leave.
func TestEvening(t *testing.T) {
	s := start(t)
	server := s.host()
	ada := s.player("ada")
	bob := s.player("bob")
	talk(t, ada, bob, "hello", "ada: hello\n")
	talk(t, bob, ada, "good evening", "bob: good evening\n")
	if strings.Contains(ada.text(), "ada: hello") {
		t.Error("ada hears herself")
	}
	if got := s.statuses(); got["ada"] != types.PlayerSessionStatusActive ||
		got["bob"] != types.PlayerSessionStatusActive {
		t.Errorf("the player sessions are %v", got)
	}

	ada.leaves()
	eventually(t, "ada's place is free",
		func() bool { return s.statuses()["ada"] == types.PlayerSessionStatusCompleted })
	bob.leaves()
	server.ends(0) // with its last player
}

// talk has one player say something until another one hears it: who has just been
// let in may not be among those who are told yet.
func talk(t *testing.T, from, to *program, words, heard string) {
	t.Helper()
	eventually(t, heard, func() bool {
		from.types(words)
		return strings.Contains(to.text(), heard)
	})
}

// TestServerGone ends with an error that says so.
func TestServerGone(t *testing.T) {
	s := start(t)
	server := s.host()
	ada := s.player("ada")
	if err := server.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ada.ends(1)
	ada.prints(`(?m)^sessionclient: `)
}

// TestInterrupt leaves in order.
func TestInterrupt(t *testing.T) {
	s := start(t)
	s.host()
	ada := s.player("ada")
	if err := ada.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	ada.ends(0)
	eventually(t, "ada's place is free",
		func() bool { return s.statuses()["ada"] == types.PlayerSessionStatusCompleted })
}

// TestNoGame says why there is none.
func TestNoGame(t *testing.T) {
	s := start(t)
	for _, c := range []struct{ url, want string }{
		{s.at.Gateway, `no_capacity: No game server is free`},
		{"http://127.0.0.1:1", `connection refused|refused`},
		{"nonsense", `sessionclient: .*URL`},
	} {
		p := launch(t, "sessionclient", "-gateway", c.url)
		p.ends(1)
		p.prints(c.want)
	}
}
