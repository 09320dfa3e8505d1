package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/builds"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	// checkWait is how long the answer to an upload waits for the check of the build. Clients wait for 60 s.
	checkWait = 20 * time.Second

	// checkRetry is the time after which the check of builds that could not be read is repeated.
	checkRetry = time.Minute

	// sweepInterval is the time between two searches for bytes to which nothing refers.
	sweepInterval = time.Hour
)

// A buildRunner checks the bytes of builds, one after the other, and deletes bytes to which nothing refers. The builds
// to check are those of the catalog: after a restart it continues with them.
type buildRunner struct {
	wake       chan struct{} // with room for one
	assembling chan struct{} // holds an element while an archive is assembled

	kept sync.RWMutex // nothing is deleted while it is held for reading

	mu    sync.Mutex
	swept bool                     // no sweep is wanted
	wait  map[string]chan struct{} // by build; closed when its check has ended
}

func newBuildRunner() *buildRunner {
	return &buildRunner{wake: make(chan struct{}, 1), assembling: make(chan struct{}, 1),
		wait: map[string]chan struct{}{}}
}

// check wakes the runner.
func (b *buildRunner) check() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// sweep wakes the runner for a sweep.
func (b *buildRunner) sweep() {
	b.mu.Lock()
	b.swept = false
	b.mu.Unlock()
	b.check()
}

// watch returns a channel that is closed when the next check of a build has ended.
func (b *buildRunner) watch(build string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wait[build] == nil {
		b.wait[build] = make(chan struct{})
	}
	return b.wait[build]
}

func (b *buildRunner) ended(build string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ch := b.wait[build]; ch != nil {
		close(ch)
		delete(b.wait, build)
	}
}

// takeSweep reports whether a sweep is wanted, and notes that it is made.
func (b *buildRunner) takeSweep() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	wanted := !b.swept
	b.swept = true
	return wanted
}

// runBuilds checks builds until ctx ends.
func (p *Plane) runBuilds(ctx context.Context) error {
	if !p.keepsObjects() {
		return nil
	}
	retry, sweep := p.cfg.Clock.NewTicker(checkRetry), p.cfg.Clock.NewTicker(sweepInterval)
	defer retry.Stop()
	defer sweep.Stop()
	for {
		for _, b := range p.buildsToCheck() {
			if err := p.checkBuild(ctx, b); err != nil && ctx.Err() == nil {
				p.cfg.Log.Error("check of a build failed", "build", b.ID, "err", err)
			}
			p.builds.ended(b.ID) // also of one that is checked again later
		}
		if p.builds.takeSweep() {
			p.sweepObjects(ctx)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.builds.wake:
		case <-retry.Chan():
		case <-sweep.Chan():
			p.builds.sweep()
		}
	}
}

// buildsToCheck returns the builds that this node checks: in a cluster that which leads.
func (p *Plane) buildsToCheck() []*catalog.Build {
	if p.cfg.Cluster != nil && !p.drivers.Lead() {
		return nil
	}
	return p.Catalog().UncheckedBuilds()
}

// checkBuild reads the bytes of a build and finishes it. It leaves one whose bytes are missing.
func (p *Plane) checkBuild(ctx context.Context, b *catalog.Build) error {
	f, err := p.cfg.Objects.Open(b.Hash)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // see buildStatus
	}
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	content, err := builds.Check(ctx, f, b.Size, p.buildLimits(b.OperatingSystem))
	finish := catalog.FinishBuild{ID: b.ID, Hash: b.Hash, BuildContent: catalog.BuildContent{
		Tree: content.Tree, Files: content.Files, Unpacked: content.Unpacked}}
	if hostile, ok := errors.AsType[*builds.Invalid](err); ok {
		finish.BuildContent = catalog.BuildContent{Reason: hostile.Reason}
	} else if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	err = p.Change(ctx, finish)
	if fault.Is(err, fault.NotFound) { // deleted meanwhile
		return nil
	}
	return err
}

// buildLimits returns what the files of a build for an operating system are checked against.
func (p *Plane) buildLimits(operatingSystem string) builds.Limits {
	return builds.Limits{Windows: strings.HasPrefix(operatingSystem, "WINDOWS"), MaxUnpacked: p.cfg.MaxBuildSize}
}

// KeepObjects keeps all bytes until the caller calls release, also those to which nothing refers any more.
func (p *Plane) KeepObjects() (release func()) {
	p.builds.kept.RLock()
	return p.builds.kept.RUnlock
}

// sweepObjects deletes bytes to which nothing refers, unless they are kept: then the next one deletes them.
func (p *Plane) sweepObjects(ctx context.Context) {
	if !p.builds.kept.TryLock() {
		return
	}
	defer p.builds.kept.Unlock()
	bytes, err := p.cfg.Objects.Sweep(ctx, func(hash string) bool { return p.Catalog().Referred(hash) })
	if err != nil && ctx.Err() == nil {
		p.cfg.Log.Error("deletion of unused objects failed", "err", err)
	}
	if bytes > 0 {
		p.cfg.Log.Info("unused objects deleted", "bytes", bytes)
	}
}

// awaitCheck waits for a while until the bytes of a build are checked.
func (p *Plane) awaitCheck(ctx context.Context, ended <-chan struct{}) {
	timeout := p.cfg.Clock.NewTimer(checkWait)
	defer timeout.Stop()
	select {
	case <-ended:
	case <-timeout.Chan():
	case <-ctx.Done():
	}
}
