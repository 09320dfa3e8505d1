package clients

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// requestLimit is how long a request waits for its ack: the same time as in the server SDK for Node.js.
const requestLimit = 30 * time.Second

// SocketIOConnect describes the connections of a GameServer.
type SocketIOConnect struct {
	Version     string `json:"version"`     // of socket.io-client: "2.1.1" or "2.5.0"
	URL         string `json:"url"`         // of the service: "http://127.0.0.1:5757"
	PID         string `json:"pid"`         // may be any text
	SDKVersion  string `json:"sdkVersion"`  // such as "3.2.1"
	SDKLanguage string `json:"sdkLanguage"` // such as "Nodejs"
	Sockets     int    `json:"sockets"`     // 1 or 2
}

// The kinds of GameServerEvent.
const (
	Connected    = "connected"    // a socket connected or reconnected
	Disconnected = "disconnected" // a socket lost or closed its connection
	Failed       = "error"        // a connection attempt or a connection failed
	Push         = "push"         // the service sent StartGameSession, UpdateGameSession or TerminateProcess
)

// A GameServerEvent is an event on a socket of a GameServer.
type GameServerEvent struct {
	Event  string // its kind
	Socket int    // 1 sends the requests, 2 is the other one
	Reason string // of Disconnected and Failed

	// Of Push:
	Name  string // StartGameSession, UpdateGameSession or TerminateProcess
	Text  string // the argument
	Asked bool   // the service asked for an ack
	Acked bool   // the game server sent one
}

// A GameServer is a game server of server SDK 3: Node.js with socket.io-client. It ends with the test. Any goroutine
// may use it.
type GameServer struct {
	ctx     context.Context // the test's
	command *exec.Cmd
	talk    bytes.Buffer // standard error; read it after ended is closed
	ended   chan struct{}

	writing sync.Mutex // guards input, and is never held together with mu
	input   io.WriteCloser

	mu       sync.Mutex
	requests int           // the id of the last request
	received []output      // not yet taken
	changed  chan struct{} // closed when received or err changes, and replaced
	err      error         // why there is no more output; set before ended is closed
}

// An output is a line that the program writes.
type output struct {
	GameServerEvent
	ID   int               // of an ack
	Args []json.RawMessage // of an ack
	Cmd  string            // of a command that is done
}

// SocketIO starts a game server, which connects. It does not wait for the connections: requests before them are
// sent as soon as socket 1 is connected.
func SocketIO(t testing.TB, connect SocketIOConnect) *GameServer {
	t.Helper()
	client := installed(t, "js/node_modules/socket.io-client-"+connect.Version+"/package.json")
	command := exec.CommandContext(t.Context(), "node", filepath.Join(source(t), "js", "gameserver.mjs"))
	command.Dir = filepath.Join(filepath.Dir(client), "..", "..")
	command.Env = environment(t, nil)
	g := &GameServer{ctx: t.Context(), command: command, ended: make(chan struct{}), changed: make(chan struct{})}
	command.Stderr = &g.talk
	var err error
	if g.input, err = command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	go g.read(stdout)
	t.Cleanup(func() {
		_ = g.input.Close() // the end of the test's context kills the program in any case
		<-g.ended
		if g.talk.Len() > 0 {
			t.Logf("game server %s: %s", connect.PID, &g.talk)
		}
	})
	if err := g.send(struct {
		Cmd string `json:"cmd"`
		SocketIOConnect
	}{"connect", connect}); err != nil {
		t.Fatal(err)
	}
	return g
}

// Request sends a request on socket 1 and returns the arguments of its ack. It fails after 30 seconds without one. The
// message is the short name, such as ProcessReady.
func (g *GameServer) Request(message string, payload []byte) (ack []json.RawMessage, err error) {
	g.mu.Lock()
	g.requests++
	id := g.requests
	g.mu.Unlock()
	if err := g.send(map[string]any{
		"cmd": "request", "id": id, "message": message, "payload": hex.EncodeToString(payload),
	}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(g.ctx, requestLimit)
	defer cancel()
	answer, err := g.take(ctx, "the ack of "+message, func(o output) bool { return o.Event == "ack" && o.ID == id })
	return answer.Args, err
}

// Next waits for the next event of a kind: Connected, Disconnected, Failed or Push. It returns each event once, and
// keeps events of other kinds for later calls.
func (g *GameServer) Next(ctx context.Context, event string) (GameServerEvent, error) {
	next, err := g.take(ctx, event, func(o output) bool { return o.Event == event })
	return next.GameServerEvent, err
}

// Policy sets the ack of later StartGameSession and UpdateGameSession: "true" (the initial policy), "false", "empty"
// for an ack without arguments, or "none" for no ack.
func (g *GameServer) Policy(start string) error {
	return g.do("policy", map[string]any{"cmd": "policy", "start": start})
}

// Drop cuts the TCP connection of a socket. The socket reconnects after about a second.
func (g *GameServer) Drop(socket int) error {
	return g.do("drop", map[string]any{"cmd": "drop", "socket": socket})
}

// Close closes all sockets, as the SDK does on shutdown.
func (g *GameServer) Close() error { return g.do("close", map[string]any{"cmd": "close"}) }

// Kill ends the process, as a crash does.
func (g *GameServer) Kill() error {
	if err := g.command.Process.Kill(); err != nil {
		return fmt.Errorf("game server: kill: %w", err)
	}
	<-g.ended
	return nil
}

// do sends the command cmd and waits until the program has done it.
func (g *GameServer) do(cmd string, command any) error {
	if err := g.send(command); err != nil {
		return err
	}
	_, err := g.take(g.ctx, "the end of "+cmd, func(o output) bool { return o.Event == "done" && o.Cmd == cmd })
	return err
}

// send writes a command: a value that encodes to a JSON object with the member cmd.
func (g *GameServer) send(command any) error {
	line, err := json.Marshal(command)
	if err != nil {
		return fmt.Errorf("game server: encode a command: %w", err)
	}
	g.writing.Lock()
	defer g.writing.Unlock()
	if _, err := g.input.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("game server: send %s: %w", line, err)
	}
	return nil
}

// take waits for the first output that matches and removes it from received. What describes it in errors.
func (g *GameServer) take(ctx context.Context, what string, match func(output) bool) (output, error) {
	for {
		g.mu.Lock()
		for i, o := range g.received {
			if match(o) {
				g.received = append(g.received[:i], g.received[i+1:]...)
				g.mu.Unlock()
				return o, nil
			}
		}
		changed, err := g.changed, g.err
		left := fmt.Sprintf("%+v", g.received)
		g.mu.Unlock()
		if err != nil {
			return output{}, fmt.Errorf("game server: wait for %s: %w", what, err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return output{}, fmt.Errorf("game server: wait for %s: %w, received %s", what, ctx.Err(), left)
		}
	}
}

// read stores the output until the program ends, and waits for it.
func (g *GameServer) read(stdout io.Reader) {
	defer close(g.ended)
	lines := json.NewDecoder(stdout)
	for {
		var o output
		err := lines.Decode(&o)
		if err == nil {
			g.change(func() { g.received = append(g.received, o) })
			continue
		}
		if !errors.Is(err, io.EOF) {
			_ = g.command.Process.Kill() // it has ended, or ends now
		}
		if waited := g.command.Wait(); waited != nil {
			err = fmt.Errorf("%w: %s", waited, &g.talk)
		}
		g.change(func() { g.err = fmt.Errorf("the program ended: %w", err) })
		return
	}
}

// change edits received or err, and notifies every take.
func (g *GameServer) change(edit func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	edit()
	close(g.changed)
	g.changed = make(chan struct{})
}
