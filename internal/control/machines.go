package control

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/machines"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A MachineRow is a machine for operators.
type MachineRow struct {
	Name          string          `json:"machine"`
	Location      string          `json:"location"`
	Status        machines.Status `json:"status"`
	Drained       bool            `json:"drained"`
	CPUs          float64         `json:"cpus"`
	MemoryMiB     int64           `json:"memoryMiB"`
	IP            string          `json:"ip,omitempty"`
	DNS           string          `json:"dns,omitempty"`
	PortRange     string          `json:"portRange,omitempty"` // FIRST-LAST
	Version       string          `json:"version,omitempty"`   // of the agent
	OS            string          `json:"os,omitempty"`
	Arch          string          `json:"arch,omitempty"`
	JoinTime      time.Time       `json:"joinTime"`
	LastReport    *time.Time      `json:"lastReport,omitempty"`    // nil: not known
	Load          *float64        `json:"load,omitempty"`          // average of running threads; nil: not known
	FreeMemoryMiB *int64          `json:"freeMemoryMiB,omitempty"` // nil: not known

	Instances    int  `json:"instances"`
	GameSessions *int `json:"gameSessions,omitempty"` // on its instances; only of one machine, nil: not known

	Generation uint64 `json:"generation"`         // of the state that is wanted
	Acting     uint64 `json:"observedGeneration"` // of the state that the machine acts on; 0: not known
}

// A MachineList is machines by name.
type MachineList struct {
	Machines  []MachineRow `json:"machines"`
	NextToken string       `json:"nextToken,omitempty"`
}

// A MachineQuery selects machines.
type MachineQuery struct {
	Location, Status string // "": any
	After            string // the token of the page before
	Limit            int    // at least 1
}

// A MachineTokenInput is a new join token.
type MachineTokenInput struct {
	Location   string `json:"location"`
	TTLSeconds int64  `json:"ttlSeconds"`
}

// A MachineTokenRow is a join token that was not used, without its text.
type MachineTokenRow struct {
	ID       string    `json:"id"`
	Location string    `json:"location"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires"`
}

// A MachineTokenCreated is a new join token. Its text is in this answer only.
type MachineTokenCreated struct {
	MachineTokenRow
	Token string `json:"token"`
}

func newMachines(p *Plane) *machines.Machines {
	c := machines.Config{Catalog: p.Router, RegionID: p.cfg.Region + "/" + p.secrets.RegionID(), Clock: p.cfg.Clock,
		Log: p.cfg.Log, Wanted: p.wantedInstances, Token: p.instanceToken, Certify: p.certifyInstance,
		Keys:     p.instanceKeys,
		Outdated: p.endOutdated, Changed: p.wakeInstances}
	if p.cfg.Cluster != nil {
		c.Others = p.cfg.Cluster.Machines
	}
	return machines.New(c)
}

// MachineConnector returns the connector for the endpoint of machines.
func (p *Plane) MachineConnector() machines.Connector { return p.machines }

// SharedMachines returns what this node knows of machines, for the other nodes.
func (p *Plane) SharedMachines() []byte { return p.machines.Shared() }

// AllMachines returns the machines of the region by name.
func (p *Plane) AllMachines(ctx context.Context) []machines.Machine { return p.machines.List(ctx) }

// Machines returns a page of the machines of the region by name. InvalidRequest.
func (p *Plane) Machines(ctx context.Context, q MachineQuery) (*MachineList, error) {
	var after string
	pages := p.secrets.Pages("Machines", q.Location, q.Status)
	if err := pages.Read(q.After, &after); err != nil {
		return nil, err
	}
	switch machines.Status(q.Status) {
	case "", machines.Online, machines.Reconnecting, machines.Lost:
	default:
		return nil, invalid("status must be %s, %s or %s", machines.Online, machines.Reconnecting, machines.Lost)
	}
	list := &MachineList{Machines: []MachineRow{}}
	for _, m := range p.machines.List(ctx) {
		switch {
		case after != "" && m.Name <= after || q.Location != "" && m.Location != q.Location ||
			q.Status != "" && string(m.Status) != q.Status:
			continue
		case len(list.Machines) == q.Limit:
			list.NextToken = pages.Token(list.Machines[q.Limit-1].Name)
			return list, nil
		}
		list.Machines = append(list.Machines, p.machineRow(&m))
	}
	return list, nil
}

func (p *Plane) machineRow(m *machines.Machine) MachineRow {
	row := MachineRow{
		Name: m.Name, Location: m.Location, Status: m.Status, Drained: m.Drained,
		CPUs: float64(m.Offer.MilliCPUs) / 1000, MemoryMiB: m.Offer.MemoryMiB, IP: m.Offer.IP, DNS: m.Offer.DNS,
		Version: m.Offer.Version, OS: m.Offer.OS, Arch: m.Offer.Arch, JoinTime: m.Joined.Time(), Load: m.Load,
		FreeMemoryMiB: m.FreeMemoryMiB, Generation: m.Machine.Generation, Acting: m.Generation,
		Instances: len(p.Catalog().InstancesOf(m.Name)),
	}
	if !m.Seen.IsZero() {
		row.LastReport = new(m.Seen.UTC())
	}
	if m.Offer.PortFirst != 0 {
		row.PortRange = fmt.Sprintf("%d-%d", m.Offer.PortFirst, m.Offer.PortLast)
	}
	return row
}

// Machine returns a machine. NotFound.
func (p *Plane) Machine(ctx context.Context, name string) (*MachineRow, error) {
	list := p.machines.List(ctx)
	i, ok := slices.BinarySearchFunc(list, name, func(m machines.Machine, name string) int {
		return strings.Compare(m.Name, name)
	})
	if !ok {
		return nil, notFound("Machine %.200s not found", name)
	}
	row := new(p.machineRow(&list[i]))
	if sessions, err := p.gameSessionsOn(ctx, name); err == nil {
		row.GameSessions = &sessions
	}
	return row, nil
}

// gameSessionsOn counts the game sessions on the instances of a machine.
func (p *Plane) gameSessionsOn(ctx context.Context, machine string) (n int, err error) {
	for _, i := range p.Catalog().InstancesOf(machine) {
		hosts, err := router.InRoom(ctx, p.Router, roomOfInstance(i), func(r *fleet.Room) (hosts int) {
			r.ProcessesOf(i.ID, func(process *fleet.Process) bool {
				if process.Hosts() {
					hosts++
				}
				return true
			})
			return hosts
		})
		if err != nil {
			return 0, err
		}
		n += hosts
	}
	return n, nil
}

// DrainMachine drains a machine, or ends that. NotFound.
func (p *Plane) DrainMachine(ctx context.Context, name string, drained bool) (*MachineRow, error) {
	if err := p.Change(ctx, catalog.DrainMachine{Name: name, Drained: drained}); err != nil {
		return nil, err
	}
	return p.Machine(ctx, name)
}

// DeleteMachine deletes a machine that is drained or lost. NotFound; Conflict if it is neither, or if it is not lost
// and has instances, which force ends with their game sessions.
func (p *Plane) DeleteMachine(ctx context.Context, name string, force bool) error {
	m, err := p.Machine(ctx, name)
	if err != nil {
		return err
	}
	if m.Status != machines.Lost && m.Drained && m.Instances > 0 && !force {
		runs := plural(m.Instances, "instance")
		if m.GameSessions != nil {
			runs += " with " + plural(*m.GameSessions, "game session")
		}
		return fault.New(fault.Conflict, "Machine %s still runs %s. Wait until they have ended, or end them "+
			"with force.", name, runs)
	}
	return p.Change(ctx, catalog.DeleteMachine{Name: name, Lost: m.Status == machines.Lost})
}

// joinTokenPrefix begins join tokens, so that they are recognised where they should not be.
const joinTokenPrefix = "mjt_"

// CreateMachineToken creates a join token. InvalidRequest, NotFound for the location, LimitExceeded.
func (p *Plane) CreateMachineToken(ctx context.Context, in MachineTokenInput) (*MachineTokenCreated, error) {
	if !strings.HasPrefix(in.Location, "custom-") && in.Location != p.cfg.Region && !arn.ValidRegion(in.Location) {
		return nil, invalid("location must be a custom location, %s, or the code of another Region", p.cfg.Region)
	}
	if in.TTLSeconds < 1 || in.TTLSeconds > math.MaxInt32 {
		return nil, invalid("ttlSeconds must be between 1 and %d", maxTokenSeconds)
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	token := joinTokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
	hash, now := machines.TokenHash(token), p.cfg.Clock.Now()
	expires := event.At(now.Add(time.Duration(in.TTLSeconds) * time.Second))
	err := p.Change(ctx, catalog.CreateMachineToken{Hash: hash, Location: in.Location, Expires: expires})
	if err != nil {
		return nil, err
	}
	return &MachineTokenCreated{MachineTokenRow{catalog.MachineTokenID(hash), in.Location, event.At(now).Time(),
		expires.Time()}, token}, nil
}

const maxTokenSeconds = 30 * 24 * 3600

// MachineTokens returns the join tokens that were not used.
func (p *Plane) MachineTokens() []MachineTokenRow {
	list := []MachineTokenRow{}
	for _, t := range p.Catalog().MachineTokens() {
		list = append(list, MachineTokenRow{t.ID, t.Location, t.Created.Time(), t.Expires.Time()})
	}
	return list
}

// DeleteMachineToken revokes a join token that was not used. NotFound.
func (p *Plane) DeleteMachineToken(ctx context.Context, id string) error {
	return p.Change(ctx, catalog.DeleteMachineToken{ID: id})
}
