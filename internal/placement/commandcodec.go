package placement

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// The busiest commands encode and decode themselves, as the busiest events do.

// AppendCBOR appends the command.
func (c Start) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	event.WriteItem(&w, 1, &c.Request, appendRequest)
	w.OptInt(2, int64(c.Timeout))
	writeOptItem(&w, 3, c.Room, appendRoom)
	event.WriteItem(&w, 4, &c.Trail, appendTrail)
	return w.End()
}

// ReadCBOR reads the command.
func (c *Start) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			c.Request.read(&r)
		case 2:
			c.Timeout = r.Int32()
		case 3:
			c.Room = new(fleet.RoomID)
			readRoom(&r, c.Room)
		case 4:
			c.Trail.read(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}

// AppendCBOR appends the command.
func (c Begin) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.OptText(1, c.ID)
	w.OptInt(2, int64(c.Number))
	event.WriteItem(&w, 3, &c.Room, appendRoom)
	event.WriteNonNil(&w, 4, c.Candidates, appendConsidered)
	w.OptInt(5, int64(c.Omitted))
	return w.End()
}

// ReadCBOR reads the command.
func (c *Begin) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			c.ID = r.Text()
		case 2:
			c.Number = readInt(&r)
		case 3:
			readRoom(&r, &c.Room)
		case 4:
			c.Candidates = readCandidates(&r)
		case 5:
			c.Omitted = readInt(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}

// AppendCBOR appends the command.
func (c Fulfil) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.OptText(1, c.ID)
	w.OptInt(2, int64(c.Number))
	event.WriteItem(&w, 3, &c.Session, appendSession)
	return w.End()
}

// ReadCBOR reads the command.
func (c *Fulfil) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			c.ID = r.Text()
		case 2:
			c.Number = readInt(&r)
		case 3:
			c.Session.read(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}
