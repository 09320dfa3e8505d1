//go:build unix

package crash

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/e2e/calls"
	"github.com/muster-gg/muster/gameserver"
)

// repeat makes the calls again that got no answer and can be repeated: a token
// gives the game session that the first call made, if it made one.
func (t *trial) repeat() {
	t.t.Helper()
	t.ledger.mu.Lock()
	pending := t.ledger.pending
	t.ledger.pending = nil
	t.ledger.mu.Unlock()
	for _, c := range pending {
		t.repeatCreation(c)
	}
	t.repeats.Lock()
	calls := t.repeats.calls
	t.repeats.calls = nil
	t.repeats.Unlock()
	for _, call := range calls {
		call()
	}
}

func (t *trial) repeatCreation(c creation) {
	t.t.Helper()
	arn := fmt.Sprintf("arn:aws:gamelift:us-west-2::gamesession/%s/%s/%s", t.fleet, c.location, c.token)
	var before *types.GameSession
	out, err := t.reader.DescribeGameSessions(t.ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: &arn})
	if _, none := errors.AsType[*types.NotFoundException](err); !none {
		t.must(err)
		before = &out.GameSessions[0]
	}
	again, err := t.reader.CreateGameSession(t.ctx, c.input)
	if _, full := errors.AsType[*types.FleetCapacityExceededException](err); full && before == nil {
		return // it has not happened, and cannot happen any more
	}
	t.must(err)
	g := again.GameSession
	if before != nil && (*g.GameSessionId != *before.GameSessionId || hostOf(g) != hostOf(before) ||
		!g.CreationTime.Equal(*before.CreationTime)) {
		t.found.Doubled("the repetition of a creation gave %s on %s, and the first call %s on %s", *g.GameSessionId,
			hostOf(g), arn, hostOf(before))
	}
	t.ledger.confirm(g, c.location)
	t.ledger.acknowledge("game sessions created")
}

// verify compares everything with the ledger. Game sessions that were over and
// right before are looked at again only the last time.
func (t *trial) verify(last bool) {
	t.t.Helper()
	t.seeCatalog()
	sessions := t.seeGameSessions()
	group, _ := errgroup.WithContext(t.ctx)
	group.SetLimit(4)
	for _, g := range sessions {
		t.ledger.mu.Lock()
		s := t.ledger.sessionOf(*g.GameSessionId)
		t.ledger.mu.Unlock()
		if !s.settled || last {
			group.Go(func() error { return t.checkPlayers(s, g) })
		}
	}
	t.must(group.Wait())
	t.lookUpPlayers()
	t.complain()
}

// lookUpPlayers looks for a few players by their own ids: each has one player
// session.
func (t *trial) lookUpPlayers() {
	t.t.Helper()
	for _, p := range t.ledger.anyPlayers(t.random, 20) {
		out, err := t.reader.DescribePlayerSessions(t.ctx, &gamelift.DescribePlayerSessionsInput{PlayerId: &p.playerID})
		t.must(err)
		switch n := len(out.PlayerSessions); {
		case n == 0:
			t.found.Lost("player %s has no player session", p.playerID)
		case n > 1 || *out.PlayerSessions[0].PlayerSessionId != p.id:
			t.found.Doubled("player %s has %d player sessions; %s was acknowledged", p.playerID, n, p.id)
		}
		out, err = t.reader.DescribePlayerSessions(t.ctx, &gamelift.DescribePlayerSessionsInput{PlayerSessionId: &p.id})
		t.must(err)
		if len(out.PlayerSessions) != 1 || *out.PlayerSessions[0].PlayerId != p.playerID {
			t.found.Lost("player session %s is not found by its id", p.id)
		}
	}
}

// seeGameSessions lists all game sessions, and compares all but their players.
func (t *trial) seeGameSessions() (all []types.GameSession) {
	t.t.Helper()
	seen, hosts, values := sightings{}, sightings{}, sightings{}
	pages := gamelift.NewDescribeGameSessionsPaginator(t.reader,
		&gamelift.DescribeGameSessionsInput{FleetId: &t.fleet, Limit: aws.Int32(100)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.ctx)
		t.must(err)
		for _, g := range page.GameSessions {
			arn := *g.GameSessionId
			seen.add("game session", arn, string(g.Status), t.found)
			hosts.add("the game session on process", hostOf(&g), arn, t.found)
			values[nameOf(arn)], values[maximumOf(arn)], values[policyOf(arn)] = *g.Name,
				fmt.Sprint(*g.MaximumPlayerSessionCount), string(g.PlayerSessionCreationPolicy)
			all = append(all, g)
		}
	}
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	for _, arn := range slices.Sorted(maps.Keys(t.ledger.created)) {
		if _, there := seen[arn]; !there {
			t.found.Lost("game session %s", arn)
		}
	}
	for _, g := range all {
		if !t.ledger.created[*g.GameSessionId] {
			t.found.Doubled("game session %s is there; nobody asked for it", *g.GameSessionId)
			continue
		}
		t.compareSession(t.ledger.sessions[*g.GameSessionId], g)
	}
	t.ledger.values.compare("game session", values, t.found)
	return all
}

// compareSession compares a game session with its entry. The ledger is locked.
func (t *trial) compareSession(s *session, g types.GameSession) {
	at := map[types.GameSessionStatus]stage{
		types.GameSessionStatusActivating: activating, types.GameSessionStatusActive: active,
		types.GameSessionStatusTerminating: terminating, types.GameSessionStatusTerminated: terminated,
	}[g.Status]
	switch {
	case at < s.known:
		t.found.Lost("game session %s is %s; stage %d was acknowledged", s.arn, g.Status, s.known)
	case at > s.asked:
		t.found.Lost("game session %s is %s (%s); nobody asked for more than stage %d", s.arn, g.Status, g.StatusReason,
			s.asked)
	case s.host != hostOf(&g):
		t.found.Lost("game session %s has moved from %s to %s", s.arn, s.host, hostOf(&g))
	case s.process != nil && s.process.name() != s.host:
		t.found.Doubled("game session %s is on %s and was given to %s", s.arn, s.host, s.process.name())
	case *g.CurrentPlayerSessionCount > *g.MaximumPlayerSessionCount:
		t.found.Doubled("game session %s has %d players and room for %d", s.arn, *g.CurrentPlayerSessionCount,
			*g.MaximumPlayerSessionCount)
	}
	s.acknowledge(at)
	if at == active { // what got no answer before never happened
		s.asked = at
	}
}

// checkPlayers compares the player sessions of a game session with its entry.
func (t *trial) checkPlayers(s *session, g types.GameSession) error {
	var all []types.PlayerSession
	pages := gamelift.NewDescribePlayerSessionsPaginator(t.reader,
		&gamelift.DescribePlayerSessionsInput{GameSessionId: &s.arn, Limit: aws.Int32(500)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.ctx)
		if err != nil {
			return err
		}
		all = append(all, page.PlayerSessions...)
	}
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	t.adopt(s, all)
	seen, playing := map[string]bool{}, int32(0)
	for _, ps := range all {
		if ps.Status == types.PlayerSessionStatusReserved || ps.Status == types.PlayerSessionStatusActive {
			playing++
		}
		if seen[*ps.PlayerSessionId] {
			t.found.Doubled("player session %s is listed twice", *ps.PlayerSessionId)
		}
		seen[*ps.PlayerSessionId] = true
		t.comparePlayer(s, ps, g.Status == types.GameSessionStatusTerminated)
	}
	for _, id := range slices.Sorted(maps.Keys(s.players)) {
		if !seen[id] {
			t.found.Lost("player session %s of %s", id, s.arn)
		}
	}
	if playing != *g.CurrentPlayerSessionCount {
		t.found.Lost("game session %s counts %d players; %d are listed as RESERVED or ACTIVE", s.arn,
			*g.CurrentPlayerSessionCount, playing)
	}
	s.settled = g.Status == types.GameSessionStatusTerminated
	return nil
}

// adopt takes over the player sessions of calls that got no answer: of each call
// all of them or none. The ledger is locked.
func (t *trial) adopt(s *session, all []types.PlayerSession) {
	times := map[string]int{}
	for _, ps := range all {
		if times[*ps.PlayerId]++; times[*ps.PlayerId] > 1 {
			t.found.Doubled("player %s is in game session %s %d times", *ps.PlayerId, s.arn, times[*ps.PlayerId])
		}
	}
	for _, ids := range s.pending {
		there := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return times[id] == 0 })
		if len(there) != 0 && len(there) != len(ids) {
			t.found.Lost("of %d players that were reserved together, %d are there", len(ids), len(there))
		}
		for _, ps := range all {
			if slices.Contains(there, *ps.PlayerId) {
				s.players[*ps.PlayerSessionId] = newPlayer(ps)
			}
		}
	}
	s.pending = nil
}

// comparePlayer compares a player session with its entry. The ledger is locked.
func (t *trial) comparePlayer(s *session, ps types.PlayerSession, over bool) {
	p := s.players[*ps.PlayerSessionId]
	if p == nil {
		t.found.Doubled("player session %s of %s is there; nobody asked for it", *ps.PlayerSessionId, *ps.PlayerId)
		return
	}
	at, right := gone, false
	switch ps.Status {
	case types.PlayerSessionStatusReserved:
		at, right = reserved, p.known == reserved
	case types.PlayerSessionStatusActive:
		at, right = inGame, p.known <= inGame && p.asked >= inGame
	case types.PlayerSessionStatusCompleted:
		right = p.asked == gone || over && p.asked >= inGame
	case types.PlayerSessionStatusTimedout:
		right = over && p.known == reserved || p.known == gone && p.asked < gone // it was seen so before
	}
	if over && at != gone {
		right = false
	}
	if !right {
		t.found.Lost("player session %s is %s; stage %d was acknowledged and %d asked for", p.id, ps.Status, p.known,
			p.asked)
	}
	if *ps.PlayerId != p.playerID || !strings.HasSuffix(aws.ToString(ps.PlayerData), p.playerID) {
		t.found.Lost("player session %s is of %s with %q; it was of %s", p.id, *ps.PlayerId,
			aws.ToString(ps.PlayerData), p.playerID)
	}
	p.acknowledge(at)
	if at < gone {
		p.asked = at // what got no answer before has happened by now, or never will
	}
}

// exercise gives every process a game session, and a player who comes and goes:
// all sockets work.
func (t *trial) exercise() (accepted int) {
	t.t.Helper()
	for _, location := range t.locations {
		for t.createIn(location, false) != calls.Refused {
		}
	}
	t.repeat()
	for _, p := range t.settle() {
		t.ledger.mu.Lock()
		s := t.ledger.sessions[p.GameSessionID()]
		t.ledger.mu.Unlock()
		if s == nil {
			t.found.Lost("process %s got no game session, though the fleet is said to be full", p.name())
			continue
		}
		t.setPolicy(s, p, gameserver.AcceptAll)
		t.widen(s)
		for result := calls.Unanswered; result == calls.Unanswered; {
			result = t.reserve(s, 1)
		}
		if t.accept(s, p, 1) == 1 && t.remove(s, p, 1) == 1 {
			accepted++
		} else {
			t.found.Lost("no player could come to game session %s and leave", s.arn)
		}
	}
	t.complain()
	return accepted
}

// lastLook checks everything once more, those that were over included.
func (t *trial) lastLook() {
	t.t.Helper()
	t.settle()
	t.repeat()
	t.settle()
	t.verify(true)
}
