package fleet

import (
	"math"

	"github.com/muster-gg/muster/internal/event"
)

// What encodes itself also decodes itself, because a restart reads it most.

func readIndex(r *event.MapReader) uint32 { return uint32(r.Uint(math.MaxUint32)) }

// ReadCBOR reads the event.
func (e *PlayersReserved) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			e.Session = r.Uint(math.MaxUint64)
		case 2:
			e.Players = readSeats(&r)
		case 3:
			e.At = r.Time()
		case 4:
			e.Expires = r.Time()
		default:
			r.Fail()
		}
	})
	return r.End()
}

func readSeats(r *event.MapReader) []Seat {
	return event.ReadList(r, func(s *Seat) { s.read(r) })
}

func (s *Seat) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			r.FixedBytes(s.ID[:])
		case 2:
			s.PlayerID = r.Text()
		case 3:
			s.Data = r.Text()
		default:
			r.Fail()
		}
	})
}

// ReadCBOR reads the event.
func (e *PlayerAccepted) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			e.Session = r.Uint(math.MaxUint64)
		case 2:
			e.Index = readIndex(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}

// ReadCBOR reads the event.
func (e *PlayerRemoved) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			e.Session = r.Uint(math.MaxUint64)
		case 2:
			e.Index = readIndex(&r)
		case 3:
			e.At = r.Time()
		default:
			r.Fail()
		}
	})
	return r.End()
}

// ReadCBOR reads the event.
func (e *GameSessionCreated) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			e.Ordinal = r.Uint(math.MaxUint64)
		case 2:
			e.ID = r.Text()
		case 3:
			e.Name = r.Text()
		case 4:
			e.CreatorID = r.Text()
		case 5:
			e.Data = r.Text()
		case 6:
			e.MatchmakerData = r.Text()
		case 7:
			e.Properties = readProperties(&r)
		case 8:
			e.Maximum = r.Int32()
		case 9:
			e.Protection = r.Text()
		case 10:
			e.Host.read(&r)
		case 11:
			e.IPAddress = r.Text()
		case 12:
			e.DNSName = r.Text()
		case 13:
			e.Port = r.Int32()
		case 14:
			e.Fingerprint = r.Bytes()
		case 15:
			e.At = r.Time()
		case 16:
			e.ActivateBy = r.Time()
		case 17:
			e.HandOverBy = r.Time()
		case 18:
			e.Placement = r.Text()
		case 19:
			e.Attempt = r.Int32()
		case 20:
			e.Desired = readSeats(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}

func readProperties(r *event.MapReader) []Property {
	return event.ReadList(r, func(p *Property) {
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
	})
}

func (k *ProcessKey) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			k.Compute = r.Text()
		case 2:
			k.ID = r.Text()
		default:
			r.Fail()
		}
	})
}

// ReadCBOR reads the event.
func (e *GameSessionActivated) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			e.Ordinal = r.Uint(math.MaxUint64)
		case 2:
			e.At = r.Time()
		case 3:
			e.Expires = r.Time()
		case 4:
			e.Seats = readSeats(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}

// ReadCBOR reads the event.
func (e *HealthReported) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			e.Compute = r.Text()
		case 2:
			e.ID = r.Text()
		case 3:
			e.Healthy = r.True()
		case 4:
			e.HealthBy = r.Time()
		default:
			r.Fail()
		}
	})
	return r.End()
}

// ReadCBOR reads the record.
func (p *Process) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			p.Compute = r.Text()
		case 2:
			p.ID = r.Text()
		case 3:
			p.Status = ProcessStatus(r.Uint(math.MaxUint8))
		case 4:
			p.Connected = r.True()
		case 5:
			p.Token = r.Uint(math.MaxUint64)
		case 6:
			p.Idempotency = r.Text()
		case 7:
			p.SDKVersion = r.Text()
		case 8:
			p.SDKLanguage = r.Text()
		case 9:
			p.Port = r.Int32()
		case 10:
			p.LogPaths = r.Texts()
		default:
			p.readTimes(&r, key)
		}
	})
	return r.End()
}

func (p *Process) readTimes(r *event.MapReader, key uint64) {
	switch key {
	case 11:
		p.Created = r.Time()
	case 12:
		p.Ready = r.Time()
	case 13:
		p.Ended = r.Time()
	case 14:
		p.End = EndReason(r.Uint(math.MaxUint8))
	case 15:
		p.Session = r.Uint(math.MaxUint64)
	case 16:
		p.Unhealthy = int(r.Int32())
	case 17:
		p.ReadyBy = r.Time()
	case 18:
		p.BackBy = r.Time()
	case 19:
		p.HealthBy = r.Time()
	case 20:
		p.TerminateBy = r.Time()
	case 21:
		p.ForgetAt = r.Time()
	default:
		r.Fail()
	}
}

// ReadCBOR reads the record.
func (g *GameSession) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	g.read(&r)
	return r.End()
}

func (g *GameSession) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			g.Ordinal = r.Uint(math.MaxUint64)
		case 2:
			g.ID = r.Text()
		case 3:
			g.Name = r.Text()
		case 4:
			g.CreatorID = r.Text()
		case 5:
			g.Data = r.Text()
		case 6:
			g.MatchmakerData = r.Text()
		case 7:
			g.Properties = readProperties(r)
		case 8:
			g.Maximum = r.Int32()
		case 9:
			g.Policy = event.TextOf(r, AcceptAll, DenyAll)
		case 10:
			g.Protection = r.Text()
		case 11:
			g.Status = event.TextOf(r, Active, Activating, Terminating, Terminated)
		case 12:
			g.StatusReason = r.Text()
		default:
			g.readRest(r, key)
		}
	})
}

func (g *GameSession) readRest(r *event.MapReader, key uint64) {
	switch key {
	case 13:
		g.Created = r.Time()
	case 14:
		g.Ended = r.Time()
	case 15:
		g.ActivateBy = r.Time()
	case 16:
		g.Host.read(r)
	case 17:
		g.IPAddress = r.Text()
	case 18:
		g.DNSName = r.Text()
	case 19:
		g.Port = r.Int32()
	case 20:
		g.Fingerprint = r.Bytes()
	case 21:
		g.Seated = readPlayerSessions(r)
	case 22:
		g.Gone = readPlayerSessions(r)
	case 23:
		g.HandOverBy = r.Time()
	default:
		g.readPlaced(r, key)
	}
}

func (g *GameSession) readPlaced(r *event.MapReader, key uint64) {
	switch key {
	case 24:
		g.Placement = r.Text()
	case 25:
		g.Attempt = r.Int32()
	case 26:
		g.Desired = readSeats(r)
	case 27:
		g.Activated = r.Time()
	case 28:
		g.Filled = r.Text()
	case 29:
		g.Archived = readIndex(r)
	default:
		r.Fail()
	}
}

// ReadCBOR reads the record.
func (m *MorePlayers) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			m.Session = r.Uint(math.MaxUint64)
		case 2:
			m.Seated = readPlayerSessions(&r)
		case 3:
			m.Gone = readPlayerSessions(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}

// readPlayerSessions reads the records into one piece of memory.
func readPlayerSessions(r *event.MapReader) []*PlayerSession {
	records := event.ReadList(r, func(p *PlayerSession) { p.read(r) })
	if records == nil {
		return nil
	}
	list := make([]*PlayerSession, len(records))
	for i := range records {
		list[i] = &records[i]
	}
	return list
}

func (p *PlayerSession) read(r *event.MapReader) {
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			r.FixedBytes(p.ID[:])
		case 2:
			p.Index = readIndex(r)
		case 3:
			p.PlayerID = r.Text()
		case 4:
			p.Data = r.Text()
		case 5:
			p.Status = event.TextOf(r, InGame, Reserved, Completed, TimedOut)
		case 6:
			p.Created = r.Time()
		case 7:
			p.Expires = r.Time()
		case 8:
			p.Ended = r.Time()
		default:
			r.Fail()
		}
	})
}
