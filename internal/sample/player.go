package sample

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

const (
	joinLimit  = 5 * time.Second  // for the first line
	writeLimit = 10 * time.Second // for each line to a player
	maxLine    = 1024             // bytes of a line
	maxUnread  = 64               // lines that wait for a player
)

// A player is one connection. One goroutine reads it and another writes.
type player struct {
	conn    net.Conn
	lines   *bufio.Scanner
	session string // the player session id; "" without a ticket
	number  int

	outbox chan string
	wrote  chan struct{} // closed when the writer has ended
}

func newPlayer(conn net.Conn) *player {
	p := &player{conn: conn, lines: bufio.NewScanner(conn), outbox: make(chan string, maxUnread), wrote: make(chan struct{})}
	p.lines.Buffer(make([]byte, 0, maxLine), maxLine)
	go p.write()
	return p
}

// ticket reads the first line.
func (p *player) ticket() (string, error) {
	if err := p.conn.SetReadDeadline(time.Now().Add(joinLimit)); err != nil {
		return "", err
	}
	if !p.lines.Scan() {
		return "", errors.New("nothing was said in time")
	}
	verb, ticket, _ := strings.Cut(strings.TrimSpace(p.lines.Text()), " ")
	if verb != "JOIN" {
		return "", errors.New("the first line must be JOIN and a player session id")
	}
	return strings.TrimSpace(ticket), p.conn.SetReadDeadline(time.Time{})
}

// chat hears the player until they leave.
func (p *player) chat(say func(from *player, text string)) {
	for p.lines.Scan() {
		switch verb, text, _ := strings.Cut(strings.TrimSpace(p.lines.Text()), " "); verb {
		case "SAY":
			say(p, text)
		case "LEAVE":
			return
		}
	}
}

// send queues a line; a player who does not read is disconnected.
func (p *player) send(line string) {
	select {
	case p.outbox <- line:
	default:
		p.conn.Close()
	}
}

// refuse tells why the player may not join.
func (p *player) refuse(why error) {
	p.send(fmt.Sprintf("REFUSED %v", why))
	p.finish()
}

// finish waits until what was sent is written. Nothing may be sent any more.
func (p *player) finish() {
	close(p.outbox)
	<-p.wrote
}

// write writes lines until finish.
func (p *player) write() {
	defer close(p.wrote)
	for line := range p.outbox {
		// A player that is gone is noticed by the reader; the rest is dropped.
		if p.conn.SetWriteDeadline(time.Now().Add(writeLimit)) == nil {
			if _, err := fmt.Fprintln(p.conn, line); err != nil {
				p.conn.Close()
			}
		}
	}
}
