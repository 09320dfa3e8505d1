package instance

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/atomicfile"
)

const (
	// keptBuilds is how many builds are kept that no instance has, the last used ones.
	keptBuilds = 5

	keyLength   = 32 // hexadecimal digits
	archiveFile = "archive"
	treeDir     = "tree"
	readyFile   = "ready.json"
	outputFile  = "install.log"
)

// builds are the builds that the machine has. Each is prepared by one instance at a time.
type builds struct {
	dir    string
	base   string // URL of the service
	client *http.Client
	cfg    *Config

	mu     sync.Mutex
	locks  map[string]chan struct{} // by key; an element: it is locked
	failed map[string]failedInstall // by key, while an instance has the build
}

// A failedInstall is the failure of an installer. Another build with the same files is tried again, as is one whose
// installer had no keys of its role.
type failedInstall struct {
	build string // id
	*failure
}

// A mark is the content of readyFile.
type mark struct {
	Installed bool `json:"installed"` // the build has an installer, which has ended well
}

var hashPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// keyOf returns the name of a build on a machine, by the hash of its tree or of its archive; "" if it has none. The
// instances of each role have builds of their own, because installers may leave there what they got with its rights.
func keyOf(b protocol.Build, role string) string {
	hash := cmp.Or(b.Tree, b.SHA256)
	if !hashPattern.MatchString(hash) {
		return ""
	}
	if role != "" {
		sum := sha256.Sum256([]byte(hash + role))
		hash = hex.EncodeToString(sum[:])
	}
	return hash[:keyLength]
}

// lock locks a build.
func (b *builds) lock(ctx context.Context, key string) (unlock func(), err error) {
	lock := b.lockOf(key)
	select {
	case lock <- struct{}{}:
		return func() { <-lock }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (b *builds) lockOf(key string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.locks[key] == nil {
		b.locks[key] = make(chan struct{}, 1)
	}
	return b.locks[key]
}

// prepare gets the build of w for an instance: downloads, extracts and installs it, unless the machine has it. The
// build is locked until release is called. stage is called with each stage that begins.
func (b *builds) prepare(ctx context.Context, i *instance, w protocol.Instance, stage func(protocol.Stage)) (
	tree string, installed bool, release func(), err error) {
	key := keyOf(w.Build, w.Role)
	if key == "" || !hashPattern.MatchString(w.Build.SHA256) {
		return "", false, nil, failed(codeDownload, "build %s has no valid hash", w.Build.ID)
	}
	stage(protocol.Downloading)
	unlock, err := b.lock(ctx, key)
	if err != nil {
		return "", false, nil, err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	dir := filepath.Join(b.dir, key)
	tree = filepath.Join(dir, treeDir)
	if m, ok := readMark(dir); ok {
		now := time.Now()
		_ = os.Chtimes(filepath.Join(dir, readyFile), now, now) // only orders the builds by their last use
		return tree, m.Installed, unlock, nil
	}
	b.mu.Lock()
	last := b.failed[key]
	b.mu.Unlock()
	f := last.failure
	if f == nil || last.build != w.Build.ID {
		if installed, err = b.make(ctx, dir, i, w, stage); err == nil {
			if installed {
				i.m.work.Go(func() { b.putOutput(ctx, dir, w) })
			}
			return tree, installed, unlock, nil
		}
		var known bool
		if f, known = errors.AsType[*failure](err); !known || f.Code != codeInstaller {
			return "", false, nil, err
		}
		if !f.keyless {
			b.mu.Lock()
			b.failed[key] = failedInstall{w.Build.ID, f}
			b.mu.Unlock()
		}
	}
	b.putOutput(ctx, dir, w)
	return "", false, nil, f
}

func readMark(dir string) (m mark, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, readyFile))
	return m, err == nil && json.Unmarshal(text, &m) == nil
}

// make makes the directory of a build.
func (b *builds) make(ctx context.Context, dir string, i *instance, w protocol.Instance,
	stage func(protocol.Stage)) (installed bool, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	archive, tree := filepath.Join(dir, archiveFile), filepath.Join(dir, treeDir)
	log := b.cfg.Log.With("build", w.Build.ID)
	began := time.Now()
	if err := os.RemoveAll(tree); err != nil {
		return false, err
	}
	if err := b.assemble(ctx, w.Build, tree); err == nil {
		log.Info("build assembled of files of other builds", "took", time.Since(began).Round(time.Millisecond))
		stage(protocol.Extracting)
	} else if err := b.fetch(ctx, w.Build, archive, tree, stage); err != nil {
		return false, err
	}
	if installer := findInstaller(tree); installer != "" {
		stage(protocol.Installing)
		if err := b.installFor(ctx, i, w, dir, installer); err != nil {
			return false, err
		}
		installed = true
		log.Info("build installed", "installer", filepath.Base(installer))
	}
	if err := syncTree(tree); err != nil {
		return false, err
	}
	text, err := json.Marshal(mark{installed})
	if err != nil {
		return false, err
	}
	if err := atomicfile.Write(filepath.Join(dir, readyFile), text, 0o600); err != nil {
		return false, err
	}
	return installed, os.RemoveAll(archive)
}

// fetch downloads the whole archive of a build, and extracts it.
func (b *builds) fetch(ctx context.Context, build protocol.Build, archive, tree string,
	stage func(protocol.Stage)) error {
	began := time.Now()
	if err := b.download(ctx, build, archive); err != nil {
		return err
	}
	b.cfg.Log.Info("build downloaded", "build", build.ID, "bytes", build.Size,
		"took", time.Since(began).Round(time.Millisecond))
	stage(protocol.Extracting)
	if err := os.RemoveAll(tree); err != nil { // of assemble
		return err
	}
	return extract(ctx, archive, tree)
}

// prune removes the builds that are neither used nor among the last used ones, and forgets the failures of those that
// are not used.
func (b *builds) prune(used map[string]bool) {
	b.mu.Lock()
	for key := range b.failed {
		if !used[key] {
			delete(b.failed, key)
		}
	}
	b.mu.Unlock()
	ready := slices.DeleteFunc(b.byUse(), func(key string) bool { return used[key] })
	kept := ready[:min(keptBuilds, len(ready))]
	entries, _ := os.ReadDir(b.dir) // there is none yet
	for _, e := range entries {
		if key := e.Name(); !used[key] && !slices.Contains(kept, key) {
			b.remove(key)
		}
	}
}

// byUse returns the keys of the builds that are ready, the last used one first.
func (b *builds) byUse() (keys []string) {
	last := map[string]time.Time{}
	entries, _ := os.ReadDir(b.dir) // there is none yet
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(b.dir, e.Name(), readyFile)); err == nil {
			keys = append(keys, e.Name())
			last[e.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(keys, func(x, y string) int { return last[y].Compare(last[x]) })
	return keys
}

// remove removes a build that no instance prepares.
func (b *builds) remove(key string) {
	lock := b.lockOf(key)
	select {
	case lock <- struct{}{}:
		defer func() { <-lock }()
	default:
		return // an instance has it
	}
	dir := filepath.Join(b.dir, key)
	_ = os.Remove(filepath.Join(dir, readyFile)) // first: what is left is incomplete
	if err := os.RemoveAll(dir); err != nil {
		b.cfg.Log.Warn("build not removed", "directory", dir, "error", err)
		return
	}
	b.cfg.Log.Info("build removed", "directory", dir)
}
