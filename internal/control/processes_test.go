package control

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// inRoom is a server process as its room knows it, or nil.
func (s *socket) inRoom() *fleet.Process {
	s.w.t.Helper()
	room := s.w.room(s.connect.FleetID, "custom-a")
	key := fleet.ProcessKey{Compute: s.connect.ComputeName, ID: s.connect.ProcessID}
	p, err := router.InRoom(s.w.ctx, s.w.Router, room, func(r *fleet.Room) *fleet.Process {
		p, _ := r.Process(key)
		return p
	})
	s.ok(err)
	return p
}

func wantKind(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: got %v, want %s", what, err, kind)
	}
}

func TestConnect(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	token, foreign := w.compute(id, "custom-a", "c1"), w.compute(id, "custom-a", "c2")
	other := w.fleetAt("custom-a")
	otherToken := w.compute(other, "custom-a", "c1")
	good := processes.ConnectRequest{FleetID: id, ComputeName: "c1", ProcessID: "p1", Authorization: token,
		IdempotencyToken: "i1"}
	for what, c := range map[string]struct {
		change func(*processes.ConnectRequest)
		kind   fault.Kind
	}{
		"no fleet":           {func(c *processes.ConnectRequest) { c.FleetID = "" }, fault.InvalidRequest},
		"no compute":         {func(c *processes.ConnectRequest) { c.ComputeName = "" }, fault.InvalidRequest},
		"no process":         {func(c *processes.ConnectRequest) { c.ProcessID = "" }, fault.InvalidRequest},
		"no token":           {func(c *processes.ConnectRequest) { c.Authorization = "" }, fault.InvalidRequest},
		"unknown fleet":      {func(c *processes.ConnectRequest) { c.FleetID = "fleet-unknown" }, fault.AccessDenied},
		"unknown compute":    {func(c *processes.ConnectRequest) { c.ComputeName = "c9" }, fault.AccessDenied},
		"garbled token":      {func(c *processes.ConnectRequest) { c.Authorization = "x" }, fault.AccessDenied},
		"token of another":   {func(c *processes.ConnectRequest) { c.Authorization = foreign }, fault.AccessDenied},
		"token of same name": {func(c *processes.ConnectRequest) { c.Authorization = otherToken }, fault.AccessDenied},
		"compute of another": {func(c *processes.ConnectRequest) { c.FleetID = other }, fault.AccessDenied},
		"nothing is signed":  {func(c *processes.ConnectRequest) { c.Authorization = "SigV4" }, fault.AccessDenied},
		"fleet of another": {func(c *processes.ConnectRequest) { c.FleetID, c.ComputeName = other, "c2" },
			fault.AccessDenied},
		"upper case token": {func(c *processes.ConnectRequest) { c.Authorization = strings.ToUpper(token) },
			fault.AccessDenied},
	} {
		connect := good
		c.change(&connect)
		_, err := w.dial(connect)
		wantKind(t, what, err, c.kind)
		if strings.Contains(fault.Of(err).Message, connect.Authorization) && len(connect.Authorization) > 8 {
			t.Errorf("%s: the message repeats the token", what)
		}
	}
	good.FleetID = "arn:aws:gamelift:us-west-2:111122223333:fleet/" + id
	s := w.mustDial(good)
	s.ok(s.ready(7777))
}

func TestTokensOfLivingProcesses(t *testing.T) {
	w := newWorld(t, withFleet(func(s *fleet.Settings) {
		s.ProcessGrace, s.HealthInterval = 24*time.Hour, 24*time.Hour
	}))
	id := w.fleetAt("custom-a")
	token := w.compute(id, "custom-a", "c1")
	s := w.process(id, "c1", token, "p1")
	w.elapse(3*time.Hour + time.Minute)
	for range 5 { // newer tokens replace unused ones only
		w.token(id, "c1")
		w.elapse(3 * time.Hour)
	}
	_, err := w.dial(processes.ConnectRequest{FleetID: id, ComputeName: "c1", ProcessID: "p2", Authorization: token})
	wantKind(t, "a new process with an expired token", err, fault.AccessDenied)
	again := w.mustDial(s.connect)
	s.wasReplaced()
	if p := again.inRoom(); p.Status != fleet.ProcessIdle || !p.Connected {
		t.Errorf("the process that came back is %+v", p)
	}
	again.connect.IdempotencyToken = "other" // another socket of the same process
	w.mustDial(again.connect)
	again.wasReplaced()
}

func TestSecondSocketTakesOver(t *testing.T) {
	w := newWorld(t)
	fleetID, sockets := w.host(1)
	first := sockets[0]
	session := w.create(fleetID, nil)
	if p := first.next().(processes.CreateGameSessionPush); p.GameSessionID != session {
		t.Errorf("asked to start %s", p.GameSessionID)
	}
	second := w.mustDial(first.connect)
	first.wasReplaced()
	// Not answered yet: asked again.
	if p := second.next().(processes.CreateGameSessionPush); p.GameSessionID != session {
		t.Errorf("asked to start %s", p.GameSessionID)
	}
	first.Disconnected() // the old socket goes after the new one came: nothing is lost
	if p := second.inRoom(); !p.Connected {
		t.Error("the end of the old socket was taken for the end of the new one")
	}
	second.ok(second.activate(session))
	third := w.mustDial(first.connect)
	second.wasReplaced()
	third.quiet() // ACTIVE: nothing to ask for
	w.must("TerminateGameSession", object{"GameSessionId": session, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	p := third.next().(processes.TerminateProcessPush)
	if !p.TerminationTime.Equal(w.clock.Now().Add(5 * time.Minute)) {
		t.Errorf("to end by %s", p.TerminationTime)
	}
	fourth := w.mustDial(first.connect)
	if _, ok := fourth.next().(processes.TerminateProcessPush); !ok {
		t.Error("the new socket was not asked to end")
	}
	for _, s := range []*socket{first, second, third, fourth} {
		s.quiet()
	}
	if len(first.replaced)+len(second.replaced) != 0 || len(fourth.replaced) != 0 {
		t.Error("a socket was told twice that it was replaced, or the newest was told")
	}
}

// A process whose connection drops dials again immediately. The service may notice the end of the old socket while it
// processes the new one.
func TestOldSocketEndsWhileTheNewOneBegins(t *testing.T) {
	w := newWorld(t, withShards(1))
	_, sockets := w.host(1)
	first := sockets[0]
	release := w.journals[0].Hold()
	dialled := make(chan *socket)
	go func() { dialled <- w.mustDial(first.connect) }()
	if err := w.journals[0].AwaitHeld(w.ctx, 1); err != nil {
		t.Fatal(err)
	}
	first.Disconnected()
	release()
	second := <-dialled
	if p := second.inRoom(); !p.Connected || p.ReconnectBy != 0 {
		t.Errorf("the process with an open socket counts as lost: %+v", p)
	}
}

func TestProcessLife(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	token := w.compute(id, "custom-a", "c1")
	s := w.mustDial(processes.ConnectRequest{FleetID: id, ComputeName: "c1", ProcessID: "p1", Authorization: token,
		IdempotencyToken: "i1"})
	wantKind(t, "heartbeat before ready", s.heartbeat(true), fault.InvalidRequest)
	wantKind(t, "bad port", s.ready(0), fault.InvalidRequest)
	wantKind(t, "bad port", s.ready(60001), fault.InvalidRequest)
	w.refused(fault.FleetCapacityExceeded, "CreateGameSession", object{"FleetId": id, "MaximumPlayerSessionCount": 1})
	s.ok(s.ready(7777))
	s.ok(s.ready(7777))
	s.ok(s.heartbeat(true))

	session := w.create(id, object{"MaximumPlayerSessionCount": 3})
	s.next()
	foreign := w.process(id, "c1", token, "p2")
	wantKind(t, "session of another process", foreign.activate(session), fault.InvalidRequest)
	wantKind(t, "session of another fleet", s.activate(strings.Replace(session, id, "fleet-2", 1)),
		fault.InvalidRequest)
	wantKind(t, "no session", s.activate("gsess-1"), fault.InvalidRequest)
	s.ok(s.activate(session))
	s.ok(s.activate(session))
	out := w.must("CreatePlayerSessions", object{"GameSessionId": session, "PlayerIds": []string{"x", "y", "z"}})
	x, y, z := text(out, "PlayerSessions", 0, "PlayerSessionId"), text(out, "PlayerSessions", 1, "PlayerSessionId"),
		text(out, "PlayerSessions", 2, "PlayerSessionId")
	s.ok(s.accept(session, x))
	s.ok(s.accept(session, x))
	wantKind(t, "player of another", foreign.accept(session, y), fault.InvalidRequest)
	wantKind(t, "unknown player", s.accept(session, "psess-1"), fault.NotFound)
	s.ok(s.remove(session, x))
	s.ok(s.remove(session, x))
	wantKind(t, "a player who has left", s.accept(session, x), fault.Conflict)
	w.refused(fault.GameSessionFull, "CreatePlayerSessions",
		object{"GameSessionId": session, "PlayerIds": []string{"a", "b"}})
	s.ok(s.accept(session, z))
	w.elapse(61 * time.Second)
	w.await("the end of the reservation", func() bool {
		return text(w.must("DescribePlayerSessions", object{"PlayerSessionId": y}), "PlayerSessions", 0,
			"Status") == "TIMEDOUT"
	})
	wantKind(t, "a player who came too late", s.accept(session, y), fault.Conflict)

	page, err := s.describe(processes.PlayerSessionQuery{GameSessionID: session, Limit: 2})
	s.ok(err)
	if len(page.PlayerSessions) != 2 || page.PlayerSessions[0].Status != "COMPLETED" ||
		page.PlayerSessions[0].TerminationTime.IsZero() || page.PlayerSessions[1].PlayerID != "y" {
		t.Errorf("the process sees %+v", page)
	}
	page, err = s.describe(processes.PlayerSessionQuery{GameSessionID: session, Limit: 2, NextToken: page.NextToken})
	s.ok(err)
	if len(page.PlayerSessions) != 1 || page.NextToken != "" || page.PlayerSessions[0].Status != "ACTIVE" ||
		page.PlayerSessions[0].Port != 7777 {
		t.Errorf("the process sees %+v", page)
	}
	_, err = s.describe(processes.PlayerSessionQuery{GameSessionID: session, StatusFilter: "NOT_SET"})
	wantKind(t, "bad filter", err, fault.InvalidRequest)
	_, err = s.describe(processes.PlayerSessionQuery{GameSessionID: session, NextToken: "x"})
	wantKind(t, "bad token", err, fault.InvalidRequest)
	_, err = s.describe(processes.PlayerSessionQuery{})
	wantKind(t, "no selector", err, fault.InvalidRequest)

	wantKind(t, "bad policy", s.policy(session, "NOT_SET"), fault.InvalidRequest)
	s.ok(s.policy(session, "DENY_ALL"))
	w.refused(fault.InvalidGameSessionStatus, "CreatePlayerSession", object{"GameSessionId": session, "PlayerId": "a"})
	s.ok(s.policy(session, "ACCEPT_ALL"))

	s.ok(s.end())
	s.wasReplaced()
	s.quiet() // it ended by itself: it is not asked to
	s.ok(s.end())
	wantKind(t, "heartbeat of the dead", s.heartbeat(true), fault.NotFound)
	if got := w.status(session); got != "TERMINATED" {
		t.Errorf("the game session is %s", got)
	}
	again := s.connect
	again.IdempotencyToken = ""
	_, err = w.dial(again)
	wantKind(t, "an id that was used before", err, fault.AccessDenied)
	if got := w.events(id); strings.Contains(got, "SERVER_PROCESS") {
		t.Errorf("an end in order left the events %s", got)
	}
}

// The server processes get pages of 50 at most.
func TestProcessPages(t *testing.T) {
	w := newWorld(t)
	fleetID, sockets := w.host(1)
	session := w.active(fleetID, object{"MaximumPlayerSessionCount": 60}, sockets...)
	for i := range 3 {
		var ids []string
		for j := range 20 {
			ids = append(ids, fmt.Sprint(i, "-", j))
		}
		w.must("CreatePlayerSessions", object{"GameSessionId": session, "PlayerIds": ids})
	}
	for limit, want := range map[int]int{0: 50, 10: 10, 100: 50} {
		page, err := sockets[0].describe(processes.PlayerSessionQuery{GameSessionID: session, Limit: limit})
		if err != nil || len(page.PlayerSessions) != want || page.NextToken == "" {
			t.Errorf("limit %d: %d player sessions, %v", limit, len(page.PlayerSessions), err)
		}
	}
}

func TestComputeCertificate(t *testing.T) {
	w := newWorld(t)
	id := w.fleetAt("custom-a")
	w.must("RegisterCompute", object{"FleetId": id, "ComputeName": "c1", "Location": "custom-a",
		"IpAddress": "10.0.0.1", "CertificatePath": "/etc/cert.pem"})
	s := w.process(id, "c1", w.token(id, "c1"), "p1")
	var path, compute string
	s.ok(wait(func(done func(error)) {
		s.ComputeCertificate(func(p, c string, err error) { path, compute = p, c; done(err) })
	}))
	if path != "/etc/cert.pem" || compute != "c1" {
		t.Errorf("certificate %q of %q", path, compute)
	}
}

func TestUnhealthyProcessEnds(t *testing.T) {
	w := newWorld(t)
	fleetID, sockets := w.host(1)
	s := sockets[0]
	session := w.active(fleetID, nil, s)
	s.ok(s.heartbeat(false))
	s.ok(s.heartbeat(false))
	s.ok(s.heartbeat(true)) // in a row, that is
	s.ok(s.heartbeat(false))
	s.ok(s.heartbeat(false))
	if s.inRoom().Status == fleet.ProcessEnded {
		t.Fatal("ended after two bad reports")
	}
	w.elapse(time.Millisecond)
	s.ok(s.heartbeat(false))
	if _, ok := s.next().(processes.TerminateProcessPush); !ok {
		t.Error("the process was not asked to end")
	}
	s.wasReplaced()
	if w.status(session) != "TERMINATED" ||
		!strings.HasPrefix(w.events(fleetID), "SERVER_PROCESS_TERMINATED_UNHEALTHY") {
		t.Errorf("game session %s, events %s", w.status(session), w.events(fleetID))
	}
}

func TestLostProcess(t *testing.T) {
	w := newWorld(t)
	fleetID, sockets := w.host(2)
	lost, back := sockets[0], sockets[1]
	lost.Disconnected()
	lost.Disconnected()
	back.Disconnected()
	// No process is asked.
	w.refused(fault.FleetCapacityExceeded, "CreateGameSession",
		object{"FleetId": fleetID, "MaximumPlayerSessionCount": 1})
	w.elapse(199 * time.Second)
	back = w.mustDial(back.connect)
	w.elapse(2 * time.Second)
	w.await("the end of the grace period", func() bool { return lost.inRoom().Status == fleet.ProcessEnded })
	if back.inRoom().Status != fleet.ProcessIdle {
		t.Error("the process that came back ended with the other")
	}
	if got := w.events(fleetID); strings.Count(got, "SERVER_PROCESS_CRASHED") != 1 {
		t.Errorf("events %s", got)
	}
	_, err := w.dial(lost.connect)
	wantKind(t, "back from the dead", err, fault.AccessDenied)
	w.active(fleetID, nil, back)
}

// A process that does not end when it is asked is given up.
func TestTerminationGrace(t *testing.T) {
	w := newWorld(t, withFleet(func(s *fleet.Settings) { s.HealthInterval = time.Hour }))
	fleetID, sockets := w.host(1)
	session := w.active(fleetID, nil, sockets...)
	w.must("TerminateGameSession", object{"GameSessionId": session, "TerminationMode": "TRIGGER_ON_PROCESS_TERMINATE"})
	sockets[0].next()
	w.elapse(5*time.Minute + time.Second)
	sockets[0].wasReplaced()
	if w.status(session) != "TERMINATED" || !strings.HasPrefix(w.events(fleetID), "SERVER_PROCESS_FORCE_TERMINATED") {
		t.Errorf("game session %s, events %s", w.status(session), w.events(fleetID))
	}
}

func TestDeregisteredComputeEndsItsProcesses(t *testing.T) {
	w := newWorld(t)
	fleetID, sockets := w.host(2)
	session := w.create(fleetID, nil)
	w.must("DeregisterCompute", object{"FleetId": fleetID, "ComputeName": "c1"})
	for _, s := range sockets {
		s.wasReplaced()
		_, err := w.dial(s.connect)
		wantKind(t, "after the end of its compute", err, fault.AccessDenied)
	}
	if w.status(session) != "TERMINATED" {
		t.Errorf("the game session is %s", w.status(session))
	}
	token := w.compute(fleetID, "custom-a", "c1")
	if token == sockets[0].connect.Authorization {
		t.Error("the compute of the same name has the old token")
	}
}

// sign signs a connection request as the server SDKs do.
// Source: server SDK 5, AWS SigV4 utility.
func sign(c processes.ConnectRequest, key access.KeyPair, at time.Time) processes.ConnectRequest {
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	day, date := at.Format("20060102"), at.Format("20060102T150405Z")
	scope := day + "/" + testRegion + "/gamelift/aws4_request"
	canonical := sha256.Sum256([]byte("ComputeId=" + strings.ReplaceAll(c.ComputeName, "/", "%2F") + "&FleetId=" +
		c.FleetID + "&pID=" + c.ProcessID))
	signing := mac(mac(mac(mac([]byte("AWS4"+key.Secret), day), testRegion), "gamelift"), "aws4_request")
	signature := mac(signing, "AWS4-HMAC-SHA256\n"+date+"\n"+scope+"\n"+hex.EncodeToString(canonical[:]))
	c.Authorization = "SigV4"
	c.SigV4 = processes.SigV4Query{Algorithm: "AWS4-HMAC-SHA256", Credential: key.ID + "/" + scope, Date: date,
		Signature: hex.EncodeToString(signature)}
	return c
}

func TestSignedConnections(t *testing.T) {
	w := newWorld(t)
	key, _, err := w.RootKey(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	id := w.fleetAt("custom-a")
	w.compute(id, "custom-a", "task/1")
	now := w.clock.Now()
	c := processes.ConnectRequest{FleetID: id, ComputeName: "task/1", ProcessID: "p1", SDKLanguage: "Go"}
	for what, bad := range map[string]processes.ConnectRequest{
		"unknown key":  sign(c, access.KeyPair{ID: "AKIAUNKNOWN", Secret: key.Secret}, now),
		"wrong secret": sign(c, access.KeyPair{ID: key.ID, Secret: "x"}, now),
		"old":          sign(c, key, now.Add(-6*time.Minute)),
		"local time":   sign(c, key, now.Add(13*time.Hour)),
	} {
		_, err := w.dial(bad)
		wantKind(t, what, err, fault.AccessDenied)
	}
	moved := sign(c, key, now)
	moved.ProcessID = "p2"
	_, err = w.dial(moved)
	wantKind(t, "signed for another process", err, fault.AccessDenied)

	c.Endpoint = "ws://10.0.0.5:9080"
	s := w.mustDial(sign(c, key, now))
	s.quiet()
	s.ok(s.ready(7777))
	refresh := s.next().(processes.RefreshConnectionPush)
	if refresh.Endpoint != c.Endpoint || refresh.AuthToken == "" {
		t.Errorf("pushed %+v", refresh)
	}
	s.ok(s.heartbeat(true)) // the SDKs send it right behind the activation
	s.quiet()
	w.clock.Advance(time.Minute)
	s.ok(s.heartbeat(true))
	if again := s.next().(processes.RefreshConnectionPush); again != refresh { // until it has switched
		t.Errorf("then pushed %+v", again)
	}
	c.Authorization, c.IdempotencyToken = refresh.AuthToken, "new"
	switched := w.mustDial(c)
	s.wasReplaced()
	switched.ok(switched.heartbeat(true))
	switched.quiet()

	for _, zone := range []time.Duration{-12 * time.Hour, 14 * time.Hour} { // signs with local time that it calls UTC
		c.SDKLanguage, c.ProcessID = "CSharp", fmt.Sprint("p", zone)
		w.mustDial(sign(c, key, now.Add(zone)))
	}
	_, err = w.dial(sign(c, key, now.Add(15*time.Hour)))
	wantKind(t, "beyond all zones", err, fault.AccessDenied)
	_, err = w.dial(sign(c, key, now.Add(13*time.Hour+7*time.Minute)))
	wantKind(t, "no zone", err, fault.AccessDenied)
}

// A local time that is called UTC makes a signature good at many moments of a day. It is
// taken once, also after a restart, and when the process has been forgotten.
func TestLocalSignatureIsTakenOnce(t *testing.T) {
	w := newWorld(t)
	key, _, err := w.RootKey(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	id := w.fleetAt("custom-a")
	w.compute(id, "custom-a", "c1")
	c := sign(processes.ConnectRequest{FleetID: id, ComputeName: "c1", ProcessID: "p1", SDKLanguage: "CSharp"}, key,
		w.clock.Now().Add(9*time.Hour))
	refused := func(when string) {
		t.Helper()
		_, err := w.dial(c)
		wantKind(t, when, err, fault.AccessDenied)
		if err != nil && !strings.Contains(err.Error(), "has been used") {
			t.Errorf("%s: %v", when, err)
		}
	}
	unregistered := c
	unregistered.ComputeName = "c2"
	_, err = w.dial(unregistered)
	wantKind(t, "the compute is not registered yet", err, fault.AccessDenied)

	s := w.mustDial(c)
	refused("at once")
	s.ok(s.ready(7777))
	s.next() // the token with which it continues
	w.restart()
	refused("after a restart")

	other := sign(processes.ConnectRequest{FleetID: id, ComputeName: "c1", ProcessID: "p2", SDKLanguage: "CSharp"}, key,
		w.clock.Now().Add(9*time.Hour))
	s = w.mustDial(other)
	c = other
	s.ok(s.ready(7778))
	s.next()
	s.ok(s.end())
	for range 9 * 4 { // at each moment at which a zone would make it near
		w.elapse(15 * time.Minute)
		refused("later, the process has ended")
	}
	c.SDKLanguage = "Go" // which is not signed
	refused("when its date is near without a zone")

	utc := sign(processes.ConnectRequest{FleetID: id, ComputeName: "c1", ProcessID: "p3", SDKLanguage: "CSharp"}, key,
		w.clock.Now())
	w.mustDial(utc)
	w.mustDial(utc) // it comes back within minutes, as the other SDKs may
}

func TestRootKey(t *testing.T) {
	w := newWorld(t)
	key, created, err := w.RootKey(w.ctx)
	if err != nil || !created || !strings.HasPrefix(key.ID, "AKIA") || len(key.ID) != 20 || len(key.Secret) != 40 {
		t.Fatalf("%+v, %v, %v", key, created, err)
	}
	w.restart()
	again, created, err := w.RootKey(w.ctx)
	if err != nil || created || again != key {
		t.Errorf("after a restart: %v, %v", created, err)
	}
	for range 2 {
		if c, ok := w.Secret(key.ID, ""); !ok || c.Secret != key.Secret || c.Principal != key.ID {
			t.Error("the key does not verify signatures")
		}
	}
	if _, ok := w.Secret("AKIAUNKNOWN", ""); ok {
		t.Error("a key that is not there has a secret")
	}
	if strings.Contains(w.state(), key.Secret) {
		t.Error("the secret stands in the journal")
	}
	w.config.Secret = make([]byte, credentials.SecretSize)
	w.restart()
	if _, _, err := w.RootKey(w.ctx); err == nil {
		t.Error("the key opens with another region's secret")
	}
	if _, ok := w.Secret(key.ID, ""); ok {
		t.Error("the key verifies with another region's secret")
	}
}

func TestNewRefusesBadConfigs(t *testing.T) {
	w := newWorld(t, withShards(1))
	for what, change := range map[string]func(*Config){
		"short secret": func(c *Config) { c.Secret = c.Secret[1:] },
		"region":       func(c *Config) { c.Region = "moon" },
		"account":      func(c *Config) { c.Account = "1" },
		"no journals":  func(c *Config) { c.Journals = nil },
	} {
		config := w.config
		change(&config)
		if _, err := New(config); err == nil {
			t.Errorf("%s: made all the same", what)
		}
	}
}

// A server process sees player sessions of its own fleet alone: their ids are tickets. What is in
// another fleet looks as if it did not exist, also when it is in the history.
func TestOtherFleetsPlayers(t *testing.T) {
	w := newWorld(t, withFleet(func(s *fleet.Settings) {
		s.ProcessGrace, s.HealthInterval = 24*time.Hour, 24*time.Hour
	}))
	ownFleet, own := w.host(1)
	session := w.active(ownFleet, nil, own...)
	otherFleet := w.fleetAt("custom-a")
	other := w.process(otherFleet, "c1", w.compute(otherFleet, "custom-a", "c1"), "p0")
	foreign := w.active(otherFleet, nil, other)
	past := w.process(otherFleet, "c1", w.token(otherFleet, "c1"), "p1")
	over := w.active(otherFleet, nil, past)
	reserve := func(session string) string {
		out := w.must("CreatePlayerSession", object{"GameSessionId": session, "PlayerId": "ada",
			"PlayerData": "secret"})
		return text(out, "PlayerSession", "PlayerSessionId")
	}
	mine, theirs, theirPast := reserve(session), reserve(foreign), reserve(over)
	s := own[0]
	unknown := func(id string) string { // another ticket
		if last := len(id) - 1; id[last] != '0' {
			return id[:last] + "0"
		}
		return id[:len(id)-1] + "1"
	}

	see := func() {
		t.Helper()
		for what, queries := range map[string][2]processes.PlayerSessionQuery{
			"game session":        {{GameSessionID: foreign}, {GameSessionID: foreign + "0"}},
			"ended game session":  {{GameSessionID: over}, {GameSessionID: over + "0"}},
			"player session":      {{PlayerSessionID: theirs}, {PlayerSessionID: unknown(theirs)}},
			"past player session": {{PlayerSessionID: theirPast}, {PlayerSessionID: unknown(theirPast)}},
		} {
			_, err := s.describe(queries[0])
			_, none := s.describe(queries[1])
			if !fault.Is(err, fault.NotFound) || !fault.Is(none, fault.NotFound) {
				t.Errorf("%s of another fleet: %v, one that does not exist: %v", what, err, none)
				continue
			}
			got := strings.NewReplacer(queries[0].GameSessionID+queries[0].PlayerSessionID,
				"X").Replace(fault.Of(err).Message)
			want := strings.NewReplacer(queries[1].GameSessionID+queries[1].PlayerSessionID,
				"X").Replace(fault.Of(none).Message)
			if got != want {
				t.Errorf("%s of another fleet: %q, one that does not exist: %q", what, got, want)
			}
		}
		page, err := s.describe(processes.PlayerSessionQuery{PlayerID: "ada", Limit: 1})
		s.ok(err)
		if len(page.PlayerSessions) != 1 || page.PlayerSessions[0].PlayerSessionID != mine || page.NextToken != "" {
			t.Errorf("the player's sessions are %+v", page)
		}
	}
	see()
	for _, q := range []processes.PlayerSessionQuery{{GameSessionID: session}, {PlayerSessionID: mine}} {
		page, err := s.describe(q)
		s.ok(err)
		if len(page.PlayerSessions) != 1 || page.PlayerSessions[0].PlayerData != "secret" {
			t.Errorf("its own: %+v", page)
		}
	}
	past.ok(past.end())
	w.archived(over)
	see()

	for what, err := range map[string]error{
		"accept": s.accept(foreign, theirs), "accept in its own": s.accept(session, theirs),
		"remove": s.remove(foreign, theirs), "policy": s.policy(foreign, "DENY_ALL"),
		"activate": s.activate(foreign),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
