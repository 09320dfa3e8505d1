package control

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/shard"
	"github.com/muster-gg/muster/internal/sigv4"
	"github.com/muster-gg/muster/internal/wire"
)

// Connect authenticates a server process and makes its socket the primary one.
func (p *Plane) Connect(ctx context.Context, c ServerConnect) (ServerLink, error) {
	if c.FleetID == "" || c.ComputeName == "" || c.ProcessID == "" || c.Authorization == "" {
		return nil, fault.New(fault.InvalidRequest, "The connection needs the parameters FleetId, ComputeId, pID and Authorization")
	}
	location, ok := p.Catalog().ComputeLocation(fleetID(c.FleetID), c.ComputeName)
	if !ok {
		return nil, fault.New(fault.AccessDenied, "Compute %s is not registered in fleet %s. Call RegisterCompute.", c.ComputeName, c.FleetID)
	}
	room := fleet.RoomID{Fleet: fleet.ID(fleetID(c.FleetID)), Location: location}
	signed := c.Authorization == "SigV4"
	var once string // a signature that is good for one connection
	if signed {
		var err error
		if once, err = p.checkSignature(ctx, &c, room); err != nil {
			return nil, err
		}
	}
	l := &link{
		plane: p, follower: p.followerOf(room), push: c.Push, replaced: c.Replaced, signed: signed,
		key: linkKey{room, fleet.ProcessKey{Compute: c.ComputeName, ID: c.ProcessID}},
	}
	l.connect = fleet.ConnectProcess{
		ProcessKey: l.key.process, Idempotency: c.IdempotencyToken, SDKVersion: c.SDKVersion, SDKLanguage: c.SDKLanguage,
	}
	if signed {
		l.endpoint = cmp.Or(c.Endpoint, p.cfg.SDKEndpoint)
	} else { // its token is checked by the room, which knows the compute
		l.connect.Proof = c.Authorization
	}
	opened, err := l.open(ctx)
	if err != nil && once != "" {
		p.signatures.forget(once)
	}
	return opened, err
}

// open announces a new socket and makes it the primary one of its process.
func (l *link) open(ctx context.Context) (ServerLink, error) {
	l.follower.expect(l)
	process, err := router.AskRoom[*fleet.Process](ctx, l.plane.Router, l.key.room, l.connect)
	switch {
	case errors.Is(err, shard.ErrOutcomeUnknown):
		l.follower.abandon(l)
		return nil, err
	case l.follower.arrived(l): // the process is new: there is nothing that it has yet to be told
		return l, nil
	case fault.Is(err, fault.NotFound) && !l.signed:
		return nil, fault.New(fault.AccessDenied, "Compute %s is not registered in fleet %s", l.key.process.Compute, l.key.room.Fleet)
	case err != nil:
		return nil, err
	case process.Status == fleet.ProcessEnded: // it came back for an answer that got lost
		if process.Idempotency == l.connect.Idempotency {
			l.replacedOnce()
		} else { // or is a new one with the same id
			l.setEarly(true)
		}
		return l, nil
	}
	if old := l.follower.install(l); old != nil {
		old.replacedOnce()
	}
	if err := l.catchUp(ctx); err != nil {
		l.Disconnected()
		return nil, err
	}
	return l, nil
}

// checkSignature checks the signature that a server process may send instead
// of a token. once is the signature if it is good for this connection alone.
func (p *Plane) checkSignature(ctx context.Context, c *ServerConnect, room fleet.RoomID) (once string, err error) {
	query := sigv4.ServerProcessQuery{
		ComputeID: c.ComputeName, FleetID: c.FleetID, ProcessID: c.ProcessID,
		Algorithm: c.SigV4.Algorithm, Credential: c.SigV4.Credential, Date: c.SigV4.Date,
		SecurityToken: c.SigV4.SecurityToken, Signature: c.SigV4.Signature,
	}
	now, ahead := p.cfg.Clock.Now(), time.Duration(0)
	if c.SDKLanguage == "CSharp" {
		_, ahead, err = p.verifier.VerifyLocalServerProcess(query, now)
	} else {
		_, err = p.verifier.VerifyServerProcess(query, now)
	}
	if err != nil {
		return "", &fault.Error{Kind: fault.AccessDenied, Message: fault.Of(err).Message, Err: err}
	}
	if ahead == 0 {
		return "", p.signatures.check(c.SigV4.Signature) // it may have been ahead before
	}
	return c.SigV4.Signature, p.useOnce(ctx, c, room, now)
}

// useOnce takes a signature that is good for one connection. A process that is known has used
// it, perhaps on another node or before a restart: it is signed for that process.
func (p *Plane) useOnce(ctx context.Context, c *ServerConnect, room fleet.RoomID, now time.Time) error {
	known, err := router.InRoom(ctx, p.Router, room, func(r *fleet.Room) bool {
		_, known := r.Process(fleet.ProcessKey{Compute: c.ComputeName, ID: c.ProcessID})
		return known
	})
	switch {
	case err != nil:
		return err
	case known:
		return errUsed()
	}
	return p.signatures.use(c.SigV4.Signature, sigv4.LocalSignatureEnd(c.SigV4.Date, p.cfg.skew()), now)
}

// A link is one socket of one server process. It implements ServerLink.
type link struct {
	plane    *Plane
	follower *follower
	key      linkKey
	connect  fleet.ConnectProcess // what announced it
	signed   bool                 // it has no token, and is to be given one
	endpoint string               // where it connects again with that; only if signed
	push     func(Push)
	replaced func()

	mu      sync.Mutex
	own     ownSession // the last one that was named
	started string     // the game session that was pushed; never push one twice over a socket
	ending  bool       // TerminateProcess was pushed
	early   bool       // no process yet: the one with its id has ended, and this may be that one
	gone    bool       // the socket is
	renewed time.Time  // when RefreshConnection was pushed last; zero: never
	over    sync.Once
}

func (l *link) command(c fleet.Command) region.RoomCommand {
	return region.RoomCommand{Room: l.key.room, Command: c}
}

// submit has the room carry out a command without waiting.
func (l *link) submit(c fleet.Command, done func(error)) {
	router.Submit(l.plane.RoomShard(l.key.room), processCall, l.command(c), done)
}

// announce tells the room that the process has this socket, and catches up.
func (l *link) announce(ctx context.Context) error {
	if _, err := router.AskRoom[*fleet.Process](ctx, l.plane.Router, l.key.room, l.connect); err != nil {
		return err
	}
	return l.catchUp(ctx)
}

// catchUp pushes what the process has yet to be told: effects are derived from
// the state, so whoever connects or reconnects hears them. It does nothing for
// a link that is not the primary one any more.
func (l *link) catchUp(ctx context.Context) error {
	type state struct {
		process *fleet.Process
		session *fleet.GameSession
	}
	found, err := router.InRoom(ctx, l.plane.Router, l.key.room, func(r *fleet.Room) (found state) {
		if p, ok := r.Process(l.key.process); ok {
			found.process = p
			found.session, _ = r.GameSessionAt(p.Session)
		}
		return found
	})
	process, session := found.process, found.session
	switch {
	case err != nil:
		return err
	case l.follower.linkFor(l.key) != l:
		return nil
	case process == nil || process.Status == fleet.ProcessEnded:
		return fault.New(fault.AccessDenied, "Process %s has ended. Process ids must be unique between executions.", l.key.process.ID)
	case !process.Connected:
		return l.announce(ctx) // the end of the socket before was noted after the beginning of this one
	}
	if session != nil && session.Status == fleet.Activating {
		l.startGameSession(l.plane.sessionPush(l.key.room, session))
	}
	for _, update := range l.follower.missedUpdates(l) {
		l.push(update)
	}
	if process.TerminateBy != 0 {
		l.terminate(process.TerminateBy)
	}
	return nil
}

// resume announces the socket to a shard that has recovered and takes no socket
// for open.
func (l *link) resume(ctx context.Context) {
	err := l.announce(ctx)
	if fault.Is(err, fault.AccessDenied) || fault.Is(err, fault.NotFound) { // the process has ended
		l.follower.drop(l.key, l)
		l.replacedOnce()
		return
	}
	l.follower.loseOrphan(l) // the socket may have closed meanwhile
	l.plane.WarnUnless(err == nil || ctx.Err() != nil, "server process not announced again", "err", err)
}

func (l *link) startGameSession(push CreateGameSessionPush) {
	l.mu.Lock()
	first := l.started != push.GameSessionID
	l.started = push.GameSessionID
	l.mu.Unlock()
	if first {
		l.push(push)
	}
}

func (l *link) terminate(by event.Time) {
	l.mu.Lock()
	first := !l.ending
	l.ending = true
	l.mu.Unlock()
	if first {
		l.push(TerminateProcessPush{TerminationTime: by.Time()})
	}
}

// ended tells the process that the service has given it up, unless it ended itself.
func (l *link) ended(e *fleet.ProcessHasEnded) {
	if e.Reason != fleet.EndedItself {
		l.terminate(e.At)
	}
	l.replacedOnce()
}

func (l *link) replacedOnce() { l.over.Do(l.replaced) }

// refreshPause is the least time between two RefreshConnection pushes over one socket.
// The server SDKs report their health right after the activation and then once a
// minute, and expect the push again with a report as long as they have not moved.
const refreshPause = 30 * time.Second

// refresh gives a process that signed its request a token, because the server
// SDKs do not sign again when they reconnect. The process moves to the URL that it has
// dialed itself: it may not be able to use another one, such as wss:// with a certificate
// that it does not know.
func (l *link) refresh() {
	if !l.signed || !l.refreshDue() {
		return
	}
	command := l.command(fleet.IssueToken{Compute: l.key.process.Compute})
	l.plane.RoomShard(l.key.room).Submit(command, func(answer any, err error) {
		if grant, ok := answer.(fleet.TokenGrant); ok && err == nil {
			token := l.plane.secrets.authToken(l.key.room, grant.Compute.Name, grant.Token.Serial)
			l.push(RefreshConnectionPush{Endpoint: l.endpoint, AuthToken: token})
		}
	})
}

// refreshDue reports whether the process has not been asked to move lately, and notes
// that it is asked now.
func (l *link) refreshDue() bool {
	now := l.plane.cfg.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.renewed.IsZero() && now.Sub(l.renewed) < refreshPause {
		return false
	}
	l.renewed = now
	return true
}

// Activate is asked again by a process that lost the answer. Until it has one
// its SDK ignores what is pushed, so that is pushed again.
func (l *link) Activate(ready ProcessReady, done func(error)) {
	if !l.setEarly(false) {
		l.activate(ready, done)
		return
	}
	l.beside(func(ctx context.Context) {
		if err := l.beginRun(ctx); err != nil {
			l.setEarly(true)
			done(err)
			return
		}
		l.activate(ready, done)
	}, done)
}

// setEarly notes whether the link has no process yet, and returns what it was.
func (l *link) setEarly(early bool) (was bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was, l.early = l.early, early
	return was
}

// beginRun makes the link that of a new process, which has the id of one that has ended.
func (l *link) beginRun(ctx context.Context) error {
	l.connect.NewRun = true
	if _, err := l.open(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	gone := l.gone
	l.mu.Unlock()
	if gone { // meanwhile
		l.follower.lose(l)
	}
	return nil
}

func (l *link) activate(ready ProcessReady, done func(error)) {
	l.mu.Lock()
	again := l.started != "" || l.ending
	l.started, l.ending = "", false
	l.mu.Unlock()
	l.submit(fleet.ReadyProcess{ProcessKey: l.key.process, Port: ready.Port, LogPaths: ready.LogPaths}, func(err error) {
		done(err)
		if err != nil {
			return
		}
		l.refresh()
		if again {
			l.beside(func(ctx context.Context) {
				err := l.catchUp(ctx)
				l.plane.WarnUnless(err == nil, "server process not told what it missed", "err", err)
			}, func(error) {})
		}
	})
}

func (l *link) Heartbeat(healthy bool, done func(error)) {
	l.submit(fleet.ReportHealth{ProcessKey: l.key.process, Healthy: healthy}, func(err error) {
		done(err)
		if err == nil {
			l.refresh()
		}
	})
}

func (l *link) ActivateGameSession(gameSession string, done func(error)) {
	if id, ok := l.ownSession(gameSession, done); ok {
		l.submit(fleet.ActivateGameSession{ProcessKey: l.key.process, GameSession: id}, done)
	}
}

func (l *link) AcceptPlayerSession(gameSession, playerSession string, done func(error)) {
	if id, player, ok := l.ownPlayer(gameSession, playerSession, done); ok {
		l.submit(fleet.AcceptPlayer{ProcessKey: l.key.process, GameSession: id, PlayerSession: player}, done)
	}
}

func (l *link) RemovePlayerSession(gameSession, playerSession string, done func(error)) {
	if id, player, ok := l.ownPlayer(gameSession, playerSession, done); ok {
		l.submit(fleet.RemovePlayer{ProcessKey: l.key.process, GameSession: id, PlayerSession: player}, done)
	}
}

func (l *link) UpdatePlayerSessionCreationPolicy(gameSession, policy string, done func(error)) {
	if id, ok := l.ownSession(gameSession, done); ok {
		l.submit(fleet.SetPolicy{ProcessKey: l.key.process, GameSession: id, Policy: fleet.Policy(policy)}, done)
	}
}

// An ownSession is a game session in a link's own location.
type ownSession struct{ arn, id string }

// ownSession takes the ARN of a game session in the link's own location apart. A
// process has one in its life.
func (l *link) ownSession(gameSession string, done func(error)) (id string, ok bool) {
	l.mu.Lock()
	own := l.own
	l.mu.Unlock()
	if own.arn == gameSession && gameSession != "" {
		return own.id, true
	}
	room, id, err := l.plane.ParseGameSession(gameSession)
	if err == nil && room != l.key.room {
		err = fault.New(fault.InvalidRequest, "Game session %s is not hosted by server process %s", gameSession, l.key.process.ID)
	}
	if err != nil {
		done(err)
		return "", false
	}
	l.mu.Lock()
	l.own = ownSession{gameSession, id}
	l.mu.Unlock()
	return id, true
}

func (l *link) ownPlayer(gameSession, playerSession string, done func(error)) (id string, player fleet.PlayerSessionID, ok bool) {
	if id, ok = l.ownSession(gameSession, done); !ok {
		return "", player, false
	}
	player, err := fleet.ParsePlayerSessionID(playerSession)
	if err != nil {
		done(err)
		return "", player, false
	}
	return id, player, true
}

// processCall is how long a question of a server process may take: its SDK
// gives up after 20 s. Source: server SDK 5, request time-out.
const processCall = 15 * time.Second

// defaultProcessPage is how many player sessions a page has for a server
// process: the Unreal build of the server SDK keeps no more.
const defaultProcessPage = 50

// DescribePlayerSessions shows a process what is in its own fleet: the id of a player session
// is a ticket, and the player's data are the player's.
func (l *link) DescribePlayerSessions(q PlayerSessionQuery, done func(PlayerSessionPage, error)) {
	in := &wire.DescribePlayerSessionsInput{
		GameSessionId: q.GameSessionID, PlayerSessionId: q.PlayerSessionID, PlayerId: q.PlayerID,
		PlayerSessionStatusFilter: q.StatusFilter, NextToken: q.NextToken, Limit: wire.Some(int32(defaultProcessPage)),
	}
	if q.Limit > 0 {
		in.Limit = wire.Some(int32(min(q.Limit, defaultProcessPage)))
	}
	l.beside(func(ctx context.Context) {
		out, err := l.plane.describePlayerSessions(ctx, in, l.key.room.Fleet)
		if err != nil {
			done(PlayerSessionPage{}, err)
			return
		}
		page := PlayerSessionPage{NextToken: out.NextToken}
		for _, s := range out.PlayerSessions {
			page.PlayerSessions = append(page.PlayerSessions, processView(&s))
		}
		done(page, nil)
	}, func(err error) { done(PlayerSessionPage{}, err) })
}

func (l *link) ComputeCertificate(done func(path, compute string, err error)) {
	l.beside(func(ctx context.Context) {
		path, err := router.InRoom(ctx, l.plane.Router, l.key.room, func(r *fleet.Room) (path string) {
			if c, ok := r.Compute(l.key.process.Compute); ok {
				path = c.CertificatePath
			}
			return path
		})
		done(path, l.key.process.Compute, err)
	}, func(err error) { done("", l.key.process.Compute, err) })
}

// beside answers a question that has to be waited for; refuse answers it when
// the plane has stopped.
func (l *link) beside(answer func(ctx context.Context), refuse func(error)) {
	started := l.plane.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), processCall)
		defer cancel()
		answer(ctx)
	})
	if !started {
		refuse(fault.New(fault.ServiceUnavailable, "The service is stopping. Try again."))
	}
}

func (l *link) Terminate(done func(error)) {
	l.submit(fleet.EndProcess{ProcessKey: l.key.process}, done)
}

func (l *link) Disconnected() {
	l.mu.Lock()
	l.gone = true
	l.mu.Unlock()
	l.follower.lose(l)
}

// noteLost cannot be refused: when the network fails, more sockets than fit into
// the queue may be lost at once.
func (l *link) noteLost() {
	l.plane.RoomShard(l.key.room).Post(l.command(fleet.LoseProcess{ProcessKey: l.key.process}))
}

// startPush is what a process is told when a game session was put on it.
func (p *Plane) startPush(room fleet.RoomID, e *fleet.GameSessionCreated) CreateGameSessionPush {
	return CreateGameSessionPush{
		GameSessionID: p.GameSessionARN(room, e.ID), Name: e.Name, GameSessionData: e.Data, MatchmakerData: e.MatchmakerData,
		IPAddress: e.IPAddress, DNSName: e.DNSName, Port: e.Port, MaximumPlayerSessionCount: e.Maximum, GameProperties: propertyMap(e.Properties),
	}
}

// sessionPush is the same for a game session that is there already.
func (p *Plane) sessionPush(room fleet.RoomID, g *fleet.GameSession) CreateGameSessionPush {
	return CreateGameSessionPush{
		GameSessionID: p.GameSessionARN(room, g.ID), Name: g.Name, GameSessionData: g.Data, MatchmakerData: g.MatchmakerData,
		IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port, MaximumPlayerSessionCount: g.Maximum, GameProperties: propertyMap(g.Properties),
	}
}

func propertyMap(properties []fleet.Property) map[string]string {
	m := make(map[string]string, len(properties))
	for _, p := range properties {
		m[p.Key] = p.Value
	}
	return m
}
