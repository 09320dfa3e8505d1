package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/agent"
	"github.com/muster-gg/muster/internal/agent/cgroup"
	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/atomicfile"
)

const (
	recordFile = "instance.json"
	rootPrefix = "game-"
)

// A place is what an instance runs: the content of its record.
type place struct {
	Fleet     string `json:"fleet"`
	Build     string `json:"build"`
	Key       string `json:"key"`  // of the build on this machine
	Root      int    `json:"root"` // number of the directory; 0: there is none
	Installed bool   `json:"installed,omitempty"`
	Owner     string `json:"owner,omitempty"` // of the files, as owner returns it
}

// An instance is one instance of a machine. The fields below the channels are protected by the lock of Instances.
type instance struct {
	m   *Instances
	id  string
	dir string

	beginning context.Context // until it must not begin any more
	abort     context.CancelFunc
	serving   context.Context // until its game servers are given up
	giveUp    context.CancelFunc
	quits     chan struct{} // closed when its game servers are asked to end
	leaves    chan struct{} // closed when nothing of it may be left
	changed   chan struct{} // has one element when what is wanted has changed
	replaced  chan struct{} // has one element when another build was taken over
	versioned chan struct{} // has one element when versions may have to be prepared or removed
	refreshed chan struct{} // has one element when the versions that are ready have changed

	want     protocol.Instance
	started  bool // run was started
	begun    bool // nothing makes it wait any more
	quitting bool // quits is closed
	leaving  bool // leaves is closed
	dropped  bool // it is not wanted
	ended    bool // nothing is left of it
	place    place
	old      []int           // roots of earlier builds
	versions map[string]bool // ids of the builds besides its own whose files are complete
	// versionFailures are why such builds could not be prepared, by id.
	versionFailures map[string]*failure
	dirs            map[string]string  // of the game servers, by id
	obsolete        context.CancelFunc // ends the preparation of a build that is wanted no more; nil: there is none
	state           protocol.InstanceState
	failure         *failure // why it waits or cannot run, or why a new build could not replace another one
	loop            *failure // a crash loop
	keys            roleKeys
}

func newInstance(m *Instances, id string) *instance {
	i := &instance{m: m, id: id, dir: filepath.Join(m.cfg.Data, "i", id), quits: make(chan struct{}),
		leaves: make(chan struct{}), changed: make(chan struct{}, 1), replaced: make(chan struct{}, 1),
		versioned: make(chan struct{}, 1), refreshed: make(chan struct{}, 1), versions: map[string]bool{},
		versionFailures: map[string]*failure{}, keys: roleKeys{has: make(chan struct{})}}
	i.beginning, i.abort = context.WithCancel(m.ctx)
	i.serving, i.giveUp = context.WithCancel(m.ctx)
	return i
}

// set takes over what is wanted. The lock is held.
func (i *instance) set(w protocol.Instance) {
	if i.obsolete != nil && w.Build.ID != i.want.Build.ID {
		i.obsolete()
	}
	if !slices.Equal(i.want.Versions, w.Versions) {
		wake(i.refreshed)
		wake(i.versioned)
	}
	i.want = w
	if w.Ends {
		i.leave()
		i.quit()
	}
	wake(i.changed)
}

// wake puts an element into a channel that has none.
func wake(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// drop ends an instance that is not wanted. The lock is held.
func (i *instance) drop() {
	i.dropped = true
	i.leave()
	i.giveUp()
}

// leave has nothing of the instance be left in the end. The lock is held.
func (i *instance) leave() {
	i.abort()
	if !i.leaving {
		i.leaving = true
		close(i.leaves)
	}
}

// quit asks the game servers to end. The lock is held.
func (i *instance) quit() {
	if !i.quitting {
		i.quitting = true
		close(i.quits)
	}
}

func (i *instance) isLeaving() bool {
	i.m.mu.Lock()
	defer i.m.mu.Unlock()
	return i.leaving
}

// wanted returns what is wanted of the instance.
func (i *instance) wanted() protocol.Instance {
	i.m.mu.Lock()
	defer i.m.mu.Unlock()
	return i.want
}

// update changes the state under the lock, and has it reported.
func (i *instance) update(change func()) {
	i.m.mu.Lock()
	change()
	i.m.mu.Unlock()
	i.m.tokens.Changed()
}

func (i *instance) log() *slog.Logger {
	return i.m.cfg.Log.With("instance", i.id, "fleet", i.wanted().Fleet)
}

// run gets the instance from nothing to running, and to nothing again. If the machine agent is stopped, what there is
// stays for its next run.
func (i *instance) run() {
	if i.serving.Err() == nil {
		if err := i.begin(i.beginning); err == nil {
			i.serve()
		} else if i.beginning.Err() == nil {
			i.fail(err)
		}
		i.forgetKeys()
	}
	select {
	case <-i.leaves:
	case <-i.quits:
	case <-i.m.ctx.Done():
	}
	if !i.isLeaving() {
		if !i.m.cfg.Keep {
			i.endAll()
		}
		return
	}
	i.endAll()
	if i.m.cfg.Cgroups != nil {
		if err := i.m.cfg.Cgroups.Remove(i.id); err != nil {
			i.log().Warn("cgroup of an instance not removed", "error", err)
		}
	}
	if err := os.RemoveAll(i.dir); err != nil {
		i.log().Error("directory of an instance not removed", "directory", i.dir, "error", err)
	}
	i.log().Info("instance ended")
	i.m.forget(i)
}

// endAll ends the game servers that are left.
func (i *instance) endAll() {
	if err := i.m.ports.End(i.dir); err != nil {
		i.log().Error("game servers of an instance not ended", "error", err)
	}
}

// fail records that the instance cannot run.
func (i *instance) fail(err error) {
	f, known := errors.AsType[*failure](err)
	if !known { // of the machine, such as a full disk
		f = failed(codeGeneric, "machine: %v", err)
	}
	i.log().Error("instance failed", "code", f.Code, "error", err)
	i.update(func() { i.state.Stage, i.failure = protocol.Failed, f })
}

// A progress is informed how far an instance has come, and of whether its build is known to have an installer.
type progress func(s protocol.Stage, installed bool)

// stage reports how far the instance has come.
func (i *instance) stage(s protocol.Stage, installed bool) {
	i.update(func() {
		i.state.Stage, i.state.Build, i.state.Installed, i.failure = s, i.want.Build.ID, installed, nil
	})
}

// begin gets the instance ready to run.
func (i *instance) begin(ctx context.Context) error {
	if found, err := i.restore(); found || err != nil {
		i.log().Info("instance found again")
		return err
	}
	i.update(func() { i.state = protocol.InstanceState{ID: i.id, Stage: protocol.Waiting} })
	if err := i.await(ctx); err != nil {
		return err
	}
	i.log().Info("instance begins", "build", i.wanted().Build.ID)
	for _, root := range i.roots() { // of a run that did not complete it
		if err := os.RemoveAll(i.root(root)); err != nil {
			return err
		}
	}
	for {
		id, err := i.build(ctx, 1, i.stage)
		if err == nil {
			i.log().Info("instance runs", "build", id)
			return nil
		}
		if id == i.wanted().Build.ID || ctx.Err() != nil {
			return err
		}
		i.log().Info("another build is wanted", "error", err)
	}
}

// restore takes over what an earlier run has completed.
func (i *instance) restore() (found bool, err error) {
	var p place
	text, err := os.ReadFile(filepath.Join(i.dir, recordFile))
	if err != nil || json.Unmarshal(text, &p) != nil || p.Root == 0 {
		return false, nil
	}
	if owner := i.m.owner(); owner != "" && p.Owner != owner { // of a run for another user
		p.Owner = owner
		if err := errors.Join(i.m.giveTree(i.root(p.Root)), i.giveVersions(), i.record(p)); err != nil {
			return true, err
		}
	}
	i.update(func() {
		i.begun = true
		i.setPlace(p)
		i.findVersions()
		i.old = slices.DeleteFunc(i.roots(), func(n int) bool { return n == p.Root })
		if i.want.ID == "" { // of an earlier run, and not wanted
			i.want.Fleet = p.Fleet
		}
	})
	return true, nil
}

// record writes the record of the instance.
func (i *instance) record(p place) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(i.dir, recordFile), text, 0o600)
}

// setPlace has new game servers run there. The lock is held.
func (i *instance) setPlace(p place) {
	i.place = p
	i.state.ID, i.state.Stage, i.state.Build, i.state.Installed = i.id, protocol.Running, p.Build, p.Installed
}

func (i *instance) root(n int) string { return filepath.Join(i.dir, rootPrefix+strconv.Itoa(n)) }

// roots returns the numbers of the directories with files of a build.
func (i *instance) roots() (numbers []int) {
	entries, _ := os.ReadDir(i.dir) // there is none yet
	for _, e := range entries {
		text, is := strings.CutPrefix(e.Name(), rootPrefix)
		if n, err := strconv.Atoi(text); is && err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// await waits until nothing prevents the instance from beginning.
func (i *instance) await(ctx context.Context) error {
	for {
		var reason *failure
		i.m.mu.Lock()
		if reason = i.m.obstacle(i); reason == nil {
			i.begun = true
		}
		i.m.mu.Unlock()
		if reason == nil {
			return ctx.Err()
		}
		i.log().Warn("instance waits", "reason", reason.Message)
		i.update(func() { i.failure = reason })
		select {
		case <-i.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drained reports whether the machine is drained: a game server that ends is not started again, because it would get no
// game session.
func (m *Instances) drained() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wanted.Drain
}

// obstacle returns why an instance must wait; nil: it need not. The lock is held.
func (m *Instances) obstacle(i *instance) *failure {
	if m.wanted.Drain {
		return failed(codeGeneric, "the machine is drained: it begins no instance")
	}
	for _, other := range m.all {
		if other == i || !other.begun || other.ended || other.want.Fleet != i.want.Fleet {
			continue
		}
		if p := collide(i.want.Runtime, other.want.Runtime); p != "" {
			return failed(codeGeneric, "instance %s on this machine has the port in the parameters %q: write {port} "+
				"in their place, which is another free port for each process", other.id, p)
		}
	}
	return nil
}

// build gets the files of the wanted build into a new directory, and has new game servers start there. It returns the
// id of the build, and ends early when another one is wanted.
func (i *instance) build(ctx context.Context, root int, stage progress) (id string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	i.m.mu.Lock()
	w := i.want
	i.obsolete = cancel
	i.m.mu.Unlock()
	return w.Build.ID, i.buildOf(ctx, w, root, stage)
}

func (i *instance) buildOf(ctx context.Context, w protocol.Instance, root int, stage progress) error {
	tree, installed, release, err := i.m.builds.prepare(ctx, i, w, func(s protocol.Stage) { stage(s, false) })
	if err != nil {
		return err
	}
	defer release()
	stage(protocol.Validating, installed) // the service may not have seen the stages before
	if err := validate(tree, w.Runtime, i.m.cfg.HostPaths); err != nil {
		return err
	}
	stage(protocol.Building, installed)
	if err := i.m.makeDir(i.dir); err != nil {
		return err
	}
	if err := i.m.copyTree(ctx, tree, i.root(root)); err != nil { // before the record
		return err
	}
	p := place{Fleet: w.Fleet, Build: w.Build.ID, Key: keyOf(w.Build, w.Role), Root: root, Installed: installed,
		Owner: i.m.owner()}
	if err := i.record(p); err != nil {
		return err
	}
	i.update(func() {
		if i.place.Root != 0 {
			i.old = append(i.old, i.place.Root)
		}
		i.setPlace(p)
		i.failure = nil
	})
	wake(i.replaced)
	return nil
}

// serve runs the agent of the instance until the instance ends.
func (i *instance) serve() {
	var following sync.WaitGroup
	following.Go(func() { i.follow(i.beginning) })
	following.Go(func() { i.keepVersions(i.beginning) })
	defer following.Wait()
	defer i.abort()
	if i.wanted().Certificate {
		if !i.certify() {
			return
		}
		renewing := make(chan struct{})
		go func() {
			defer close(renewing)
			i.renew()
		}()
		defer func() { <-renewing }()
		defer i.abort()
	}
	environ, _ := i.role(i.serving, i.wanted(), "game servers")
	pause := time.Second
	for {
		limits := i.limit()
		err := agent.Run(i.serving, agent.Config{
			API: &compute{i}, Fleet: i.wanted().Fleet, Compute: i.id, Data: i.dir, Supervisor: i.m.cfg.Supervisor,
			Cgroup: limits, MemoryMiB: i.wanted().MemoryMiB, NoNewPrivs: true, Ports: i.m.ports,
			Environ: environ, User: i.m.cfg.User, Place: i.programOf, Held: i.m.drained, Replaced: i.replaced,
			End: i.quits, Builds: i.readyVersions, Refreshed: i.refreshed, Observe: i.observe,
			Telemetry: i.m.cfg.Telemetry, Keep: true, TLS: i.m.cfg.TLS, Clock: i.m.cfg.Clock,
			Log: i.m.cfg.Log.With("instance", i.id),
		})
		select {
		case <-i.serving.Done():
			return
		case <-i.quits:
			return
		default:
		}
		i.log().Warn("agent of an instance ended", "error", err, "restart_in", pause)
		select {
		case <-i.m.cfg.Clock.After(pause):
		case <-i.serving.Done():
			return
		case <-i.quits:
			return
		}
		pause = min(2*pause, 15*time.Second)
	}
}

// limit sets the limits of the instance, and returns the directory of its cgroup; "": it has none.
func (i *instance) limit() string {
	if i.m.cfg.Cgroups == nil {
		return ""
	}
	w := i.wanted()
	dir, err := i.m.cfg.Cgroups.Limit(i.id, cgroup.Limits{MilliCPUs: w.MilliCPUs, MemoryMiB: w.MemoryMiB,
		HardCPU: i.m.cfg.HardCPU})
	if err != nil {
		i.log().Error("instance runs without limits", "error", err)
		return ""
	}
	return dir
}

// follow replaces the build of the running instance when another one is wanted.
func (i *instance) follow(ctx context.Context) {
	tried := "" // id of the build that could not replace another one
	for {
		i.m.mu.Lock()
		id, has, ends, failed := i.want.Build.ID, i.place, i.want.Ends, i.failure != nil
		i.m.mu.Unlock()
		switch {
		case id == "" || ends || id == tried:
		case id != has.Build:
			if !i.replace(ctx, has.Root+1) {
				tried = id
			}
			continue
		case failed:
			tried = ""
			i.update(func() { i.failure = nil })
		}
		select {
		case <-i.changed:
		case <-ctx.Done():
			return
		}
	}
}

// replace has new game servers start from the wanted build. Those that run keep their files. It returns false if the
// build cannot replace the one before.
func (i *instance) replace(ctx context.Context, root int) bool {
	began := i.m.cfg.Clock.Now()
	id, err := i.build(ctx, root, func(protocol.Stage, bool) {})
	switch {
	case err == nil:
		i.log().Info("build of an instance replaced", "build", id,
			"took", i.m.cfg.Clock.Since(began).Round(time.Millisecond))
		i.m.prune()
	case ctx.Err() == nil && id == i.wanted().Build.ID:
		i.log().Error("build of an instance not replaced", "build", id, "error", err)
		f, known := errors.AsType[*failure](err)
		if !known {
			f = failed(codeGeneric, "machine: %v", err)
		}
		f = failed(f.Code, "Build %s could not replace build %s, which goes on: %s", id, i.builtFrom(), f.Message)
		i.update(func() { i.failure = f })
		return false
	}
	return true
}

// builtFrom returns the id of the build from which new game servers start.
func (i *instance) builtFrom() string {
	i.m.mu.Lock()
	defer i.m.mu.Unlock()
	return i.place.Build
}

// programOf implements agent.Config.Place.
func (i *instance) programOf(launchPath, build string) (program, dir string, err error) {
	i.m.mu.Lock()
	defer i.m.mu.Unlock()
	dir = i.root(i.place.Root)
	if build != "" {
		if dir = i.versionRoot(build); !i.versions[build] {
			return "", "", fmt.Errorf("the machine has no files of build %s", build)
		}
	}
	program, err = programOf(dir, launchPath, i.m.cfg.HostPaths)
	return program, dir, err
}

// observe reports the state of the agent, and removes the files of earlier builds that no game server has.
func (i *instance) observe(s agent.State) {
	var unused []int
	i.update(func() {
		i.state.Processes, i.dirs, i.loop = s.Processes, s.Dirs, nil
		if i.staleVersions() {
			wake(i.versioned)
		}
		if c := s.Loop; c != nil {
			i.loop = failed(codeActivation, "%s crashed %d times in a row, the last time with exit code %d",
				c.Entry.LaunchPath, c.Crashes, c.Code)
		}
		i.old = slices.DeleteFunc(i.old, func(n int) bool {
			used := slices.Contains(slices.Collect(maps.Values(s.Dirs)), i.root(n))
			if !used {
				unused = append(unused, n)
			}
			return !used
		})
	})
	for _, n := range unused {
		if err := os.RemoveAll(i.root(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			i.log().Warn("files of an earlier build not removed", "error", err)
		}
	}
}

// outdated returns the ids of at most n game servers that were started from an earlier build. The lock is held.
func (i *instance) outdated(n int) (ids []string) {
	current := i.root(i.place.Root)
	for _, id := range slices.Sorted(maps.Keys(i.dirs)) {
		dir := i.dirs[id]
		version := strings.HasPrefix(filepath.Base(dir), versionPrefix)
		if dir != "" && dir != current && !version && len(ids) < n {
			ids = append(ids, id)
		}
	}
	return ids
}

// A compute is the API of an instance's agent. It implements agent.API.
type compute struct{ *instance }

// Register implements agent.API. The service has registered the compute.
func (c *compute) Register(ctx context.Context) (agent.Endpoints, error) {
	t, err := c.m.tokens.Token(ctx, c.id)
	return agent.Endpoints{SDK: t.SDK, Agent: t.Agent}, err
}

// AuthToken implements agent.API.
func (c *compute) AuthToken(ctx context.Context) (token string, expires time.Time, err error) {
	t, err := c.m.tokens.Token(ctx, c.id)
	return t.Token, time.UnixMilli(t.Expires), err
}
