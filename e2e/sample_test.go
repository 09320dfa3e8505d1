package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/sample"
)

// A sampleServer is the sample game server, in a goroutine.
type sampleServer struct {
	log   *lockedBuffer
	ended chan error // its result, once
	stop  context.CancelFunc
}

// startSample runs the sample game server until the test ends.
func startSample(t testing.TB, args ...string) *sampleServer {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &sampleServer{log: new(lockedBuffer), ended: make(chan error, 1), stop: stop}
	var running sync.WaitGroup
	running.Go(func() { s.ended <- sample.Run(ctx, args, s.log) })
	t.Cleanup(func() { stop(); running.Wait() })
	return s
}

// await waits for a line of the log and gives the match of the pattern's group,
// if it has one.
func (s *sampleServer) await(t testing.TB, pattern string) (group string) {
	t.Helper()
	wanted := regexp.MustCompile(pattern)
	eventually(t, "a line "+pattern, func() bool {
		m := wanted.FindStringSubmatch(s.log.String())
		if len(m) > 1 {
			group = m[1]
		}
		return m != nil
	})
	return group
}

// address waits until players can connect.
func (s *sampleServer) address(t testing.TB) string {
	t.Helper()
	return s.await(t, `Initialization Successful, players connect to (\S+)`)
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

// A player talks to the sample game server.
type player struct {
	testing.TB
	conn  net.Conn
	lines *bufio.Scanner
}

// enter connects a player who says that their player session is the given one.
func enter(t testing.TB, address, playerSession string) *player {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	p := &player{t, conn, bufio.NewScanner(conn)}
	p.say(strings.TrimSpace("JOIN " + playerSession))
	return p
}

func (p *player) say(line string) {
	p.Helper()
	if _, err := fmt.Fprintln(p.conn, line); err != nil {
		p.Fatal(err)
	}
}

// hear expects the next line to begin like this.
func (p *player) hear(start string) {
	p.Helper()
	if !p.lines.Scan() || !strings.HasPrefix(p.lines.Text(), start) {
		p.Fatalf("heard %q (%v), want %q", p.lines.Text(), p.lines.Err(), start)
	}
}
