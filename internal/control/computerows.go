package control

import (
	"context"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
)

// A ComputeQuery selects the computes of a fleet.
type ComputeQuery struct {
	FleetID   string
	Limit     int // on a page; at least 1
	NextToken string
}

// A ComputeList is a page of the computes of a fleet, by name.
type ComputeList struct {
	Computes  []ComputeRow `json:"computes"`
	NextToken string       `json:"nextToken,omitempty"`
	Partial                // of this page
}

// A ComputeRow is a compute with its server processes.
type ComputeRow struct {
	Name         string       `json:"computeName"`
	Location     string       `json:"location"`
	IPAddress    string       `json:"ipAddress,omitempty"`
	DNSName      string       `json:"dnsName,omitempty"`
	CreationTime time.Time    `json:"creationTime"`
	TokenExpires *time.Time   `json:"tokenExpirationTime,omitempty"` // of the newest auth token
	Processes    []ProcessRow `json:"processes"`                     // those that have not ended, by id
	Backoffs     []BackoffRow `json:"backoffs,omitempty"`            // programs that crash, as its agent reports them
}

// A BackoffRow is a program of the runtime configuration that waits after crashes.
type BackoffRow struct {
	LaunchPath string    `json:"launchPath"`
	Parameters string    `json:"parameters,omitempty"`
	ProcessID  string    `json:"processId"` // that has crashed last
	ExitCode   int64     `json:"exitCode"`  // of that; -N: ended by signal N
	Crashes    int32     `json:"crashes"`   // in a row
	NextTry    time.Time `json:"nextTry"`
	Output     string    `json:"output,omitempty"` // last lines
}

// A ProcessState is what a server process does.
type ProcessState string

// The states of a server process that has not ended.
const (
	ProcessStarting   ProcessState = "STARTING"   // it has not called ProcessReady
	ProcessIdle       ProcessState = "IDLE"       // it can host a game session
	ProcessActivating ProcessState = "ACTIVATING" // it has not activated its game session
	ProcessHosting    ProcessState = "HOSTING"
	// ProcessBackoff is that of a BackoffRow: there is no process, because the last ones have crashed.
	ProcessBackoff ProcessState = "BACKOFF"
)

// A ProcessRow is a server process that has not ended.
type ProcessRow struct {
	ProcessID   string       `json:"processId"`
	State       ProcessState `json:"state"`
	Connected   bool         `json:"connected"`
	SDKLanguage string       `json:"sdkLanguage,omitempty"`
	SDKVersion  string       `json:"sdkVersion,omitempty"`
	Port        int32        `json:"port,omitempty"` // from ProcessReady
	StartTime   time.Time    `json:"startTime"`      // when it connected first
	// LastReport is the time of the last health report, or of ProcessReady; nil without a connection.
	LastReport *time.Time `json:"lastHealthReportTime,omitempty"`
	Unhealthy  int        `json:"unhealthyReports,omitempty"` // in a row
	// ReconnectBy is when a process without a connection counts as crashed.
	ReconnectBy *time.Time `json:"reconnectBy,omitempty"`
	EndBy       *time.Time `json:"endBy,omitempty"` // it was asked to end, and is ended by force then
	GameSession string     `json:"gameSessionArn,omitempty"`
}

// ComputeRows lists the computes of a fleet with their server processes, with one read of each shard that has one of
// its locations, of which some may be missing. NotFoundException: there is no such fleet.
func (p *Plane) ComputeRows(ctx context.Context, q ComputeQuery) (*ComputeList, error) {
	f, err := p.liveFleet(q.FleetID)
	switch {
	case err != nil:
		return nil, err
	case f.ID != q.FleetID: // an ARN, which policies that deny a fleet by its id do not name
		return nil, notFound("Fleet %.200s not found: give its id", q.FleetID)
	}
	list := &ComputeList{}
	var rooms []*fleet.Room
	err = lookEach(ctx, &list.Partial, p.fleetShards(f.ID), (*region.Machine).Freeze, func(m *region.Machine) {
		for _, r := range m.Rooms() {
			if r.ID().Fleet == fleet.ID(f.ID) {
				rooms = append(rooms, r)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	name := func(c ComputeRow) string { return c.Name }
	list.Computes, list.NextToken, err = page(p.secrets.Pages("ComputeRows", f.ID), q.NextToken,
		func(after string) ([]ComputeRow, bool) {
			return computesAfter(rooms, after, q.Limit, p.computeRow, name)
		}, name)
	return list, err
}

// fleetShards returns the shards that have the locations of a fleet.
func (p *Plane) fleetShards(id string) (shards []*router.Shard) {
	for _, l := range p.Catalog().FleetLocations(id) {
		s := p.RoomShard(fleet.RoomID{Fleet: fleet.ID(id), Location: l.Location})
		if !slices.Contains(shards, s) {
			shards = append(shards, s)
		}
	}
	return shards
}

func (sh shapes) computeRow(r *fleet.Room, c *fleet.Compute) ComputeRow {
	row := ComputeRow{
		Name: c.Name, Location: r.ID().Location, IPAddress: c.IPAddress, DNSName: c.DNSName,
		CreationTime: c.Created.Time(), Processes: []ProcessRow{},
	}
	if n := len(c.Tokens); n > 0 {
		row.TokenExpires = momentTo(c.Tokens[n-1].Expires)
	}
	for _, b := range c.Backoffs {
		row.Backoffs = append(row.Backoffs, BackoffRow{LaunchPath: b.LaunchPath, Parameters: b.Parameters,
			ProcessID: b.Process, ExitCode: b.ExitCode, Crashes: b.Crashes, NextTry: b.Next.Time(), Output: b.Output})
	}
	r.ProcessesOf(c.Name, func(p *fleet.Process) bool {
		if p.Status != fleet.ProcessEnded {
			row.Processes = append(row.Processes, sh.processRow(r, p))
		}
		return true
	})
	return row
}

func (sh shapes) processRow(r *fleet.Room, p *fleet.Process) ProcessRow {
	row := ProcessRow{
		ProcessID: p.ID, State: ProcessStarting, Connected: p.Connected,
		SDKLanguage: p.SDKLanguage, SDKVersion: p.SDKVersion, Port: p.Port, StartTime: p.Created.Time(),
		LastReport: momentTo(r.LastHealthReport(p)), Unhealthy: p.Unhealthy,
		ReconnectBy: momentTo(p.ReconnectBy), EndBy: momentTo(p.TerminateBy),
	}
	switch p.Status {
	case fleet.ProcessIdle:
		row.State = ProcessIdle
	case fleet.ProcessHosting:
		row.State = ProcessHosting
		if g, ok := r.GameSessionAt(p.Session); ok {
			row.GameSession = sh.names.GameSessionARN(r.ID(), g.ID)
			if g.Status == fleet.Activating {
				row.State = ProcessActivating
			}
		}
	}
	return row
}
