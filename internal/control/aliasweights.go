package control

import (
	"cmp"
	"context"
	"sync"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire"
)

// An AliasWeight is the share of new game sessions that a fleet of an alias gets.
type AliasWeight struct {
	FleetID string `json:"fleetId"` // or its ARN
	Weight  int32  `json:"weight"`  // in percent
}

// AliasWeights are the fleets of an alias with their shares.
type AliasWeights struct {
	AliasID string        `json:"aliasId"`
	Weights []AliasWeight `json:"weights"` // in the order in which they were given; empty: it leads to one fleet
}

// AliasWeights returns the weights of an alias by its id or ARN. NotFound.
func (cr *catalogReader) AliasWeights(idOrArn string) (*AliasWeights, error) {
	a, ok := cr.Catalog().Alias(aliasID(idOrArn))
	if !ok {
		return nil, notFound("Alias %.200s not found", idOrArn)
	}
	out := &AliasWeights{AliasID: a.ID, Weights: []AliasWeight{}}
	for _, w := range a.Weights {
		out.Weights = append(out.Weights, AliasWeight{w.Fleet, w.Weight})
	}
	return out, nil
}

// SetAliasWeights changes the weights of an alias: see catalog.SetAliasWeights.
func (p *Plane) SetAliasWeights(ctx context.Context, idOrArn string, weights []AliasWeight) (*AliasWeights, error) {
	command := catalog.SetAliasWeights{ID: aliasID(idOrArn)}
	for _, w := range weights {
		command.Weights = append(command.Weights, catalog.AliasWeight{Fleet: fleetID(w.FleetID), Weight: w.Weight})
	}
	if err := p.Change(ctx, command); err != nil {
		return nil, err
	}
	return p.AliasWeights(idOrArn)
}

// turns count the new game sessions of aliases and queues, for catalog.Alias.Turn. They begin anew with the process,
// which shifts shares by less than one game session, because turns are spread evenly.
type turns struct {
	mu   sync.Mutex
	next map[string]int
}

// take returns the next turn of an alias or a queue.
func (t *turns) take(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == nil {
		t.next = map[string]int{}
	}
	n := t.next[name]
	t.next[name] = (n + 1) % catalog.WeightSum
	return n
}

// byWeight returns the request with a fleet in the place of an alias with weights. A repeated request gets the fleet
// that has its game session.
func (p *Plane) byWeight(ctx context.Context, in *wire.CreateGameSessionInput) (*wire.CreateGameSessionInput, error) {
	if in.AliasId == "" || in.FleetId != "" {
		return in, nil
	}
	view := p.Catalog()
	a, ok := view.Alias(aliasID(in.AliasId))
	if !ok || len(a.Weights) == 0 {
		return in, nil
	}
	found := *in
	found.AliasId = ""
	for _, w := range a.Weights {
		had, err := p.hasCreated(ctx, w.Fleet, in)
		if err != nil {
			return nil, err
		}
		if had {
			found.FleetId = w.Fleet
			return &found, nil
		}
	}
	for range catalog.WeightSum {
		found.FleetId = a.Turn(p.turns.take(a.ID))
		if f, err := view.LiveFleet(found.FleetId); err == nil && f.Status == catalog.StatusActive {
			break
		}
	}
	return &found, nil
}

// hasCreated reports whether a fleet has the game session of a request that is repeated.
func (p *Plane) hasCreated(ctx context.Context, id string, in *wire.CreateGameSessionInput) (bool, error) {
	session := cmp.Or(in.IdempotencyToken, in.GameSessionId)
	if call := callOf(ctx); session == "" && call.Invocation != "" {
		session = "gsess-" + p.secrets.CallID(call.Principal, call.Invocation)
	}
	f, err := p.Catalog().LiveFleet(id)
	if err != nil || session == "" {
		return false, nil // it cannot have one
	}
	for _, room := range p.placesOf(f, in.Location) {
		g, err := p.GameSession(ctx, room, session)
		if err != nil || g != nil {
			return err == nil, err
		}
	}
	return false, nil
}
