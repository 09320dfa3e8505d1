package game

import (
	"context"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/examples/arena/bot"
	"github.com/muster-gg/muster/examples/arena/link"
)

// A program is the client as a program.
type program struct {
	out, complaints buffer
	status          chan int
	interrupt       context.CancelFunc
}

// client runs the client until it ends or the test does.
func (m *match) client(stdin io.Reader, args ...string) *program {
	ctx, cancel := context.WithCancel(context.Background())
	p := &program{status: make(chan int, 1), interrupt: cancel}
	c := m.link()
	args = append([]string{"-server", m.address(), "-Transport=" + c.Transport, "-fingerprint", c.Fingerprint}, args...)
	go func() { p.status <- bot.Main(ctx, args, stdin, &p.out, &p.complaints) }()
	m.t.Cleanup(func() {
		cancel()
		p.status <- <-p.status
		if m.t.Failed() {
			m.t.Log(p.out.String(), p.complaints.String())
		}
	})
	return p
}

// prints waits for a line that matches.
func (p *program) prints(t *testing.T, pattern string) {
	t.Helper()
	wanted := regexp.MustCompile(`(?m)^` + pattern + `$`)
	limit := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !wanted.MatchString(p.out.String()) {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("no line %s in\n%s%s", pattern, p.out.String(), p.complaints.String())
		}
	}
}

// ends waits for the exit status.
func (p *program) ends(t *testing.T, want int) {
	t.Helper()
	select {
	case status := <-p.status:
		p.status <- status
		if status != want {
			t.Errorf("exit status %d, want %d", status, want)
		}
	case <-time.After(patience):
		t.Fatal("the client does not end")
	}
}

func TestClient(t *testing.T) {
	overAll(t, func(t *testing.T, transport string) {
		m := begin(t, newService(), transport, "-tickrate=10").ready() // that a busy machine keeps up with
		ada := m.client(strings.NewReader("is anybody here?\n\n"), "-playersession=psess-1", "-Player", "ada", "-say",
			"hello")
		ada.prints(t, "joined as player 1")
		ada.prints(t, `player 1 \(ada\) says: is anybody here\?`)
		bob := m.client(nil, "-playersession=psess-2", "-quiet", "-seconds=2")
		bob.prints(t, `player 1 \(ada\) says: hello`)
		m.client(nil, "-playersession=psess-9").ends(t, bot.ExitRefused)
		ada.prints(t, `sees player 2 at -?\d+\.\d\d,-?\d+\.\d\d`)
		ada.prints(t, `sees player 2 at .*\n(?s:.*)sees player 2 at .*`) // a second later
		bob.ends(t, bot.ExitOK)
		bob.prints(t, `received \d+\.\d ticks/s, round trip \d+\.\d\d ms`)
		ada.prints(t, "player 2 left")
		ada.interrupt()
		ada.ends(t, bot.ExitOK)
		ada.prints(t, `received ([2-9]|10)\.\d ticks/s, round trip \d+\.\d\d ms`)
		if strings.Contains(bob.out.String(), "sees") {
			t.Error("-quiet prints where the others are")
		}
		m.endWell()
	})
}

func TestClientIsRefused(t *testing.T) {
	t.Parallel()
	m := begin(t, newService(), link.QUIC).ready()
	p := m.client(nil, "-playersession=psess-9")
	p.ends(t, bot.ExitRefused)
	if got := p.out.String(); got != "refused: NotFoundException: no such player session\n" {
		t.Errorf("printed %q", got)
	}
}

func TestClientLosesItsServer(t *testing.T) {
	t.Parallel()
	m := begin(t, newService(), link.TCP).ready()
	p := m.client(nil, "-playersession=psess-1")
	p.prints(t, "joined as player 1")
	m.cancel()
	p.ends(t, bot.ExitFailure)
	if !strings.Contains(p.complaints.String(), "the game server is ending") {
		t.Errorf("complains %q", p.complaints.String())
	}
}

func TestClientWithoutServer(t *testing.T) {
	for _, test := range []struct {
		args   string
		status int
	}{
		{"-server 127.0.0.1:1", bot.ExitFailure},
		{"-unknown", bot.ExitMisuse},
		{"-transport=udp", bot.ExitMisuse},
		{"-transport=tls -fingerprint=1234", bot.ExitMisuse},
	} {
		var out, complaints buffer
		if status := bot.Main(t.Context(), strings.Fields(test.args), nil, &out, &complaints); status != test.status ||
			complaints.String() == "" || out.String() != "" {
			t.Errorf("%s: status %d, %q, %q", test.args, status, out.String(), complaints.String())
		}
	}
}

// TestWrongCertificate connects to a server with another certificate than
// expected.
func TestWrongCertificate(t *testing.T) {
	for _, transport := range []string{link.TLS, link.QUIC} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			m := begin(t, newService(), transport).ready()
			var out, complaints buffer
			args := []string{"-server", m.address(), "-transport", transport, "-playersession", "psess-1"}
			for _, more := range [][]string{{"-fingerprint", strings.Repeat("0", 64)}, nil} {
				status := bot.Main(t.Context(), append(args, more...), nil, &out, &complaints)
				if status != bot.ExitFailure {
					t.Errorf("status %d: %s", status, complaints.String())
				}
			}
			if !strings.Contains(complaints.String(), "another fingerprint") {
				t.Errorf("complaints: %s", complaints.String())
			}
			status := bot.Main(t.Context(), append(args, "-insecure", "-seconds=0.1"), nil, &out, &complaints)
			if status != bot.ExitOK {
				t.Errorf("status %d: %s", status, complaints.String())
			}
		})
	}
}
