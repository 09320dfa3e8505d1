package matchmaking

import "github.com/muster-gg/muster/internal/event"

// The busiest commands encode and decode themselves, as the busiest events do.

// AppendCBOR appends the command.
func (c Start) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.OptText(1, c.ID)
	event.WriteItem(&w, 2, &c.Configuration, appendConfiguration)
	event.WriteNonNil(&w, 3, c.Players, appendPlayer)
	w.OptInt(4, int64(c.Timeout))
	w.OptTrue(5, c.Backfill)
	w.OptText(6, c.GameSession)
	w.OptText(7, c.Call)
	return w.End()
}

// ReadCBOR reads the command.
func (c *Start) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			c.ID = r.Text()
		case 2:
			c.Configuration.read(&r)
		case 3:
			c.Players = readPlayers(&r)
		case 4:
			c.Timeout = r.Int32()
		case 5:
			c.Backfill = r.True()
		case 6:
			c.GameSession = r.Text()
		case 7:
			c.Call = r.Text()
		default:
			r.Fail()
		}
	})
	return r.End()
}

// AppendCBOR appends the command.
func (c Propose) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.OptText(1, c.ID)
	event.WriteItem(&w, 2, &c.Terms, appendTerms)
	event.WriteNonNil(&w, 3, c.Tickets, appendProposed)
	event.WriteNonNil(&w, 4, c.Teams, appendTeam)
	event.WriteNonNil(&w, 5, c.Metrics, appendMetric)
	return w.End()
}

func appendProposed(dst []byte, p *Proposed) []byte {
	w := event.WriteMap(dst)
	w.OptText(1, p.ID)
	w.OptInt(2, int64(p.Round))
	return w.End()
}

// ReadCBOR reads the command.
func (c *Propose) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			c.ID = r.Text()
		case 2:
			c.Terms.read(&r)
		case 3:
			c.Tickets = readProposed(&r)
		case 4:
			c.Teams = event.ReadList(&r, func(t *Team) { t.read(&r) })
		case 5:
			c.Metrics = readMetrics(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}

func readProposed(r *event.MapReader) []Proposed {
	return event.ReadList(r, func(p *Proposed) {
		r.Fields(func(key uint64) {
			switch key {
			case 1:
				p.ID = r.Text()
			case 2:
				p.Round = int(r.Int32())
			default:
				r.Fail()
			}
		})
	})
}

// AppendCBOR appends the command.
func (c Placed) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.OptText(1, c.Match)
	event.WriteItem(&w, 2, &c.Connection, appendConnection)
	return w.End()
}

// ReadCBOR reads the command.
func (c *Placed) ReadCBOR(data []byte) (rest []byte, ok bool) {
	r := event.ReadMap(data)
	r.Fields(func(key uint64) {
		switch key {
		case 1:
			c.Match = r.Text()
		case 2:
			c.Connection = *readConnection(&r)
		default:
			r.Fail()
		}
	})
	return r.End()
}
