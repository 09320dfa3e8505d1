package bot

import (
	"fmt"
	"io"
	"time"

	"github.com/muster-gg/muster/examples/arena/protocol"
)

// A reporter prints what a bot receives. Its methods are called one at a time.
type reporter struct {
	to    io.Writer
	quiet bool

	number   uint32
	rate     uint32            // ticks per second
	names    map[uint32]string // of all players
	here     map[uint32]uint32 // the others, and the tick when they were last printed; 0: not yet
	ticks    int
	tick     uint32
	from, at time.Time // of the first and the last tick
}

// welcomed takes that the bot is in.
func (r *reporter) welcomed(m protocol.Welcome) {
	r.number, r.rate, r.here = m.Number, uint32(m.TickRate), make(map[uint32]uint32)
	r.names = make(map[uint32]string)
	r.line("joined as player %d", m.Number)
}

// observe takes a message.
func (r *reporter) observe(m protocol.Message) {
	switch m := m.(type) {
	case protocol.Joined:
		r.names[m.Number] = m.Name
		if m.Number != r.number {
			r.here[m.Number] = 0
		}
	case protocol.Left:
		r.line("%s left", r.player(m.Number))
		delete(r.here, m.Number)
		delete(r.names, m.Number)
	case protocol.Said:
		r.line("%s says: %s", r.player(m.Number), m.Text)
	case protocol.Notice:
		r.line("the server says: %s", m.Text)
	case protocol.State:
		r.state(m)
	}
}

// state prints where the others are, of each once a second.
func (r *reporter) state(m protocol.State) {
	if r.ticks == 0 || int32(m.Tick-r.tick) > 0 {
		r.tick, r.at = m.Tick, time.Now()
		r.ticks++
		if r.ticks == 1 {
			r.from = r.at
		}
	}
	for _, p := range m.Places {
		printed, here := r.here[p.Number]
		if here && !r.quiet && (printed == 0 || int32(m.Tick-printed) >= int32(r.rate)) {
			r.here[p.Number] = m.Tick
			r.line("sees %s at %.2f,%.2f", r.player(p.Number), float64(p.X)/100, float64(p.Y)/100)
		}
	}
}

// player returns a player's number and name.
func (r *reporter) player(number uint32) string {
	if name := r.names[number]; name != "" {
		return fmt.Sprintf("player %d (%s)", number, name)
	}
	return fmt.Sprintf("player %d", number)
}

// summary is the last line.
func (r *reporter) summary(rtt time.Duration) {
	rate := 0.0
	if d := r.at.Sub(r.from).Seconds(); d > 0 {
		rate = float64(r.ticks-1) / d
	}
	r.line("received %.1f ticks/s, round trip %.2f ms", rate, float64(rtt)/float64(time.Millisecond))
}

func (r *reporter) line(format string, args ...any) { fmt.Fprintf(r.to, format+"\n", args...) }
