package processes

import (
	"context"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// callLimit is the timeout of a request of a server process: its SDK gives up after 20 s. Source: server SDK 5,
	// request time-out.
	callLimit = 15 * time.Second

	// pageSize is the number of player sessions on a page for a server process: the Unreal build of the server SDK
	// keeps no more.
	pageSize = 50
)

// Activate is called again by a process that lost the answer. Its SDK ignores pushes until it has an answer, so they
// are pushed again.
func (n *connection) Activate(ready ProcessReady, done func(error)) {
	if !n.setEarly(false) {
		n.activate(ready, done)
		return
	}
	inBackground(n, func(ctx context.Context) (any, error) { return nil, n.beginRun(ctx) }, func(_ any, err error) {
		if err != nil {
			n.setEarly(true)
			done(err)
			return
		}
		n.activate(ready, done)
	})
}

// setEarly records whether the connection has no process yet, and returns the previous value.
func (n *connection) setEarly(early bool) (was bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	was, n.early = n.early, early
	return was
}

// beginRun makes the connection that of a new process, whose id is that of one that has ended.
func (n *connection) beginRun(ctx context.Context) error {
	n.announcement.NewRun = true
	if _, err := n.open(ctx); err != nil {
		return err
	}
	n.mu.Lock()
	closed := n.closed
	n.mu.Unlock()
	if closed { // meanwhile
		n.registry.lose(n)
	}
	return nil
}

func (n *connection) activate(ready ProcessReady, done func(error)) {
	n.mu.Lock()
	again := n.started != "" || n.ending
	if n.started, n.ending = "", false; again {
		n.asked++ // what was read before is caught up on below
	}
	n.mu.Unlock()
	command := fleet.ReadyProcess{ProcessKey: n.key.Process, Port: ready.Port, LogPaths: ready.LogPaths}
	n.submit(command, func(err error) {
		done(err)
		if err != nil {
			return
		}
		n.refresh()
		if again {
			inBackground(n, func(ctx context.Context) (any, error) {
				err := n.catchUp(ctx)
				n.all.router.WarnUnless(err == nil, "missed pushes not sent to server process", "err", err)
				return nil, nil
			}, func(any, error) {})
		}
	})
}

func (n *connection) Heartbeat(healthy bool, done func(error)) {
	n.submit(fleet.ReportHealth{ProcessKey: n.key.Process, Healthy: healthy}, func(err error) {
		done(err)
		if err == nil {
			n.refresh()
		}
	})
}

func (n *connection) ActivateGameSession(gameSession string, done func(error)) {
	if id, ok := n.sessionID(gameSession, done); ok {
		n.submit(fleet.ActivateGameSession{ProcessKey: n.key.Process, GameSession: id}, done)
	}
}

func (n *connection) AcceptPlayerSession(gameSession, playerSession string, done func(error)) {
	if id, player, ok := n.playerID(gameSession, playerSession, done); ok {
		n.submit(fleet.AcceptPlayer{ProcessKey: n.key.Process, GameSession: id, PlayerSession: player}, done)
	}
}

func (n *connection) RemovePlayerSession(gameSession, playerSession string, done func(error)) {
	if id, player, ok := n.playerID(gameSession, playerSession, done); ok {
		n.submit(fleet.RemovePlayer{ProcessKey: n.key.Process, GameSession: id, PlayerSession: player}, done)
	}
}

func (n *connection) UpdatePlayerSessionCreationPolicy(gameSession, policy string, done func(error)) {
	if id, ok := n.sessionID(gameSession, done); ok {
		n.submit(fleet.SetPolicy{ProcessKey: n.key.Process, GameSession: id, Policy: fleet.Policy(policy)}, done)
	}
}

// A namedSession is a game session in the connection's own location. A process names only one during its run.
type namedSession struct{ arn, id string }

// sessionID parses the ARN of a game session in the connection's own location.
func (n *connection) sessionID(gameSession string, done func(error)) (id string, ok bool) {
	n.mu.Lock()
	last := n.session
	n.mu.Unlock()
	if last.arn == gameSession && gameSession != "" {
		return last.id, true
	}
	room, id, err := n.all.router.ParseGameSession(gameSession)
	if err == nil && room != n.key.Room {
		err = n.key.NotHosted(gameSession)
	}
	if err != nil {
		done(err)
		return "", false
	}
	n.mu.Lock()
	n.session = namedSession{gameSession, id}
	n.mu.Unlock()
	return id, true
}

// NotHosted rejects a game session that another process hosts.
func (k Key) NotHosted(gameSessionArn string) error {
	return fault.New(fault.InvalidRequest,
		"Game session %s is not hosted by server process %s", gameSessionArn, k.Process.ID)
}

func (n *connection) playerID(gameSession, playerSession string,
	done func(error)) (id string, player fleet.PlayerSessionID, ok bool) {
	if id, ok = n.sessionID(gameSession, done); !ok {
		return "", player, false
	}
	player, err := fleet.ParsePlayerSessionID(playerSession)
	if err != nil {
		done(err)
		return "", player, false
	}
	return id, player, true
}

// DescribePlayerSessions returns only player sessions of the process's own fleet: the id of a player session admits to
// a game, and the data are the player's.
func (n *connection) DescribePlayerSessions(q PlayerSessionQuery, done func(PlayerSessionPage, error)) {
	limit := pageSize
	if q.Limit > 0 {
		limit = min(q.Limit, pageSize)
	}
	in := &wire.DescribePlayerSessionsInput{
		GameSessionId: q.GameSessionID, PlayerSessionId: q.PlayerSessionID, PlayerId: q.PlayerID,
		PlayerSessionStatusFilter: q.StatusFilter, NextToken: q.NextToken, Limit: wire.Some(int32(limit)),
	}
	inBackground(n, func(ctx context.Context) (page PlayerSessionPage, err error) {
		out, err := n.all.cfg.Players(ctx, in, n.key.Room.Fleet)
		if err != nil {
			return page, err
		}
		page.NextToken = out.NextToken
		for _, s := range out.PlayerSessions {
			page.PlayerSessions = append(page.PlayerSessions, PlayerSessionView{
				PlayerID: s.PlayerId, PlayerSessionID: s.PlayerSessionId, GameSessionID: s.GameSessionId,
				FleetID: s.FleetId, PlayerData: s.PlayerData, IPAddress: s.IpAddress, DNSName: s.DnsName,
				Status: string(s.Status), Port: s.Port.Or(0),
				CreationTime: s.CreationTime, TerminationTime: s.TerminationTime,
			})
		}
		return page, nil
	}, done)
}

// StartMatchBackfill opens a backfill ticket for the process's own game session.
func (n *connection) StartMatchBackfill(b MatchBackfill, done func(ticket string, err error)) {
	inBackground(n, func(ctx context.Context) (string, error) {
		in := &wire.StartMatchBackfillInput{
			ConfigurationName: b.ConfigurationArn, GameSessionArn: b.GameSessionArn, TicketId: b.TicketID,
			Players: b.Players,
		}
		if err := wire.OpStartMatchBackfill.Check(in); err != nil { // the endpoint of the API has not checked it
			return "", err
		}
		return n.all.cfg.StartBackfill(ctx, in, n.key, b.Request)
	}, done)
}

// StopMatchBackfill cancels a backfill ticket of the process's own game session.
func (n *connection) StopMatchBackfill(gameSessionArn, configurationArn, ticket string, done func(error)) {
	inBackground(n, func(ctx context.Context) (any, error) {
		return nil, n.all.cfg.StopBackfill(ctx, gameSessionArn, configurationArn, ticket, n.key)
	}, func(_ any, err error) { done(err) })
}

func (n *connection) ComputeCertificate(done func(path, compute string, err error)) {
	compute := n.key.Process.Compute
	inBackground(n, func(ctx context.Context) (string, error) {
		return router.InRoom(ctx, n.all.router, n.key.Room, func(r *fleet.Room) (path string) {
			if c, ok := r.Compute(compute); ok {
				path = c.CertificatePath
			}
			return path
		})
	}, func(path string, err error) { done(path, compute, err) })
}

// RoleCredentials implements Connection.
func (n *connection) RoleCredentials(role, session string, done func(*RoleKeys, error)) {
	done(n.all.cfg.Role(n.key.Room, n.key.Process.Compute, role, session))
}

// inBackground passes what answer returns to done, in a goroutine; an error when the service has stopped.
func inBackground[A any](n *connection, answer func(ctx context.Context) (A, error), done func(A, error)) {
	started := n.all.router.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callLimit)
		defer cancel()
		done(answer(ctx))
	})
	if !started {
		var none A
		done(none, fault.New(fault.ServiceUnavailable, "The service is stopping. Try again."))
	}
}

func (n *connection) Terminate(done func(error)) {
	n.submit(fleet.EndProcess{ProcessKey: n.key.Process}, done)
}

func (n *connection) Disconnected() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.registry.lose(n)
}
