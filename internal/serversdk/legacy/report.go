package legacy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/processes"
)

// A Report describes the ports of old server SDKs and the game servers that are connected there. It is the answer to
// GET /v1/legacy.
type Report struct {
	Addresses []string       `json:"addresses"` // of the ports 5757, 5758 and 5759: with localhost two each
	Fleet     string         `json:"fleet"`     // which new game servers join
	Servers   []ServerReport `json:"servers"`   // by address and pID
}

// A ServerReport describes one game server.
type ServerReport struct {
	Address     string         `json:"address"` // of its machine
	PID         string         `json:"pid"`
	Process     string         `json:"process"` // its id in the service, which differs from PID if two share one
	Fleet       string         `json:"fleet"`
	Compute     string         `json:"compute"`
	SDKLanguage string         `json:"sdk_language"`
	SDKVersion  string         `json:"sdk_version"`
	Protocol    string         `json:"protocol"` // "socket.io" or "http"
	Sockets     int            `json:"sockets"`
	Connected   time.Time      `json:"connected"` // when its first socket was opened
	Status      string         `json:"status"`    // CONNECTED, READY, ACTIVATING, ACTIVE, TERMINATING, ENDED or LOST
	GameSession string         `json:"game_session,omitempty"`
	Requests    map[string]int `json:"requests"` // how many, by message
	LastRequest string         `json:"last_request,omitempty"`
	LastAt      time.Time      `json:"last_at,omitzero"`
	LastError   string         `json:"last_error,omitempty"` // of its last request that failed
	Missing     []string       `json:"missing"`              // what it should have done, as sentences; empty: nothing
}

// Report describes the game servers that are connected.
func (e *Endpoint) Report(ctx context.Context) []ServerReport {
	e.mu.Lock()
	servers := slices.Collect(maps.Values(e.servers))
	e.mu.Unlock()
	reports := []ServerReport{}
	for _, s := range servers {
		if conn := s.connection(); conn != nil {
			reports = append(reports, s.report(conn, e.Servers.LegacyState(ctx, conn.Key()), e.Clock.Now()))
		}
	}
	slices.SortFunc(reports, func(a, b ServerReport) int {
		return cmp.Or(strings.Compare(a.Address, b.Address), cmp.Compare(len(a.PID), len(b.PID)),
			strings.Compare(a.PID, b.PID), strings.Compare(a.Process, b.Process))
	})
	return reports
}

func (s *server) report(conn processes.LegacyConnection, state processes.LegacyState, now time.Time) ServerReport {
	key := conn.Key()
	s.mu.Lock()
	defer s.mu.Unlock()
	r := ServerReport{
		Address: s.key.address, PID: s.key.pid, Process: s.processID(), Fleet: string(key.Room.Fleet),
		Compute: key.Process.Compute, SDKLanguage: s.about.language, SDKVersion: s.about.version,
		Protocol: s.about.protocol, Sockets: len(s.links), Connected: s.opened, Status: statusText(state),
		GameSession: state.GameSession, Requests: maps.Clone(s.requests), LastRequest: s.lastRequest, LastAt: s.lastAt,
		LastError: s.lastError, Missing: []string{},
	}
	for _, m := range s.missing(state, now) {
		if m.is {
			r.Missing = append(r.Missing, m.text)
		}
	}
	return r
}

// statusText is the status of a process, or of the game session that it hosts.
func statusText(state processes.LegacyState) string {
	switch {
	case state.Status == fleet.ProcessEnded || state.Status == 0:
		return "ENDED"
	case !state.Connected:
		return "LOST"
	case state.Status == fleet.ProcessInitializing:
		return "CONNECTED"
	case state.Status == fleet.ProcessIdle:
		return "READY"
	}
	return string(state.Session)
}

// How long a game server may take before something counts as missing. Health reports come once a minute, and the
// callback of the game may take another one.
const (
	readyMissing    = 10 * time.Second
	healthMissing   = 150 * time.Second
	activateMissing = 30 * time.Second
)

// A finding is something that a game server has yet to do, if it is.
type finding struct {
	is   bool
	text string
}

// missing returns what a game server should have done. The lock must be held.
func (s *server) missing(state processes.LegacyState, now time.Time) []finding {
	since := func(t time.Time) time.Duration { return now.Sub(t).Round(time.Second) }
	initializing := state.Status == fleet.ProcessInitializing
	ready := state.Status == fleet.ProcessIdle || state.Status == fleet.ProcessHosting
	health := s.healthAt
	if health.IsZero() {
		health = s.opened
	}
	return []finding{
		{initializing && since(s.opened) >= readyMissing, fmt.Sprintf("It called InitSDK %s ago and has not called "+
			"ProcessReady, so it gets no game session.", since(s.opened))},
		{ready && since(health) >= healthMissing, fmt.Sprintf("It has not reported its health for %s. The SDK does so "+
			"every minute unless OnHealthCheck blocks.", since(health))},
		{state.Session == fleet.Activating && !s.pushedAt.IsZero() && since(s.pushedAt) >= activateMissing,
			fmt.Sprintf("It got OnStartGameSession %s ago and has not called ActivateGameSession.", since(s.pushedAt))},
		{len(s.links) == 0, "It has no WebSocket for pushes. The SDK opens it in InitSDK only: " +
			"start the process again."},
		{s.toldToEnd && !s.ended, "It was asked to end (OnProcessTerminate) and has not called ProcessEnding."},
		{state.Status == fleet.ProcessEnded, "Its process has ended in the service, but it is still connected. " +
			"Start it again."},
		{s.about.acknowledges() && len(s.links) > mostUsual, "It has " + strconv.Itoa(len(s.links)) +
			" sockets; an SDK opens one or two. Do several processes send the same pID?"},
	}
}

// mostUsual is the number of sockets that an SDK opens.
const mostUsual = 2
