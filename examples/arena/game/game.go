// Package game is the server of an arena: package gameserver connects it to the service, package gamenet to the
// players, and a gamenet.Executor runs the room, so that the room's state needs no lock.
//
// The process hosts one game session. When its last player has left, or the service asks for it, the process tells the
// service and ends.
//
// # Who does what where
//
// Package gamenet/handshake hears who wants to come in, and asks admit, which runs in the session's own goroutine, as
// the callbacks of the player (guest) do after it. Whatever may take long happens there: asking the service whether a
// player session is good, and telling it that a player has left. It delays that player and nobody else, and because
// OnDisconnected comes after the admission, a player who hangs up meanwhile is taken back in order. Everything that
// players share belongs to the executor (do), whose jobs are short: joining, steering, talking, leaving, and the tick.
//
// # What players hear
//
// With each tick everybody is sent the same frame, encoded once: who came, who went, what was said, and where all are.
// Over QUIC the positions go as datagrams, which may be lost, for the next tick brings newer ones. A player whose queue
// is full is disconnected and not served with gaps (gamenet.FullDisconnect): a frame also holds what must not be lost,
// and who is several seconds behind is better off joining anew.
package game

import (
	"context"
	"fmt"
	"strings"

	"github.com/muster-gg/muster/examples/arena/protocol"
	"github.com/muster-gg/muster/examples/arena/room"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/handshake"
	"github.com/muster-gg/muster/gameserver"
)

// A game is the one game session of the process.
type game struct {
	options options
	out     *printer
	server  *gameserver.Server
	entry   *handshake.Server
	net     *gamenet.ServerService
	players *gamenet.Group // those who are in the room
	turn    *gamenet.Executor
	over    chan struct{} // closed when the last player has left, unless the process lingers

	name string // of the game session, for the log; set before the first player

	// Of the executor.
	room  *room.Room
	slots slots
	ended bool // over is closed
	bytes []byte
}

func newGame(o options, out *printer, server *gameserver.Server, turn *gamenet.Executor) *game {
	return &game{
		options: o, out: out, server: server, players: new(gamenet.Group), turn: turn, over: make(chan struct{}),
		room:  room.New(o.tickRate),
		slots: slots{unticketed: o.allowUnticketed, most: o.maxPlayers, strict: o.maxPlayers > 0},
	}
}

// do runs a job in the executor and waits for it. A job must not call it. It fails when the executor is closed, which
// is when nobody is left to care.
func (g *game) do(job func()) error {
	done := make(chan struct{})
	err := g.turn.Post(func() {
		defer close(done)
		job()
	})
	if err == nil {
		<-done
	}
	return err
}

func (g *game) start(ctx context.Context, gs gameserver.GameSession) {
	g.out.line("LogSampleGame: GameSession Initializing : %s", gs.GameSessionID)
	g.printTeams(gs)
	g.name = strings.TrimSpace(gs.Name + " " + gs.GameSessionID[strings.LastIndexByte(gs.GameSessionID, '/')+1:])
	_ = g.do(func() { // before the service sends the first player
		g.slots.open = true
		if g.options.maxPlayers == 0 {
			g.slots.most = gs.MaximumPlayerSessionCount
		}
	})
	if err := g.server.ActivateGameSession(ctx); err != nil {
		g.out.line("[error] Activating the game session failed: %v", err)
		_ = g.do(g.end) // the process's one game session is lost
		return
	}
	if g.options.patience > 0 {
		_ = g.do(g.awaitFirst)
	}
}

// awaitFirst ends a game session to which nobody comes. It is a job of the executor.
func (g *game) awaitFirst() {
	g.turn.After(g.options.patience, func() {
		switch {
		case g.slots.visited:
		case g.slots.visits > 0: // somebody is on the way in
			g.awaitFirst()
		default:
			g.out.always("LogGameState: Game session %s ends: no player has joined within %s", g.name,
				g.options.patience)
			g.end()
		}
	})
}

// end lets the process end. It is a job of the executor.
func (g *game) end() {
	if !g.ended {
		g.ended = true
		close(g.over)
	}
}

// settle ends a visit. The last one ends the game session.
func (g *game) settle() {
	_ = g.do(func() {
		if g.slots.settle() && !g.options.linger {
			g.out.line("LogGameState: Game session %s ends: the last player has left", g.name)
			g.end()
		}
	})
}

// tick lets the room's time pass and tells everybody. It is a job of the executor.
func (g *game) tick() {
	update := g.room.Tick()
	frame := g.net.NewFrame()
	defer frame.Release()
	for _, m := range update.News {
		g.add(frame, m)
	}
	for first := 0; first < len(update.Places); first += protocol.MaxPlaces {
		places := update.Places[first:min(first+protocol.MaxPlaces, len(update.Places))]
		g.tellPlaces(frame, protocol.State{Tick: update.Tick, Places: places})
	}
	// A player who cannot be told is disconnected: OnDisconnected does the rest.
	_ = g.players.BroadcastFrame(frame)
}

// tellPlaces adds a State to the frame, or sends it as datagrams.
func (g *game) tellPlaces(frame *gamenet.Frame, m protocol.State) {
	if !g.options.link.Datagrams() {
		g.add(frame, m)
		return
	}
	p := g.packet(m)
	for _, s := range g.players.Members() {
		_ = s.SendDatagram(p) // one that is lost is made up for by the next tick
	}
}

// add encodes a message into a frame. It is a job of the executor.
func (g *game) add(frame *gamenet.Frame, m protocol.Message) {
	if err := frame.Append(g.packet(m)); err != nil {
		panic(fmt.Sprintf("a message of the protocol is no packet: %v", err))
	}
}

// packet encodes a message; it is good until the next one. It is a job of the executor.
func (g *game) packet(m protocol.Message) gamenet.Packet {
	g.bytes = m.Append(g.bytes[:0])
	return gamenet.Packet{ID: m.ID(), Payload: g.bytes}
}

// join lets a player into the room, who hears who is there. It is a job of the executor.
func (g *game) join(s *gamenet.Session, p *guest) {
	frame := g.net.NewFrame()
	defer frame.Release()
	for _, other := range g.room.Present() {
		g.add(frame, other)
	}
	if !g.slots.visited {
		g.slots.visited = true
		g.out.line("LogGameState: Match State Changed from WaitingToStart to InProgress")
	}
	g.room.Join(p.number, p.name)
	_ = s.SendFrame(frame) // fails when the player has hung up: OnDisconnected follows
	g.players.Add(s)
}

// updated prints that the game session has changed: its backfill has ended.
func (g *game) updated(u gameserver.GameSessionUpdate) {
	g.out.line("LogMatch: GameSession updated: %s by backfill %s", u.Reason, u.BackfillTicketID)
	if u.Reason == gameserver.MatchmakingDataUpdated {
		g.printTeams(u.GameSession)
	}
}

// printTeams prints who plays with whom in a game session that matchmaking has made.
func (g *game) printTeams(gs gameserver.GameSession) {
	if gs.MatchmakerData == "" {
		return
	}
	match, err := gameserver.ParseMatchmakerData(gs.MatchmakerData)
	if err != nil {
		g.out.line("[error] MatchmakerData: %v", err)
		return
	}
	g.out.line("LogMatch: Match %s: %s", match.MatchID, teams(match))
}

// teams is the teams of a match as text: red: "ada"; blue: "bob", "cy".
func teams(match gameserver.MatchmakerData) string {
	texts := make([]string, len(match.Teams))
	for i, team := range match.Teams {
		names := make([]string, len(team.Players))
		for j, p := range team.Players {
			names[j] = fmt.Sprintf("%q", p.PlayerID) // an id may hold anything
		}
		texts[i] = team.Name + ": " + strings.Join(names, ", ")
	}
	return strings.Join(texts, "; ")
}
