package e2e

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/muster-gg/muster/examples/arena/bot"
	"github.com/muster-gg/muster/examples/arena/game"
	"github.com/muster-gg/muster/examples/arena/protocol"
)

// An arenaServer is the game server of examples/arena, in a goroutine.
type arenaServer struct {
	log   *lockedBuffer
	ended chan error // its result, once
	stop  context.CancelFunc
}

// startArena runs a game server until the test ends.
func startArena(t testing.TB, args ...string) *arenaServer {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	a := &arenaServer{log: new(lockedBuffer), ended: make(chan error, 1), stop: stop}
	var running sync.WaitGroup
	running.Go(func() { a.ended <- game.Run(ctx, args, a.log) })
	t.Cleanup(func() { stop(); running.Wait() })
	return a
}

// await waits for a line of the log.
func (a *arenaServer) await(t testing.TB, pattern string) (group string) {
	t.Helper()
	return a.log.await(t, pattern)
}

// address waits until players can connect.
func (a *arenaServer) address(t testing.TB) string {
	t.Helper()
	return a.await(t, `Initialization Successful, players connect to (\S+)`)
}

// A lockedBuffer is a buffer that one goroutine writes and another reads.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// await waits for a text that matches a pattern and gives the match of its group,
// if it has one.
func (b *lockedBuffer) await(t testing.TB, pattern string) (group string) {
	t.Helper()
	wanted := regexp.MustCompile(pattern)
	eventually(t, pattern+" in what is printed", func() bool {
		m := wanted.FindStringSubmatch(b.String())
		if len(m) > 1 {
			group = m[1]
		}
		return m != nil
	})
	return group
}

// A player has joined a game server over TCP.
type player struct {
	testing.TB
	*bot.Bot
}

// enter joins with a player session.
func enter(t testing.TB, address, playerSession string) *player {
	t.Helper()
	b, err := bot.Join(t.Context(), bot.Config{Server: address, PlayerSession: playerSession})
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t, b}
	t.Cleanup(p.leave)
	return p
}

// turnedAway expects that nobody can join with a player session.
func turnedAway(t testing.TB, address, playerSession string) {
	t.Helper()
	b, err := bot.Join(t.Context(), bot.Config{Server: address, PlayerSession: playerSession})
	if err == nil {
		t.Errorf("%q was let in as player %d", playerSession, b.Number())
		report(t, "leave", b.Leave())
	} else if _, refused := errors.AsType[*bot.RefusedError](err); !refused {
		t.Errorf("%q was not refused: %v", playerSession, err)
	}
}

func (p *player) leave() { report(p, "leave", p.Leave()) }

func (p *player) say(text string) { report(p, "say", p.Say(text)) }

// hear waits until somebody says something.
func (p *player) hear(number uint32, text string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), patience)
	defer cancel()
	err := p.Until(ctx, func(w bot.World) bool {
		return slices.Contains(w.Said, protocol.Said{Number: number, Text: text})
	})
	if err != nil {
		p.Fatalf("player %d did not hear player %d say %q: %v", p.Number(), number, text, err)
	}
}
