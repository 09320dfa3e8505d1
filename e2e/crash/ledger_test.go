//go:build unix

package crash

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
)

// A stage is how far a game session or a player session is in its life.
type stage int

// The stages of a game session.
const (
	activating stage = iota + 1
	active
	terminating
	terminated
)

// The stages of a player session.
const (
	reserved stage = iota + 1
	inGame
	gone
)

// A game session or a player session has at least reached the stage that was
// acknowledged, and no later one than was asked for.
type progress struct{ known, asked stage }

func (p *progress) ask(s stage)         { p.asked = max(p.asked, s) }
func (p *progress) acknowledge(s stage) { p.known = max(p.known, s) }

// A session is a game session of the ledger.
type session struct {
	progress
	arn      string
	location string
	host     string // compute and port; "" before the creation was acknowledged
	process  *process
	players  map[string]*player // by player session id
	pending  [][]string         // player ids of calls that got no answer
	maximum  int32              // of places
	busy     bool               // a worker changes its registers
	settled  bool               // it was over and checked: nothing changes any more
}

// A player is a player session of the ledger.
type player struct {
	progress
	id, playerID string
}

// A creation is a call of CreateGameSession that got no answer.
type creation struct {
	input    *gamelift.CreateGameSessionInput
	location string
	token    string
}

// The ledger holds what the service has acknowledged about game sessions.
type ledger struct {
	mu       sync.Mutex
	sessions map[string]*session // by ARN
	created  map[string]bool     // ARNs whose creation was acknowledged
	pending  []creation
	values   registers // names, maxima and policies of game sessions

	counts  map[string]int // acknowledged calls by kind
	total   int
	target  int
	reached chan struct{} // closed when total is target
	numbers int
}

func newLedger() *ledger {
	return &ledger{sessions: map[string]*session{}, created: map[string]bool{}, counts: map[string]int{}}
}

// after gives a channel that is closed after n further acknowledgements.
func (l *ledger) after(n int) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.target, l.reached = l.total+n, make(chan struct{})
	return l.reached
}

// count counts an acknowledged call. The lock is held.
func (l *ledger) count(kind string) {
	l.counts[kind]++
	l.total++
	if l.total == l.target {
		close(l.reached)
	}
}

// acknowledge counts an acknowledged call.
func (l *ledger) acknowledge(kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(kind)
}

// acknowledgements describes the counts.
func (l *ledger) acknowledgements() (total int, kinds string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var text []string
	for _, kind := range slices.Sorted(maps.Keys(l.counts)) {
		text = append(text, fmt.Sprintf("%s %d", kind, l.counts[kind]))
	}
	return l.total, strings.Join(text, ", ")
}

// number gives a number that was not given before.
func (l *ledger) number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.numbers++
	return l.numbers
}

// sessionOf finds or makes the entry of a game session: a game server may hear
// of it before the caller who created it. The lock is held.
func (l *ledger) sessionOf(arn string) *session {
	s := l.sessions[arn]
	if s == nil {
		s = &session{arn: arn, players: map[string]*player{}, progress: progress{known: activating, asked: activating}}
		l.sessions[arn] = s
	}
	return s
}

// change changes the entry of a game session.
func (l *ledger) change(arn string, change func(*session)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.sessionOf(arn))
}

// confirm notes the answer to a creation, or to its repetition.
func (l *ledger) confirm(g *types.GameSession, location string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessionOf(*g.GameSessionId)
	s.location, s.host, s.maximum = location, hostOf(g), *g.MaximumPlayerSessionCount
	l.created[s.arn] = true
	l.values.set(nameOf(s.arn), *g.Name)
	l.values.set(maximumOf(s.arn), fmt.Sprint(*g.MaximumPlayerSessionCount))
	l.values.set(policyOf(s.arn), string(g.PlayerSessionCreationPolicy))
}

// The registers of a game session.

func nameOf(arn string) string    { return arn + " name" }
func maximumOf(arn string) string { return arn + " maximum" }
func policyOf(arn string) string  { return arn + " policy" }

// hostOf names the process that hosts a game session: in these tests no two
// processes of a compute have the same port.
func hostOf(g *types.GameSession) string {
	return fmt.Sprintf("%s:%d", *g.ComputeName, *g.Port)
}

// playing picks a game session that takes players, and its process; nil when
// there is none.
func (l *ledger) playing(random *rand.Rand) (*session, *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var candidates []*session
	for _, s := range l.sessions {
		if l.created[s.arn] && s.process != nil && s.known == active && s.asked == active {
			candidates = append(candidates, s)
		}
	}
	if len(candidates) == 0 {
		return nil, nil
	}
	slices.SortFunc(candidates, func(a, b *session) int { return strings.Compare(a.arn, b.arn) })
	s := candidates[random.IntN(len(candidates))]
	return s, s.process
}

// anyPlayers picks players of different game sessions, over or not.
func (l *ledger) anyPlayers(random *rand.Rand, n int) (picked []*player) {
	l.mu.Lock()
	defer l.mu.Unlock()
	arns := slices.Sorted(maps.Keys(l.sessions))
	for _, i := range random.Perm(len(arns)) {
		players := l.sessions[arns[i]].players
		if ids := slices.Sorted(maps.Keys(players)); len(ids) > 0 && len(picked) < n {
			picked = append(picked, players[ids[random.IntN(len(ids))]])
		}
	}
	return picked
}

// unanswered counts the calls whose outcome is not known.
func (l *ledger) unanswered() (calls int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sessions {
		calls += len(s.pending)
	}
	return calls + len(l.pending)
}

// playersIn picks up to n players of a game session that are known to be at a
// stage, and notes that the next one is asked for.
func (l *ledger) playersIn(s *session, at, next stage, n int) []*player {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []*player
	for _, id := range slices.Sorted(maps.Keys(s.players)) {
		if p := s.players[id]; len(found) < n && p.known == at && p.asked == at {
			p.ask(next)
			found = append(found, p)
		}
	}
	return found
}

func newPlayer(ps types.PlayerSession) *player {
	return &player{id: *ps.PlayerSessionId, playerID: *ps.PlayerId,
		progress: progress{known: reserved, asked: reserved}}
}

// reserve notes player sessions that were created.
func (l *ledger) reserve(s *session, sessions []types.PlayerSession, kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ps := range sessions {
		s.players[*ps.PlayerSessionId] = newPlayer(ps)
	}
	l.count(kind)
}

// reach notes that a player session has reached a stage.
func (l *ledger) reach(p *player, at stage, kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.acknowledge(at)
	l.count(kind)
}
