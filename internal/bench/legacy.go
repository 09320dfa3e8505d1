package bench

import (
	"bytes"
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
)

// joinLegacyFleet finds the fleet that the service creates for game servers on server SDK 3, with the region as its
// location. It must have no other game servers: they would receive game sessions of this run.
func (s *site) joinLegacyFleet(ctx context.Context) error {
	s.fleet, s.locations, s.shared = s.cfg.LegacyFleet, []string{s.cfg.Credentials.Region}, true
	c := s.newConn()
	var out struct {
		FleetAttributes []struct{ FleetId string }
	}
	err := c.ask(ctx, "DescribeFleetAttributes", map[string]any{"FleetIds": []string{s.fleet}}, &out)
	if err == nil && len(out.FleetAttributes) == 0 {
		err = fmt.Errorf("the service has no fleet %s: start it with legacy=on and legacy-fleet=%[1]s", s.fleet)
	}
	return err
}

// connectServer creates a game server on the server SDK of the run and connects it, not yet ready.
func (s *site) connectServer(ctx context.Context, c *conn, number int) (gameServer, error) {
	if s.cfg.SDK == SDKLegacy {
		p, err := s.connectLegacy(ctx)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
	p, err := s.connect(ctx, c, number)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// A legacyProcess is a game server on server SDK 3 for C++, with one socket as in version 3.1.5. It sends no pings: it
// reports its health more often than the service requires frames. Requests are named by their messages.
// Source: server SDK 3.4.2 for C++ with socket.io-client-cpp 1.6.1, which speaks Engine.IO 3.
type legacyProcess struct{ gameConn }

// processIDs numbers the processes of this program. Services remember the ids of ended processes for a while, so it
// begins at random.
var processIDs atomic.Int64

func init() { processIDs.Store(mathrand.Int64N(1 << 50)) }

// connectLegacy creates a game server and connects it, not yet ready.
func (s *site) connectLegacy(ctx context.Context) (*legacyProcess, error) {
	at := endpoint{address: s.cfg.LegacyAddress, host: s.cfg.LegacyAddress}
	socket, err := dialSocket(ctx, at, "/socket.io/", url.Values{
		"pID": {strconv.FormatInt(processIDs.Add(1), 10)}, "sdkLanguage": {"Cpp"}, "sdkVersion": {"3.4.1"},
		"EIO": {"3"}, "transport": {"websocket"},
	})
	if err != nil {
		return nil, err
	}
	return newLegacyProcess(ctx, socket)
}

// newLegacyProcess waits until socket.io is connected.
func newLegacyProcess(ctx context.Context, socket *gameSocket) (*legacyProcess, error) {
	p := &legacyProcess{newGameConn(socket)}
	err := await(ctx, func(done func(error)) {
		p.waiting = []awaited{{number: 0, action: connectAction, done: done}} // requests begin with 1
		go p.run(p.receive)
	})
	if err != nil {
		p.disconnect()
		return nil, err
	}
	return p, nil
}

// The frames in use: the type of Engine.IO, which is 4 for a message, and the type of Socket.IO. Source: the protocols
// Engine.IO 3 and Socket.IO 4.
const (
	connectedFrame = "40"
	leaveFrame     = "41"
	eventFrame     = "42"
	ackFrame       = "43"
	requestFrame   = "451-" // an event with one attachment
)

// messagePrefix begins the full name of a message.
const messagePrefix = "com.amazon.whitewater.auxproxy.pbuffer."

func (p *legacyProcess) receive(frame []byte) {
	switch kind := string(frame[:min(len(frame), len(ackFrame))]); kind {
	case connectedFrame:
		if w, ok := p.complete(0); ok {
			w.done(nil)
		}
	case eventFrame:
		p.pushed(frame[len(kind):])
	case ackFrame:
		p.replied(frame[len(kind):])
	}
}

// pushed acknowledges a push, and starts its game session. One without an id needs no acknowledgement.
func (p *legacyProcess) pushed(push []byte) {
	id, args := cutDigits(push)
	if len(id) == 0 {
		return
	}
	ack := append(append(make([]byte, 0, 32), ackFrame...), id...)
	if err := p.socket.write(opText, append(ack, "[true]"...)); err != nil {
		p.fail(err)
		return
	}
	if bytes.HasPrefix(args, []byte(`["StartGameSession",`)) {
		p.assign(escapedMember(args, "gameSessionId"))
	}
}

// replied completes a request.
func (p *legacyProcess) replied(ack []byte) {
	id, args := cutDigits(ack)
	number, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil || number == 0 {
		return
	}
	w, ok := p.complete(number)
	if !ok {
		return
	}
	if bytes.HasPrefix(args, []byte("[true")) {
		w.done(nil)
		return
	}
	status := http.StatusBadRequest
	if escapedMember(args, "status") == "ERROR_500" {
		status = http.StatusInternalServerError
	}
	w.done(&refusal{w.action, status, escapedMember(args, "errorMessage")})
}

// cutDigits splits off the digits at the beginning.
func cutDigits(text []byte) (digits, rest []byte) {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return text[:n], text[n:]
}

// escapedMember returns the value of the first member with this name in a JSON text that is a string of another one; ""
// if there is none. The value must need no escapes.
func escapedMember(text []byte, name string) string {
	_, rest, _ := bytes.Cut(text, []byte(`\"`+name+`\"`))
	rest, isText := bytes.CutPrefix(bytes.TrimLeft(rest, ": "), []byte(`\"`))
	value, _, closed := bytes.Cut(rest, []byte(`\"`))
	if !isText || !closed {
		return ""
	}
	return string(value)
}

// appendRequest appends the text frame of a request, up to its attachment.
func appendRequest(dst []byte, number uint64, message string) []byte {
	dst = strconv.AppendUint(append(dst, requestFrame...), number, 10)
	dst = append(append(append(dst, `["`...), messagePrefix...), message...)
	return append(dst, `",{"_placeholder":true,"num":0}]`...)
}

// attachmentMark precedes the protobuf message in a binary frame. Source: Engine.IO 3.
const attachmentMark = 0x04

// request sends a request. done is called once, at the latest when the socket is closed, and must not block. fields
// appends the fields of the message.
func (p *legacyProcess) request(message string, done func(error), fields func([]byte) []byte) {
	number, ok := p.begin(message, done)
	if !ok {
		return
	}
	b := messages.Get().(*[]byte)
	defer messages.Put(b)
	*b = appendRequest((*b)[:0], number, message)
	end := len(*b)
	*b = fields(append(*b, attachmentMark))
	if err := p.socket.writeAttached((*b)[:end], (*b)[end:]); err != nil {
		p.fail(err)
	}
}

// ask sends a request and waits for its acknowledgement.
func (p *legacyProcess) ask(ctx context.Context, message string, fields func([]byte) []byte) error {
	return await(ctx, func(done func(error)) { p.request(message, done, fields) })
}

// appendText appends a field of a protobuf message.
func appendText(dst []byte, number protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, number, protowire.BytesType), text)
}

// appendInteger appends a field of a protobuf message.
func appendInteger(dst []byte, number protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, number, protowire.VarintType), n)
}

func (p *legacyProcess) ready(ctx context.Context, start func(session string)) error {
	p.onGameSession(start)
	err := p.ask(ctx, "ProcessReady", func(b []byte) []byte { return appendInteger(b, 2, 7777) }) // the port
	if err == nil {
		p.report()
	}
	return err
}

// report reports the health, now and periodically.
func (p *legacyProcess) report() {
	if p.schedule(p.report) {
		p.request("ReportHealth", func(error) {}, func(b []byte) []byte { return appendInteger(b, 1, 1) })
	}
}

func (p *legacyProcess) activate(ctx context.Context) error {
	return p.ask(ctx, "GameSessionActivate", func(b []byte) []byte { return appendText(b, 1, p.gameSession()) })
}

func (p *legacyProcess) accept(ctx context.Context, playerSession string) error {
	return p.ask(ctx, "AcceptPlayerSession", func(b []byte) []byte {
		return appendText(appendText(b, 1, p.gameSession()), 2, playerSession)
	})
}

func (p *legacyProcess) end(ctx context.Context) error {
	err := p.ask(ctx, "ProcessEnding", none)
	_ = p.socket.write(opText, []byte(leaveFrame)) // the socket may be closed already
	p.disconnect()
	return err
}
