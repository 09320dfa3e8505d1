package serversdk

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// fakeServers is a control plane that notes what it is asked. Its zero value
// lets everybody in and grants everything.
type fakeServers struct {
	refuse  func(processes.ConnectRequest) error // nil lets in
	greet   func(processes.ConnectRequest)       // called within Connect
	answer  func(call string) error              // nil grants
	page    processes.PlayerSessionPage
	holding bool // answers wait in held

	mu    sync.Mutex
	calls []string
	held  []func()
	links chan *fakeLink // every link that was given out
}

func newFakeServers() *fakeServers { return &fakeServers{links: make(chan *fakeLink, 64)} }

func (f *fakeServers) Connect(_ context.Context, about processes.ConnectRequest) (processes.Connection, error) {
	if f.refuse != nil {
		if err := f.refuse(about); err != nil {
			return nil, err
		}
	}
	if f.greet != nil {
		f.greet(about)
	}
	l := &fakeLink{servers: f, about: about, gone: make(chan struct{})}
	f.links <- l
	return l, nil
}

// note records a call and answers it, at once or when released.
func (f *fakeServers) logInfo(call string, done func(error)) {
	var err error
	if f.answer != nil {
		err = f.answer(call)
	}
	f.mu.Lock()
	f.calls = append(f.calls, call)
	if f.holding {
		f.held = append(f.held, func() { done(err) })
		f.mu.Unlock()
		return
	}
	f.mu.Unlock()
	done(err)
}

// release answers what was held, and holds nothing more.
func (f *fakeServers) release() {
	f.mu.Lock()
	held := f.held
	f.held, f.holding = nil, false
	f.mu.Unlock()
	for _, answer := range held {
		answer()
	}
}

func (f *fakeServers) called() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.calls, "\n")
}

func (f *fakeServers) next(t *testing.T) *fakeLink {
	t.Helper()
	select {
	case l := <-f.links:
		return l
	case <-t.Context().Done():
		t.Fatal("nobody connected")
		return nil
	}
}

type fakeLink struct {
	servers *fakeServers
	about   processes.ConnectRequest
	gone    chan struct{}
}

func (l *fakeLink) Activate(r processes.ProcessReady, done func(error)) {
	l.servers.logInfo(fmt.Sprintf("Activate %+v", r), done)
}
func (l *fakeLink) Heartbeat(healthy bool, done func(error)) {
	l.servers.logInfo(fmt.Sprint("Heartbeat ", healthy), done)
}
func (l *fakeLink) ActivateGameSession(gs string, done func(error)) {
	l.servers.logInfo("ActivateGameSession "+gs, done)
}
func (l *fakeLink) AcceptPlayerSession(gs, ps string, done func(error)) {
	l.servers.logInfo("Accept "+gs+" "+ps, done)
}
func (l *fakeLink) RemovePlayerSession(gs, ps string, done func(error)) {
	l.servers.logInfo("Remove "+gs+" "+ps, done)
}
func (l *fakeLink) UpdatePlayerSessionCreationPolicy(gs, policy string, done func(error)) {
	l.servers.logInfo("Policy "+gs+" "+policy, done)
}
func (l *fakeLink) DescribePlayerSessions(
	q processes.PlayerSessionQuery, done func(processes.PlayerSessionPage, error),
) {
	l.servers.logInfo(fmt.Sprintf("Describe %+v", q), func(err error) { done(l.servers.page, err) })
}
func (l *fakeLink) ComputeCertificate(done func(path, compute string, err error)) {
	l.servers.logInfo("Certificate", func(err error) { done("/certs/host-1.pem", "host-1", err) })
}
func (l *fakeLink) RoleCredentials(role, session string, done func(*processes.RoleKeys, error)) {
	switch role {
	case "arn:aws:iam::1:role/game":
		done(&processes.RoleKeys{AssumedRoleUserArn: "arn:" + session, AssumedRoleID: "AROA1:" + session,
			AccessKeyID: "ASIA1", SecretAccessKey: "secret", SessionToken: "token",
			Expires: time.UnixMilli(1767326645000)}, nil)
	case "arn:aws:iam::1:role/other":
		done(nil, fault.New(fault.AccessDenied, "another role"))
	default:
		done(nil, nil)
	}
}
func (l *fakeLink) StartMatchBackfill(b processes.MatchBackfill, done func(string, error)) {
	var players []string
	for _, p := range b.Players {
		players = append(players, fmt.Sprintf(" %s/%s %+v %v", p.PlayerId, p.Team, p.PlayerAttributes, p.LatencyInMs))
	}
	call := fmt.Sprintf("StartMatchBackfill %s %s %q %s:%s", b.GameSessionArn, b.ConfigurationArn, b.TicketID,
		b.Request, strings.Join(players, ";"))
	l.servers.logInfo(call, func(err error) { done("ticket-1", err) })
}
func (l *fakeLink) StopMatchBackfill(gs, configuration, ticket string, done func(error)) {
	l.servers.logInfo("StopMatchBackfill "+gs+" "+configuration+" "+ticket, done)
}
func (l *fakeLink) Terminate(done func(error)) { l.servers.logInfo("Terminate", done) }
func (l *fakeLink) Disconnected()              { close(l.gone) }
