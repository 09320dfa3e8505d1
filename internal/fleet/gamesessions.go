package fleet

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// MaxProperties is the maximum number of properties of a game session. Source: API model, GamePropertyList.
const MaxProperties = 16

// CreateGameSession starts a game session on a free process. The same id with the same fingerprint returns the existing
// game session, whatever its status; with another fingerprint it is an IdempotentParameterMismatchException.
type CreateGameSession struct {
	ID                string        `cbor:"1,keyasint,omitzero"` // the last segment of the ARN
	Name              string        `cbor:"2,keyasint,omitzero"`
	CreatorID         string        `cbor:"3,keyasint,omitzero"`
	Data              string        `cbor:"4,keyasint,omitzero"`
	MatchmakerData    string        `cbor:"5,keyasint,omitzero"`
	Properties        []Property    `cbor:"6,keyasint,omitzero"`
	Maximum           int32         `cbor:"7,keyasint,omitzero"`
	Protection        string        `cbor:"8,keyasint,omitzero"`  // of new game sessions in this fleet
	Fingerprint       []byte        `cbor:"9,keyasint,omitzero"`  // of all parameters of the request
	ActivationTimeout time.Duration `cbor:"10,keyasint,omitzero"` // from the fleet's runtime configuration
	MaxActivations    int           `cbor:"11,keyasint,omitzero"` // per compute, from the fleet's runtime configuration
	ConfirmWithin     time.Duration `cbor:"12,keyasint,omitzero"` // see confirmation.go; 0: no confirmation needed
	Placement         string        `cbor:"13,keyasint,omitzero"` // id of the placement, see placed.go; "" for none
	Attempt           int32         `cbor:"14,keyasint,omitzero"` // of the placement
	Desired           []NewPlayer   `cbor:"15,keyasint,omitzero"` // get player sessions when it becomes ACTIVE
	// Build is the id of another build than the fleet's own, of which a process is requested: see requests.go. Process
	// is the id of that process. From RequestLevel on.
	Build   string `cbor:"16,keyasint,omitzero"`
	Process string `cbor:"17,keyasint,omitzero"`
}

func (c CreateGameSession) decide(r *Room, now event.Time) ([]any, error) {
	if g, ok := r.session(c.ID); ok {
		if !bytes.Equal(g.Fingerprint, c.Fingerprint) {
			return nil, fault.New(fault.IdempotentParameterMismatch,
				"A game session with the id %s exists already and was created with other parameters", c.ID)
		}
		return nil, nil
	}
	if len(c.Desired) > int(c.Maximum) {
		return nil, fault.New(fault.InvalidRequest,
			"The game session is for %d players, and MaximumPlayerSessionCount is %d",
			len(c.Desired), c.Maximum)
	}
	p, events, err := c.host(r, now)
	if err != nil {
		return nil, err
	}
	if r.header.Sessions >= maxOrdinal {
		return nil, fault.New(fault.LimitExceeded,
			"Fleet location %s has created as many game sessions as it can number",
			r.id.Location)
	}
	compute, _ := r.computes.Get(p.Compute)
	created := now
	if _, last, ok := r.sessions.Max(); ok { // creation times never decrease, even if the clock was set back
		created = max(now, last.Created)
	}
	e := &GameSessionCreated{
		Ordinal: r.header.Sessions + 1, ID: c.ID, Name: c.Name, CreatorID: c.CreatorID, Data: c.Data,
		MatchmakerData: c.MatchmakerData,
		Properties:     c.Properties, Maximum: c.Maximum, Protection: c.Protection, Fingerprint: c.Fingerprint,
		Host: p.ProcessKey, IPAddress: compute.IPAddress, DNSName: compute.DNSName, Port: p.Port,
		At: created, ActivateBy: now.Add(c.ActivationTimeout),
		Placement: c.Placement, Attempt: c.Attempt, Desired: r.desired(c.Desired, r.header.Sessions+1),
	}
	if c.ConfirmWithin > 0 {
		e.ConfirmBy = now.Add(c.ConfirmWithin)
	}
	return append(events, e), nil
}

// host returns the process for a new game session, with the events that request it.
func (c CreateGameSession) host(r *Room, now event.Time) (*Process, []any, error) {
	if c.Build != "" {
		return c.request(r, now)
	}
	p, ok := r.free(c.MaxActivations)
	if !ok {
		return nil, nil, fault.New(fault.FleetCapacityExceeded, "Unable to reserve a process on fleet %s.", r.id.Fleet)
	}
	return p, nil, nil
}

func (c CreateGameSession) answer(r *Room) any { return r.sessionOrNil(c.ID) }

func (e *GameSessionCreated) apply(r *Room) {
	r.header.Sessions = e.Ordinal
	r.byID.add(e.ID, e.Ordinal)
	r.addSession(&GameSession{
		Ordinal: e.Ordinal, ID: e.ID, Name: e.Name, CreatorID: e.CreatorID, Data: e.Data,
		MatchmakerData: e.MatchmakerData,
		Properties:     e.Properties, Maximum: e.Maximum, Policy: AcceptAll, Protection: e.Protection,
		Status:  Activating,
		Created: e.At, ActivateBy: e.ActivateBy, Host: e.Host, IPAddress: e.IPAddress, DNSName: e.DNSName, Port: e.Port,
		Fingerprint: e.Fingerprint,
		ConfirmBy:   e.ConfirmBy, Placement: e.Placement, Attempt: e.Attempt, Desired: e.Desired,
	})
	r.changeProcess(e.Host, func(p *Process) {
		p.Session = e.Ordinal
		if !p.Requested {
			p.Status = ProcessHosting
		}
	})
}

// ActivateGameSession reports that the game session can take players. It can be repeated.
type ActivateGameSession struct {
	ProcessKey
	GameSession string `cbor:"3,keyasint,omitzero"`
}

func (c ActivateGameSession) decide(r *Room, now event.Time) ([]any, error) {
	g, err := r.hosted(c.ProcessKey, c.GameSession)
	if err != nil {
		return nil, err
	}
	switch g.Status {
	case Activating:
		return []any{r.activate(g, now)}, nil
	case Active:
		return nil, nil
	default:
		return nil, wrongStatus(g)
	}
}

func (c ActivateGameSession) answer(r *Room) any { return r.sessionOrNil(c.GameSession) }

func (e *GameSessionActivated) apply(r *Room) {
	r.changeSession(e.Ordinal, func(g *GameSession) {
		g.Status, g.Activated, g.ActivateBy, g.Desired = Active, e.At, 0, nil
		if len(e.Slots) > 0 {
			r.admit(g, newPlayerSessions(g, e.Slots, e.At, e.Expires))
		}
	})
	r.indexPlayers(e.Slots, e.Ordinal)
}

// UpdateGameSession changes the fields that are set. Properties are merged: existing keys are overwritten, none is
// removed.
type UpdateGameSession struct {
	ID         string     `cbor:"1,keyasint,omitzero"`
	Name       string     `cbor:"2,keyasint,omitzero"`
	Maximum    *int32     `cbor:"3,keyasint,omitzero"`
	Policy     Policy     `cbor:"4,keyasint,omitzero"`
	Protection string     `cbor:"5,keyasint,omitzero"`
	Properties []Property `cbor:"6,keyasint,omitzero"`
}

func (c UpdateGameSession) decide(r *Room, _ event.Time) ([]any, error) {
	g, err := r.activeSession(c.ID)
	if err != nil {
		return nil, err
	}
	e := &GameSessionUpdated{Ordinal: g.Ordinal, Name: c.Name, Maximum: c.Maximum, Policy: c.Policy,
		Protection: c.Protection}
	if len(c.Properties) > 0 {
		e.Properties = mergeProperties(g.Properties, c.Properties)
		if len(e.Properties) > MaxProperties {
			return nil, fault.New(fault.InvalidRequest,
				"The game session would have %d game properties; %d are allowed",
				len(e.Properties), MaxProperties)
		}
	}
	return []any{e}, nil
}

func (c UpdateGameSession) answer(r *Room) any { return r.sessionOrNil(c.ID) }

func mergeProperties(old, changes []Property) []Property {
	merged := slices.Clone(old)
	for _, c := range changes {
		if i := slices.IndexFunc(merged, func(p Property) bool { return p.Key == c.Key }); i >= 0 {
			merged[i] = c
		} else {
			merged = append(merged, c)
		}
	}
	return merged
}

func (e *GameSessionUpdated) apply(r *Room) {
	r.changeSession(e.Ordinal, func(g *GameSession) {
		g.Name = cmp.Or(e.Name, g.Name)
		g.Policy = cmp.Or(e.Policy, g.Policy)
		g.Protection = cmp.Or(e.Protection, g.Protection)
		if e.Maximum != nil {
			g.Maximum = *e.Maximum
		}
		if e.Properties != nil {
			g.Properties = e.Properties
		}
	})
}

// SetPolicy is UpdatePlayerSessionCreationPolicy, called by the process.
type SetPolicy struct {
	ProcessKey
	GameSession string `cbor:"3,keyasint,omitzero"`
	Policy      Policy `cbor:"4,keyasint,omitzero"`
}

func (c SetPolicy) decide(r *Room, _ event.Time) ([]any, error) {
	g, err := r.hosted(c.ProcessKey, c.GameSession)
	switch {
	case err != nil:
		return nil, err
	case c.Policy != AcceptAll && c.Policy != DenyAll:
		return nil, fault.New(fault.InvalidRequest, "PlayerSessionPolicy %q is not ACCEPT_ALL or DENY_ALL", c.Policy)
	case g.Status != Active && g.Status != Activating:
		return nil, wrongStatus(g)
	case g.Policy == c.Policy:
		return nil, nil
	}
	return []any{&GameSessionUpdated{Ordinal: g.Ordinal, Policy: c.Policy}}, nil
}

func (SetPolicy) answer(*Room) any { return nil }

// TerminateGameSession asks the process to end the game session. It changes nothing if the status is TERMINATING.
type TerminateGameSession struct {
	ID string `cbor:"1,keyasint,omitzero"`
}

func (c TerminateGameSession) decide(r *Room, now event.Time) ([]any, error) {
	g, err := r.liveSession(c.ID)
	if err != nil || g.Status == Terminating {
		return nil, err
	}
	return r.terminate(g, now), nil
}

// liveSession returns a game session that has not ended.
func (r *Room) liveSession(id string) (*GameSession, error) {
	g, ok := r.session(id)
	switch {
	case !ok:
		return nil, r.noSession(id)
	case g.HasEnded():
		return nil, wrongStatus(g)
	}
	return g, nil
}

// terminate returns the events that ask for the end of a game session. A requested process that has not connected ends
// at once.
func (r *Room) terminate(g *GameSession, now event.Time) []any {
	if p := r.requested(g); p != nil {
		return []any{
			&GameSessionTerminating{Ordinal: g.Ordinal, At: now},
			&GameSessionEnded{Ordinal: g.Ordinal, Reason: TriggeredOnProcessTerminate, At: now},
			&ProcessHasEnded{ProcessKey: p.ProcessKey, Reason: EndedByForce, At: now,
				ForgetAt: now.Add(r.settings.ProcessRetention)},
		}
	}
	return []any{
		&GameSessionTerminating{Ordinal: g.Ordinal, At: now},
		&ProcessAskedToEnd{ProcessKey: g.Host, By: now.Add(r.settings.TerminationGrace)},
	}
}

func (c TerminateGameSession) answer(r *Room) any { return r.sessionOrNil(c.ID) }

func (e *GameSessionTerminating) apply(r *Room) {
	r.changeSession(e.Ordinal, func(g *GameSession) {
		g.Status, g.ActivateBy, g.ConfirmBy, g.TerminatingSince = Terminating, 0, 0, e.At
	})
}

// endSession returns the event that makes a game session TERMINATED.
func endSession(g *GameSession, now event.Time) *GameSessionEnded {
	e := &GameSessionEnded{Ordinal: g.Ordinal, At: now}
	if g.Status == Terminating {
		e.Reason = TriggeredOnProcessTerminate
	}
	return e
}

func (e *GameSessionEnded) apply(r *Room) {
	r.changeSession(e.Ordinal, func(g *GameSession) {
		g.Status, g.StatusReason, g.Ended, g.ActivateBy, g.ConfirmBy = Terminated, e.Reason, e.At, 0, 0
		for _, p := range g.CurrentPlayers {
			status := Completed
			if p.Status == Reserved {
				status = TimedOut
			}
			g.PastPlayers = append(g.PastPlayers, p.ended(status, e.At))
		}
		g.CurrentPlayers, g.randomBits = nil, nil
	})
	r.ended.Set(endedEntry{e.At, e.Ordinal})
}

// expireSession returns the events for the expired deadlines of a game session.
func (r *Room) expireSession(g *GameSession, now event.Time) []any {
	if g.ActivateBy != 0 && g.ActivateBy <= now {
		note := newFleetEvent(now, codeActivationTimeout,
			"Game session %s was not activated in time by server process %s on "+
				"compute %s.", g.ID, g.Host.ID, g.Host.Compute)
		if p := r.requested(g); p != nil {
			return r.endWith(p, EndedNeverReady, now, []any{note})
		}
		return []any{
			note,
			endSession(g, now),
			&ProcessAskedToEnd{ProcessKey: g.Host, By: now.Add(r.settings.TerminationGrace)},
		}
	}
	if by := g.confirmDeadline(); by != 0 && by <= now {
		return r.terminate(g, now)
	}
	return expireReservations(g, now)
}

// ForgetGameSessions removes ended game sessions that are in the history.
type ForgetGameSessions struct {
	Ordinals []uint64 `cbor:"1,keyasint,omitzero"`
}

func (c ForgetGameSessions) decide(r *Room, _ event.Time) ([]any, error) {
	var forget []uint64
	for _, ordinal := range c.Ordinals {
		if g, ok := r.sessions.Get(ordinal); ok && g.HasEnded() {
			forget = append(forget, ordinal)
		}
	}
	if len(forget) == 0 {
		return nil, nil
	}
	return []any{&GameSessionsForgotten{Ordinals: forget}}, nil
}

func (ForgetGameSessions) answer(*Room) any { return nil }

func (e *GameSessionsForgotten) apply(r *Room) {
	for _, ordinal := range e.Ordinals {
		g, ok := r.sessions.Delete(ordinal)
		if !ok {
			continue
		}
		r.byID.remove(g.ID, ordinal)
		r.ended.Delete(endedEntry{g.Ended, ordinal})
		r.withExcess.Delete(ordinal)
		for _, p := range g.PastPlayers {
			r.byPlayer.remove(p.PlayerID, ordinal)
		}
	}
}

// EndedBefore lists up to limit game sessions that ended before the given time, the earliest first. Only the writer may
// call it.
func (r *Room) EndedBefore(before event.Time, limit int) []*GameSession {
	var ended []*GameSession
	r.ended.Scan(func(e endedEntry) bool {
		if e.ended >= before || len(ended) == limit {
			return false
		}
		g, _ := r.GameSessionAt(e.ordinal)
		ended = append(ended, g)
		return true
	})
	return ended
}

// LastEnded calls visit with the game sessions that ended before the given time, or at that time with an ordinal of at
// most through, until it returns false; those that ended last come first. Only the writer may call it.
func (r *Room) LastEnded(before event.Time, through uint64, visit func(*GameSession) bool) {
	r.ended.Descend(endedEntry{before, through}, func(e endedEntry) bool {
		g, _ := r.GameSessionAt(e.ordinal)
		return visit(g)
	})
}

// changeSession changes a game session, or a copy of it if others may have seen it.
func (r *Room) changeSession(ordinal uint64, change func(*GameSession)) {
	g, ok := r.sessions.Get(ordinal)
	if !ok {
		return
	}
	old := *g
	g = r.own(g)
	change(g)
	r.keepUp(&old, g)
}

// session finds a game session by the last segment of its ARN, for internal use.
func (r *Room) session(id string) (*GameSession, bool) {
	var room [4]uint64 // usually there is one
	for _, ordinal := range r.byID.appendTo(room[:0], id) {
		if g, ok := r.sessions.Get(ordinal); ok && g.ID == id {
			return g, true
		}
	}
	return nil, false
}

// GameSession finds a game session by its id.
func (r *Room) GameSession(id string) (*GameSession, bool) { return r.shown(r.session(id)) }

// GameSessionAt finds a game session by its ordinal.
func (r *Room) GameSessionAt(ordinal uint64) (*GameSession, bool) {
	return r.shown(r.sessions.Get(ordinal))
}

// GameSessions calls visit with the game sessions after the given ordinal, in order, until it returns false.
func (r *Room) GameSessions(after uint64, visit func(*GameSession) bool) {
	r.sessions.Ascend(after+1, func(_ uint64, g *GameSession) bool {
		g, _ = r.shown(g, true)
		return visit(g)
	})
}

func (r *Room) sessionOrNil(id string) *GameSession {
	g, _ := r.GameSession(id)
	return g
}

func (r *Room) activeSession(id string) (*GameSession, error) {
	g, ok := r.session(id)
	switch {
	case !ok:
		return nil, r.noSession(id)
	case g.Status != Active:
		return nil, wrongStatus(g)
	}
	return g, nil
}

// hosted finds the game session that a process names, which must be the one that it hosts.
func (r *Room) hosted(key ProcessKey, id string) (*GameSession, error) {
	p, err := r.livingProcess(key)
	if err != nil {
		return nil, err
	}
	if p.Status == ProcessInitializing {
		return nil, notReady(key)
	}
	g, ok := r.sessions.Get(p.Session)
	if !ok || g.ID != id {
		return nil, fault.New(fault.InvalidRequest, "Game session %s is not hosted by server process %s", id, key.ID)
	}
	return g, nil
}

func (r *Room) noSession(id string) error {
	return fault.New(fault.NotFound, "Game session %s not found in fleet %s, location %s",
		id, r.id.Fleet, r.id.Location)
}

func wrongStatus(g *GameSession) error {
	return fault.New(fault.InvalidGameSessionStatus, "Game session %s is %s", g.ID, g.Status)
}
