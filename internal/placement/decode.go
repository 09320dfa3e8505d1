package placement

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// What encodes itself also decodes itself, because a restart reads it most.

func readInt(r *event.MapReader) int {
	v := r.Int()
	if int64(int(v)) != v {
		r.Fail()
	}
	return int(v)
}

// ReadCBOR reads the event.
func (e *PlacementStarted) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			e.Request.read(&r)
		case 2:
			e.At = r.Time()
		case 3:
			e.Deadline = r.Time()
		case 4:
			e.Room = new(fleet.RoomID)
			readRoom(&r, e.Room)
		case 5:
			e.Candidates = readCandidates(&r)
		case 6:
			e.Omitted = readInt(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}

// ReadCBOR reads the event.
func (e *AttemptBegun) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			e.ID = r.Text()
		case 2:
			e.Number = readInt(&r)
		case 3:
			readRoom(&r, &e.Room)
		case 4:
			e.At = r.Time()
		case 5:
			e.Candidates = readCandidates(&r)
		case 6:
			e.Omitted = readInt(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}

// ReadCBOR reads the event.
func (e *AttemptOver) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			e.ID = r.Text()
		case 2:
			e.At = r.Time()
		case 3:
			e.Kind = event.TextOf(&r, StepRefused, StepEnded)
		case 4:
			e.Text = r.Text()
		default:
			r.Fail()
		}
	})
	return r.End()
}

// ReadCBOR reads the event.
func (e *PlacementFulfilled) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			e.ID = r.Text()
		case 2:
			e.At = r.Time()
		case 3:
			e.Session.read(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}

// ReadCBOR reads the record.
func (p *Placement) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			p.Request.read(&r)
		case 2:
			p.Status = event.TextOf(&r, Fulfilled, Pending, TimedOut, Cancelled, Failed)
		case 3:
			p.Started = r.Time()
		case 4:
			p.Deadline = r.Time()
		case 5:
			p.Ended = r.Time()
		case 6:
			p.Attempt = new(Attempt)
			p.Attempt.read(&r)
		case 7:
			p.Session = new(Session)
			p.Session.read(&r)
		case 8:
			p.Reason = r.Text()
		case 9:
			p.Trail.read(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}

func (q *Request) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			q.ID = r.Text()
		case 2:
			q.Queue = r.Text()
		case 3:
			q.QueueID = r.Text()
		case 4:
			q.Maximum = r.Int32()
		case 5:
			q.Properties = event.ReadList(r, func(p *fleet.Property) { readProperty(r, p) })
		case 6:
			q.Name = r.Text()
		case 7:
			q.Data = r.Text()
		case 8:
			q.MatchmakerData = r.Text()
		case 9:
			q.Latencies = event.ReadList(r, func(l *Latency) { l.read(r) })
		case 10:
			q.Players = event.ReadList(r, func(p *Player) { p.read(r) })
		case 11:
			q.Override = new(Override)
			q.Override.read(r)
		case 12:
			q.Call = r.Text()
		case 13:
			q.Match = r.Text()
		case 14:
			q.Topic = r.Text()
		case 15:
			q.EventData = r.Text()
		default:
			r.Fail()
		}
	})
}

func readProperty(r *event.MapReader, p *fleet.Property) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			p.Key = r.Text()
		case 2:
			p.Value = r.Text()
		default:
			r.Fail()
		}
	})
}

func (l *Latency) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			l.PlayerID = r.Text()
		case 2:
			l.Location = r.Text()
		case 3:
			l.Milliseconds = r.Float()
		default:
			r.Fail()
		}
	})
}

func (p *Player) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			p.PlayerID = r.Text()
		case 2:
			p.Data = r.Text()
		default:
			r.Fail()
		}
	})
}

func (o *Override) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			o.LocationOrder = r.Texts()
		case 2:
			o.ListOnly = r.True()
		default:
			r.Fail()
		}
	})
}

func readRoom(r *event.MapReader, room *fleet.RoomID) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			room.Fleet = fleet.ID(r.Text())
		case 2:
			room.Location = r.Text()
		default:
			r.Fail()
		}
	})
}

func (a *Attempt) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			a.Number = readInt(r)
		case 2:
			readRoom(r, &a.Room)
		case 3:
			a.Running = r.True()
		default:
			r.Fail()
		}
	})
}

func (s *Session) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			readRoom(r, &s.Room)
		case 2:
			s.ID = r.Text()
		case 3:
			s.IPAddress = r.Text()
		case 4:
			s.DNSName = r.Text()
		case 5:
			s.Port = r.Int32()
		case 6:
			s.Players = event.ReadList(r, func(p *PlacedPlayer) { p.read(r) })
		default:
			r.Fail()
		}
	})
}

func (p *PlacedPlayer) read(r *event.MapReader) {
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

func (t *Trail) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			t.Candidates = readCandidates(r)
		case 2:
			t.Steps = event.ReadList(r, func(s *Step) { s.read(r) })
		case 3:
			t.Omitted = readInt(r)
		case 4:
			t.Earlier = readInt(r)
		default:
			r.Fail()
		}
	})
}

func readCandidates(r *event.MapReader) []Considered {
	return event.ReadList(r, func(c *Considered) { c.read(r) })
}

func (c *Considered) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			readRoom(r, &c.Room)
		case 2:
			c.Dropped = r.Text()
		case 3:
			c.Latency = r.Float()
		case 4:
			c.Cost = r.Float()
		default:
			r.Fail()
		}
	})
}

func (s *Step) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			s.At = r.Time()
		case 2:
			s.Kind = event.TextOf(r, StepAttempt, StepFulfilled, StepWaiting, StepRefused, StepEnded)
		case 3:
			readRoom(r, &s.Room)
		case 4:
			s.Text = r.Text()
		default:
			r.Fail()
		}
	})
}
