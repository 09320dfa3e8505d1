package machines

import (
	"cmp"
	"context"
	"crypto/sha256"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jonboulle/clockwork"
	"golang.org/x/time/rate"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Connector opens connections of machines. Machines implements it.
type Connector interface {
	// RegionID returns what challenges name.
	RegionID() string

	// Join adds a machine whose signature was verified, or finds it. The error is a *fault.Error: AccessDenied for a
	// bad token or another key; Conflict for another location; InvalidRequest; else internal.
	Join(ctx context.Context, r Request) (Connection, error)
}

// A Request is what a machine sends when it joins.
type Request struct {
	Join *protocol.Join
	Push func(*protocol.Wanted) // sends the state that is wanted; must not block
	End  func(error)            // closes the socket, and sends the reason; must not block
}

// A Connection answers for a machine that is connected over one socket.
type Connection interface {
	// Observed processes a report. An error ends the connection.
	Observed(ctx context.Context, o *protocol.Observed) error
	// Token answers a request for the token of an instance's compute.
	Token(ctx context.Context, r *protocol.TokenRequest) *protocol.Token
	// Disconnected reports that the socket has closed. It returns at once.
	Disconnected()
}

// A Catalog reads and changes the region's catalog. *router.Router implements it.
type Catalog interface {
	Catalog() *catalog.State
	Change(ctx context.Context, c catalog.Command) error
}

// Config configures the connections. The functions may be nil, all other fields are required.
type Config struct {
	Catalog  Catalog
	RegionID string // differs from that of any other region
	Clock    clockwork.Clock
	Log      *slog.Logger

	// Wanted returns the instances that a machine has to run. nil: none.
	Wanted func(s *catalog.State, machine string) []protocol.Instance
	// Token returns the token of the compute of an instance, which the machine has. The error is a *fault.Error.
	// It is called only with Wanted.
	Token func(ctx context.Context, instance *catalog.Instance) (*protocol.Token, error)
	// Certify returns a certificate for an instance by a certificate request in DER form, and that of the CA, in PEM
	// form. The error is a *fault.Error. It is called only with Wanted.
	Certify func(instance *catalog.Instance, request []byte) (certificate, root []byte, err error)
	// Keys returns keys of the role of an instance. The error is a *fault.Error. It is called only with Wanted.
	Keys func(instance *catalog.Instance) (*protocol.RoleKeys, error)
	// Outdated is called with the ids of processes of an instance that were started from an earlier build. nil: nothing
	// is.
	Outdated func(ctx context.Context, instance *catalog.Instance, processes []string)
	// Changed is called when a machine has connected or disconnected; it returns at once. nil: nothing is.
	Changed func()

	// EventIDs returns ids of fleet events. nil: random ones.
	EventIDs func(n int) []string

	// Others returns what the Shared of the nodes that are up, this one included, returned. nil: there is one node.
	Others func(ctx context.Context) [][]byte
}

// Machines are the connections of machines to this node. Its methods are safe for concurrent use.
type Machines struct {
	Config

	mu    sync.Mutex
	begun time.Time // when Run began, or went on after a pause; zero: not yet
	awake time.Time // when this node was last seen to run
	open  map[string]*connection
	known map[string]state // of machines of the region
}

// New returns the connections of a region, with none open.
func New(cfg Config) *Machines {
	if cfg.EventIDs == nil {
		cfg.EventIDs = randomIDs
	}
	return &Machines{Config: cfg, open: map[string]*connection{}, known: map[string]state{}}
}

// RegionID implements Connector.
func (all *Machines) RegionID() string { return all.Config.RegionID }

// Run keeps what this node knows of the machines of other nodes, until ctx is done.
func (all *Machines) Run(ctx context.Context) error {
	all.mu.Lock()
	all.begun = all.Clock.Now()
	all.awake = all.begun
	all.mu.Unlock()
	tick := all.Clock.NewTicker(protocol.ReportInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.Chan():
			all.noticePause()
			if len(all.Catalog.Catalog().Machines()) > 0 {
				all.refresh(ctx)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// pauseAfter is the time without a look at the machines, which is taken each ReportInterval, that was a pause.
const pauseAfter = 2 * protocol.LostAfter

// noticePause has machines get their time anew after a pause of this node, in which it has received no report: whether
// they are lost is known as after a start.
func (all *Machines) noticePause() {
	all.mu.Lock()
	defer all.mu.Unlock()
	now := all.Clock.Now()
	if now.Sub(all.awake) > pauseAfter {
		all.begun = now
	}
	all.awake = now
}

// A connection is one socket of a machine. It implements Connection.
type connection struct {
	all  *Machines
	name string
	key  string
	push func(*protocol.Wanted)
	end  func(error)

	mu      sync.Mutex
	pushed  uint64    // the generation of the last Wanted; 0: none
	changed time.Time // when an offer was last stored
	reports *rate.Limiter
}

// The stages that a machine reports are stored at most this often, so that a faulty one does not fill the journal. A
// later report repeats what was left out.
const (
	storedPerSecond = 20
	storedAtOnce    = 2 * protocol.MaxInstances
)

var errReplaced = fault.New(fault.ServiceUnavailable, "The machine has opened another connection.")

// Join implements Connector.
func (all *Machines) Join(ctx context.Context, r Request) (Connection, error) {
	join := catalog.JoinMachine{Name: r.Join.Name, Location: r.Join.Location, Key: r.Join.PublicKey,
		Offer: offerFrom(&r.Join.Offer)}
	if r.Join.Token != "" {
		join.Token = TokenHash(r.Join.Token)
	}
	m, ok := all.Catalog.Catalog().Machine(join.Name)
	if !ok || !isSame(m, &join) {
		if err := all.Catalog.Change(ctx, join); err != nil {
			return nil, err
		}
	}
	c := &connection{all: all, name: join.Name, key: string(join.Key), push: r.Push, end: r.End,
		changed: all.Clock.Now(), reports: rate.NewLimiter(storedPerSecond, storedAtOnce)}
	all.mu.Lock()
	old := all.open[c.name]
	all.open[c.name] = c
	all.known[c.name] = state{Name: c.name, Connected: true, seen: all.Clock.Now()}
	all.mu.Unlock()
	if old != nil {
		old.end(errReplaced)
	}
	if err := c.pushWanted(all.Catalog.Catalog()); err != nil { // it may have been deleted meanwhile
		c.Disconnected()
		return nil, err
	}
	all.hasChanged()
	return c, nil
}

func (all *Machines) hasChanged() {
	if all.Changed != nil {
		all.Changed()
	}
}

// isSame reports whether a join changes nothing.
func isSame(m *catalog.Machine, c *catalog.JoinMachine) bool {
	return string(m.Key) == string(c.Key) && m.Offer == c.Offer && cmp.Or(c.Location, m.Location) == m.Location
}

// TokenHash returns the hash by which the catalog knows a join token.
func TokenHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

func offerFrom(o *protocol.Offer) catalog.MachineOffer {
	return catalog.MachineOffer{MilliCPUs: o.MilliCPUs, MemoryMiB: o.MemoryMiB, IP: o.IP, DNS: o.DNS,
		PortFirst: o.PortFirst, PortLast: o.PortLast, Version: o.Version, OS: o.OS, Arch: o.Arch,
		Instances: o.Instances}
}

// pushWanted sends the state that is wanted, unless the machine has it. NotFound if the machine was deleted,
// AccessDenied if another one has its name.
func (c *connection) pushWanted(s *catalog.State) error {
	m, ok := s.Machine(c.name)
	switch {
	case !ok:
		return fault.New(fault.NotFound, "Machine %s was deleted.", c.name)
	case string(m.Key) != c.key:
		return fault.New(fault.AccessDenied, "Another machine has joined with the name %s.", c.name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Generation > c.pushed {
		instances := []protocol.Instance{}
		if c.all.Wanted != nil {
			instances = append(instances, c.all.Wanted(s, c.name)...)
		}
		c.push(&protocol.Wanted{Generation: m.Generation, Drain: m.Drained, Instances: instances,
			ReportSeconds: int(protocol.ReportInterval.Seconds()), LostSeconds: int(protocol.LostAfter.Seconds())})
		c.pushed = m.Generation
	}
	return nil
}

// Observe processes a commit of a shard, on its commit goroutine.
func (all *Machines) Observe(commit *router.Commit) {
	if !commit.HasView {
		return
	}
	changed := false // of instances
	for _, f := range commit.Facts {
		switch e := f.Body.(type) {
		case *catalog.MachineDrainSet:
			all.wake(e.Name, commit.View.Catalog())
		case *catalog.MachineDeleted:
			all.wake(e.Name, commit.View.Catalog())
		case *catalog.InstanceCreated:
			all.wake(e.Machine, commit.View.Catalog())
		case *catalog.InstanceStatusSet:
			if i, ok := commit.View.Catalog().Instance(e.ID); ok && e.Status == catalog.InstanceTerminating {
				all.wake(i.Machine, commit.View.Catalog())
			}
		case *catalog.InstanceDropped, *catalog.RuntimeConfigurationUpdated, *catalog.FleetBuildSet,
			*catalog.BuildVersionPut, *catalog.BuildVersionDeleted, *catalog.FleetTerminated,
			*catalog.FleetLocationRemoved:
			changed = true
		}
	}
	if changed {
		all.wakeAll(commit.View.Catalog())
	}
}

// wakeAll has all connections send what is wanted now, if that has changed.
func (all *Machines) wakeAll(s *catalog.State) {
	all.mu.Lock()
	open := slices.Collect(maps.Keys(all.open))
	all.mu.Unlock()
	for _, name := range open {
		all.wake(name, s)
	}
}

// wake has the connection of a machine send what is wanted now.
func (all *Machines) wake(name string, s *catalog.State) {
	all.mu.Lock()
	c := all.open[name]
	all.mu.Unlock()
	if c != nil {
		if err := c.pushWanted(s); err != nil {
			c.end(err)
		}
	}
}

// Observed implements Connection.
func (c *connection) Observed(ctx context.Context, o *protocol.Observed) error {
	all := c.all
	if !all.note(c, o) {
		return errReplaced
	}
	s := all.Catalog.Catalog()
	if err := c.pushWanted(s); err != nil {
		return err
	}
	if err := c.report(ctx, s, o.Instances); err != nil {
		return err
	}
	m, _ := s.Machine(c.name)
	offer := offerFrom(&o.Offer)
	if m.Offer == offer && o.Generation <= m.Generation || !c.mayChange() {
		return nil
	}
	return all.Catalog.Change(ctx, catalog.JoinMachine{Name: c.name, Key: []byte(c.key), Offer: offer,
		Generation: o.Generation})
}

// report stores what the machine reports of its instances, as far as it is new.
func (c *connection) report(ctx context.Context, s *catalog.State, states []protocol.InstanceState) error {
	for i := range states {
		r := reportFrom(&states[i])
		known, ok := s.Instance(states[i].ID)
		if !ok || known.Machine != c.name {
			continue
		}
		if len(states[i].Outdated) > 0 && c.all.Outdated != nil {
			c.all.Outdated(ctx, known, states[i].Outdated)
		}
		if known.InstanceReport == r || !c.reports.AllowN(c.all.Clock.Now(), 1) {
			continue
		}
		err := c.all.Catalog.Change(ctx, catalog.ReportInstance{ID: known.ID, Machine: c.name, InstanceReport: r,
			EventIDs: c.all.EventIDs(catalog.MaxLifecycleEvents)})
		if err != nil {
			return err
		}
	}
	return nil
}

// RuntimeOf returns the processes of a runtime configuration, which may be nil, for a machine.
func RuntimeOf(r *catalog.RuntimeConfiguration) []protocol.Process {
	all := []protocol.Process{} // not null
	if r == nil {
		return all
	}
	for _, s := range r.ServerProcesses {
		all = append(all, protocol.Process{LaunchPath: s.LaunchPath, Parameters: s.Parameters,
			Count: s.ConcurrentExecutions})
	}
	return all
}

func reportFrom(s *protocol.InstanceState) catalog.InstanceReport {
	r := catalog.InstanceReport{Stage: catalog.InstanceStage(s.Stage), Installed: s.Installed, Runs: s.Build}
	if s.Failure != nil {
		r.Code, r.Message = s.Failure.Code, s.Failure.Message
	}
	return r
}

func randomIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = uuid.NewString()
	}
	return ids
}

// Token implements Connection.
func (c *connection) Token(ctx context.Context, r *protocol.TokenRequest) *protocol.Token {
	i, ok := c.all.Catalog.Catalog().Instance(r.Instance)
	if !ok || i.Machine != c.name || c.all.Token == nil {
		return &protocol.Token{Instance: r.Instance, Error: "This machine has no such instance."}
	}
	token, err := c.all.Token(ctx, i)
	if err == nil && r.CertificateRequest != nil {
		var certificate, root []byte
		certificate, root, err = c.all.Certify(i, r.CertificateRequest)
		if err == nil {
			token.Certificate, token.Root = string(certificate), string(root)
		}
	}
	if err == nil && r.RoleKeys {
		token.RoleKeys, err = c.all.Keys(i)
	}
	if err != nil {
		return &protocol.Token{Instance: r.Instance, Error: fault.Of(err).Message}
	}
	return token
}

// mayChange limits how often the offer of a machine is stored, whatever it reports. A later report repeats it.
func (c *connection) mayChange() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.all.Clock.Now()
	if now.Sub(c.changed) < protocol.ReportInterval/2 {
		return false
	}
	c.changed = now
	return true
}

// note records a report; false if another connection has replaced this one.
func (all *Machines) note(c *connection, o *protocol.Observed) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open[c.name] != c {
		return false
	}
	now := state{Name: c.name, Connected: true, Generation: o.Generation, Load: o.Load,
		FreeMemoryMiB: o.FreeMemoryMiB, Processes: map[string]int{}, Outdated: map[string]int{},
		Versions: map[string][]protocol.VersionState{}, seen: all.Clock.Now()}
	for _, i := range o.Instances {
		if i.Processes > 0 {
			now.Processes[i.ID] = i.Processes
		}
		if len(i.Outdated) > 0 {
			now.Outdated[i.ID] = len(i.Outdated)
		}
		if len(i.Versions) > 0 {
			now.Versions[i.ID] = i.Versions
		}
	}
	all.known[c.name] = now
	return true
}

// Disconnected implements Connection.
func (c *connection) Disconnected() {
	all := c.all
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open[c.name] != c {
		return
	}
	delete(all.open, c.name)
	last := all.known[c.name]
	last.Connected = false
	all.known[c.name] = last
	all.hasChanged()
}
