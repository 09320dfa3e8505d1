package matchmaking

import (
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/ruleset"
)

// The events of the busiest commands and the tickets of snapshots encode themselves.
// The bytes are those that the tags of their fields ask for.

// AppendCBOR appends the event.
func (e *TicketStarted) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Text(1, e.ID)
	event.WriteItem(&w, 2, &e.Configuration, appendConfiguration)
	event.WriteList(&w, 3, e.Players, appendPlayer)
	w.OptTrue(4, e.Backfill)
	w.OptTrue(5, e.Automatic)
	w.OptText(6, e.GameSession)
	w.OptText(7, e.Call)
	w.Int(8, int64(e.At))
	w.Int(9, int64(e.Deadline))
	w.OptText(10, e.Follows)
	w.OptInt(11, int64(e.Number))
	return w.End()
}

func appendConfiguration(dst []byte, c *Configuration) []byte {
	w := event.WriteMap(dst)
	w.Text(1, c.Name)
	w.Text(2, c.ID)
	return w.End()
}

func appendPlayer(dst []byte, p *Player) []byte {
	w := event.WriteMap(dst)
	w.Text(1, p.ID)
	event.WriteOptList(&w, 2, p.Attributes, appendAttribute)
	event.WriteOptList(&w, 3, p.Latencies, appendLatency)
	w.OptText(4, p.Team)
	return w.End()
}

func appendAttribute(dst []byte, a *Attribute) []byte {
	w := event.WriteMap(dst)
	w.Text(1, a.Name)
	event.WriteItem(&w, 2, &a.Value, appendValue)
	return w.End()
}

func appendValue(dst []byte, v *ruleset.Value) []byte {
	w := event.WriteMap(dst)
	w.OptUint(1, uint64(v.Type))
	w.OptFloat(2, v.N)
	w.OptText(3, v.S)
	w.OptTexts(4, v.SL)
	w.OptNumbers(5, v.SDM)
	return w.End()
}

func appendLatency(dst []byte, l *Latency) []byte {
	w := event.WriteMap(dst)
	w.Text(1, l.Location)
	w.Int(2, int64(l.Milliseconds))
	return w.End()
}

// AppendCBOR appends the event.
func (e *MatchProposed) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Text(1, e.ID)
	event.WriteItem(&w, 2, &e.Terms, appendTerms)
	w.Texts(3, e.Tickets)
	event.WriteList(&w, 4, e.Teams, appendTeam)
	event.WriteOptList(&w, 5, e.Metrics, appendMetric)
	w.OptText(6, e.Backfill)
	w.Int(7, int64(e.At))
	w.OptInt(8, int64(e.AcceptBy))
	return w.End()
}

func appendTerms(dst []byte, t *Terms) []byte {
	w := event.WriteMap(dst)
	event.WriteItem(&w, 1, &t.Configuration, appendConfiguration)
	w.OptInt(2, int64(t.Acceptance))
	w.OptTrue(3, t.Standalone)
	w.OptTrue(4, t.AutomaticBackfill)
	w.Int(5, int64(t.RequestTimeout))
	w.Int(6, int64(t.Capacity))
	return w.End()
}

func appendTeam(dst []byte, t *Team) []byte {
	w := event.WriteMap(dst)
	w.Text(1, t.Name)
	w.OptInt(2, int64(t.Max))
	w.OptTexts(3, t.Players)
	return w.End()
}

func appendMetric(dst []byte, m *Metric) []byte {
	w := event.WriteMap(dst)
	w.Text(1, m.Rule)
	w.OptInt(2, int64(m.Passed))
	w.OptInt(3, int64(m.Failed))
	return w.End()
}

// AppendCBOR appends the event.
func (e *MatchCompleted) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Text(1, e.ID)
	w.Int(2, int64(e.At))
	if e.Connection != nil {
		event.WriteItem(&w, 3, e.Connection, appendConnection)
	}
	w.OptTrue(4, e.Asked)
	return w.End()
}

func appendConnection(dst []byte, c *Connection) []byte {
	w := event.WriteMap(dst)
	w.Text(1, c.GameSession)
	w.OptText(2, c.IPAddress)
	w.OptText(3, c.DNSName)
	w.OptInt(4, int64(c.Port))
	event.WriteOptList(&w, 5, c.Players, appendMatchedPlayer)
	return w.End()
}

func appendMatchedPlayer(dst []byte, p *MatchedPlayer) []byte {
	w := event.WriteMap(dst)
	w.Text(1, p.PlayerID)
	w.Bytes(2, p.PlayerSession[:])
	return w.End()
}

// AppendCBOR appends the record.
func (t *Ticket) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Text(1, t.ID)
	event.WriteItem(&w, 2, &t.Configuration, appendConfiguration)
	event.WriteList(&w, 3, t.Players, appendPlayer)
	w.OptTrue(4, t.Backfill)
	w.OptTrue(5, t.Automatic)
	w.OptText(6, t.GameSession)
	w.OptText(7, t.Call)
	w.Text(8, string(t.Status))
	w.OptText(9, t.Reason)
	w.OptText(10, t.Message)
	w.Int(11, int64(t.Started))
	w.Int(12, int64(t.Deadline))
	w.OptInt(13, int64(t.Ended))
	w.OptText(14, t.Match)
	w.OptInt(15, int64(t.Round))
	if t.Connection != nil {
		event.WriteItem(&w, 16, t.Connection, appendConnection)
	}
	event.WriteOptList(&w, 17, t.Metrics, appendMetric)
	w.OptText(18, t.Follows)
	w.OptInt(19, int64(t.Number))
	return w.End()
}
