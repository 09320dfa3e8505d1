package instance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
)

const (
	// versionPrefix is that of the directory with the files of a build besides the instance's own; its id follows.
	versionPrefix = "version-"
	// unfinished is the suffix of such a directory until it is complete.
	unfinished = ".new"
	// versionRetry is the time after which a build that could not be prepared is tried again.
	versionRetry = time.Minute
)

func (i *instance) versionRoot(build string) string { return filepath.Join(i.dir, versionPrefix+build) }

// findVersions takes over the builds that an earlier run has completed. The lock is held.
func (i *instance) findVersions() {
	entries, _ := os.ReadDir(i.dir) // there is none yet
	for _, e := range entries {
		if build, is := strings.CutPrefix(e.Name(), versionPrefix); is && !strings.HasSuffix(build, unfinished) {
			i.versions[build] = true
		}
	}
}

// giveVersions gives the files of the builds besides the instance's own to the user that runs game servers.
func (i *instance) giveVersions() (err error) {
	entries, _ := os.ReadDir(i.dir) // there is none yet
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), versionPrefix) {
			err = errors.Join(err, i.m.giveTree(filepath.Join(i.dir, e.Name())))
		}
	}
	return err
}

// wantsVersion reports whether processes may be requested of a build. The lock is held.
func (i *instance) wantsVersion(build string) bool {
	return slices.ContainsFunc(i.want.Versions, func(b protocol.Build) bool { return b.ID == build })
}

// readyVersions implements agent.Config.Builds.
func (i *instance) readyVersions() (builds []string) {
	i.m.mu.Lock()
	defer i.m.mu.Unlock()
	for _, b := range i.want.Versions {
		if i.versions[b.ID] {
			builds = append(builds, b.ID)
		}
	}
	slices.Sort(builds)
	return builds
}

// versionStates returns the states of the builds besides the instance's own that are ready or have failed, with reasons
// of at most limit bytes. The lock is held.
func (i *instance) versionStates(limit int) (states []protocol.VersionState) {
	for _, b := range i.want.Versions {
		s := protocol.VersionState{Build: b.ID}
		if f := i.versionFailures[b.ID]; f != nil {
			s.Failure = &protocol.Failure{Code: f.Code, Message: cut(f.Message, limit)}
		}
		if i.versions[b.ID] || s.Failure != nil {
			states = append(states, s)
		}
	}
	return states
}

// keepVersions keeps the files of the builds besides the instance's own that are wanted, and removes those of others,
// until ctx is done.
func (i *instance) keepVersions(ctx context.Context) {
	for {
		i.dropVersions()
		var again <-chan time.Time
		for _, b := range i.wanted().Versions {
			if !i.prepareVersion(ctx, b) {
				again = i.m.cfg.Clock.After(versionRetry)
			}
		}
		select {
		case <-i.versioned:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// prepareVersion has the files of a build ready, unless they are; false if that has failed.
func (i *instance) prepareVersion(ctx context.Context, b protocol.Build) bool {
	i.m.mu.Lock()
	ready := i.versions[b.ID] || !i.wantsVersion(b.ID)
	i.m.mu.Unlock()
	if ready {
		return true
	}
	began := i.m.cfg.Clock.Now()
	err := i.copyVersion(ctx, b)
	if err != nil && ctx.Err() != nil {
		return true
	}
	var f *failure
	if err != nil {
		i.log().Error("build besides the instance's own not prepared", "build", b.ID, "error", err)
		var known bool
		if f, known = errors.AsType[*failure](err); !known {
			f = failed(codeGeneric, "machine: %v", err)
		}
	} else {
		i.log().Info("build besides the instance's own is ready", "build", b.ID,
			"took", i.m.cfg.Clock.Since(began).Round(time.Millisecond))
	}
	i.update(func() {
		if i.versionFailures[b.ID] = f; f == nil {
			delete(i.versionFailures, b.ID)
			i.versions[b.ID] = true
		}
	})
	wake(i.refreshed)
	return err == nil
}

// copyVersion makes the directory of a build. Its rename is the last step, so a directory with its final name is
// complete.
func (i *instance) copyVersion(ctx context.Context, b protocol.Build) error {
	if !validID(b.ID) {
		return failed(codeGeneric, "build %.100q: its id is no name of a directory", b.ID)
	}
	w := i.wanted()
	w.Build = b
	tree, _, release, err := i.m.builds.prepare(ctx, i, w, func(protocol.Stage) {})
	if err != nil {
		return err
	}
	defer release()
	if err := validate(tree, w.Runtime, i.m.cfg.HostPaths); err != nil {
		return err
	}
	root := i.versionRoot(b.ID)
	if err := os.RemoveAll(root + unfinished); err != nil {
		return err
	}
	if err := i.m.copyTree(ctx, tree, root+unfinished); err != nil {
		return err
	}
	return os.Rename(root+unfinished, root)
}

// dropVersions removes the files of builds that are not wanted, and that no game server has. Until the agent of the
// instance has reported its game servers, which it may have adopted, each build may have some.
func (i *instance) dropVersions() {
	var unused []string
	i.m.mu.Lock()
	for build := range i.versions {
		used := i.wantsVersion(build) || i.dirs == nil
		for _, dir := range i.dirs {
			used = used || dir == i.versionRoot(build)
		}
		if !used {
			unused = append(unused, build)
			delete(i.versions, build)
		}
	}
	for build := range i.versionFailures {
		if !i.wantsVersion(build) {
			delete(i.versionFailures, build)
		}
	}
	i.m.mu.Unlock()
	for _, build := range unused {
		if err := os.RemoveAll(i.versionRoot(build)); err != nil {
			i.log().Warn("files of a build not removed", "build", build, "error", err)
		}
	}
	if len(unused) > 0 {
		i.m.prune()
	}
}

// staleVersions reports whether there are files of a build that is not wanted. The lock is held.
func (i *instance) staleVersions() bool {
	for build := range i.versions {
		if !i.wantsVersion(build) {
			return true
		}
	}
	return false
}
