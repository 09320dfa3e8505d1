package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// patience is how long a demo player waits for the game server.
const patience = 20 * time.Second

// A demoPlayer is a player's connection to the sample game server.
type demoPlayer struct {
	conn  net.Conn
	lines *bufio.Reader
}

// dialGame connects to the address that a player session names.
func dialGame(ctx context.Context, s types.PlayerSession) (*demoPlayer, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(aws.ToString(s.IpAddress), strconv.Itoa(int(aws.ToInt32(s.Port)))))
	if err != nil {
		return nil, err
	}
	return &demoPlayer{conn: conn, lines: bufio.NewReader(conn)}, nil
}

// send sends a line; when that fails the next receive does too.
func (p *demoPlayer) send(line string) { fmt.Fprintln(p.conn, line) }

func (p *demoPlayer) receive() (string, error) {
	if err := p.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	line, err := p.lines.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

func (p *demoPlayer) close() { p.conn.Close() }

// A prefixWriter puts a prefix before each line that it passes on.
type prefixWriter struct {
	to     io.Writer
	prefix string
	mu     sync.Mutex
	rest   []byte // of a line that is not complete
}

func (w *prefixWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		line, rest, complete := bytes.Cut(w.rest, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		if _, err := fmt.Fprintf(w.to, "%s%s\n", w.prefix, line); err != nil {
			return 0, err
		}
		w.rest = rest
	}
}
