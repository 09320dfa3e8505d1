package matchmaking

import (
	"math"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/ruleset"
)

// What encodes itself also decodes itself, because a restart reads it most.

// ReadCBOR reads the event.
func (e *TicketStarted) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			e.ID = r.Text()
		case 2:
			e.Configuration.read(&r)
		case 3:
			e.Players = readPlayers(&r)
		case 4:
			e.Backfill = r.True()
		case 5:
			e.Automatic = r.True()
		case 6:
			e.GameSession = r.Text()
		case 7:
			e.Call = r.Text()
		case 8:
			e.At = r.Time()
		case 9:
			e.Deadline = r.Time()
		case 10:
			e.Follows = r.Text()
		case 11:
			e.Number = int(r.Int32())
		default:
			r.Fail()
		}
	})
	return r.End()
}

func (c *Configuration) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			c.Name = r.Text()
		case 2:
			c.ID = r.Text()
		default:
			r.Fail()
		}
	})
}

func readPlayers(r *event.MapReader) []Player {
	return event.ReadList(r, func(p *Player) {
		r.Fields(func(key uint64) {
			switch key {
			case 1:
				p.ID = r.Text()
			case 2:
				p.Attributes = event.ReadList(r, func(a *Attribute) { a.read(r) })
			case 3:
				p.Latencies = event.ReadList(r, func(l *Latency) { l.read(r) })
			case 4:
				p.Team = r.Text()
			default:
				r.Fail()
			}
		})
	})
}

func (a *Attribute) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			a.Name = r.Text()
		case 2:
			readValue(r, &a.Value)
		default:
			r.Fail()
		}
	})
}

func readValue(r *event.MapReader, v *ruleset.Value) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			v.Type = ruleset.Type(r.Uint(math.MaxUint8))
		case 2:
			v.N = r.Float()
		case 3:
			v.S = r.Text()
		case 4:
			v.SL = r.Texts()
		case 5:
			v.SDM = r.Numbers()
		default:
			r.Fail()
		}
	})
}

func (l *Latency) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			l.Location = r.Text()
		case 2:
			l.Milliseconds = r.Int32()
		default:
			r.Fail()
		}
	})
}

// ReadCBOR reads the event.
func (e *MatchProposed) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			e.ID = r.Text()
		case 2:
			e.Terms.read(&r)
		case 3:
			e.Tickets = r.Texts()
		case 4:
			e.Teams = event.ReadList(&r, func(t *Team) { t.read(&r) })
		case 5:
			e.Metrics = readMetrics(&r)
		case 6:
			e.Backfill = r.Text()
		case 7:
			e.At = r.Time()
		case 8:
			e.AcceptBy = r.Time()
		default:
			r.Fail()
		}
	})
	return r.End()
}

func (t *Terms) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			t.Configuration.read(r)
		case 2:
			t.Acceptance = r.Int32()
		case 3:
			t.Standalone = r.True()
		case 4:
			t.AutomaticBackfill = r.True()
		case 5:
			t.RequestTimeout = r.Int32()
		case 6:
			t.Capacity = r.Int32()
		default:
			r.Fail()
		}
	})
}

func (t *Team) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			t.Name = r.Text()
		case 2:
			t.Max = r.Int32()
		case 3:
			t.Players = r.Texts()
		default:
			r.Fail()
		}
	})
}

func readMetrics(r *event.MapReader) []Metric {
	return event.ReadList(r, func(m *Metric) {
		r.Fields(func(key uint64) {
			switch key {
			case 1:
				m.Rule = r.Text()
			case 2:
				m.Passed = int(r.Int32())
			case 3:
				m.Failed = int(r.Int32())
			default:
				r.Fail()
			}
		})
	})
}

// ReadCBOR reads the event.
func (e *MatchCompleted) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			e.ID = r.Text()
		case 2:
			e.At = r.Time()
		case 3:
			e.Connection = readConnection(&r)
		case 4:
			e.Asked = r.True()
		default:
			r.Fail()
		}
	})
	return r.End()
}

func readConnection(r *event.MapReader) *Connection {
	c := new(Connection)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			c.GameSession = r.Text()
		case 2:
			c.IPAddress = r.Text()
		case 3:
			c.DNSName = r.Text()
		case 4:
			c.Port = r.Int32()
		case 5:
			c.Players = event.ReadList(r, func(p *MatchedPlayer) { p.read(r) })
		default:
			r.Fail()
		}
	})
	return c
}

func (p *MatchedPlayer) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			p.PlayerID = r.Text()
		case 2:
			r.FixedBytes(p.PlayerSession[:])
		default:
			r.Fail()
		}
	})
}

// ReadCBOR reads the record.
func (t *Ticket) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			t.ID = r.Text()
		case 2:
			t.Configuration.read(&r)
		case 3:
			t.Players = readPlayers(&r)
		case 4:
			t.Backfill = r.True()
		case 5:
			t.Automatic = r.True()
		case 6:
			t.GameSession = r.Text()
		case 7:
			t.Call = r.Text()
		default:
			t.readFate(&r, key)
		}
	})
	return r.End()
}

// readFate reads what became of the ticket.
func (t *Ticket) readFate(r *event.MapReader, key uint64) {
	switch key {
	case 8:
		t.Status = event.TextOf(r, Searching, Completed, Cancelled, TimedOut)
	case 9:
		t.Reason = event.TextOf(r, ReasonTimedOut, ReasonCancelled)
	case 10:
		t.Message = event.TextOf(r, MessageTimedOut, MessageCancelled)
	case 11:
		t.Started = r.Time()
	case 12:
		t.Deadline = r.Time()
	case 13:
		t.Ended = r.Time()
	case 14:
		t.Match = r.Text()
	case 15:
		t.Round = int(r.Int32())
	case 16:
		t.Connection = readConnection(r)
	case 17:
		t.Metrics = readMetrics(r)
	case 18:
		t.Follows = r.Text()
	case 19:
		t.Number = int(r.Int32())
	default:
		r.Fail()
	}
}
