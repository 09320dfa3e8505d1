package handshake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-gg/muster/gamenet"
)

// A ledger counts what Admit has taken and OnDisconnected given back.
type ledger struct {
	connected, taken, balance atomic.Int64
	inUse                     sync.Map // tickets
}

// A member is a player of a ledger.
type member struct {
	*ledger
	ticket string
}

func (m member) OnConnected(*gamenet.Session)                  { m.connected.Add(1) }
func (m member) OnPacket(s *gamenet.Session, p gamenet.Packet) { _ = s.Send(p) }
func (m member) OnDisconnected(*gamenet.Session, error) {
	m.inUse.Delete(m.ticket)
	m.balance.Add(-1)
}

// TestStorm lets many come and go at any moment, some with the tickets of others;
// the server ends under them. Whatever was taken is given back, and no ticket is
// in twice.
func TestStorm(t *testing.T) {
	overBoth(t, func(t *testing.T, start func(*testing.T, ServerConfig) *host) {
		const players, tickets = 120, 60
		book := new(ledger)
		h := start(t, ServerConfig{Admit: func(
			ctx context.Context, _ *gamenet.Session, hello Hello,
		) (Admission, error) {
			if _, twice := book.inUse.LoadOrStore(hello.Ticket, true); twice {
				t.Errorf("%s is in twice", hello.Ticket)
			}
			service := time.NewTimer(time.Duration(rand.IntN(5)) * time.Millisecond)
			defer service.Stop()
			select {
			case <-service.C:
			case <-ctx.Done():
				book.inUse.Delete(hello.Ticket)
				return Admission{}, ctx.Err()
			}
			book.taken.Add(1)
			book.balance.Add(1)
			return Admission{Handler: member{book, hello.Ticket}}, nil
		}})
		open, closed := context.WithCancel(t.Context())
		defer closed()
		var running sync.WaitGroup
		for i := range players {
			running.Go(func() {
				ctx, cancel := context.WithTimeout(open, patience)
				defer cancel()
				if i%3 == 0 {
					time.AfterFunc(time.Duration(rand.IntN(10))*time.Millisecond, cancel)
				}
				c, err := Dial(ctx, h.config(fmt.Sprint("psess-", i%tickets)))
				if err != nil {
					return
				}
				_ = c.Session().Send(gamenet.Packet{ID: 1, Payload: []byte("hello")})
				if err := c.Close(ctx); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
			if i == players*2/3 {
				h.StopAdmitting()
			}
		}
		closeWithin(t, h.net)
		closed() // nobody answers those who come now, over QUIC not even with a refusal
		running.Wait()
		if book.connected.Load() != book.taken.Load() || book.balance.Load() != 0 || len(h.tickets) != 0 {
			t.Errorf("%d taken, %d connected, %d not given back, %d tickets left", book.taken.Load(),
				book.connected.Load(), book.balance.Load(), len(h.tickets))
		}
	})
}
