package fleet

import (
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// RegisterCompute adds a compute. The same compute again returns the existing one, so an agent may restart; a used name
// with another address is a ConflictException.
type RegisterCompute struct {
	Name            string `cbor:"1,keyasint,omitzero"`
	IPAddress       string `cbor:"2,keyasint,omitzero"`
	DNSName         string `cbor:"3,keyasint,omitzero"`
	CertificatePath string `cbor:"4,keyasint,omitzero"`
}

func (c RegisterCompute) decide(r *Room, now event.Time) ([]any, error) {
	if old, ok := r.computes.Get(c.Name); ok {
		if old.IPAddress != c.IPAddress || old.DNSName != c.DNSName {
			return nil, fault.New(fault.Conflict, "Compute %s is already registered in fleet %s with another address. "+
				"Deregister it first.", c.Name, r.id.Fleet)
		}
		return nil, nil
	}
	return []any{&ComputeRegistered{Name: c.Name, IPAddress: c.IPAddress, DNSName: c.DNSName,
		CertificatePath: c.CertificatePath, At: now}}, nil
}

// answer returns the *Compute.
func (c RegisterCompute) answer(r *Room) any {
	compute, _ := r.computes.Get(c.Name)
	return compute
}

func (e *ComputeRegistered) apply(r *Room) {
	r.computes.Set(e.Name, &Compute{Name: e.Name, IPAddress: e.IPAddress, DNSName: e.DNSName,
		CertificatePath: e.CertificatePath, Created: e.At})
	r.counts.Computes = r.computes.Len()
}

// DeregisterCompute removes a compute and its tokens. It ends its processes and their game sessions.
type DeregisterCompute struct {
	Name string `cbor:"1,keyasint,omitzero"`
}

func (c DeregisterCompute) decide(r *Room, now event.Time) ([]any, error) {
	if _, ok := r.computes.Get(c.Name); !ok {
		return nil, r.noCompute(c.Name)
	}
	return r.deregister(c.Name, now), nil
}

func (DeregisterCompute) answer(*Room) any { return nil }

func (r *Room) deregister(name string, now event.Time) []any {
	var events []any
	r.processesOf(name, func(p *Process) bool {
		if p.Status != ProcessEnded {
			events = append(events, r.end(p, EndedWithCompute, now)...)
		}
		return true
	})
	return append(events, &ComputeDeregistered{Name: name})
}

func (e *ComputeDeregistered) apply(r *Room) {
	r.computes.Delete(e.Name)
	r.counts.Computes = r.computes.Len()
}

// Clear removes the computes, when the location leaves the fleet or the fleet is deleted. One call removes a bounded
// number, to fit in one journal record: repeat it until none is left.
type Clear struct{}

// maxCleared is the number of events, of about 200 bytes each, after which Clear removes no further compute.
const maxCleared = 10_000

func (Clear) decide(r *Room, now event.Time) ([]any, error) {
	var events []any
	r.computes.Scan(func(name string, _ *Compute) bool {
		events = append(events, r.deregister(name, now)...)
		return len(events) < maxCleared
	})
	return events, nil
}

// answer returns the number of remaining computes, an int.
func (Clear) answer(r *Room) any { return r.computes.Len() }

// renewBefore is how long before its expiry a token is replaced. Source: GameLift Agent, which relies on it.
const renewBefore = 15 * time.Minute

// renewBefore returns the constant, or half of a shorter lifetime: otherwise each call would return a new token.
func (s *Settings) renewBefore() time.Duration { return min(renewBefore, s.TokenLifetime/2) }

// keptTokens is how many tokens before the newest a compute keeps even if no process uses them.
const keptTokens = 2

// IssueToken returns the compute's newest auth token, or a new one if that expires within 15 minutes.
type IssueToken struct {
	Compute string `cbor:"1,keyasint,omitzero"`
}

func (c IssueToken) decide(r *Room, now event.Time) ([]any, error) {
	compute, ok := r.computes.Get(c.Compute)
	if !ok {
		return nil, r.noCompute(c.Compute)
	}
	if n := len(compute.Tokens); n > 0 && compute.Tokens[n-1].Expires.Sub(now) >= r.settings.renewBefore() {
		return nil, nil
	}
	// The API shows whole seconds.
	expires := event.At(now.Add(r.settings.TokenLifetime).Time().Truncate(time.Second))
	return []any{&TokenIssued{Compute: c.Compute, Serial: r.header.Tokens + 1, Expires: expires}}, nil
}

// answer returns a TokenGrant.
func (c IssueToken) answer(r *Room) any {
	compute, _ := r.computes.Get(c.Compute)
	return TokenGrant{Compute: compute, Token: compute.Tokens[len(compute.Tokens)-1]}
}

// A TokenGrant is the answer to IssueToken.
type TokenGrant struct {
	Compute *Compute `cbor:"1,keyasint,omitzero"`
	Token   Token    `cbor:"2,keyasint"`
}

func (e *TokenIssued) apply(r *Room) {
	r.header.Tokens = e.Serial
	old, _ := r.computes.Get(e.Compute)
	next := *old
	next.Tokens = append(r.tokensInUse(old), Token{Serial: e.Serial, Expires: e.Expires})
	r.computes.Set(e.Compute, &next)
}

// tokensInUse returns the tokens to keep: the newest ones, and those of running processes, because a server SDK
// reconnects with the token that it started with.
func (r *Room) tokensInUse(c *Compute) []Token {
	used := map[uint64]bool{}
	r.processesOf(c.Name, func(p *Process) bool {
		used[p.Token] = p.Status != ProcessEnded || used[p.Token]
		return true
	})
	keep := slices.Clone(c.Tokens)
	newest := len(keep) - keptTokens
	kept := keep[:0]
	for i, t := range keep {
		if i >= newest || used[t.Serial] {
			kept = append(kept, t)
		}
	}
	return kept
}

func (r *Room) noCompute(name string) error {
	return fault.New(fault.NotFound, "Compute %s not found in fleet %s", name, r.id.Fleet)
}

// Compute finds a registered compute.
func (r *Room) Compute(name string) (*Compute, bool) { return r.computes.Get(name) }

// Computes calls visit with the computes after the given name, in order, until it returns false.
func (r *Room) Computes(after string, visit func(*Compute) bool) {
	r.computes.Ascend(after, func(name string, c *Compute) bool {
		return name == after && after != "" || visit(c)
	})
}

// Counts are the numbers of the room.
func (r *Room) Counts() Counts { return r.counts }
