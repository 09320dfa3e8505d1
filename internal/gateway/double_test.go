package gateway

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/search"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	testRegion = "eu-west-1"
	testFleet  = "fleet-11111111-1111-4111-8111-111111111111"
	testAlias  = "alias-22222222-2222-4222-8222-222222222222"
	testQueue  = "worldwide"
)

// The behaviour of a world's game servers with a new game session.
const (
	activates = iota // at once
	lingers          // not before the test requests it
	breaks           // end it with ERROR
)

// A world is a Service, Queues and Matchmaking in memory, with the rules of the
// real ones as far as a gateway can see them.
type world struct {
	clock clockwork.Clock

	mu        sync.Mutex
	changed   chan struct{}             // closed at every change
	idle      map[string]map[string]int // by fleet and location
	alias     map[string]string
	sessions  []*wire.GameSession
	players   []*wire.PlayerSession
	behaves   int
	calls     map[string]int
	fails     map[string]error // by call
	panics    string           // the call that panics
	hangs     string           // the call that answers only when its context has ended
	confirmed []string
	confirmBy map[string]time.Time
	pageSize  int
	unknown   bool // Locations does not report idle processes

	placements map[string]*wire.GameSessionPlacement
	pending    bool // AwaitPlacement waits for a PENDING placement
	tickets    map[string]*wire.MatchmakingTicket
	starts     []*wire.StartMatchmakingInput
	accepts    []*wire.AcceptMatchInput
}

func newWorld() *world {
	return &world{
		clock: clockwork.NewRealClock(), changed: make(chan struct{}),
		idle:  map[string]map[string]int{testFleet: {"custom-lab": 3}},
		alias: map[string]string{testAlias: testFleet}, calls: map[string]int{}, fails: map[string]error{},
		confirmBy: map[string]time.Time{},
		pageSize:  pageSize, placements: map[string]*wire.GameSessionPlacement{},
		tickets: map[string]*wire.MatchmakingTicket{},
	}
}

// enter counts a call and locks the world; the call then fails if the test wants it.
func (w *world) enter(ctx context.Context, call string) (leave func(), err error) {
	w.mu.Lock()
	w.calls[call]++
	w.change()
	if w.panics == call {
		w.mu.Unlock()
		panic("as the test wants")
	}
	if w.hangs == call {
		w.mu.Unlock()
		<-ctx.Done()
		return func() {}, ctx.Err()
	}
	if err := w.fails[call]; err != nil {
		return w.mu.Unlock, err
	}
	return w.mu.Unlock, nil
}

func (w *world) change() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// await waits until holds, which is called under the lock.
func (w *world) await(ctx context.Context, holds func() bool) error {
	for {
		w.mu.Lock()
		done, changed := holds(), w.changed
		w.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// do changes the world.
func (w *world) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	w.change()
}

func (w *world) count(call string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[call]
}

func (w *world) Fleet(ctx context.Context) (string, error) {
	leave, err := w.enter(ctx, "Fleet")
	defer leave()
	if err != nil {
		return "", err
	}
	for id := range w.idle {
		return id, nil
	}
	return "", fault.New(fault.NotFound, "no fleet is ACTIVE")
}

func (w *world) resolve(fleetID, aliasID string) (string, error) {
	id, _ := arn.ParseFleet(fleetID)
	id = cmp.Or(id, w.alias[aliasID])
	if w.idle[id] == nil {
		return "", fault.New(fault.NotFound, "fleet %s does not exist", cmp.Or(fleetID, aliasID))
	}
	return id, nil
}

func (w *world) Locations(ctx context.Context, t Target) ([]Location, error) {
	leave, err := w.enter(ctx, "Locations")
	defer leave()
	if err != nil {
		return nil, err
	}
	id, err := w.resolve(t.FleetID, t.AliasID)
	var list []Location
	for name, idle := range w.idle[id] {
		if w.unknown {
			idle = -1
		}
		list = append(list, Location{name, idle})
	}
	return list, err
}

func (w *world) CreateGameSession(ctx context.Context, c Creation) (*wire.GameSession, error) {
	leave, err := w.enter(ctx, "CreateGameSession")
	defer leave()
	if err != nil {
		return nil, err
	}
	in := c.Input
	fleet, err := w.resolve(in.FleetId, in.AliasId)
	if err != nil {
		return nil, err
	}
	id := arn.GameSession(testRegion, fleet, in.Location, in.IdempotencyToken)
	if s := w.session(id); s != nil {
		if s.Name != in.Name || s.MaximumPlayerSessionCount != in.MaximumPlayerSessionCount {
			return nil, fault.New(fault.IdempotentParameterMismatch, "the token was used")
		}
		return copyOf(s), nil
	}
	if w.idle[fleet][in.Location] <= 0 {
		return nil, fault.New(fault.FleetCapacityExceeded, "Unable to reserve a process on fleet %s.", fleet)
	}
	w.idle[fleet][in.Location]--
	s := w.begin(id, fleet, in.Location)
	s.Name, s.MaximumPlayerSessionCount, s.GameProperties, s.GameSessionData = in.Name, in.MaximumPlayerSessionCount,
		slices.Clone(in.GameProperties), in.GameSessionData
	w.confirmBy[id] = c.ConfirmBy
	answer := copyOf(s)
	w.settle(s)
	return answer, nil
}

func (w *world) begin(id, fleet, location string) *wire.GameSession {
	s := &wire.GameSession{
		GameSessionId: id, FleetId: fleet, FleetArn: arn.Fleet(testRegion, "123456789012", fleet), Location: location,
		CreationTime: time.Date(2025, 12, 17, 10, 48, 17, 441e6, time.UTC), Status: wire.GameSessionStatusActivating,
		CurrentPlayerSessionCount: wire.Some[int32](0), IpAddress: "192.0.2.7", Port: wire.Some[int32](7777),
		PlayerSessionCreationPolicy: wire.PlayerSessionCreationPolicyAcceptAll, GameProperties: []wire.GameProperty{},
	}
	w.sessions = append(w.sessions, s)
	return s
}

// settle has the game server do what it does.
func (w *world) settle(s *wire.GameSession) {
	switch w.behaves {
	case activates:
		s.Status = wire.GameSessionStatusActive
	case breaks:
		s.Status = wire.GameSessionStatusError
	}
	w.change()
}

func copyOf(s *wire.GameSession) *wire.GameSession { c := *s; return &c }

func (w *world) session(id string) *wire.GameSession {
	for _, s := range w.sessions {
		if s.GameSessionId == id {
			return s
		}
	}
	return nil
}

func (w *world) ClaimGameSession(ctx context.Context, c Claim) (*wire.GameSession, *wire.PlayerSession, error) {
	leave, err := w.enter(ctx, "ClaimGameSession")
	defer leave()
	if err != nil {
		return nil, nil, err
	}
	fleet, err := w.resolve(c.Target.FleetID, c.Target.AliasID)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range w.sessions {
		if s.FleetId == fleet && open(s) && s.CurrentPlayerSessionCount.Or(0) == 0 {
			s.Name, s.MaximumPlayerSessionCount = c.Name, wire.Some(c.Maximum)
			for _, p := range c.Properties {
				s.GameProperties = slices.DeleteFunc(slices.Clone(s.GameProperties),
					func(old wire.GameProperty) bool { return old.Key == p.Key })
				s.GameProperties = append(s.GameProperties, p)
			}
			return copyOf(s), w.admit(s, c.PlayerID, ""), nil
		}
	}
	return nil, nil, fault.New(fault.NotFound, "no game session is empty")
}

func (w *world) AwaitGameSession(ctx context.Context, id string) (*wire.GameSession, error) {
	leave, err := w.enter(ctx, "AwaitGameSession")
	leave()
	if err != nil {
		return nil, err
	}
	err = w.await(ctx, func() bool {
		s := w.session(id)
		return s == nil || s.Status != wire.GameSessionStatusActivating
	})
	if err != nil {
		return nil, err
	}
	return w.describe(id)
}

func (w *world) describe(id string) (*wire.GameSession, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.session(id); s != nil {
		return copyOf(s), nil
	}
	return nil, fault.New(fault.NotFound, "game session %s does not exist", id)
}

func (w *world) DescribeGameSession(ctx context.Context, id string) (*wire.GameSession, error) {
	leave, err := w.enter(ctx, "DescribeGameSession")
	leave()
	if err != nil {
		return nil, err
	}
	return w.describe(id)
}

func (w *world) WatchGameSession(ctx context.Context, id string, changed func(*wire.GameSession) error) error {
	leave, err := w.enter(ctx, "WatchGameSession")
	leave()
	for last := ""; err == nil; {
		var s *wire.GameSession
		if s, err = w.describe(id); err != nil {
			break
		}
		last = fmt.Sprint(*s)
		if err = changed(s); err != nil || ending(s) && s.Status != wire.GameSessionStatusTerminating {
			break
		}
		err = w.await(ctx, func() bool { return fmt.Sprint(*w.session(id)) != last })
	}
	return err
}

func (w *world) ConfirmGameSession(_ context.Context, id string) error {
	w.do(func() { w.confirmed = append(w.confirmed, id) })
	return nil
}

func (w *world) Ready(context.Context) error { return nil }

func (w *world) SearchGameSessions(ctx context.Context, in *wire.SearchGameSessionsInput) (
	*wire.SearchGameSessionsOutput, error,
) {
	leave, err := w.enter(ctx, "SearchGameSessions")
	defer leave()
	if err != nil {
		return nil, err
	}
	fleet, err := w.resolve(in.FleetId, in.AliasId)
	if err != nil {
		return nil, err
	}
	filter, err := search.ParseFilter(in.FilterExpression)
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "%v", err)
	}
	from, _ := strconv.Atoi(in.NextToken)
	out := &wire.SearchGameSessionsOutput{GameSessions: []wire.GameSession{}}
	size := min(w.pageSize, int(in.Limit.Or(pageSize)))
	sorted := slices.Clone(w.sessions)
	if in.SortExpression == newestFirst {
		slices.Reverse(sorted)
	}
	for i, s := range sorted {
		if i < from || s.FleetId != fleet || in.Location != "" && s.Location != in.Location ||
			s.Status != wire.GameSessionStatusActive || !filter.Match(docOf(s)) {
			continue
		}
		if len(out.GameSessions) == size {
			out.NextToken = strconv.Itoa(i)
			break
		}
		out.GameSessions = append(out.GameSessions, *s)
	}
	return out, nil
}

func docOf(s *wire.GameSession) *search.Doc {
	d := &search.Doc{
		ID: s.GameSessionId, Name: s.Name, Maximum: s.MaximumPlayerSessionCount.Or(0),
		Players: s.CurrentPlayerSessionCount.Or(0),
		Created: event.Time(s.CreationTime.UnixMilli()),
	}
	for _, p := range s.GameProperties {
		d.Properties = append(d.Properties, search.Property(p))
	}
	return d
}

func (w *world) TerminateGameSession(ctx context.Context, in *wire.TerminateGameSessionInput) (
	*wire.TerminateGameSessionOutput, error,
) {
	leave, err := w.enter(ctx, "TerminateGameSession")
	defer leave()
	if err != nil {
		return nil, err
	}
	s := w.session(in.GameSessionId)
	if s == nil {
		return nil, fault.New(fault.NotFound, "game session %s does not exist", in.GameSessionId)
	}
	s.Status = wire.GameSessionStatusTerminated
	w.change()
	return &wire.TerminateGameSessionOutput{GameSession: copyOf(s)}, nil
}

func (w *world) CreatePlayerSessions(ctx context.Context, in *wire.CreatePlayerSessionsInput) (
	*wire.CreatePlayerSessionsOutput, error,
) {
	leave, err := w.enter(ctx, "CreatePlayerSessions")
	defer leave()
	if err != nil {
		return nil, err
	}
	s := w.session(in.GameSessionId)
	switch {
	case s == nil:
		return nil, fault.New(fault.NotFound, "Game session %s does not exist", in.GameSessionId)
	case s.Status != wire.GameSessionStatusActive,
		s.PlayerSessionCreationPolicy == wire.PlayerSessionCreationPolicyDenyAll:
		return nil, fault.New(fault.InvalidGameSessionStatus, "Game session %s takes no players", s.GameSessionId)
	case int(s.CurrentPlayerSessionCount.Or(0))+len(in.PlayerIds) > int(s.MaximumPlayerSessionCount.Or(0)):
		return nil, fault.New(fault.GameSessionFull, "Game session “%s” is full", s.Name)
	}
	out := &wire.CreatePlayerSessionsOutput{}
	for _, id := range in.PlayerIds {
		out.PlayerSessions = append(out.PlayerSessions, *w.admit(s, id, in.PlayerDataMap[id]))
	}
	return out, nil
}

func (w *world) admit(s *wire.GameSession, player, data string) *wire.PlayerSession {
	p := &wire.PlayerSession{
		PlayerSessionId: "psess-" + uuid.NewString(), PlayerId: player, GameSessionId: s.GameSessionId,
		FleetId: s.FleetId, FleetArn: s.FleetArn,
		CreationTime: time.Date(2025, 12, 17, 10, 48, 18, 0, time.UTC), Status: wire.PlayerSessionStatusReserved,
		IpAddress: s.IpAddress, Port: s.Port, PlayerData: data,
	}
	w.players = append(w.players, p)
	s.CurrentPlayerSessionCount = wire.Some(s.CurrentPlayerSessionCount.Or(0) + 1)
	w.change()
	c := *p
	return &c
}

func (w *world) DescribePlayerSessions(ctx context.Context, in *wire.DescribePlayerSessionsInput) (
	*wire.DescribePlayerSessionsOutput, error,
) {
	leave, err := w.enter(ctx, "DescribePlayerSessions")
	defer leave()
	if err != nil {
		return nil, err
	}
	out := &wire.DescribePlayerSessionsOutput{}
	from, _ := strconv.Atoi(in.NextToken)
	for i, p := range w.players {
		if i < from || in.PlayerId != "" && p.PlayerId != in.PlayerId || in.PlayerSessionId != "" &&
			p.PlayerSessionId != in.PlayerSessionId ||
			in.GameSessionId != "" && p.GameSessionId != in.GameSessionId ||
			in.PlayerSessionStatusFilter != "" && string(p.Status) != in.PlayerSessionStatusFilter {
			continue
		}
		if len(out.PlayerSessions) == w.pageSize {
			out.NextToken = strconv.Itoa(i)
			break
		}
		out.PlayerSessions = append(out.PlayerSessions, *p)
	}
	return out, nil
}

func (w *world) StartGameSessionPlacement(ctx context.Context, in *wire.StartGameSessionPlacementInput) (
	*wire.StartGameSessionPlacementOutput, error,
) {
	leave, err := w.enter(ctx, "StartGameSessionPlacement")
	defer leave()
	if err != nil {
		return nil, err
	}
	if in.GameSessionQueueName != testQueue {
		return nil, fault.New(fault.NotFound, "queue %s does not exist", in.GameSessionQueueName)
	}
	if w.placements[in.PlacementId] != nil {
		return nil, fault.New(fault.InvalidRequest, "placement %s exists", in.PlacementId)
	}
	p := &wire.GameSessionPlacement{
		PlacementId: in.PlacementId, GameSessionQueueName: in.GameSessionQueueName,
		Status:          wire.GameSessionPlacementStatePending,
		GameSessionName: in.GameSessionName, MaximumPlayerSessionCount: in.MaximumPlayerSessionCount,
		GameProperties: in.GameProperties, StartTime: w.clock.Now(),
	}
	w.placements[p.PlacementId] = p
	answer := *p
	w.settlePlacement(p, in)
	w.change()
	return &wire.StartGameSessionPlacementOutput{GameSessionPlacement: &answer}, nil
}

func (w *world) settlePlacement(p *wire.GameSessionPlacement, in *wire.StartGameSessionPlacementInput) {
	switch w.behaves {
	case activates:
		s := w.begin(arn.GameSession(testRegion, testFleet, "custom-lab", uuid.NewString()), testFleet, "custom-lab")
		s.Name, s.MaximumPlayerSessionCount, s.GameProperties, s.Status = in.GameSessionName,
			in.MaximumPlayerSessionCount, in.GameProperties, wire.GameSessionStatusActive
		for _, d := range in.DesiredPlayerSessions {
			ps := w.admit(s, d.PlayerId, d.PlayerData)
			p.PlacedPlayerSessions = append(p.PlacedPlayerSessions,
				wire.PlacedPlayerSession{PlayerId: d.PlayerId, PlayerSessionId: ps.PlayerSessionId})
		}
		p.Status, p.EndTime, p.GameSessionArn, p.IpAddress, p.Port = wire.GameSessionPlacementStateFulfilled,
			w.clock.Now(), s.GameSessionId, s.IpAddress, s.Port
	case breaks:
		p.Status = wire.GameSessionPlacementStateFailed
	}
}

func (w *world) StopGameSessionPlacement(ctx context.Context, in *wire.StopGameSessionPlacementInput) (
	*wire.StopGameSessionPlacementOutput, error,
) {
	leave, err := w.enter(ctx, "StopGameSessionPlacement")
	defer leave()
	if err != nil {
		return nil, err
	}
	p := w.placements[in.PlacementId]
	switch {
	case p == nil:
		return nil, fault.New(fault.NotFound, "placement %s does not exist", in.PlacementId)
	case p.Status != wire.GameSessionPlacementStatePending:
		return nil, fault.New(fault.InvalidRequest, "placement %s is %s", in.PlacementId, p.Status)
	}
	p.Status = wire.GameSessionPlacementStateCancelled
	w.change()
	c := *p
	return &wire.StopGameSessionPlacementOutput{GameSessionPlacement: &c}, nil
}

func (w *world) AwaitPlacement(ctx context.Context, id string) (*wire.GameSessionPlacement, error) {
	leave, err := w.enter(ctx, "AwaitPlacement")
	leave()
	if err != nil {
		return nil, err
	}
	err = w.await(ctx, func() bool {
		pending := w.placements[id].Status == wire.GameSessionPlacementStatePending
		if pending && !w.pending {
			w.pending = true
			w.change()
		}
		return !pending
	})
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c := *w.placements[id]
	return &c, nil
}

func (w *world) DescribeGameSessionPlacement(ctx context.Context, in *wire.DescribeGameSessionPlacementInput) (
	*wire.DescribeGameSessionPlacementOutput, error,
) {
	leave, err := w.enter(ctx, "DescribeGameSessionPlacement")
	defer leave()
	if err != nil {
		return nil, err
	}
	p := w.placements[in.PlacementId]
	if p == nil {
		return nil, fault.New(fault.NotFound, "placement %s does not exist", in.PlacementId)
	}
	c := *p
	return &wire.DescribeGameSessionPlacementOutput{GameSessionPlacement: &c}, nil
}

func (w *world) StartMatchmaking(ctx context.Context, in *wire.StartMatchmakingInput) (
	*wire.StartMatchmakingOutput, error,
) {
	leave, err := w.enter(ctx, "StartMatchmaking")
	defer leave()
	if err != nil {
		return nil, err
	}
	w.starts = append(w.starts, in)
	if !strings.HasSuffix(in.ConfigurationName, "duel") {
		return nil, fault.New(fault.NotFound, "configuration %s does not exist", in.ConfigurationName)
	}
	id := cmp.Or(in.TicketId, uuid.NewString())
	if w.tickets[id] != nil {
		return nil, fault.New(fault.InvalidRequest, "ticket %s exists", id)
	}
	t := &wire.MatchmakingTicket{TicketId: id, ConfigurationName: "duel",
		Status: wire.MatchmakingConfigurationStatusQueued, StartTime: w.clock.Now(), Players: in.Players}
	w.tickets[id] = t
	w.change()
	c := *t
	return &wire.StartMatchmakingOutput{MatchmakingTicket: &c}, nil
}

func (w *world) StopMatchmaking(ctx context.Context, in *wire.StopMatchmakingInput) error {
	leave, err := w.enter(ctx, "StopMatchmaking")
	defer leave()
	if err != nil {
		return err
	}
	t := w.tickets[in.TicketId]
	if t == nil {
		return fault.New(fault.NotFound, "ticket %s does not exist", in.TicketId)
	}
	t.Status, t.EndTime = wire.MatchmakingConfigurationStatusCancelled, w.clock.Now()
	w.change()
	return nil
}

func (w *world) AcceptMatch(ctx context.Context, in *wire.AcceptMatchInput) error {
	leave, err := w.enter(ctx, "AcceptMatch")
	defer leave()
	if err != nil {
		return err
	}
	w.accepts = append(w.accepts, in)
	t := w.tickets[in.TicketId]
	if t == nil || t.Status != wire.MatchmakingConfigurationStatusRequiresAcceptance {
		return fault.New(fault.InvalidRequest, "ticket %s waits for nobody", in.TicketId)
	}
	t.Status = wire.MatchmakingConfigurationStatusPlacing
	w.change()
	return nil
}

func (w *world) DescribeTicket(ctx context.Context, id string) (*wire.MatchmakingTicket, error) {
	leave, err := w.enter(ctx, "DescribeTicket")
	defer leave()
	if err != nil {
		return nil, err
	}
	t := w.tickets[id]
	if t == nil {
		return nil, fault.New(fault.NotFound, "ticket %s does not exist", id)
	}
	c := *t
	return &c, nil
}

func (w *world) WatchTicket(ctx context.Context, id string, changed func(*wire.MatchmakingTicket) error) error {
	leave, err := w.enter(ctx, "WatchTicket")
	leave()
	for err == nil {
		w.mu.Lock()
		t := w.tickets[id]
		if t == nil {
			w.mu.Unlock()
			return fault.New(fault.NotFound, "ticket %s does not exist", id)
		}
		c := *t
		w.mu.Unlock()
		if err = changed(&c); err != nil || finished(&c) {
			break
		}
		err = w.await(ctx, func() bool { return w.tickets[id].Status != c.Status })
	}
	return err
}
