package figures

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/wire"
)

// bare is the peer of the figures over sockets: it sends and takes the frames
// that the service does, with the WebSocket library of the service's door, and
// calls with net/http and the service's codec. Nothing is behind that: no
// signature, no state but the sockets that wait, no disk, one goroutine a socket.
type bare struct {
	upgrader websocket.Upgrader
	idle     chan *bareSocket // those whose processes wait for a game session
	created  atomic.Uint64    // game sessions
	feed     bareFeed
}

// mostIdle is how many sockets may wait.
const mostIdle = 1 << 16

// serveBare plays the bare peer. It answers its only order, which says nothing,
// with its endpoints.
func serveBare(orders *json.Decoder, answer func(any) error) error {
	var nothing any
	if err := orders.Decode(&nothing); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	p := &bare{idle: make(chan *bareSocket, mostIdle), feed: bareFeed{wake: make(chan struct{}, 1)}}
	p.upgrader.ReadBufferSize, p.upgrader.WriteBufferPool = 512, &sync.Pool{} // as the service's door has it
	server := &http.Server{Handler: p}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	address := listener.Addr().String()
	err = answer(muster.Endpoints{HTTP: "http://" + address, WS: "ws://" + address, AccessKey: stepKey,
		SecretKey: stepSecret, Region: testRegion})
	if err == nil {
		err = untilNoMoreFootprints(orders, answer)
	}
	return errors.Join(err, server.Close(), ignoring(<-ended, http.ErrServerClosed))
}

func ignoring(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func (p *bare) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		p.call(w, r)
	case r.URL.Path == "/metrics":
		promhttp.Handler().ServeHTTP(w, r)
	case r.URL.Path == "/v1/events":
		p.feed.follow(w, r)
	default:
		p.socket(w, r)
	}
}

// call answers a call of the API.
func (p *bare) call(w http.ResponseWriter, r *http.Request) {
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(r.Body, body)
	var out []byte
	if err == nil {
		out, err = p.answer(strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "GameLift."), body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header()["Content-Type"] = []string{"application/x-amz-json-1.1"}
	w.Header()["Content-Length"] = []string{strconv.Itoa(len(out))}
	_, _ = w.Write(out)
}

// answer makes the answer of an operation.
func (p *bare) answer(operation string, body []byte) ([]byte, error) {
	switch operation {
	case wire.OpCreateGameSession.Name:
		return p.createGameSession(body)
	case wire.OpCreatePlayerSession.Name:
		return reservation{wire.JSON, 1}.echo(nil, body, bareSession(0))
	case wire.OpCreatePlayerSessions.Name:
		return reservation{wire.JSON, 25}.echo(nil, body, bareSession(0))
	case wire.OpStartGameSessionPlacement.Name:
		return p.startPlacement(body)
	case wire.OpDescribeGameSessionPlacement.Name:
		return p.describePlacement(body)
	case wire.OpStartMatchmaking.Name:
		return p.startMatchmaking(body)
	case wire.OpCreateFleet.Name:
		return []byte(`{"FleetAttributes":{"FleetId":"` + stepFleet + `"}}`), nil
	case wire.OpGetComputeAuthToken.Name:
		return []byte(`{"AuthToken":"0123456789abcdef0123456789abcdef"}`), nil
	default: // what is made and taken away around a run
		return []byte(`{}`), nil
	}
}

func bareSession(n uint64) string {
	return fmt.Sprintf("arn:aws:gamelift:%s::gamesession/%s/custom-bench-abcdefgh-0/"+
		"gsess-00000000-0000-4000-8000-%012x", testRegion, stepFleet, n)
}

// errNoneIdle is the answer when no process waits.
var errNoneIdle = errors.New("no server process waits")

// createGameSession gives a game session to the process that has waited longest.
func (p *bare) createGameSession(body []byte) ([]byte, error) {
	in, err := wire.OpCreateGameSession.Decode(wire.JSON, body)
	if err != nil {
		return nil, err
	}
	id := bareSession(p.created.Add(1))
	select {
	case s := <-p.idle:
		err = s.push(id, in)
	default:
		err = errNoneIdle
	}
	if err != nil {
		return nil, err
	}
	return wire.OpCreateGameSession.Append(nil, wire.JSON, &wire.CreateGameSessionOutput{GameSession: &wire.GameSession{
		GameSessionId: id, Name: in.Name, FleetId: in.FleetId, Location: in.Location, IpAddress: "127.0.0.1",
		Port:         wire.Some[int32](7777),
		FleetArn:     "arn:aws:gamelift:us-west-2:111122223333:fleet/" + stepFleet,
		CreationTime: time.Now(), Status: wire.GameSessionStatusActivating, GameProperties: in.GameProperties,
		CurrentPlayerSessionCount: wire.Some[int32](0), MaximumPlayerSessionCount: in.MaximumPlayerSessionCount,
		PlayerSessionCreationPolicy: wire.PlayerSessionCreationPolicyAcceptAll,
	}}), nil
}

// A bareSocket is the socket of a server process.
type bareSocket struct {
	ws      *websocket.Conn
	writing sync.Mutex
	frame   []byte
}

// socket takes a handshake and answers the frames of the socket.
func (p *bare) socket(w http.ResponseWriter, r *http.Request) {
	ws, err := p.upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // it has been answered
	}
	defer ws.Close()
	s := &bareSocket{ws: ws}
	for {
		_, frame, err := ws.ReadMessage()
		if err != nil {
			return
		}
		action, request := member(frame, `{"Action":"`), member(frame, `"RequestId":"`)
		err = s.write(func(dst []byte) []byte {
			if string(action) == "ActivateServerProcess" {
				// Now, so that a call that follows the reply finds it; what is pushed waits until the reply is written.
				p.idle <- s
			}
			return appendReply(dst, action, request)
		})
		if err != nil {
			return
		}
	}
}

// member is the text that follows the beginning of a member.
func member(frame []byte, beginning string) []byte {
	_, rest, _ := bytes.Cut(frame, []byte(beginning))
	value, _, _ := bytes.Cut(rest, []byte{'"'})
	return value
}

// appendReply appends the reply to a request: a success.
func appendReply(dst, action, request []byte) []byte {
	dst = append(append(dst, `{"Action":"`...), action...)
	dst = append(append(dst, `","RequestId":"`...), request...)
	return append(dst, `","StatusCode":200}`...)
}

// push tells the process to start a game session.
func (s *bareSocket) push(id string, in *wire.CreateGameSessionInput) error {
	return s.write(func(dst []byte) []byte {
		dst = append(append(dst, `{"Action":"CreateGameSession","GameSessionId":"`...), id...)
		dst = append(append(dst, `","GameSessionName":"`...), in.Name...)
		return append(dst, `","MaximumPlayerSessionCount":200,"IpAddress":"127.0.0.1","Port":7777,"DnsName":"",`+
			`"GameSessionData":"","MatchmakerData":"","GameProperties":{"map":"harbour"}}`...)
	})
}

// write sends the frame that add appends.
func (s *bareSocket) write(add func([]byte) []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.frame = add(s.frame[:0])
	return s.ws.WriteMessage(websocket.TextMessage, s.frame)
}
