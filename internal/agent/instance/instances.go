package instance

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/agent"
	"github.com/muster-gg/muster/internal/agent/cgroup"
	"github.com/muster-gg/muster/internal/agent/machine"
	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/agent/supervisor"
)

const (
	// stopLimit is how long game servers may take to end when the machine agent is stopped.
	stopLimit = 40 * time.Second
	// manyInstances is from how many instances on the texts of failures are cut to cutText bytes, and fewOutdated
	// processes are reported, so that a report stays below protocol.MaxFromMachine.
	manyInstances = 100
	maxText       = 512 // bytes
	cutText       = 128
	fewOutdated   = 10
)

// Config configures the instances of a machine. Data, Service, Supervisor and Log are required.
type Config struct {
	Data    string      // directory of the machine; an absolute path
	Service string      // base URL of the service: wss://host:port
	TLS     *tls.Config // nil: the CAs of the system
	// Supervisor returns the command that runs supervisor.Supervise for a directory.
	Supervisor func(dir string) *exec.Cmd
	// LowPort and HighPort are the range of ports for {port} in Parameters; 0: none.
	LowPort, HighPort int
	// Environ is what game servers and installers inherit, NAME=value each.
	Environ []string
	// HostPaths allows launch paths outside of the build.
	HostPaths bool
	// Cgroups have the limits of instances; nil: there are none. HardCPU gives an instance no more than its CPUs, also
	// where others do not use theirs.
	Cgroups *cgroup.Tree
	HardCPU bool
	// User runs game servers and installers; nil: that of this process, which else must be root.
	User *supervisor.User
	// Telemetry receives metrics and crash reports of the game servers; nil: nothing does.
	Telemetry agent.Telemetry
	// Keep leaves the game servers running when Run is stopped, for the next run.
	Keep  bool
	Clock clockwork.Clock // nil: the real clock
	Log   *slog.Logger
}

// Tokens are the tokens of computes. A *machine.Machine has them.
type Tokens interface {
	Token(ctx context.Context, instance string) (protocol.Token, error)
	// Certificate returns a certificate for a certificate request in DER form.
	Certificate(ctx context.Context, instance string, request []byte) (protocol.Token, error)
	// RoleKeys returns keys of the role of an instance.
	RoleKeys(ctx context.Context, instance string) (protocol.RoleKeys, error)
	Changed() // the states have changed
}

// Instances are the instances of a machine.
type Instances struct {
	cfg    Config
	tokens Tokens
	ports  *agent.Ports
	builds *builds
	ctx    context.Context // of all work
	cancel context.CancelFunc
	work   sync.WaitGroup
	keys   keyServer

	mu       sync.Mutex
	wanted   *protocol.Wanted // nil: none was received
	all      map[string]*instance
	left     []string // ids of earlier runs, until the first Wanted
	stopping bool
}

// Run runs a machine with its instances until ctx is done, which is no error, or until the service refuses the machine
// for good. It sets Wanted and Instances of the machine's configuration.
func Run(ctx context.Context, of machine.Config, cfg Config) error {
	all, err := open(cfg)
	if err != nil {
		return err
	}
	of.Wanted, of.Instances = all.Want, all.States
	of.Offer.Instances = filepath.Join(cfg.Data, "i")
	m, err := machine.Open(of)
	if err != nil {
		return err
	}
	all.tokens = m
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	defer disconnect()
	ended := make(chan error, 1)
	go func() { ended <- m.Run(connected) }()
	select {
	case <-ctx.Done():
		all.stop() // while the service can be reached
		disconnect()
		return <-ended
	case err := <-ended:
		all.stop()
		return err
	}
}

// open reads what earlier runs have left. Nothing runs before the first Want.
func open(cfg Config) (*Instances, error) {
	if cfg.Clock == nil {
		cfg.Clock = clockwork.NewRealClock()
	}
	base, err := machine.HTTPURL(cfg.Service)
	if err != nil {
		return nil, err
	}
	m := &Instances{cfg: cfg, all: map[string]*instance{}, ports: agent.NewPorts(cfg.LowPort, cfg.HighPort)}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// The transport offers HTTP/2 in its configuration, which a WebSocket must not.
	transport.TLSClientConfig, transport.ResponseHeaderTimeout = cfg.TLS.Clone(), headerLimit
	m.builds = &builds{dir: filepath.Join(cfg.Data, "b"), base: base, client: &http.Client{Transport: transport},
		cfg: &m.cfg, locks: map[string]chan struct{}{}, failed: map[string]failedInstall{}}
	dir := filepath.Join(cfg.Data, "i")
	if err := agent.CheckData(filepath.Join(dir, strings.Repeat("x", usualID))); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if validID(e.Name()) {
			m.left = append(m.left, e.Name())
			m.ports.Recover(filepath.Join(dir, e.Name()))
		}
	}
	if err := m.admit(); err != nil {
		return nil, err
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m, nil
}

// certificates is the name of the directory of an instance with its certificate, which the service knows.
const certificates = "certificate"

// usualID is the length of an instance's id.
const usualID = len("i-0123456789abcdef0")

var idPattern = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// validID reports whether an id may be the name of a directory.
func validID(id string) bool { return idPattern.MatchString(id) }

// Want sets the instances that are wanted. It does not wait.
func (m *Instances) Want(w protocol.Wanted) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wanted = &w
	m.apply()
}

// apply has each instance act on what is wanted. The lock is held.
func (m *Instances) apply() {
	if m.wanted == nil || m.stopping {
		return
	}
	wanted := map[string]bool{}
	for _, w := range m.wanted.Instances {
		if !validID(w.ID) {
			m.cfg.Log.Error("instance ignored: its id is no name of a directory", "instance", w.ID)
			continue
		}
		wanted[w.ID] = true
		m.get(w.ID).set(w)
	}
	for _, id := range m.left {
		m.get(id)
	}
	m.left = nil
	for id, i := range m.all {
		if !wanted[id] {
			i.drop()
		}
		if i.dropped && i.ended {
			delete(m.all, id)
		} else if !i.started {
			i.started = true
			m.work.Go(i.run)
		}
	}
}

// get returns an instance, which may be new. The lock is held.
func (m *Instances) get(id string) *instance {
	i := m.all[id]
	if i == nil || i.dropped && i.ended {
		i = newInstance(m, id)
		m.all[id] = i
	}
	return i
}

// forget records that nothing is left of an instance. It stays in the states until it is not wanted any more.
func (m *Instances) forget(i *instance) {
	m.mu.Lock()
	i.ended, i.state = true, protocol.InstanceState{ID: i.id, Stage: protocol.Ended}
	i.failure, i.loop = nil, nil
	m.apply() // others may have waited for it
	m.mu.Unlock()
	m.tokens.Changed()
	m.prune()
}

// prune removes builds that no instance has.
func (m *Instances) prune() {
	m.mu.Lock()
	used := map[string]bool{}
	for _, i := range m.all {
		if !i.ended {
			used[keyOf(i.want.Build, i.want.Role)], used[i.place.Key] = true, true
			for _, b := range i.want.Versions {
				used[keyOf(b, i.want.Role)] = true
			}
		}
	}
	m.mu.Unlock()
	m.builds.prune(used)
}

// States returns the states of all instances, in the order of their ids.
func (m *Instances) States() []protocol.InstanceState {
	m.mu.Lock()
	defer m.mu.Unlock()
	states := make([]protocol.InstanceState, 0, len(m.all))
	limit, outdated := maxText, protocol.MaxOutdated
	if len(m.all) > manyInstances {
		limit, outdated = cutText, fewOutdated
	}
	for _, id := range slices.Sorted(maps.Keys(m.all)) {
		if i := m.all[id]; i.state.Stage != "" {
			s := i.state
			s.Outdated, s.Versions = i.outdated(outdated), i.versionStates(limit)
			if f := cmp.Or(i.failure, i.loop); f != nil {
				s.Failure = &protocol.Failure{Code: f.Code, Message: cut(f.Message, limit)}
			}
			states = append(states, s)
		}
	}
	return states
}

// cut returns at most limit bytes of a text.
func cut(text string, limit int) string {
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	return text
}

// stop ends the game servers, unless they are kept, and then all work.
func (m *Instances) stop() {
	m.mu.Lock()
	m.stopping = true
	for _, i := range m.all {
		i.abort()
		if !m.cfg.Keep {
			i.quit()
		}
	}
	m.mu.Unlock()
	if !m.cfg.Keep {
		limit := m.cfg.Clock.AfterFunc(stopLimit, m.cancel)
		defer limit.Stop()
	} else {
		m.cancel()
	}
	m.work.Wait()
	m.cancel()
	m.keys.serving.Wait()
	m.builds.client.CloseIdleConnections()
}
