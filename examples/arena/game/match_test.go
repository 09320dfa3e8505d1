package game

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/examples/arena/bot"
	"github.com/muster-gg/muster/examples/arena/link"
	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/internal/serversdk"
)

// A buffer is written by one goroutine and read by another.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A match is a game server at work.
type match struct {
	*service
	t         *testing.T
	transport string
	out       buffer
	result    chan error
	cancel    context.CancelFunc
}

// begin runs the server against a real endpoint of the service.
func begin(t *testing.T, s *service, transport string, more ...string) *match {
	t.Helper()
	return beginWith(t, s, transport, 0, more...)
}

// beginWith is begin with a limit for players' first word; 0 for the default.
func beginWith(t *testing.T, s *service, transport string, helloLimit time.Duration, more ...string) *match {
	t.Helper()
	endpoint := serversdk.New(serversdk.Config{Servers: s, Log: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(endpoint)
	ctx, cancel := context.WithCancel(context.Background())
	m := &match{service: s, t: t, transport: transport, result: make(chan error, 1), cancel: cancel}
	args := append([]string{
		"-log", "-authtoken=" + token, "-hostid=DesktopPC", "-fleetid=fleet-1",
		"-websocketurl=ws" + strings.TrimPrefix(server.URL, "http"), "-port", "0",
		"-Transport", transport,
	}, more...)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		o, err := parse(args)
		if err == nil {
			o.helloLimit = helloLimit
			err = o.run(ctx, args, &m.out)
		}
		m.result <- err
	}()
	t.Cleanup(func() {
		cancel()
		<-finished
		server.Close()
		if err := endpoint.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(m.out.String())
		}
	})
	return m
}

// ready waits until the game session is there.
func (m *match) ready() *match {
	m.t.Helper()
	m.await(m.t, "active "+sessionID)
	return m
}

// end waits for the result of Run.
func (m *match) end() error {
	m.t.Helper()
	select {
	case err := <-m.result:
		return err
	case <-time.After(patience):
		m.t.Fatal("the server does not end")
		return nil
	}
}

// endWell expects the end of a process whose players were all given back.
func (m *match) endWell() {
	m.t.Helper()
	if err := m.end(); err != nil {
		m.t.Error(err)
	}
	m.removedOnce(m.t)
}

func (m *match) address() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprintf("127.0.0.1:%d", m.port)
}

// link is how players connect.
func (m *match) link() link.Client {
	c := link.Client{Transport: m.transport}
	if found := regexp.MustCompile(`fingerprint \(SHA-256\): (\S+)`).FindStringSubmatch(m.out.String()); found != nil {
		c.Fingerprint = found[1]
	}
	return c
}

func (m *match) dial() gamenet.Transport {
	m.t.Helper()
	c := m.link()
	t, err := c.Open()
	if err != nil {
		m.t.Fatal(err)
	}
	return t
}

// enter joins with a ticket.
func (m *match) enter(ctx context.Context, ticket string) (*bot.Bot, error) {
	return bot.Join(ctx, bot.Config{Server: m.address(), Transport: m.dial(), PlayerSession: ticket,
		Name: "of " + ticket})
}

// A player is a bot at play.
type player struct {
	*bot.Bot
	t     *testing.T
	leave func()
}

// join lets a bot play until it leaves or the test ends.
func (m *match) join(ticket string) *player {
	m.t.Helper()
	b, err := m.enter(m.t.Context(), ticket)
	if err != nil {
		m.t.Fatalf("%s: %v", ticket, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = b.Run(ctx) })
	p := &player{b, m.t, sync.OnceFunc(func() {
		stop()
		running.Wait()
		if err := b.Leave(); err != nil {
			m.t.Error(err)
		}
	})}
	m.t.Cleanup(p.leave)
	return p
}

// refused expects that a ticket is refused.
func (m *match) refused(ticket, reason string) {
	m.t.Helper()
	b, err := m.enter(m.t.Context(), ticket)
	if err == nil {
		m.t.Fatalf("%q is player %d", ticket, b.Number())
	}
	if refused, ok := errors.AsType[*bot.RefusedError](err); !ok || refused.Reason != reason {
		m.t.Errorf("%q: got %v, want %q", ticket, err, reason)
	}
}

// until waits for what a player sees.
func (p *player) until(what string, wanted func(bot.World) bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	if err := p.Until(ctx, wanted); err != nil {
		p.t.Fatalf("player %d, waiting until %s: %v; knows %+v", p.Number(), what, err, p.World())
	}
}

// sees waits until a player sees that another one moves, or is not there.
func (p *player) sees(other uint32, there bool) {
	p.t.Helper()
	p.until(fmt.Sprintf("player %d is there: %t", other, there), func(w bot.World) bool {
		seen, ok := w.Players[other]
		return ok == there && seen.Moved == there
	})
}

// goesOn waits until a player has heard of some more ticks.
func (p *player) goesOn() {
	p.t.Helper()
	const more = 10
	now := p.World().Ticks
	p.until("the game has gone on", func(w bot.World) bool { return w.Ticks >= now+more })
}

func (p *player) hears(number uint32, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("player %d says %q", number, text), func(w bot.World) bool {
		for _, said := range w.Said {
			if said == (protocol.Said{Number: number, Text: text}) {
				return true
			}
		}
		return false
	})
}

// overAll runs a test over all transports.
func overAll(t *testing.T, test func(t *testing.T, transport string)) {
	for _, transport := range []string{link.TCP, link.TLS, link.QUIC} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			test(t, transport)
		})
	}
}
