package fleet

import "github.com/muster-gg/muster/internal/event"

// The events of the busiest commands and the largest records of snapshots encode
// themselves. The bytes are those that the tags of their fields ask for.

// AppendCBOR appends the event.
func (e *PlayersReserved) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Uint(1, e.Session)
	event.WriteList(&w, 2, e.Players, appendSeat)
	w.Int(3, int64(e.At))
	w.Int(4, int64(e.Expires))
	return w.End()
}

func appendSeat(dst []byte, s *Seat) []byte {
	w := event.WriteMap(dst)
	w.Bytes(1, s.ID[:])
	w.Text(2, s.PlayerID)
	w.OptText(3, s.Data)
	return w.End()
}

// AppendCBOR appends the event.
func (e *PlayerAccepted) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Uint(1, e.Session)
	w.Uint(2, uint64(e.Index))
	return w.End()
}

// AppendCBOR appends the event.
func (e *PlayerRemoved) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Uint(1, e.Session)
	w.Uint(2, uint64(e.Index))
	w.Int(3, int64(e.At))
	return w.End()
}

// AppendCBOR appends the event.
func (e *GameSessionCreated) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Uint(1, e.Ordinal)
	w.Text(2, e.ID)
	w.OptText(3, e.Name)
	w.OptText(4, e.CreatorID)
	w.OptText(5, e.Data)
	w.OptText(6, e.MatchmakerData)
	event.WriteOptList(&w, 7, e.Properties, appendProperty)
	w.Int(8, int64(e.Maximum))
	w.OptText(9, e.Protection)
	event.WriteItem(&w, 10, &e.Host, appendProcessKey)
	w.OptText(11, e.IPAddress)
	w.OptText(12, e.DNSName)
	w.Int(13, int64(e.Port))
	w.OptBytes(14, e.Fingerprint)
	w.Int(15, int64(e.At))
	w.Int(16, int64(e.ActivateBy))
	w.OptInt(17, int64(e.HandOverBy))
	w.OptText(18, e.Placement)
	w.OptInt(19, int64(e.Attempt))
	event.WriteOptList(&w, 20, e.Desired, appendSeat)
	return w.End()
}

func appendProperty(dst []byte, p *Property) []byte {
	w := event.WriteMap(dst)
	w.Text(1, p.Key)
	w.Text(2, p.Value)
	return w.End()
}

func appendProcessKey(dst []byte, k *ProcessKey) []byte {
	w := event.WriteMap(dst)
	w.Text(1, k.Compute)
	w.Text(2, k.ID)
	return w.End()
}

// AppendCBOR appends the event.
func (e *GameSessionActivated) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Uint(1, e.Ordinal)
	w.Int(2, int64(e.At))
	w.OptInt(3, int64(e.Expires))
	event.WriteOptList(&w, 4, e.Seats, appendSeat)
	return w.End()
}

// AppendCBOR appends the event.
func (e *HealthReported) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Text(1, e.Compute)
	w.Text(2, e.ID)
	w.OptTrue(3, e.Healthy)
	w.Int(4, int64(e.HealthBy))
	return w.End()
}

// AppendCBOR appends the record.
func (p *Process) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Text(1, p.Compute)
	w.Text(2, p.ID)
	w.Uint(3, uint64(p.Status))
	w.OptTrue(4, p.Connected)
	w.OptUint(5, p.Token)
	w.OptText(6, p.Idempotency)
	w.OptText(7, p.SDKVersion)
	w.OptText(8, p.SDKLanguage)
	w.OptInt(9, int64(p.Port))
	w.OptTexts(10, p.LogPaths)
	w.Int(11, int64(p.Created))
	w.OptInt(12, int64(p.Ready))
	w.OptInt(13, int64(p.Ended))
	w.OptUint(14, uint64(p.End))
	w.OptUint(15, p.Session)
	w.OptInt(16, int64(p.Unhealthy))
	w.OptInt(17, int64(p.ReadyBy))
	w.OptInt(18, int64(p.BackBy))
	w.OptInt(19, int64(p.HealthBy))
	w.OptInt(20, int64(p.TerminateBy))
	w.OptInt(21, int64(p.ForgetAt))
	return w.End()
}

// AppendCBOR appends the record.
func (g *GameSession) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Uint(1, g.Ordinal)
	w.Text(2, g.ID)
	w.OptText(3, g.Name)
	w.OptText(4, g.CreatorID)
	w.OptText(5, g.Data)
	w.OptText(6, g.MatchmakerData)
	event.WriteOptList(&w, 7, g.Properties, appendProperty)
	w.Int(8, int64(g.Maximum))
	w.Text(9, string(g.Policy))
	w.OptText(10, g.Protection)
	w.Text(11, string(g.Status))
	w.OptText(12, g.StatusReason)
	w.Int(13, int64(g.Created))
	w.OptInt(14, int64(g.Ended))
	w.OptInt(15, int64(g.ActivateBy))
	event.WriteItem(&w, 16, &g.Host, appendProcessKey)
	w.OptText(17, g.IPAddress)
	w.OptText(18, g.DNSName)
	w.Int(19, int64(g.Port))
	w.OptBytes(20, g.Fingerprint)
	event.WriteOptList(&w, 21, g.Seated, appendPlayerSession)
	event.WriteOptList(&w, 22, g.Gone, appendPlayerSession)
	w.OptInt(23, int64(g.HandOverBy))
	w.OptText(24, g.Placement)
	w.OptInt(25, int64(g.Attempt))
	event.WriteOptList(&w, 26, g.Desired, appendSeat)
	w.OptInt(27, int64(g.Activated))
	w.OptText(28, g.Filled)
	w.OptUint(29, uint64(g.Archived))
	return w.End()
}

// AppendCBOR appends the record.
func (m *MorePlayers) AppendCBOR(dst []byte) []byte {
	w := event.WriteMap(dst)
	w.Uint(1, m.Session)
	event.WriteOptList(&w, 2, m.Seated, appendPlayerSession)
	event.WriteOptList(&w, 3, m.Gone, appendPlayerSession)
	return w.End()
}

func appendPlayerSession(dst []byte, p **PlayerSession) []byte {
	w := event.WriteMap(dst)
	w.Bytes(1, (*p).ID[:])
	w.Uint(2, uint64((*p).Index))
	w.Text(3, (*p).PlayerID)
	w.OptText(4, (*p).Data)
	w.Text(5, string((*p).Status))
	w.Int(6, int64((*p).Created))
	w.OptInt(7, int64((*p).Expires))
	w.OptInt(8, int64((*p).Ended))
	return w.End()
}
