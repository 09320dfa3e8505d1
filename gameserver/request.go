package gameserver

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"
)

const (
	requestLimit  = 20 * time.Second // for a reply. Source: server SDK 5, SERVICE_CALL_TIMEOUT
	activateLimit = 6 * time.Second  // for the reply to ActivateServerProcess. Source: server SDK 5, Go edition
)

// An envelope begins every request.
type envelope struct {
	Action    string
	RequestId string
}

// A reply is the service's answer to a request.
type reply struct {
	status  int
	message string
	data    []byte // the whole message
}

// call sends a request and waits for its reply, at most for limit. The fields are a struct or nil. While the connection
// is down the request waits, and one without a reply is sent again over the next connection under the same id, by which
// the service knows it. Nothing is sent when ctx is done.
func (s *Server) call(ctx context.Context, action string, limit time.Duration, fields any) ([]byte, error) {
	id := uuid.NewString()
	message, err := encode(envelope{action, id}, fields)
	if err != nil {
		return nil, failed(action, err)
	}
	replies, err := s.expect(action, id)
	if err != nil {
		return nil, err
	}
	defer s.forget(id)
	timer := s.clock.NewTimer(limit)
	defer timer.Stop()
	var sent *socket // the one that the reply is to come from
	asked := false   // the request was sent
	noReply := func(cause error) error {
		return &Error{Action: action, Message: cause.Error(), Err: cause, sent: asked}
	}
	for {
		sock, changed := s.connection()
		if sent != nil && sent != sock && sent.isDown() {
			sent = nil
		}
		if sent == nil && sock != nil && ctx.Err() == nil {
			s.send(sock, action, message)
			sent, asked = sock, true
		}
		var down <-chan struct{} // of a socket that was refreshed and is still read
		if sent != nil && sent != sock {
			down = sent.down
		}
		select {
		case r := <-replies:
			if r.status != http.StatusOK {
				return nil, &Error{Code: r.status, Action: action, Message: r.message}
			}
			return r.data, nil
		case <-changed:
		case <-down:
		case <-timer.Chan():
			if sent != nil {
				sent.timedOut()
			}
			return nil, noReply(ErrTimeout)
		case <-ctx.Done():
			return nil, noReply(ctx.Err())
		case <-s.done:
			return nil, noReply(ErrClosed)
		}
	}
}

// send writes a request. A socket that fails is closed, and the request goes over the next one.
func (s *Server) send(sock *socket, action string, message []byte) {
	s.cfg.Trace(Message{Sent: true, Remote: sock.ws.RemoteAddr(), Text: string(message)})
	if err := sock.write(message); err != nil {
		s.log.Debug("sending failed", "action", action, "error", err)
	}
}

func (s *Server) expect(action, id string) (<-chan reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, failed(action, ErrClosed)
	case !s.begun:
		return nil, failed(action, ErrNotConnected)
	}
	replies := make(chan reply, 1)
	s.pending[id] = replies
	return replies, nil
}

// forget ends the wait for a reply.
func (s *Server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pending, id)
}

// encode joins the envelope and the fields to one object.
func encode(e envelope, fields any) ([]byte, error) {
	head, err := json.Marshal(e)
	if err != nil || fields == nil {
		return head, err
	}
	rest, err := json.Marshal(fields)
	if err != nil || len(rest) <= len("{}") {
		return head, err
	}
	return append(append(head[:len(head)-1], ','), rest[1:]...), nil
}
