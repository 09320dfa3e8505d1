//go:build unix

package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/gorilla/websocket"
)

// A patient is a server process that reports its health much more often than the
// SDKs do, to see whether the reports go through.
type patient struct {
	world *world
	ws    *websocket.Conn
	sent  int
}

// admit connects a process that waits for a game session which never comes.
func (w *world) admit(ctx context.Context, c compute) (*patient, error) {
	query := url.Values{
		"pID": {fmt.Sprintf("patient-%d", w.number())}, "sdkVersion": {"5.6.0"}, "sdkLanguage": {"Go"},
		"ComputeId": {c.name}, "FleetId": {w.fleet}, "Authorization": {c.token},
	}
	ws, _, err := websocket.DefaultDialer.DialContext(ctx, w.service.env["MUSTER_WS_URL"]+"/?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	p := &patient{world: w, ws: ws}
	return p, p.ask(map[string]any{"Action": "ActivateServerProcess", "SdkVersion": "5.6.0", "SdkLanguage": "Go",
		"Port": 7777, "LogPaths": []string{}})
}

// ask sends a request and waits for its reply, which must say that it was done.
func (p *patient) ask(request map[string]any) error {
	p.sent++
	id := fmt.Sprintf("request-%d", p.sent)
	request["RequestId"] = id
	if err := p.ws.WriteJSON(request); err != nil {
		return err
	}
	if err := p.ws.SetReadDeadline(time.Now().Add(sessionLimit)); err != nil {
		return err
	}
	for {
		_, data, err := p.ws.ReadMessage()
		if err != nil {
			return err
		}
		var reply struct {
			RequestId    string
			StatusCode   int
			ErrorMessage string
		}
		if err := json.Unmarshal(data, &reply); err != nil {
			return err
		}
		if reply.RequestId != id {
			continue // a push
		}
		if reply.StatusCode != 200 {
			return fmt.Errorf("status %d", reply.StatusCode)
		}
		return nil
	}
}

// report reports its health in each interval until ctx is done, and ends then.
func (p *patient) report(ctx context.Context, r *recorder, interval time.Duration) {
	defer p.ws.Close()
	for pause(ctx, interval) {
		if !r.do("health reports", func() error {
			return p.ask(map[string]any{"Action": "HeartbeatServerProcess", "HealthStatus": true})
		}) {
			return
		}
	}
	r.do("TerminateServerProcess", func() error { return p.ask(map[string]any{"Action": "TerminateServerProcess"}) })
}
