package copies

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync"
)

// Files are the files of one kind on all nodes, each with a name of 64 hexadecimal digits.
type Files struct {
	all  *Copies
	kind byte // in questions
	here store

	mu       sync.Mutex
	fetching map[string]*fetch // by name
	absent   map[string]bool   // names of files that no living node had when this node last looked
	transfer chan struct{}     // holds one token for each transfer that may run
}

// A fetch is the transfer of a file to this node. All that want the file wait for it.
type fetch struct {
	ended chan struct{}
	err   error // set before ended is closed
}

// transfers is how many files of a kind a node fetches at once: few, since they share the network with the journal.
const transfers = 2

func newFiles(all *Copies, kind byte, here store) *Files {
	return &Files{all: all, kind: kind, here: here, fetching: map[string]*fetch{}, absent: map[string]bool{},
		transfer: make(chan struct{}, transfers)}
}

// keepRepaired fetches what this node should have of the files that needed yields, at intervals and when woken, until
// ctx ends.
func (f *Files) keepRepaired(ctx context.Context, needed func(context.Context) iter.Seq[string], wake chan struct{}) {
	tick := f.all.Clock.NewTicker(repairInterval)
	defer tick.Stop()
	for {
		f.repair(ctx, needed(ctx))
		select {
		case <-ctx.Done():
			return
		case <-tick.Chan():
		case <-wake:
		}
	}
}

// repair fetches what this node should have of the files needed.
func (f *Files) repair(ctx context.Context, needed iter.Seq[string]) {
	absent := map[string]bool{}
	for name := range needed {
		if ctx.Err() != nil {
			return
		}
		if f.here.Has(name) || !f.isHolder(name) && !f.wasAbsent(name) {
			continue
		}
		err := f.Fetch(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			absent[name] = true
		} else if err != nil && ctx.Err() == nil {
			f.all.Log.Warn("copy of a file not fetched; trying again", "file", name, "err", err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.absent = absent
}

func (f *Files) wasAbsent(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.absent[name]
}

// Has reports whether a file is in the region, as far as this node knows.
func (f *Files) Has(name string) bool { return f.here.Has(name) || !f.wasAbsent(name) }

// holders returns the nodes that should have a file.
func (f *Files) holders(name string) []string {
	nodes := slices.Clone(f.all.Peers.Living())
	if !slices.Contains(nodes, f.all.Self) {
		nodes = append(nodes, f.all.Self)
	}
	rank := make(map[string][sha256.Size]byte, len(nodes))
	for _, n := range nodes {
		rank[n] = sha256.Sum256([]byte(name + "/" + n))
	}
	slices.SortFunc(nodes, func(a, b string) int {
		x, y := rank[a], rank[b]
		return cmp.Or(slices.Compare(x[:], y[:]), cmp.Compare(a, b))
	})
	return nodes[:min(f.all.Number, len(nodes))]
}

// isHolder reports whether this node should have a file.
func (f *Files) isHolder(name string) bool { return slices.Contains(f.holders(name), f.all.Self) }

// others returns the living nodes but this one.
func (f *Files) others() []string {
	return slices.DeleteFunc(slices.Clone(f.all.Peers.Living()), func(n string) bool { return n == f.all.Self })
}

// Spread returns when a majority of the copies of a file is durable, one of them on this node. The caller acknowledges
// the file then. The error names the nodes that failed.
func (f *Files) Spread(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, keepLimit)
	defer cancel()
	if err := f.Fetch(ctx, name); err != nil {
		return err
	}
	others := slices.DeleteFunc(f.holders(name), func(n string) bool { return n == f.all.Self })
	needed := f.all.Number / 2 // beside this node
	results := make(chan error, len(others))
	for _, node := range others {
		go func() { results <- f.askToKeep(node, name) }()
	}
	var failed []error
	for kept := 0; kept < needed; {
		if len(failed) > len(others)-needed {
			return fmt.Errorf("%d of %d nodes must have a copy of the file: %w", needed+1, f.all.Number,
				cmp.Or(errors.Join(failed...), errTooFew))
		}
		select {
		case err := <-results:
			if err != nil {
				failed = append(failed, err)
				continue
			}
			kept++
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

var errTooFew = errors.New("too few nodes are up")

// askToKeep has another node keep a copy. It goes on when the caller has a majority already, so that all copies are
// made soon.
func (f *Files) askToKeep(node, name string) error {
	ctx, cancel := context.WithTimeout(f.all.done, keepLimit)
	defer cancel()
	_, err := f.all.ask(ctx, node, question{keepQuestion, f.kind, name, 0}.encode())
	return err
}

// Fetch returns when this node has a file. The error is fs.ErrNotExist if no living node has it.
func (f *Files) Fetch(ctx context.Context, name string) error {
	f.mu.Lock()
	run := f.fetching[name]
	if run == nil {
		if f.here.Has(name) {
			f.mu.Unlock()
			return nil
		}
		run = &fetch{ended: make(chan struct{})}
		f.fetching[name] = run
		go f.run(run, name)
	}
	f.mu.Unlock()
	select {
	case <-run.ended:
		return run.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run transfers a file from the first node that has it, and from the next one if that fails.
func (f *Files) run(run *fetch, name string) {
	defer func() {
		f.mu.Lock()
		delete(f.fetching, name)
		f.mu.Unlock()
		close(run.ended)
	}()
	select {
	case f.transfer <- struct{}{}:
		defer func() { <-f.transfer }()
	case <-f.all.done.Done():
		run.err = f.all.done.Err()
		return
	}
	nodes := f.holders(name)
	for _, n := range f.all.Peers.Living() {
		if !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	run.err = fmt.Errorf("file %s: %w", name, fs.ErrNotExist)
	for _, node := range nodes {
		if node == f.all.Self {
			continue
		}
		err := f.copyFrom(node, name)
		if err == nil {
			run.err = nil
			return
		}
		if !errors.Is(err, fs.ErrNotExist) {
			run.err = err
		}
	}
}

// Elsewhere returns which of some files other nodes have. The error names the nodes that have not answered; the result
// is then of the others.
func (f *Files) Elsewhere(ctx context.Context, names []string) (had map[string]bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	var asking sync.WaitGroup
	var mu sync.Mutex
	had = map[string]bool{}
	for _, node := range f.others() {
		for page := range slices.Chunk(names, maxNames) {
			asking.Go(func() {
				found, failed := f.all.ask(ctx, node, encodeHave(f.kind, page))
				mu.Lock()
				defer mu.Unlock()
				err = errors.Join(err, failed)
				for _, name := range decodeNames(found) {
					had[name] = true
				}
			})
		}
	}
	asking.Wait()
	return had, err
}
