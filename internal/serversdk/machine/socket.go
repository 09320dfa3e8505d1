package machine

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/machines"
	"github.com/muster-gg/muster/internal/serversdk"
	"github.com/muster-gg/muster/internal/serversdk/outbox"
	"github.com/muster-gg/muster/internal/telemetry/loglimit"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The actions of machines in metrics.
const (
	actionJoin    = "Join"
	actionReport  = "Report"
	actionToken   = "Token"
	actionWanted  = "Wanted"
	actionUnknown = "unknown"
)

// A socket is one connection of a machine. One goroutine reads; the shared writers write.
type socket struct {
	endpoint *Endpoint
	ws       *websocket.Conn // set by open, then read only
	out      outbox.Outbox

	// Of the reader.
	name       string              // "": not authenticated
	connection machines.Connection // nil: not authenticated
	ignored    bool                // an unknown message has been logged
}

// open starts serving the socket.
func (s *socket) open(ws *websocket.Conn) {
	s.ws = ws
	s.endpoint.metrics.Opened()
	s.endpoint.sockets.Start(s, &s.out, ws)
	go s.read()
}

// read authenticates the machine and receives reports until the socket is closed.
func (s *socket) read() {
	defer s.endpoint.sockets.Running.Done()
	defer s.leave()
	joined := s.join()
	s.endpoint.joining.Add(-1)
	for joined && s.report() {
	}
}

// join authenticates the machine; false ends the socket.
func (s *socket) join() bool {
	began := s.endpoint.clock.Now()
	c := protocol.Challenge{Nonce: make([]byte, protocol.NonceSize), Region: s.endpoint.machines.RegionID()}
	_, _ = rand.Read(c.Nonce) // never fails
	s.send(protocol.Encode(&c))
	message, err := s.next(joinLimit)
	if errors.Is(err, errClosed) {
		return false
	}
	j, ok := message.(*protocol.Join)
	switch {
	case errors.Is(err, protocol.ErrUnknown), err == nil && !ok:
		err = fault.New(fault.InvalidRequest, "the first message must be a join")
	case err != nil:
	case !j.Verify(c):
		err = fault.New(fault.AccessDenied, "the signature is not valid for this socket and this region")
	default:
		err = s.connect(j)
	}
	s.endpoint.metrics.Replied(actionJoin, statusOf(err), s.endpoint.clock.Since(began))
	if err != nil {
		s.refuse(j, err)
		return false
	}
	s.logger().Info("machine connected")
	return true
}

func (s *socket) connect(j *protocol.Join) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	s.connection, err = s.endpoint.machines.Join(ctx, machines.Request{Join: j, Push: s.push, End: s.end})
	if err == nil {
		s.name = j.Name
	}
	return err
}

// report receives one message; false ends the socket.
func (s *socket) report() bool {
	message, err := s.next(protocol.LostAfter)
	began := s.endpoint.clock.Now()
	action := actionUnknown
	switch {
	case errors.Is(err, errClosed):
		return false
	case errors.Is(err, protocol.ErrUnknown):
		s.logIgnored()
		return true
	case err == nil:
		action, err = s.process(message)
	}
	s.endpoint.metrics.Replied(action, statusOf(err), s.endpoint.clock.Since(began))
	if err != nil {
		s.end(err)
	}
	return err == nil
}

// process processes a message after the join. An error ends the connection.
func (s *socket) process(message any) (action string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callLimit)
	defer cancel()
	switch m := message.(type) {
	case *protocol.Observed:
		return actionReport, s.connection.Observed(ctx, m)
	case *protocol.TokenRequest:
		s.send(protocol.Encode(s.connection.Token(ctx, m)))
		return actionToken, nil
	}
	return actionUnknown, fault.New(fault.InvalidRequest, "the machine has joined already")
}

var errClosed = errors.New("the socket has closed")

// next receives a message within a time. The error is errClosed, protocol.ErrUnknown or an InvalidRequest.
func (s *socket) next(within time.Duration) (message any, err error) {
	// Network deadlines are in real time, even with a fake clock.
	if err := s.ws.SetReadDeadline(time.Now().Add(within)); err != nil {
		return nil, errClosed
	}
	kind, from, err := s.ws.NextReader()
	if err != nil {
		return nil, errClosed
	}
	return s.decode(kind, from)
}

func (s *socket) decode(kind int, from io.Reader) (any, error) {
	buf := outbox.NewBuffer()
	defer buf.Free()
	if err := buf.ReadMessage(from, protocol.MaxFromMachine); err != nil {
		return nil, errClosed
	}
	if kind != websocket.TextMessage || len(buf.Bytes) > protocol.MaxFromMachine {
		return nil, fault.New(fault.InvalidRequest, "a message must be text of at most %d bytes",
			protocol.MaxFromMachine)
	}
	message, err := protocol.DecodeFromMachine(buf.Bytes)
	if err != nil && !errors.Is(err, protocol.ErrUnknown) {
		return nil, fault.New(fault.InvalidRequest, "%.200s", err)
	}
	return message, err
}

func statusOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	return serversdk.StatusOf(fault.Of(err).Kind)
}

// refuse answers a join with an error. The name is the client's; lines are limited to one per second.
func (s *socket) refuse(j *protocol.Join, err error) {
	name := ""
	if j != nil {
		name = j.Name
	}
	f := fault.Of(err)
	level, reason := slog.LevelWarn, f.Message
	if statusOf(err) >= http.StatusInternalServerError {
		level, reason = slog.LevelError, err.Error()
	}
	if suppressed, ok := s.endpoint.lines.Allow("machine refused"); ok {
		s.endpoint.log.Log(context.Background(), level, "machine refused", "machine", loglimit.Clip(name),
			"reason", loglimit.Clip(reason), "suppressed", suppressed)
	}
	s.end(err)
}

// end closes the socket with a reason.
func (s *socket) end(err error) {
	f := fault.Of(err)
	s.send(protocol.Encode(&protocol.Refused{Error: string(f.Kind), Message: f.Message, Final: isFinal(f.Kind)}))
	s.out.Finish()
}

// isFinal reports whether a machine that tries again is refused again.
func isFinal(kind fault.Kind) bool {
	switch kind {
	case fault.AccessDenied, fault.InvalidRequest, fault.Conflict, fault.NotFound:
		return true
	}
	return false
}

// push sends the state that is wanted.
func (s *socket) push(w *protocol.Wanted) {
	if s.send(protocol.Encode(w)) {
		s.endpoint.metrics.Pushed(actionWanted)
	}
}

func (s *socket) send(data []byte) bool { return s.out.Enqueue(websocket.TextMessage, data) }

// leave cleans up after the reader has ended.
func (s *socket) leave() {
	if !s.out.Finishing() { // else the writer closes
		s.close()
	}
	if s.connection != nil {
		s.connection.Disconnected()
		s.logger().Info("machine disconnected")
	}
	s.endpoint.sockets.Remove(s)
	s.endpoint.metrics.Closed()
}

// close closes the TCP connection without a Close frame.
func (s *socket) close() { s.out.Close() }

// slow is called when the machine does not read.
func (s *socket) slow() {
	s.endpoint.metrics.Slow()
	s.endpoint.log.Warn("socket closed: machine does not read", "limit_bytes", outbox.MaxQueued)
}

// logIgnored logs the first message of a socket whose type is unknown: of a later release, perhaps.
func (s *socket) logIgnored() {
	if !s.ignored {
		s.logger().Warn("message of a machine ignored", "reason", protocol.ErrUnknown)
	}
	s.ignored = true
}

func (s *socket) logger() *slog.Logger { return s.endpoint.log.With("machine", s.name) }
