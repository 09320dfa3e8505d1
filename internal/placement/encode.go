package placement

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
)

// The events of the busiest commands and the records of snapshots encode themselves, as
// in package fleet. The bytes are those that the tags of their fields ask for.

// AppendCBOR appends the event.
func (e *PlacementStarted) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	event.WriteItem(&w, 1, &e.Request, appendRequest)
	w.Int(2, int64(e.At))
	w.Int(3, int64(e.Deadline))
	writeOptItem(&w, 4, e.Room, appendRoom)
	event.WriteOptList(&w, 5, e.Candidates, appendConsidered)
	w.OptInt(6, int64(e.Omitted))
	return w.End()
}

// AppendCBOR appends the event.
func (e *AttemptBegun) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Text(1, e.ID)
	w.Int(2, int64(e.Number))
	event.WriteItem(&w, 3, &e.Room, appendRoom)
	w.Int(4, int64(e.At))
	event.WriteOptList(&w, 5, e.Candidates, appendConsidered)
	w.OptInt(6, int64(e.Omitted))
	return w.End()
}

// AppendCBOR appends the event.
func (e *AttemptOver) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Text(1, e.ID)
	w.Int(2, int64(e.At))
	w.Text(3, string(e.Kind))
	w.OptText(4, e.Text)
	return w.End()
}

// AppendCBOR appends the event.
func (e *PlacementFulfilled) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Text(1, e.ID)
	w.Int(2, int64(e.At))
	event.WriteItem(&w, 3, &e.Session, appendSession)
	return w.End()
}

// AppendCBOR appends the record.
func (p *Placement) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	event.WriteItem(&w, 1, &p.Request, appendRequest)
	w.Text(2, string(p.Status))
	w.Int(3, int64(p.Started))
	w.Int(4, int64(p.Deadline))
	w.OptInt(5, int64(p.Ended))
	writeOptItem(&w, 6, p.Attempt, appendAttempt)
	writeOptItem(&w, 7, p.Session, appendSession)
	w.OptText(8, p.Reason)
	event.WriteItem(&w, 9, &p.Trail, appendTrail)
	return w.End()
}

// writeOptItem writes what is not nil.
func writeOptItem[T any](w *event.MapWriter, key byte, v *T, write func(dst []byte, v *T) []byte) {
	if v != nil {
		event.WriteItem(w, key, v, write)
	}
}

func appendRequest(dst []byte, r *Request) []byte {
	w := event.WriteMap(dst)
	w.Text(1, r.ID)
	w.Text(2, r.Queue)
	w.OptText(3, r.QueueID)
	w.OptInt(4, int64(r.Maximum))
	event.WriteOptList(&w, 5, r.Properties, appendProperty)
	w.OptText(6, r.Name)
	w.OptText(7, r.Data)
	w.OptText(8, r.MatchmakerData)
	event.WriteOptList(&w, 9, r.Latencies, appendLatency)
	event.WriteOptList(&w, 10, r.Players, appendPlayer)
	writeOptItem(&w, 11, r.Override, appendOverride)
	w.OptText(12, r.Call)
	w.OptText(13, r.Match)
	w.OptText(14, r.Topic)
	w.OptText(15, r.EventData)
	return w.End()
}

func appendProperty(dst []byte, p *fleet.Property) []byte {
	w := event.WriteMap(dst)
	w.Text(1, p.Key)
	w.Text(2, p.Value)
	return w.End()
}

func appendLatency(dst []byte, l *Latency) []byte {
	w := event.WriteMap(dst)
	w.Text(1, l.PlayerID)
	w.Text(2, l.Location)
	w.Float(3, l.Milliseconds)
	return w.End()
}

func appendPlayer(dst []byte, p *Player) []byte {
	w := event.WriteMap(dst)
	w.Text(1, p.PlayerID)
	w.OptText(2, p.Data)
	return w.End()
}

func appendOverride(dst []byte, o *Override) []byte {
	w := event.WriteMap(dst)
	w.OptTexts(1, o.LocationOrder)
	w.OptTrue(2, o.ListOnly)
	return w.End()
}

func appendRoom(dst []byte, r *fleet.RoomID) []byte {
	w := event.WriteMap(dst)
	w.OptText(1, string(r.Fleet))
	w.OptText(2, r.Location)
	return w.End()
}

func appendAttempt(dst []byte, a *Attempt) []byte {
	w := event.WriteMap(dst)
	w.Int(1, int64(a.Number))
	event.WriteItem(&w, 2, &a.Room, appendRoom)
	w.OptTrue(3, a.Running)
	return w.End()
}

func appendSession(dst []byte, s *Session) []byte {
	w := event.WriteMap(dst)
	event.WriteItem(&w, 1, &s.Room, appendRoom)
	w.Text(2, s.ID)
	w.OptText(3, s.IPAddress)
	w.OptText(4, s.DNSName)
	w.OptInt(5, int64(s.Port))
	event.WriteOptList(&w, 6, s.Players, appendPlacedPlayer)
	return w.End()
}

func appendPlacedPlayer(dst []byte, p *PlacedPlayer) []byte {
	w := event.WriteMap(dst)
	w.Text(1, p.PlayerID)
	w.Bytes(2, p.PlayerSession[:])
	return w.End()
}

func appendTrail(dst []byte, t *Trail) []byte {
	w := event.WriteMap(dst)
	event.WriteOptList(&w, 1, t.Candidates, appendConsidered)
	event.WriteOptList(&w, 2, t.Steps, appendStep)
	w.OptInt(3, int64(t.Omitted))
	w.OptInt(4, int64(t.Earlier))
	return w.End()
}

func appendConsidered(dst []byte, c *Considered) []byte {
	w := event.WriteMap(dst)
	event.WriteItem(&w, 1, &c.Room, appendRoom)
	w.OptText(2, c.Dropped)
	w.OptFloat(3, c.Latency)
	w.OptFloat(4, c.Cost)
	return w.End()
}

func appendStep(dst []byte, s *Step) []byte {
	w := event.WriteMap(dst)
	w.Int(1, int64(s.At))
	w.Text(2, string(s.Kind))
	if s.Room != (fleet.RoomID{}) {
		event.WriteItem(&w, 3, &s.Room, appendRoom)
	}
	w.OptText(4, s.Text)
	return w.End()
}
