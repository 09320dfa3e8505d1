package legacy

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// Pushes returns the handler of port 5759.
func (e *Endpoint) Pushes() http.Handler { return http.HandlerFunc(e.servePushes) }

func (e *Endpoint) servePushes(w http.ResponseWriter, r *http.Request) {
	if !e.admitted(w, r) {
		return
	}
	defer e.sockets.Running.Done()
	q := r.URL.Query()
	switch {
	case !websocket.IsWebSocketUpgrade(r):
		e.refuse(w, http.StatusBadRequest, "This port is for the WebSockets of game servers on server SDK 4.")
	case !validPID(q.Get("pID")):
		e.refuse(w, http.StatusBadRequest, "The query must have a pID of 1 to 64 bytes.")
	default:
		e.openSocket(w, r, about{clip(q.Get("sdkLanguage")), clip(q.Get("sdkVersion")), overHTTP}, q.Get("pID"))
	}
}

// envelope returns a push for the WebSocket: AuxProxyToSdkEnvelope with a message of type Any.
func envelope(p push) []byte {
	content := p.content
	if !p.terminate.IsZero() {
		content = terminateProcess{p.terminate.UnixMilli()}
	}
	inner := textOf(content)
	kind, _ := json.Marshal("type.googleapis.com/" + messagePrefix + p.message) // cannot fail
	members := strings.TrimPrefix(inner, "{")
	return []byte(`{"innerMessage":{"@type":` + string(kind) + "," + members + "}")
}

// Calls returns the handler of port 5758.
func (e *Endpoint) Calls() http.Handler { return http.HandlerFunc(e.serveCall) }

func (e *Endpoint) serveCall(w http.ResponseWriter, r *http.Request) {
	if !e.admitted(w, r) {
		return
	}
	defer e.sockets.Running.Done()
	pid, target := r.Header.Get("gamelift-server-pid"), r.Header.Get("gamelift-target")
	switch {
	case r.Method != http.MethodPost:
		e.refuse(w, http.StatusMethodNotAllowed, "The method must be POST.")
		return
	case target == "" || !validPID(pid):
		e.refuse(w, http.StatusBadRequest, "The headers gamelift-target and gamelift-server-pid are required.")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		e.refuse(w, http.StatusRequestEntityTooLarge, "The body is too large, or did not arrive in whole.")
		return
	}
	text, err := e.call(r, pid, target, body)
	if err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(statusOf(err))
		_, _ = io.WriteString(w, failureOf(err))
		return
	}
	if text != "" {
		w.Header().Set("Content-Type", "application/json")
	}
	_, _ = io.WriteString(w, text) // the client may have closed the connection
}

// call carries out a request. A process that lost its WebSocket keeps its game session, because the SDK does not open
// another one; it can host no new one.
func (e *Endpoint) call(r *http.Request, pid, target string, body []byte) (string, error) {
	s := e.join(serverKey{address: addressOf(r), pid: pid}, about{protocol: overHTTP})
	if err := s.connect(r.Context(), true); err != nil {
		e.forget(s)
		return "", err
	}
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	s.handle(target, body, s.anyLink(), func(text string, err error) { answers <- answer{text, err} })
	ctx, cancel := context.WithTimeout(r.Context(), callLimit)
	defer cancel()
	select {
	case a := <-answers:
		return a.text, a.err
	case <-ctx.Done():
		return "", fault.New(fault.ServiceUnavailable, "The request took too long. Try again.")
	}
}

// anyLink returns a socket of the game server; nil if it has none.
func (s *server) anyLink() link {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.links) == 0 {
		return nil
	}
	return s.links[0]
}
