//go:build unix

package crash

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"github.com/muster-gg/muster/e2e/calls"
	"github.com/muster-gg/muster/gameserver"
)

// The players of a game session: room for two batches and a few more.
const (
	maximumPlayers = 60
	batch          = 25
)

// A gamer is a worker that uses game sessions as matchmakers and game servers do.
type gamer struct {
	*trial
	random *rand.Rand
}

// step makes one call, or a few of the same kind.
func (g *gamer) step() {
	choice := g.random.IntN(100)
	s, p := g.ledger.playing(g.random)
	if s == nil || choice < 8 {
		g.create()
		return
	}
	switch {
	case choice < 25:
		g.reserve(s, 1)
	case choice < 33:
		g.reserve(s, batch)
	case choice < 62:
		g.accept(s, p, 1+g.random.IntN(6))
	case choice < 82:
		g.remove(s, p, 1+g.random.IntN(6))
	case choice < 92:
		g.update(s, p)
	case choice < 97:
		g.terminate(s)
	default:
		p.end()
	}
}

// create creates a game session in one of the locations, of the fleet or of its
// alias.
func (g *gamer) create() {
	location := g.locations[g.random.IntN(len(g.locations))]
	g.createIn(location, g.random.IntN(2) == 0)
}

func (t *trial) createIn(location string, byAlias bool) calls.Outcome {
	n := t.ledger.number()
	token := fmt.Sprintf("match-%d", n)
	in := &gamelift.CreateGameSessionInput{
		Location: aws.String(location), Name: aws.String(fmt.Sprintf("game %d", n)),
		MaximumPlayerSessionCount: aws.Int32(maximumPlayers), IdempotencyToken: aws.String(token),
		GameProperties: []types.GameProperty{{Key: aws.String("n"), Value: aws.String(token)}},
	}
	if byAlias {
		in.AliasId = aws.String(t.alias)
	} else {
		in.FleetId = aws.String(t.fleet)
	}
	out, err := t.client.CreateGameSession(t.ctx, in)
	result, fault := calls.OutcomeOf(err)
	switch result {
	case calls.Acknowledged:
		t.ledger.confirm(out.GameSession, location)
		t.ledger.acknowledge("game sessions created")
	case calls.Refused:
		t.expect("CreateGameSession", err, fault, "FleetCapacityExceededException")
	case calls.Unanswered:
		t.ledger.mu.Lock()
		defer t.ledger.mu.Unlock()
		t.ledger.pending = append(t.ledger.pending, creation{in, location, token})
	}
	return result
}

// reserve takes places for n players who have never been seen before.
func (t *trial) reserve(s *session, n int) calls.Outcome {
	ids := make([]string, n)
	data := map[string]string{}
	for i := range ids {
		ids[i] = fmt.Sprintf("player-%d", t.ledger.number())
		data[ids[i]] = "data of " + ids[i]
	}
	var sessions []types.PlayerSession
	var err error
	kind := "player sessions created"
	if n == 1 {
		var out *gamelift.CreatePlayerSessionOutput
		if out, err = t.client.CreatePlayerSession(t.ctx, &gamelift.CreatePlayerSessionInput{
			GameSessionId: &s.arn, PlayerId: &ids[0], PlayerData: aws.String(data[ids[0]]),
		}); err == nil {
			sessions = []types.PlayerSession{*out.PlayerSession}
		}
	} else {
		kind = "batches of player sessions created"
		var out *gamelift.CreatePlayerSessionsOutput
		if out, err = t.client.CreatePlayerSessions(t.ctx, &gamelift.CreatePlayerSessionsInput{
			GameSessionId: &s.arn, PlayerIds: ids, PlayerDataMap: data,
		}); err == nil {
			sessions = out.PlayerSessions
		}
	}
	result, fault := calls.OutcomeOf(err)
	switch result {
	case calls.Acknowledged:
		t.ledger.reserve(s, sessions, kind)
	case calls.Refused:
		t.expect("CreatePlayerSessions", err, fault, "GameSessionFullException", "InvalidGameSessionStatusException")
	case calls.Unanswered:
		t.ledger.change(s.arn, func(s *session) { s.pending = append(s.pending, ids) })
	}
	return result
}

// accept lets up to n players in, as the game server that they have come to, and
// counts them.
func (t *trial) accept(s *session, p *process, n int) (accepted int) {
	for _, player := range t.ledger.playersIn(s, reserved, inGame, n) {
		if t.sent(p, "AcceptPlayerSession", p.AcceptPlayerSession(t.ctx, player.id)) {
			t.ledger.reach(player, inGame, "players accepted")
			accepted++
		}
	}
	return accepted
}

// remove lets up to n players go, and counts them.
func (t *trial) remove(s *session, p *process, n int) (removed int) {
	for _, player := range t.ledger.playersIn(s, inGame, gone, n) {
		if t.sent(p, "RemovePlayerSession", p.RemovePlayerSession(t.ctx, player.id)) {
			t.ledger.reach(player, gone, "players removed")
			removed++
		}
	}
	return removed
}

// sent reports whether a game server's request was acknowledged. One that is not
// ending must not be refused.
func (t *trial) sent(p *process, action string, err error) bool {
	result, _ := calls.OutcomeOf(err)
	if result == calls.Refused && !p.isEnding() {
		t.found.Lost("%s of process %s was refused: %v", action, p.name(), err)
	}
	return result == calls.Acknowledged
}

// update changes a game session: by a call, or as its game server.
func (g *gamer) update(s *session, p *process) {
	if !g.claim(s) {
		return
	}
	defer g.release(s)
	n := g.ledger.number()
	switch g.random.IntN(3) {
	case 0:
		g.rename(s, fmt.Sprintf("renamed %d", n))
	case 1:
		g.widen(s)
	default:
		policy := gameserver.AcceptAll
		if g.ledger.values.is(policyOf(s.arn), string(policy)) {
			policy = gameserver.DenyAll
		}
		g.setPolicy(s, p, policy)
	}
}

// claim makes the caller the only one who changes a game session's registers.
func (t *trial) claim(s *session) bool {
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	free := !s.busy
	s.busy = true
	return free
}

func (t *trial) release(s *session) {
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	s.busy = false
}

func (t *trial) rename(s *session, name string) {
	t.updated(t.ledger.values.write(nameOf(s.arn), name, func() error {
		_, err := t.client.UpdateGameSession(t.ctx,
			&gamelift.UpdateGameSessionInput{GameSessionId: &s.arn, Name: &name})
		return err
	}))
}

// widen gives a game session one more place.
func (t *trial) widen(s *session) {
	t.ledger.mu.Lock()
	s.maximum++
	maximum := s.maximum
	t.ledger.mu.Unlock()
	t.updated(t.ledger.values.write(maximumOf(s.arn), fmt.Sprint(maximum), func() error {
		_, err := t.client.UpdateGameSession(t.ctx,
			&gamelift.UpdateGameSessionInput{GameSessionId: &s.arn, MaximumPlayerSessionCount: &maximum})
		return err
	}))
}

func (t *trial) updated(result calls.Outcome, fault string) {
	switch result {
	case calls.Acknowledged:
		t.ledger.acknowledge("game sessions updated")
	case calls.Refused:
		t.expect("UpdateGameSession", nil, fault, "InvalidGameSessionStatusException")
	}
}

// setPolicy sets a game session's policy as its game server. A request that the
// kill crossed is sent again: refused because the game session ends by now, it may
// have been done the first time, so either policy may be there.
func (t *trial) setPolicy(s *session, p *process, policy gameserver.PlayerSessionCreationPolicy) {
	var err error
	name := policyOf(s.arn)
	before := t.ledger.values.values(name)
	result, _ := t.ledger.values.write(name, string(policy), func() error {
		err = p.UpdatePlayerSessionCreationPolicy(t.ctx, policy)
		return err
	})
	t.sent(p, "UpdatePlayerSessionCreationPolicy", err)
	switch result {
	case calls.Acknowledged:
		t.ledger.acknowledge("policies set")
	case calls.Refused:
		t.ledger.values.set(name, append(slices.Clone(before), string(policy))...)
	case calls.Unanswered:
	}
}

// terminate asks the game server of a game session to end.
func (t *trial) terminate(s *session) {
	t.ledger.change(s.arn, func(s *session) { s.ask(terminated) }) // the process ends as soon as it hears
	_, err := t.client.TerminateGameSession(t.ctx,
		&gamelift.TerminateGameSessionInput{GameSessionId: &s.arn,
			TerminationMode: types.TerminationModeTriggerOnProcessTerminate})
	switch result, fault := calls.OutcomeOf(err); result {
	case calls.Acknowledged:
		t.ledger.change(s.arn, func(s *session) { s.acknowledge(terminating) })
		t.ledger.acknowledge("game sessions terminated")
	case calls.Refused:
		t.expect("TerminateGameSession", err, fault, "InvalidGameSessionStatusException")
	case calls.Unanswered:
	}
}

// expect notes a refusal that cannot be right.
func (t *trial) expect(action string, err error, fault string, allowed ...string) {
	if !slices.Contains(allowed, fault) {
		t.found.Lost("%s was refused with %s: %v", action, fault, err)
	}
}
