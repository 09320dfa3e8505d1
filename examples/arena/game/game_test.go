package game

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/examples/arena/bot"
	"github.com/muster-gg/muster/examples/arena/link"
	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestGameSession(t *testing.T) {
	overAll(t, func(t *testing.T, transport string) {
		m := begin(t, newService(), transport).ready()
		m.await(t, "healthy true")

		m.refused("", "a player session id is needed")
		m.refused("psess-9", "NotFoundException: no such player session")
		m.refused("psess-3", "ConflictException: player session is TIMEDOUT")
		ada := m.join("psess-1")
		m.refused("psess-1", "this player session is in use")
		bob := m.join("psess-2")
		if ada.Number() != 1 || bob.Number() != 2 || ada.TickRate() != defaultTickRate {
			t.Errorf("players %d and %d, %d ticks/s", ada.Number(), bob.Number(), ada.TickRate())
		}
		ada.sees(2, true)
		bob.sees(1, true)
		if name := bob.World().Players[1].Name; name != "of psess-1" {
			t.Errorf("player 1 is called %q", name)
		}
		m.refused("psess-9", "NotFoundException: no such player session")
		ada.goesOn()
		bob.goesOn()
		if err := bob.Say("hello there"); err != nil {
			t.Error(err)
		}
		ada.hears(2, "hello there")
		bob.hears(2, "hello there")
		if ada.RTT() <= 0 {
			t.Errorf("the round trip takes %v", ada.RTT())
		}

		ada.leave()
		m.await(t, "remove psess-1")
		bob.sees(1, false)
		bob.leave()
		m.endWell()
		checkLog(t, m.out.String())
	})
}

// checkLog checks the lines that the walk-through looks for, in order.
func checkLog(t *testing.T, log string) {
	t.Helper()
	if strings.Contains(log, token) {
		t.Error("the log tells the token")
	}
	rest := log
	for _, line := range []string{
		"LogInit: Command Line: -log -authtoken=…7a10 -hostid=DesktopPC -fleetid=fleet-1 -websocketurl=ws://",
		"Initializing the GameLift Server", "AUTH_TOKEN : …7a10", "HOST_ID: DesktopPC", "FLEET_ID: fleet-1",
		"WEBSOCKET_URL: ws://127.0.0.1", "PID : ",
		"[info] Connecting to GameLift WebSocket server", "[info] Connected to WebSocket",
		"[info] Connection established successfully.",
		"[info] Networking outcome success. Init SDK success", "Calling ProcessReady",
		"Sending Socket Message, isConnected:true, endpoint: 127.0.0.1:",
		`Received message from websocket: {"Action":"ActivateServerProcess","RequestId":"`,
		"GameSession Initializing : " + sessionID, "NotifyAcceptingConnection accepted from: 127.0.0.1:",
		"Login request: 127.0.0.1:", `Join request: "of psess-1"`,
		"Match State Changed from WaitingToStart to InProgress", "Join succeeded: player 1",
		"Player 1 left\n", "Player 2 left\n", "ends: the last player has left", "Process ending",
	} {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("the log lacks %q after the lines before it", line)
		}
		rest = after
	}
	if !strings.Contains(log, "Performing Health Check") {
		t.Error("the log lacks the health check")
	}
}

func TestRefusedByTheService(t *testing.T) {
	t.Parallel()
	s := newService()
	s.refuse = fault.New(fault.AccessDenied, "the token has expired")
	m := begin(t, s, link.TCP)
	err := m.end()
	if e, ok := errors.AsType[*gameserver.Error](err); !ok || e.Code != 403 {
		t.Errorf("ended with %v, want code 403", err)
	}
	if !strings.Contains(m.out.String(), "GameLift Server Initialization Failed: Error Connect: 403") {
		t.Error("the log does not say why")
	}
}

func TestTerminateRemovesPlayers(t *testing.T) {
	overAll(t, func(t *testing.T, transport string) {
		m := begin(t, newService(), transport, "-linger").ready()
		m.join("psess-1").leave()
		m.await(t, "remove psess-1")
		bob := m.join("psess-2")
		bob.sees(2, true)
		m.push(processes.TerminateProcessPush{TerminationTime: time.Now().Add(time.Minute)})
		m.endWell()
		<-bob.Done()
		if reason, ok := errors.AsType[*gamenet.PeerError](bob.Err()); !ok ||
			reason.Text != "the game server is ending" {
			t.Errorf("the player was told %v", bob.Err())
		}
	})
}

func TestUnticketedPlayersAndInterrupt(t *testing.T) {
	t.Parallel()
	s := newService()
	s.idle = true
	m := begin(t, s, link.TCP, "--AllowUnticketed", "-maxplayers=2", "-TickRate", "60")
	m.await(t, "activate")
	ada, bob := m.join(""), m.join("")
	if ada.TickRate() != 60 {
		t.Errorf("%d ticks/s", ada.TickRate())
	}
	m.refused("", "the game is full")
	ada.sees(bob.Number(), true)
	bob.leave()
	ada.sees(bob.Number(), false)
	m.join("").sees(ada.Number(), true)
	m.cancel()
	m.endWell()
}

// TestNobodyComes ends a game session that waits in vain.
func TestNobodyComes(t *testing.T) {
	t.Parallel()
	m := begin(t, newService(), link.TCP, "-patience=20ms").ready()
	m.endWell()
	if !strings.Contains(m.out.String(), "ends: no player has joined within 20ms") {
		t.Error("the log does not say why")
	}
}

func TestNoGameSessionYet(t *testing.T) {
	t.Parallel()
	s := newService()
	s.idle = true
	m := begin(t, s, link.TCP)
	m.await(t, "activate")
	m.refused("psess-1", "there is no game session")
}

func TestTalkative(t *testing.T) {
	t.Parallel()
	m := begin(t, newService(), link.TCP).ready()
	ada := m.join("psess-1")
	for i := range 7 {
		if err := ada.Say(fmt.Sprint("line ", i)); err != nil {
			t.Error(err)
		}
	}
	ada.until("there is a notice", func(w bot.World) bool { return len(w.Notices) > 0 })
	ada.hears(1, "line 4")
	for _, said := range ada.World().Said {
		if said.Text == "line 6" {
			t.Error("more was said than allowed")
		}
	}
}

// TestAcceptanceTakesLong joins while the service takes its time: who plays does
// not notice, and who hangs up meanwhile is given back.
func TestAcceptanceTakesLong(t *testing.T) {
	overAll(t, func(t *testing.T, transport string) {
		s := newService()
		answers := make(chan func(), 2)
		s.answer = func(ticket string, answer func()) {
			if ticket == "psess-1" {
				answer()
			} else {
				answers <- answer
			}
		}
		m := begin(t, s, transport).ready()
		ada := m.join("psess-1")
		g := m.connect(hello(protocol.Version, "psess-2"))
		m.await(t, "accept psess-2")
		ada.goesOn()
		now, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.client.Close(now); !errors.Is(err, context.Canceled) { // hangs up without a word
			t.Error(err)
		}
		(<-answers)()
		m.await(t, "remove psess-2")
		ada.goesOn()
		ada.leave()
		m.endWell()
	})
}

// TestEndWhileAccepting ends the process while the service has not answered: it
// may have accepted the player, so they are given back.
func TestEndWhileAccepting(t *testing.T) {
	t.Parallel()
	s := newService()
	s.answer = func(string, func()) {}
	m := begin(t, s, link.TCP).ready()
	g := m.connect(hello(protocol.Version, "psess-1"))
	m.await(t, "accept psess-1")
	m.cancel()
	m.endWell()
	g.hearsWhy("the game server is ending")
}

// TestComingAndGoing lets many come and go at any moment, also before they are
// in; the server ends under them. Everybody who was accepted is given back once.
func TestComingAndGoing(t *testing.T) {
	overAll(t, func(t *testing.T, transport string) {
		const visitors = 40
		s := newService()
		s.places = visitors
		for i := range visitors {
			s.sessions[fmt.Sprint("psess-v", i)] = "RESERVED"
		}
		s.answer = func(_ string, answer func()) {
			time.AfterFunc(time.Duration(rand.IntN(20))*time.Millisecond, answer)
		}
		m := begin(t, s, transport, "-linger").ready()
		var running sync.WaitGroup
		for i := range visitors {
			running.Go(func() {
				hurry := patience
				if i%2 == 0 { // gives up, mostly before being in
					hurry = time.Duration(rand.IntN(100)) * time.Millisecond
				}
				ctx, cancel := context.WithTimeout(context.Background(), hurry)
				defer cancel()
				b, err := m.enter(ctx, fmt.Sprint("psess-v", i))
				if err != nil {
					return
				}
				staying, cancel := context.WithTimeout(context.Background(),
					time.Duration(rand.IntN(200))*time.Millisecond)
				defer cancel()
				_ = b.Run(staying)
				if err := b.Leave(); err != nil {
					t.Error(err)
				}
			})
		}
		m.awaitThat(t, "some have been accepted", func(calls []string) bool {
			return strings.Count(strings.Join(calls, "\n"), "accept psess-v") >= visitors/4
		})
		m.cancel()
		m.endWell()
		running.Wait()
	})
}
