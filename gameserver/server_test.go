package gameserver_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/gameserver"
)

const gameSession = "arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-lab/gsess-1"

const create = `{"Action":"CreateGameSession","GameSessionId":"` + gameSession +
	`","GameSessionName":"duel","MaximumPlayerSessionCount":8,` +
	`"IpAddress":"203.0.113.9","Port":7777,"DnsName":"","GameSessionData":"{}","MatchmakerData":null,` +
	`"GameProperties":{"mode":"ranked"}}`

// hosting is a Server that has been given a game session, and the socket.
func hosting(t *testing.T, s *service, p gameserver.ProcessParameters) (*gameserver.Server, *conn) {
	t.Helper()
	started := make(chan gameserver.GameSession, 1)
	p.Port = 7777
	p.OnStartGameSession = func(gs gameserver.GameSession) { started <- gs }
	server, _ := connect(t, s, nil)
	c := s.next()
	if err := server.ProcessReady(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if err := c.write(create); err != nil {
		t.Fatal(err)
	}
	receive(t, "OnStartGameSession", started)
	return server, c
}

func TestLifeOfAProcess(t *testing.T) {
	s := newService(t)
	s.replies["DescribePlayerSessions"] = `"StatusCode":200,"NextToken":"n","PlayerSessions":[{"PlayerId":"p1",` +
		`"PlayerSessionId":"psess-1","GameSessionId":"g",` +
		`"FleetId":"f","PlayerData":"d","IpAddress":"1.2.3.4","DnsName":"","Port":7,"CreationTime":1767323045000,` +
		`"TerminationTime":0,"Status":"ACTIVE"}]`
	s.replies["GetComputeCertificate"] = `"StatusCode":200,"CertificatePath":"/c.pem","ComputeName":"host-1"`
	server, _ := connect(t, s, nil)
	c := s.next()
	started, terminated := make(chan gameserver.GameSession, 2), make(chan struct{}, 2)
	ctx := t.Context()
	if err := server.ProcessReady(ctx, gameserver.ProcessParameters{
		Port: 7777, LogPaths: []string{"/log"},
		OnStartGameSession: func(gs gameserver.GameSession) { started <- gs },
		OnProcessTerminate: func() { terminated <- struct{}{} },
	}); err != nil {
		t.Fatal(err)
	}
	if err := server.ActivateGameSession(ctx); !errors.Is(err, gameserver.ErrNoGameSession) {
		t.Errorf("activating without a game session: %v", err)
	}
	for range 2 { // the service repeats what is not acknowledged
		if err := c.write(create); err != nil {
			t.Fatal(err)
		}
	}
	gs := receive(t, "OnStartGameSession", started)
	if gs.GameSessionID != gameSession || gs.Name != "duel" || gs.FleetID != "fleet-1" ||
		gs.MaximumPlayerSessionCount != 8 || gs.Port != 7777 || gs.GameProperties["mode"] != "ranked" {
		t.Errorf("started with %+v", gs)
	}
	for name, call := range map[string]func() error{
		"ActivateGameSession": func() error { return server.ActivateGameSession(ctx) },
		"AcceptPlayerSession": func() error { return server.AcceptPlayerSession(ctx, "psess-1") },
		"RemovePlayerSession": func() error { return server.RemovePlayerSession(ctx, "psess-1") },
		"UpdatePlayerSessionCreationPolicy": func() error {
			return server.UpdatePlayerSessionCreationPolicy(ctx, gameserver.DenyAll)
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	page, err := server.DescribePlayerSessions(ctx, gameserver.PlayerSessionQuery{GameSessionID: gameSession})
	if err != nil || page.NextToken != "n" || len(page.PlayerSessions) != 1 ||
		page.PlayerSessions[0].Status != gameserver.PlayerSessionActive ||
		page.PlayerSessions[0].CreationTime.UnixMilli() != 1767323045000 ||
		!page.PlayerSessions[0].TerminationTime.IsZero() {
		t.Errorf("described %+v, %v", page, err)
	}
	if cert, err := server.GetComputeCertificate(ctx); err != nil || cert.CertificatePath != "/c.pem" ||
		cert.ComputeName != "host-1" {
		t.Errorf("certificate %+v, %v", cert, err)
	}
	if _, ordered := server.TerminationTime(); ordered {
		t.Error("asked to terminate too early")
	}
	for range 2 {
		if err := c.write(`{"Action":"TerminateProcess","TerminationTime":1767326645000}`); err != nil {
			t.Fatal(err)
		}
	}
	receive(t, "OnProcessTerminate", terminated)
	if at, ordered := server.TerminationTime(); !ordered || at.UnixMilli() != 1767326645000 {
		t.Errorf("termination at %v, %t", at, ordered)
	}
	for range 2 {
		if err := server.ProcessEnding(ctx); err != nil {
			t.Fatal(err)
		}
	}
	server.Close()
	server.Wait()
	if len(started) != 0 || len(terminated) != 0 {
		t.Errorf("repeated pushes called back again: %d starts, %d terminates", len(started), len(terminated))
	}
	s.await("one TerminateServerProcess", func() bool { return s.requests["TerminateServerProcess"] == 1 })
	if server.Err() != nil {
		t.Errorf("Err after Close: %v", server.Err())
	}
	if err := server.ActivateGameSession(ctx); !errors.Is(err, gameserver.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestUpdateGameSession(t *testing.T) {
	s := newService(t)
	updates := make(chan gameserver.GameSessionUpdate, 1)
	_, c := hosting(t, s, gameserver.ProcessParameters{OnUpdateGameSession: func(u gameserver.GameSessionUpdate) {
		updates <- u
	}})
	err := c.write(`{"Action":"UpdateGameSession","GameSession":{"GameSessionId":"` + gameSession +
		`","Name":"duel","FleetId":"fleet-1"},"UpdateReason":"BACKFILL_FAILED","BackfillTicketId":"t"}`)
	if err != nil {
		t.Fatal(err)
	}
	u := receive(t, "OnUpdateGameSession", updates)
	if u.Reason != gameserver.BackfillFailed || u.BackfillTicketID != "t" || u.GameSession.FleetID != "fleet-1" ||
		u.GameSession.GameProperties == nil {
		t.Errorf("updated with %+v", u)
	}
}

func TestTerminateWithoutCallback(t *testing.T) {
	s := newService(t)
	server, c := hosting(t, s, gameserver.ProcessParameters{})
	if err := c.write(`{"Action":"TerminateProcess","TerminationTime":0}`); err != nil {
		t.Fatal(err)
	}
	receive(t, "the Server to close itself", server.Done())
	s.await("TerminateServerProcess", func() bool { return s.requests["TerminateServerProcess"] == 1 })
}

func TestErrorsOfTheService(t *testing.T) {
	s := newService(t)
	s.replies["AcceptPlayerSession"] = `"StatusCode":404,"ErrorMessage":"NotFoundException: no such player session"`
	server, _ := hosting(t, s, gameserver.ProcessParameters{})
	err := server.AcceptPlayerSession(t.Context(), "psess-dead")
	var e *gameserver.Error
	if !errors.As(err, &e) || e.Code != 404 || e.Action != "AcceptPlayerSession" ||
		e.Message != "NotFoundException: no such player session" {
		t.Errorf("got %#v", err)
	}
	if err.Error() != "AcceptPlayerSession: 404 NotFoundException: no such player session" {
		t.Errorf("text %q", err)
	}
}

func TestCallsOutOfOrder(t *testing.T) {
	server := gameserver.New(gameserver.Config{Getenv: noEnvironment})
	if _, err := server.GetComputeCertificate(t.Context()); !errors.Is(err, gameserver.ErrNotConnected) {
		t.Errorf("before Connect: %v", err)
	}
	server.Close()
	server.Close()
	if err := server.Connect(t.Context(), newService(t).parameters()); !errors.Is(err, gameserver.ErrClosed) {
		t.Errorf("Connect after Close: %v", err)
	}
	s := newService(t)
	connected, _ := connect(t, s, nil)
	if err := connected.Connect(t.Context(), s.parameters()); !errors.Is(err, gameserver.ErrConnected) {
		t.Errorf("second Connect: %v", err)
	}
	start := func(gameserver.GameSession) {}
	for _, p := range []gameserver.ProcessParameters{
		{Port: 0, OnStartGameSession: start}, {Port: 60001, OnStartGameSession: start}, {Port: 1},
	} {
		if err := connected.ProcessReady(t.Context(), p); !errors.Is(err, gameserver.ErrInvalid) {
			t.Errorf("ProcessReady(%+v): %v", p, err)
		}
	}
	ready := gameserver.ProcessParameters{Port: 1, OnStartGameSession: start}
	s.set(func() {
		s.replies["ActivateServerProcess"] = `"StatusCode":429,"ErrorMessage":"ThrottlingException: slow down"`
	})
	if err := connected.ProcessReady(t.Context(), ready); err == nil {
		t.Error("ProcessReady succeeded though it was throttled")
	}
	s.set(func() { delete(s.replies, "ActivateServerProcess") })
	if err := connected.ProcessReady(t.Context(), ready); err != nil {
		t.Errorf("second try of ProcessReady: %v", err)
	}
	if err := connected.ProcessReady(t.Context(), ready); !errors.Is(err, gameserver.ErrReady) {
		t.Errorf("ProcessReady again: %v", err)
	}
}

func TestConnectRefused(t *testing.T) {
	s := newService(t)
	s.statuses = []int{403}
	server := gameserver.New(gameserver.Config{Getenv: noEnvironment})
	err := server.Connect(t.Context(), s.parameters())
	var e *gameserver.Error
	if !errors.As(err, &e) || e.Code != 403 || e.Message != "Refused: 403" {
		t.Errorf("got %v", err)
	}
	server.Wait()
}

func TestConnectMissingParameters(t *testing.T) {
	s := newService(t)
	for _, remove := range []func(*gameserver.ServerParameters){
		func(p *gameserver.ServerParameters) { p.WebSocketURL = "" },
		func(p *gameserver.ServerParameters) { p.WebSocketURL = "https://x" },
		func(p *gameserver.ServerParameters) { p.HostID = "" },
		func(p *gameserver.ServerParameters) { p.FleetID = "" },
		func(p *gameserver.ServerParameters) { p.AuthToken = "" },
	} {
		p := s.parameters()
		remove(&p)
		err := gameserver.New(gameserver.Config{Getenv: noEnvironment}).Connect(t.Context(), p)
		if !errors.Is(err, gameserver.ErrInvalid) {
			t.Errorf("Connect without a parameter: %v", err)
		}
	}
}

func TestConnectGivesUpWithItsContext(t *testing.T) {
	server := gameserver.New(gameserver.Config{Getenv: noEnvironment})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	p := newService(t).parameters()
	p.WebSocketURL = "ws://127.0.0.1:1"
	if err := server.Connect(ctx, p); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestEnvironmentAndKeys(t *testing.T) {
	s := newService(t)
	env := map[string]string{
		"GAMELIFT_SDK_WEBSOCKET_URL": s.url(), "GAMELIFT_SDK_PROCESS_ID": "ManagedResource",
		"GAMELIFT_SDK_HOST_ID": "env-host",
		"GAMELIFT_REGION":      "us-west-2", "GAMELIFT_ACCESS_KEY": "AK", "GAMELIFT_SECRET_KEY": "secret",
		"GAMELIFT_SESSION_TOKEN": "a+b/c=",
	}
	server := gameserver.New(gameserver.Config{Getenv: func(name string) string { return env[name] }})
	defer server.Close()
	if err := server.Connect(t.Context(), gameserver.ServerParameters{
		WebSocketURL: "ws://nowhere.invalid", HostID: "arg-host", FleetID: "fleet-1",
	}); err != nil {
		t.Fatal(err)
	}
	q := s.queries[0]
	for key, want := range map[string]string{
		"ComputeId": "env-host", "FleetId": "fleet-1", "Authorization": "SigV4", "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
		"X-Amz-Security-Token": "a+b/c=", "sdkLanguage": "Go", "pID": server.ProcessID(),
	} {
		if got := q.Get(key); got != want {
			t.Errorf("query has %s=%q, want %q", key, got, want)
		}
	}
	if id := server.ProcessID(); id == "" || id == "ManagedResource" {
		t.Errorf("process id %q", id)
	}
	if !strings.HasPrefix(q.Get("X-Amz-Credential"), "AK/") || len(q.Get("X-Amz-Signature")) != 64 {
		t.Errorf("signature %v", q)
	}
}

func TestTrustsTheCAFile(t *testing.T) {
	s := newService(t)
	secure := httptest.NewTLSServer(s)
	defer secure.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	der := secure.Certificate().Raw
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	p := s.parameters()
	p.WebSocketURL = "wss" + strings.TrimPrefix(secure.URL, "https")
	getenv := func(name string) string {
		if name == "MUSTER_CA_FILE" {
			return file
		}
		return ""
	}
	server := gameserver.New(gameserver.Config{Getenv: getenv})
	defer server.Close()
	if err := server.Connect(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	missing := gameserver.New(gameserver.Config{Getenv: func(string) string { return "" }})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := missing.Connect(ctx, p); err == nil {
		t.Error("connected to a server with an unknown certificate")
	}
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := gameserver.New(gameserver.Config{Getenv: getenv}).Connect(t.Context(), p); err == nil ||
		!strings.Contains(err.Error(), "MUSTER_CA_FILE") {
		t.Errorf("with an empty CA file: %v", err)
	}
}
