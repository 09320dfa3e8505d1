package bench

import (
	"context"
	"errors"
	"time"
)

var livesProfile = Profile{
	Name:    "lives",
	Summary: "whole lives of a process: connect, ready, game session, activate, accept a player, end, disconnect",
	Unit:    "lives",
	Legacy:  true,
	prepare: func(_ context.Context, s *site) (func(int) operation, error) {
		return func(worker int) operation {
			l := &lives{site: s, worker: worker, creator: newCreator(s)}
			return func(ctx context.Context) (int, error) { return 1, l.live(ctx) }
		}, nil
	},
}

// lives runs the processes of one worker, one after the other.
type lives struct {
	site    *site
	worker  int
	creator *creator
	body    []byte
}

// live runs one process. The game session that the worker creates may reach the process of another worker, and another
// one this process: there are always as many waiting processes as pending calls.
func (l *lives) live(ctx context.Context) (err error) {
	p, err := l.site.connectServer(ctx, l.creator.conn, l.worker)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end(context.WithoutCancel(ctx))) }()
	begun := make(chan string, 1)
	if err := p.ready(ctx, func(session string) { begun <- session }); err != nil {
		return err
	}
	if _, err := l.creator.create(ctx, l.site.location(l.worker)); err != nil {
		return err
	}
	id, err := receive(ctx, l.creator.limit, begun)
	if err != nil {
		return err
	}
	if err := p.activate(ctx); err != nil {
		return err
	}
	ticket, err := l.reserve(ctx, id)
	if err != nil {
		return err
	}
	return p.accept(ctx, ticket)
}

// reserve creates a player session and returns its id.
func (l *lives) reserve(ctx context.Context, game string) (string, error) {
	l.body = appendField(append(l.body[:0], '{'), "GameSessionId", game)
	l.body = append(appendField(l.body, "PlayerId", "player-1"), '}')
	answer, err := l.creator.conn.call(ctx, "CreatePlayerSession", l.body)
	if err != nil {
		return "", err
	}
	return textMember(answer, "PlayerSessionId"), nil
}

// receive waits for a game session.
func receive(ctx context.Context, limit *time.Timer, from <-chan string) (string, error) {
	limit.Reset(sessionLimit)
	defer limit.Stop()
	select {
	case id := <-from:
		return id, nil
	case <-limit.C:
		return "", errNoGameSession
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
