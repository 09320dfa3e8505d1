package handshake

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/gamenet"
)

// inTurn admits each session with the next handler.
func inTurn(handlers ...gamenet.Handler) func(context.Context, *gamenet.Session, Hello) (Admission, error) {
	next := make(chan gamenet.Handler, len(handlers))
	for _, h := range handlers {
		next <- h
	}
	return func(context.Context, *gamenet.Session, Hello) (Admission, error) {
		return Admission{Handler: <-next}, nil
	}
}

// TestResume replaces a session by one with the same ticket, after the OnDisconnected of the first.
func TestResume(t *testing.T) {
	overBoth(t, func(t *testing.T, start func(*testing.T, ServerConfig) *host) {
		first, second := newDiary(), newDiary()
		h := start(t, ServerConfig{Resume: true, Admit: inTurn(first, second)})
		second.connected = func(*gamenet.Session) {
			select {
			case <-first.ended:
			default:
				t.Error("admitted before the first session has ended")
			}
		}
		c := h.enter(h.config("psess-1"))
		again := h.enter(h.config("psess-1"))
		first.wantEntries(t, "connected", "disconnected")
		if !errors.Is(first.cause, gamenet.ErrLost) || !Lost(first.cause) {
			t.Errorf("the first session ended because of %v", first.cause)
		}
		await(t, "the end of the first connection", c.Done())
		told, ok := errors.AsType[*gamenet.PeerError](c.Err())
		if !ok || told.Reason.Text != "the player has connected again" {
			t.Errorf("the first connection ended because of %v", c.Err())
		}
		closeWithin(t, again)
		second.wantEntries(t, "connected", "disconnected")
		if Lost(second.cause) {
			t.Errorf("the player left, and the cause is %v", second.cause)
		}
		eventuallyFree(t, h, "psess-1")
	})
}

// TestResumeWhileAdmitting refuses a ticket whose session is not admitted yet.
func TestResumeWhileAdmitting(t *testing.T) {
	admitting, admit := make(chan struct{}), make(chan struct{})
	h := serve(t, ServerConfig{Resume: true, Admit: func(context.Context, *gamenet.Session, Hello) (Admission, error) {
		close(admitting)
		<-admit
		return Admission{Handler: newDiary()}, nil
	}})
	r := h.raw(helloPacket(Hello{version: version, Ticket: "psess-1"}))
	await(t, "Admit", admitting)
	h.refuses(h.config("psess-1"), TicketInUse, "this player session is in use")
	close(admit)
	if p := await(t, "Welcome", r.packets); p.ID != idWelcome {
		t.Errorf("received %#x", p.ID)
	}
}

// TestResumeTakesTooLong refuses the later session, and leaves the ticket to the earlier one.
func TestResumeTakesTooLong(t *testing.T) {
	first := newDiary()
	release := make(chan struct{})
	first.gone = func() { <-release }
	h := serve(t, ServerConfig{Resume: true, AdmitLimit: 50 * time.Millisecond, Admit: inTurn(first, newDiary())})
	h.enter(h.config("psess-1"))
	for range 2 {
		h.refuses(h.config("psess-1"), TicketInUse, "this player session is in use")
	}
	close(release)
	eventuallyFree(t, h, "psess-1")
	h.enter(h.config("psess-1"))
}

// TestResumeStorm has many sessions with one ticket: at most one is admitted at a time.
func TestResumeStorm(t *testing.T) {
	in := make(chan struct{}, 1)
	h := serve(t, ServerConfig{Resume: true, Admit: func(context.Context, *gamenet.Session, Hello) (Admission, error) {
		select {
		case in <- struct{}{}:
		default:
			t.Error("two sessions have the ticket")
		}
		d := newDiary()
		d.gone = func() { <-in }
		return Admission{Handler: d}, nil
	}})
	done := make(chan error, 20)
	for range cap(done) {
		go func() {
			c, err := dial(t, h.config("psess-1"))
			if err == nil {
				closeWithin(t, c)
			}
			done <- err
		}()
	}
	admitted := 0
	for range cap(done) {
		err := await(t, "a player", done)
		refused, ok := errors.AsType[*RefusedError](err)
		switch {
		case err == nil:
			admitted++
		case !ok || refused.Code != TicketInUse && !strings.Contains(refused.Text, "connected again"):
			t.Error(err)
		}
	}
	if admitted == 0 {
		t.Error("no player was admitted")
	}
	eventuallyFree(t, h, "psess-1")
}

func TestLost(t *testing.T) {
	for cause, want := range map[error]bool{
		gamenet.ErrLost: true, gamenet.ErrIdle: true, gamenet.ErrWriteTimeout: true,
		fmt.Errorf("%w: reset by peer", gamenet.ErrLost): true, errReplaced: true,
		gamenet.ErrPeerClosed: false, gamenet.ErrDisconnected: false, gamenet.ErrServiceClosed: false,
		gamenet.ErrSlowConsumer: false, nil: false,
	} {
		if got := Lost(cause); got != want {
			t.Errorf("%v: %t, want %t", cause, got, want)
		}
	}
}
