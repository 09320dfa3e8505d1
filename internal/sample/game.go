package sample

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/muster-gg/muster/gameserver"
)

// removeLimit is how long telling the service of a player who left may take.
const removeLimit = 5 * time.Second

// A game is the one game session of the process.
type game struct {
	options options
	out     *printer
	server  *gameserver.Server
	over    chan struct{} // closed when the last player has left, unless the process lingers

	mu      sync.Mutex
	session *gameserver.GameSession // nil before it starts
	players map[*player]struct{}
	tickets map[string]bool // player session ids in use
	joined  int             // players so far
	ended   bool            // over is closed
}

func newGame(o options, out *printer, server *gameserver.Server) *game {
	return &game{
		options: o, out: out, server: server, over: make(chan struct{}),
		players: make(map[*player]struct{}), tickets: make(map[string]bool),
	}
}

// start begins the game session.
func (g *game) start(ctx context.Context, gs gameserver.GameSession) {
	g.out.line("LogSampleGame: GameSession Initializing : %s", gs.GameSessionID)
	g.mu.Lock()
	g.session = &gs
	g.mu.Unlock()
	if err := g.server.ActivateGameSession(ctx); err != nil {
		g.out.line("[error] Activating the game session failed: %v", err)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.end() // the process's one game session is lost
	}
}

// end lets the process end. The lock is held.
func (g *game) end() {
	if !g.ended {
		g.ended = true
		close(g.over)
	}
}

// serve lets players in until ctx is done, and waits for them to be gone.
func (g *game) serve(ctx context.Context, listener net.Listener) {
	var guests sync.WaitGroup
	defer guests.Wait()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
				continue // a connection that broke before it was taken
			}
			return
		}
		guests.Go(func() {
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			g.receive(ctx, conn)
		})
	}
}

// receive is the visit of one connection.
func (g *game) receive(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	g.out.line("LogNet: NotifyAcceptingConnection accepted from: %s", conn.RemoteAddr())
	p := newPlayer(conn)
	if err := g.admit(ctx, p); err != nil {
		g.out.line("LogNet: Join refused: %s: %v", conn.RemoteAddr(), err)
		p.refuse(err)
		return
	}
	p.chat(g.say)
	g.leave(ctx, p)
}

// admit lets a player in who has a place in the game session.
func (g *game) admit(ctx context.Context, p *player) error {
	ticket, err := p.ticket()
	if err != nil {
		return err
	}
	g.out.line("LogNet: Login request: %s", p.conn.RemoteAddr())
	if err := g.reserve(ticket); err != nil {
		return err
	}
	if ticket != "" {
		if err := g.server.AcceptPlayerSession(ctx, ticket); err != nil {
			g.release(ticket)
			return reason(err)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.joined++
	p.session, p.number = ticket, g.joined
	g.players[p] = struct{}{}
	if len(g.players) == 1 {
		g.out.line("LogGameState: Match State Changed from WaitingToStart to InProgress")
	}
	g.out.line("LogNet: Join succeeded: player %d", p.number)
	p.send(fmt.Sprintf("WELCOME %d", p.number))
	return nil
}

// reserve checks what can be known without the service: one player for one
// ticket.
func (g *game) reserve(ticket string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.session == nil && !g.options.allowUnticketed:
		return errors.New("there is no game session")
	case ticket == "" && !g.options.allowUnticketed:
		return errors.New("a player session id is needed")
	case ticket == "":
		return nil
	case g.tickets[ticket]:
		return errors.New("this player session is in use")
	}
	g.tickets[ticket] = true
	return nil
}

func (g *game) release(ticket string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.tickets, ticket)
}

// reason is what a player is told when the service does not accept them.
func reason(err error) error {
	var e *gameserver.Error
	if errors.As(err, &e) && e.Code != 0 {
		return errors.New(e.Message)
	}
	return errors.New("the player session could not be checked")
}

// say tells everybody what a player said.
func (g *game) say(from *player, text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.players {
		p.send(fmt.Sprintf("SAID %d %s", from.number, text))
	}
}

// leave gives a player's place back, even when the process is ending. The last
// one ends the game session, if it has begun.
func (g *game) leave(ctx context.Context, p *player) {
	g.mu.Lock()
	delete(g.players, p)
	g.mu.Unlock()
	p.finish()
	if p.session != "" {
		removing, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
		defer cancel()
		if err := g.server.RemovePlayerSession(removing, p.session); err != nil {
			g.out.line("[error] Removing player %d failed: %v", p.number, err)
		}
		g.release(p.session)
	}
	g.out.line("LogNet: Player %d left", p.number)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.players) == 0 && g.session != nil && !g.options.linger {
		g.out.line("LogGameState: The last player has left")
		g.end()
	}
}
