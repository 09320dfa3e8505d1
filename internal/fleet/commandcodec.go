package fleet

import (
	"time"

	"github.com/muster-gg/muster/internal/event"
)

// The busiest commands, and the answer with the most in it, encode and decode
// themselves, as the busiest events do. An empty list is written, nil is not: in a
// command they may differ.

// AppendCBOR appends the command.
func (c CreateGameSession) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.OptText(1, c.ID)
	w.OptText(2, c.Name)
	w.OptText(3, c.CreatorID)
	w.OptText(4, c.Data)
	w.OptText(5, c.MatchmakerData)
	event.WriteNonNil(&w, 6, c.Properties, appendProperty)
	w.OptInt(7, int64(c.Maximum))
	w.OptText(8, c.Protection)
	if c.Fingerprint != nil {
		w.Bytes(9, c.Fingerprint)
	}
	w.OptInt(10, int64(c.ActivationTimeout))
	w.OptInt(11, int64(c.MaxActivations))
	w.OptInt(12, int64(c.HandOverWithin))
	w.OptText(13, c.Placement)
	w.OptInt(14, int64(c.Attempt))
	event.WriteNonNil(&w, 15, c.Desired, appendNewPlayer)
	return w.End()
}

func appendNewPlayer(dst []byte, p *NewPlayer) []byte {
	w := event.WriteMap(dst)
	w.OptText(1, p.PlayerID)
	w.OptText(2, p.Data)
	if p.Random != [len(p.Random)]byte{} {
		w.Bytes(3, p.Random[:])
	}
	return w.End()
}

// ReadCBOR reads the command.
func (c *CreateGameSession) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			c.ID = r.Text()
		case 2:
			c.Name = r.Text()
		case 3:
			c.CreatorID = r.Text()
		case 4:
			c.Data = r.Text()
		case 5:
			c.MatchmakerData = r.Text()
		case 6:
			c.Properties = readProperties(&r)
		case 7:
			c.Maximum = r.Int32()
		case 8:
			c.Protection = r.Text()
		case 9:
			c.Fingerprint = r.Bytes()
		default:
			c.readRest(&r, key)
		}
	})
	return r.End()
}

func (c *CreateGameSession) readRest(r *event.MapReader, key uint64) {
	switch key {
	case 10:
		c.ActivationTimeout = time.Duration(r.Int())
	case 11:
		c.MaxActivations = int(r.Int32())
	case 12:
		c.HandOverWithin = time.Duration(r.Int())
	case 13:
		c.Placement = r.Text()
	case 14:
		c.Attempt = r.Int32()
	case 15:
		c.Desired = readNewPlayers(r)
	default:
		r.Fail()
	}
}

func readNewPlayers(r *event.MapReader) []NewPlayer {
	return event.ReadList(r, func(p *NewPlayer) {
		r.Fields(func(key uint64) {
			switch key {
			case 1:
				p.PlayerID = r.Text()
			case 2:
				p.Data = r.Text()
			case 3:
				r.FixedBytes(p.Random[:])
			default:
				r.Fail()
			}
		})
	})
}

// AppendCBOR appends the command.
func (c ReservePlayers) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.OptText(1, c.GameSession)
	event.WriteNonNil(&w, 2, c.Players, appendNewPlayer)
	return w.End()
}

// ReadCBOR reads the command.
func (c *ReservePlayers) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			c.GameSession = r.Text()
		case 2:
			c.Players = readNewPlayers(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}

// AppendCBOR appends the command.
func (c ActivateGameSession) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Text(1, c.Compute)
	w.Text(2, c.ID)
	w.OptText(3, c.GameSession)
	return w.End()
}

// ReadCBOR reads the command.
func (c *ActivateGameSession) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		if key == 3 {
			c.GameSession = r.Text()
			return
		}
		c.ProcessKey.readField(&r, key)
	})
	return r.End()
}

// readField reads a field of a key that stands among others.
func (k *ProcessKey) readField(r *event.MapReader, key uint64) {
	switch key {
	case 1:
		k.Compute = r.Text()
	case 2:
		k.ID = r.Text()
	default:
		r.Fail()
	}
}

// AppendCBOR appends the command.
func (c ReportHealth) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Text(1, c.Compute)
	w.Text(2, c.ID)
	w.OptTrue(3, c.Healthy)
	return w.End()
}

// ReadCBOR reads the command.
func (c *ReportHealth) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		if key == 3 {
			c.Healthy = r.True()
			return
		}
		c.ProcessKey.readField(&r, key)
	})
	return r.End()
}

// AppendCBOR appends the command.
func (c AcceptPlayer) AppendCBOR(dst []byte) []byte {
	return appendOnePlayer(dst, &c.ProcessKey, c.GameSession, c.PlayerSession)
}

// ReadCBOR reads the command.
func (c *AcceptPlayer) ReadCBOR(data []byte) (rest []byte, ok bool) {
	return readOnePlayer(data, &c.ProcessKey, &c.GameSession, &c.PlayerSession)
}

// AppendCBOR appends the command.
func (c RemovePlayer) AppendCBOR(dst []byte) []byte {
	return appendOnePlayer(dst, &c.ProcessKey, c.GameSession, c.PlayerSession)
}

// ReadCBOR reads the command.
func (c *RemovePlayer) ReadCBOR(data []byte) (rest []byte, ok bool) {
	return readOnePlayer(data, &c.ProcessKey, &c.GameSession, &c.PlayerSession)
}

func appendOnePlayer(dst []byte, process *ProcessKey, session string, player PlayerSessionID) []byte {
	w := event.WriteMap(dst)
	w.Text(1, process.Compute)
	w.Text(2, process.ID)
	w.OptText(3, session)
	if player != (PlayerSessionID{}) {
		w.Bytes(4, player[:])
	}
	return w.End()
}

func readOnePlayer(data []byte, process *ProcessKey, session *string, player *PlayerSessionID) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 3:
			*session = r.Text()
		case 4:
			r.FixedBytes(player[:])
		default:
			process.readField(&r, key)
		}
	})
	return r.End()
}

// AppendCBOR appends the answer.
func (a Reservation) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	if a.GameSession != nil {
		event.WriteItem(&w, 1, a.GameSession, func(dst []byte, g *GameSession) []byte { return g.AppendCBOR(dst) })
	}
	event.WriteNonNil(&w, 2, a.Players, appendPlayerSession)
	return w.End()
}

// ReadCBOR reads the answer.
func (a *Reservation) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			a.GameSession = new(GameSession)
			a.GameSession.read(&r)
		case 2:
			a.Players = readPlayerSessions(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}
