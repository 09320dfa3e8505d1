//go:build linux

package load

import (
	"errors"
	"time"

	"github.com/muster-gg/muster/e2e/netbench/room"
)

// A sender has the players of a loop say where they are, once a tick each, one after the other through the tick.
type sender struct {
	loop  *loop
	began time.Time
	sent  int // since then
}

func newSender(l *loop) *sender { return &sender{loop: l} }

// due sends what is due by now. A player whose socket is full lets a turn pass: what it would say is old by the time
// there is place.
func (s *sender) due() error {
	if s.began.IsZero() {
		s.began = time.Now()
	}
	players := len(s.loop.clients)
	for due := int(time.Since(s.began) * time.Duration(players) / room.Tick); s.sent < due; s.sent++ {
		i := s.sent % players
		if err := s.loop.clients[i].start(s.loop.fds[i]); err != nil && !errors.Is(err, errFull) {
			return err
		}
	}
	return nil
}
