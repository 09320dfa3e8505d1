//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/gorilla/websocket"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-gg/muster/e2e/child"
	"github.com/muster-gg/muster/mustertest"
)

// TestKillWithOldServers kills the service while game servers on server SDK 3 host game sessions. They reconnect by
// their own rule, and say nothing of what they did before: each must keep its game session, get no second one, and host
// the next one afterwards.
func TestKillWithOldServers(t *testing.T) {
	t.Parallel()
	const servers = 20
	random := draw(t)
	var ports []string
	for range 3 {
		_, port, err := net.SplitHostPort(child.FreeAddress(t, random))
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, port)
	}
	s := newService(t, random, []string{"--legacy", "--legacy-ports", strings.Join(ports, ",")})
	s.start(t.Context())
	old := &oldServers{T: t, url: "ws://127.0.0.1:" + ports[0]}
	ctx, stop := context.WithCancel(t.Context())
	defer old.running.Wait()
	defer stop()
	hosted := map[string]*oldServer{}
	client := old.client(s)
	for i := range servers {
		g := old.run(ctx, fmt.Sprint(1000+i))
		g.must("ProcessReady", protowire.AppendVarint([]byte{2 << 3}, uint64(7000+i)))
	}
	for range servers {
		out, err := client.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: aws.String("fleet-123"),
			MaximumPlayerSessionCount: aws.Int32(2)})
		if err != nil {
			t.Fatal(err)
		}
		g := <-old.started
		hosted[*out.GameSession.GameSessionId] = g
		g.must("GameSessionActivate", text(1, *out.GameSession.GameSessionId))
	}
	for range share(3) {
		s.Kill()
		s.start(ctx)
		client = old.client(s)
		for id, g := range hosted {
			g.must("UpdatePlayerSessionCreationPolicy", append(text(1, id), text(2, "ACCEPT_ALL")...))
		}
	}
	if len(old.started) != 0 {
		t.Errorf("%d game sessions were started twice", len(old.started))
	}
	out, err := client.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{FleetId: aws.String("fleet-123")})
	if err != nil || len(out.GameSessions) != servers {
		t.Fatalf("%d game sessions: %v", len(out.GameSessions), err)
	}
	for _, g := range out.GameSessions {
		if g.Status != types.GameSessionStatusActive {
			t.Errorf("%s is %s", *g.GameSessionId, g.Status)
		}
	}
	for id, g := range hosted {
		g.must("GameSessionTerminate", text(1, id))
	}
	for range servers {
		if _, err := client.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: aws.String("fleet-123"),
			MaximumPlayerSessionCount: aws.Int32(2)}); err != nil {
			t.Fatal(err)
		}
		<-old.started
	}
}

func text(number protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

// oldServers are game servers on socket.io, each with one socket.
type oldServers struct {
	*testing.T
	url     string
	running sync.WaitGroup
	started chan *oldServer // has a server for each game session that was started
}

func (o *oldServers) client(s *service) *gamelift.Client {
	v := s.environment()
	return gamelift.New(gamelift.Options{Region: v["AWS_REGION"],
		BaseEndpoint: aws.String(v["AWS_ENDPOINT_URL_GAMELIFT"]),
		Credentials:  mustertest.StaticKey(v["AWS_ACCESS_KEY_ID"], v["AWS_SECRET_ACCESS_KEY"])})
}

// run runs a game server until ctx ends.
func (o *oldServers) run(ctx context.Context, pid string) *oldServer {
	if o.started == nil {
		o.started = make(chan *oldServer, 1000)
	}
	g := &oldServer{all: o, pid: pid, requests: make(chan oldRequest)}
	o.running.Go(func() {
		for ctx.Err() == nil {
			g.connected(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second): // as the SDKs for C# and Node.js begin
			}
		}
	})
	return g
}

type oldServer struct {
	all      *oldServers
	pid      string
	requests chan oldRequest
}

type oldRequest struct {
	message string
	payload []byte
	ack     chan string
}

// must sends a request until it is acknowledged, which must be with success.
func (g *oldServer) must(message string, payload []byte) {
	g.all.Helper()
	for {
		r := oldRequest{message, payload, make(chan string, 1)}
		select {
		case g.requests <- r:
		case <-g.all.Context().Done():
			g.all.Fatalf("%s was not sent", message)
		}
		if ack := <-r.ack; ack == `[true,""]` {
			return
		} else if ack != "" { // else the connection was lost
			g.all.Fatalf("server %s: %s: %s", g.pid, message, ack)
		}
	}
}

// connected serves one connection.
func (g *oldServer) connected(ctx context.Context) {
	ws, _, err := websocket.DefaultDialer.DialContext(ctx, g.all.url+"/socket.io/?EIO=3&transport=websocket&pID="+g.pid+
		"&sdkLanguage=Cpp&sdkVersion=3.1.5", nil)
	if err != nil {
		return // the service does not run
	}
	defer ws.Close() //nolint:errcheck // it is dropped
	frames := make(chan string)
	g.all.running.Go(func() {
		defer close(frames)
		for {
			_, data, err := ws.ReadMessage()
			if err != nil {
				return
			}
			select {
			case frames <- string(data):
			case <-ctx.Done():
				return
			}
		}
	})
	defer context.AfterFunc(ctx, func() { _ = ws.Close() })()
	g.serve(ws, frames)
}

// serve sends requests one after the other, and accepts game sessions, until the connection is lost.
func (g *oldServer) serve(ws *websocket.Conn, frames <-chan string) {
	pending := oldRequest{}
	defer func() {
		if pending.ack != nil {
			pending.ack <- ""
		}
	}()
	for {
		requests := g.requests
		if pending.ack != nil {
			requests = nil
		}
		select {
		case frame, open := <-frames:
			switch {
			case !open:
				return
			case strings.HasPrefix(frame, "431"):
				pending.ack <- strings.TrimPrefix(frame, "431")
				pending = oldRequest{}
			case strings.Contains(frame, "StartGameSession"):
				id := strings.TrimPrefix(frame[:strings.IndexByte(frame, '[')], "42")
				_ = ws.WriteMessage(websocket.TextMessage, []byte("43"+id+"[true]"))
				g.all.started <- g
			}
		case pending = <-requests:
			name, _ := json.Marshal("com.amazon.whitewater.auxproxy.pbuffer." + pending.message)
			_ = ws.WriteMessage(websocket.TextMessage, []byte(`451-1[`+string(name)+`,{"_placeholder":true,"num":0}]`))
			_ = ws.WriteMessage(websocket.BinaryMessage, append([]byte{4}, pending.payload...))
		}
	}
}
