package legacy

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/serversdk/outbox"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// SocketIO returns the handler of port 5757.
func (e *Endpoint) SocketIO() http.Handler { return http.HandlerFunc(e.serveSocketIO) }

func (e *Endpoint) serveSocketIO(w http.ResponseWriter, r *http.Request) {
	if !e.admitted(w, r) {
		return
	}
	defer e.sockets.Running.Done()
	q := r.URL.Query()
	switch {
	case !strings.HasPrefix(r.URL.Path, "/socket.io"):
		e.refuse(w, http.StatusNotFound, "This port is for game servers on server SDK 3: see /socket.io/.")
	case q.Get("transport") != "websocket" || !websocket.IsWebSocketUpgrade(r):
		e.refuse(w, http.StatusBadRequest, "Only the transport websocket is offered.")
	case !validPID(q.Get("pID")):
		e.refuse(w, http.StatusBadRequest, "The query must have a pID of 1 to 64 bytes.")
	default:
		e.openSocket(w, r, about{clip(q.Get("sdkLanguage")), clip(q.Get("sdkVersion")), socketIO}, q.Get("pID"))
	}
}

func validPID(pid string) bool {
	hidden := func(r rune) bool { return r <= ' ' || r > '~' }
	return pid != "" && len(pid) <= maxPID && !strings.ContainsFunc(pid, hidden)
}

// clip bounds what a game server says of itself.
func clip(text string) string { return text[:min(len(text), maxPID)] }

// openSocket connects the process of a game server, accepts its socket and reads it in a goroutine of its own.
func (e *Endpoint) openSocket(w http.ResponseWriter, r *http.Request, a about, pid string) {
	s := e.join(serverKey{address: addressOf(r), pid: pid}, a)
	k := newSocket(e, s, a.protocol == overHTTP)
	if !s.open(k) {
		e.refuse(w, http.StatusTooManyRequests, "The game server has too many sockets.")
		return
	}
	// The socket is open before, so that the loss of another one does not disconnect the process.
	if err := s.connect(r.Context(), false); err != nil {
		s.leave(k, false)
		e.forget(s)
		e.refuse(w, statusOf(err), fault.Of(err).Message)
		return
	}
	ws, err := e.upgrader.Upgrade(w, r, nil)
	if err != nil { // Upgrade has written the answer
		s.leave(k, false)
		return
	}
	e.say("client connected", "pid", pid, "address", s.key.address, "sdk_language", a.language,
		"sdk_version", a.version)
	k.serve(ws)
}

func statusOf(err error) int {
	if serviceFailed(fault.Of(err)) {
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

// A socket is a WebSocket of a game server, with socket.io or, if plain, for pushes only.
type socket struct {
	endpoint *Endpoint
	ws       *websocket.Conn
	out      outbox.Outbox
	plain    bool

	// Used by the reader alone.
	leaving bool
	spoke   bool // a text frame has come

	mu      sync.Mutex
	server  *server // changes in split
	lastAck int64
	waiting map[int64]waitingAck
	pinging clockwork.Timer // of a client that speaks Engine.IO 4; else nil
	closed  bool
}

// A waitingAck is an acknowledgement that a client owes.
type waitingAck struct {
	answered func(error)
	timer    clockwork.Timer
}

// newSocket returns a socket that is not open. Pushes may be queued, behind the frames that open socket.io.
func newSocket(e *Endpoint, s *server, plain bool) *socket {
	k := &socket{endpoint: e, server: s, plain: plain}
	k.out.Init(&e.sockets.Writers, k.slow)
	if !plain {
		// The second frame is not asked for: clients that speak Engine.IO 3 wait for it.
		k.out.Enqueue(websocket.TextMessage, openFrame(uuid.NewString(), &e.Config))
		k.out.Enqueue(websocket.TextMessage, []byte("40"))
	}
	return k
}

// serve starts the reader. Pushes may have been queued before.
func (k *socket) serve(ws *websocket.Conn) {
	k.ws = ws
	ws.SetReadLimit(maxMessage)
	k.endpoint.Metrics.Opened()
	k.extend()
	k.endpoint.sockets.Start(k, &k.out, ws)
	go k.read()
}

// read receives frames until the socket is closed, or nothing has come for too long: clients send a ping only when they
// have sent nothing else. Its frame is small, and the rest is in take, because the stack of an idle reader would be
// twice as large otherwise.
func (k *socket) read() {
	defer k.endpoint.sockets.Running.Done()
	defer k.left()
	for {
		kind, from, err := k.ws.NextReader()
		if err != nil || !k.take(kind, from) {
			return
		}
	}
}

// take reads and handles a frame; false ends the socket.
func (k *socket) take(kind int, from io.Reader) bool {
	data, err := io.ReadAll(from)
	if err != nil {
		return false
	}
	k.extend()
	if err := k.receive(kind, data); err != nil {
		k.endpoint.Log.Warn("socket of an old game server closed", "process", k.of().processID(), "reason", err)
		return false
	}
	return true
}

// extend gives the client more time for its next frame.
func (k *socket) extend() {
	if !k.plain {
		limit := k.endpoint.PingInterval + k.endpoint.PingTimeout
		_ = k.ws.SetReadDeadline(time.Now().Add(limit)) // in real time; a failure shows in NextReader
	}
}

var errUnexpected = errors.New("binary frame without a request")

func (k *socket) receive(kind int, data []byte) error {
	switch {
	case k.plain:
		return nil // only for pushes
	case kind == websocket.BinaryMessage:
		return errUnexpected
	}
	f, err := parseFrame(data)
	if err != nil {
		return err
	}
	first := !k.spoke
	k.spoke = true
	switch f.kind {
	case pingFrame:
		k.out.Enqueue(websocket.TextMessage, append([]byte{'3'}, f.data...))
	case connectFrame:
		if first {
			k.ping()
		}
	case leaveFrame:
		k.leaving = true
	case ackFrame:
		k.acknowledged(f)
	case requestFrame:
		return k.request(f)
	}
	return nil
}

// request reads the attachment of a request and starts it.
func (k *socket) request(f frame) error {
	var data []byte
	if f.attached {
		kind, content, err := k.ws.ReadMessage()
		if err != nil || kind != websocket.BinaryMessage {
			return errors.New("request without its attachment")
		}
		data = attachment(content)
	}
	k.of().handle(f.event, data, k, func(text string, err error) {
		if f.id < 0 {
			return
		}
		ack := ackOf(f.id, true, text)
		if err != nil {
			ack = ackOf(f.id, false, failureOf(err))
		}
		k.out.Enqueue(websocket.TextMessage, ack)
	})
	return nil
}

// ping sends a ping in each interval, as a server of Engine.IO 4 does.
func (k *socket) ping() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return
	}
	k.pinging = k.endpoint.Clock.AfterFunc(k.endpoint.PingInterval, func() {
		k.out.Enqueue(websocket.TextMessage, []byte("2"))
		k.ping()
	})
}

// of returns the game server that has the socket.
func (k *socket) of() *server {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.server
}

// move gives the socket to another game server, and reports whether it has closed before.
func (k *socket) move(to *server) (closed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.server = to
	return k.closed
}

// push implements link.
func (k *socket) push(p push, answered func(error)) {
	if k.plain {
		k.out.Enqueue(websocket.TextMessage, envelope(p))
		return
	}
	content := p.content
	if !p.terminate.IsZero() {
		content = terminateProcess{p.terminate.Unix()}
	}
	id := int64(-1)
	if p.confirmed {
		id = k.expect(answered)
	}
	if !k.out.Enqueue(websocket.TextMessage, eventFrame(id, p.event, textOf(content))) && id >= 0 {
		k.settle(id, errLost)
	}
}

var (
	errRejected = fault.New(fault.FleetCapacityExceeded,
		"The game server has not accepted the game session: it answered false, or has no OnStartGameSession.")
	errSilent = fault.New(fault.FleetCapacityExceeded, "The game server has not accepted the game session in time.")
)

// expect returns the id of a push, and calls answered with the acknowledgement, or after the time-out.
func (k *socket) expect(answered func(error)) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	id := k.lastAck
	k.lastAck++
	if k.waiting == nil {
		k.waiting = map[int64]waitingAck{}
	}
	timer := k.endpoint.Clock.AfterFunc(k.endpoint.StartTimeout, func() { k.settle(id, errSilent) })
	k.waiting[id] = waitingAck{answered, timer}
	return id
}

func (k *socket) acknowledged(f frame) {
	if f.accepted {
		k.settle(f.id, nil)
		return
	}
	k.settle(f.id, errRejected)
}

// settle completes a push. Unknown ids are those of pushes over an earlier socket, or of a second answer.
func (k *socket) settle(id int64, err error) {
	k.mu.Lock()
	w, ok := k.waiting[id]
	delete(k.waiting, id)
	k.mu.Unlock()
	if ok {
		w.timer.Stop()
		w.answered(err)
	}
}

// left cleans up after the reader has ended.
func (k *socket) left() {
	if !k.out.Finishing() { // else the writer closes
		k.close()
	}
	k.mu.Lock()
	k.closed = true
	waiting, server := k.waiting, k.server
	k.waiting = nil
	if k.pinging != nil {
		k.pinging.Stop()
	}
	k.mu.Unlock()
	for _, w := range waiting {
		w.timer.Stop()
		w.answered(errLost)
	}
	server.leave(k, k.leaving)
	k.endpoint.sockets.Remove(k)
	k.endpoint.Metrics.Closed()
	k.endpoint.say("client disconnected", "process", server.processID())
}

// close implements link. It closes the TCP connection without a Close frame, so that the client reconnects.
func (k *socket) close() { k.out.Close() }

// slow is called when the client does not read.
func (k *socket) slow() {
	k.endpoint.Metrics.Slow()
	k.endpoint.Log.Warn("socket closed: old game server does not read", "process", k.of().processID())
}
