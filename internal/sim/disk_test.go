package sim

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/journal/memory"
)

// A disk is the journal of one owner. What the owner asks of it waits until the
// world carries it out.
type disk struct {
	world   *world
	owner   *owner
	journal *memory.Journal // the owner's handle

	mu     sync.Mutex
	parked []*operation
	dead   bool

	later []byte // for a planted bug: a record that is yet to be stored
}

type operationKind string

const (
	opAppend operationKind = "append"
	opReplay operationKind = "replay"
	opSave   operationKind = "save snapshot"
	opLoad   operationKind = "load snapshot"
)

// An operation is one call of a disk.
type operation struct {
	kind operationKind
	disk *disk
	last uint64
	seq  uint64
	data []byte

	due  time.Time // when the world carries it out
	fate fate

	over    bool          // the owner has been told
	done    chan struct{} // closed when the rest is there
	err     error
	records [][]byte
	reader  io.ReadCloser
}

// A fate is what becomes of an operation.
type fate string

const (
	fine        fate = "fine"
	fails       fate = "fails"
	lies        fate = "is stored and fails"
	crashBefore fate = "the owner crashes before it"
	crashAfter  fate = "the owner crashes after it"
	cut         fate = "is cut short"
)

var (
	errDead     = errors.New("the process is no more")
	errInjected = errors.New("the disk has failed")
)

// wait parks an operation until the world has carried it out.
func (d *disk) wait(ctx context.Context, op *operation) error {
	op.disk, op.done = d, make(chan struct{})
	d.mu.Lock()
	if d.dead {
		d.mu.Unlock()
		return errDead
	}
	d.parked = append(d.parked, op)
	d.mu.Unlock()
	d.world.stir()
	select {
	case <-op.done:
		return op.err
	case <-ctx.Done():
		return context.Cause(ctx) // it may still be carried out
	}
}

// kill makes everything fail from now on that the owner asks for.
func (d *disk) kill() {
	d.mu.Lock()
	d.dead = true
	parked := d.parked
	d.parked = nil
	d.mu.Unlock()
	for _, op := range parked {
		op.finish(errDead)
	}
}

// take returns what is parked: at most one operation of each kind, by kind, for
// which goroutine was first does not follow from the seed.
func (d *disk) take() []*operation {
	d.mu.Lock()
	defer d.mu.Unlock()
	parked := d.parked
	d.parked = nil
	slices.SortFunc(parked, func(a, b *operation) int { return cmp.Compare(a.kind, b.kind) })
	return parked
}

// finish tells the owner, the first time.
func (op *operation) finish(err error) {
	if !op.over {
		op.over, op.err = true, err
		close(op.done)
	}
}

// MaxRecord is that of the journal.
func (d *disk) MaxRecord() int { return d.journal.MaxRecord() }

// Append stores a record, when the world lets it.
func (d *disk) Append(ctx context.Context, last uint64, data []byte) (uint64, error) {
	op := &operation{kind: opAppend, last: last, data: bytes.Clone(data)}
	if err := d.wait(ctx, op); err != nil {
		return 0, err
	}
	return op.seq, nil
}

// Replay reads what is stored at one moment.
func (d *disk) Replay(ctx context.Context, after uint64, apply func(uint64, []byte) error) error {
	op := &operation{kind: opReplay, last: after}
	if err := d.wait(ctx, op); err != nil {
		return err
	}
	for i, data := range op.records {
		if err := apply(after+1+uint64(i), data); err != nil {
			return err
		}
	}
	return nil
}

// Follow is for replicas, of which there is none here that has a disk.
func (d *disk) Follow(ctx context.Context, after uint64, apply func(uint64, []byte) error) error {
	return d.journal.Follow(ctx, after, apply)
}

// SaveSnapshot stores a snapshot, when the world lets it.
func (d *disk) SaveSnapshot(ctx context.Context, seq uint64, write func(io.Writer) error) error {
	var buf bytes.Buffer
	if err := write(&buf); err != nil {
		return err
	}
	return d.wait(ctx, &operation{kind: opSave, seq: seq, data: buf.Bytes()})
}

// LoadSnapshot opens the newest snapshot of one moment.
func (d *disk) LoadSnapshot(ctx context.Context) (uint64, io.ReadCloser, error) {
	op := &operation{kind: opLoad}
	if err := d.wait(ctx, op); err != nil {
		return 0, nil, err
	}
	return op.seq, op.reader, nil
}

// carryOut does what an operation asks for. It runs on the world's goroutine.
func (op *operation) carryOut(ctx context.Context) {
	d := op.disk
	switch op.kind {
	case opAppend:
		op.append(ctx)
	case opReplay:
		err := d.journal.Replay(ctx, op.last, func(_ uint64, data []byte) error {
			op.records = append(op.records, data)
			return nil
		})
		op.finish(err)
	case opSave:
		if op.fate == cut {
			d.journal.CutSnapshot()
		}
		seq := op.seq
		if d.world.bug.snapshotSeq != nil {
			seq = d.world.bug.snapshotSeq(seq)
		}
		op.finish(d.journal.SaveSnapshot(ctx, seq, func(w io.Writer) error {
			_, err := w.Write(op.data)
			return err
		}))
	case opLoad:
		var err error
		op.seq, op.reader, err = d.journal.LoadSnapshot(ctx)
		op.finish(err)
	}
}

// append stores a record, or not, as its fate says.
func (op *operation) append(ctx context.Context) {
	d := op.disk
	switch op.fate {
	case fails:
		d.journal.FailAppend(errInjected)
	case lies:
		d.journal.LoseAnswer(errInjected)
	case crashBefore:
		d.owner.node.crash("before an append")
		op.finish(errDead)
		return
	}
	data := d.owner.node.release.record(op.data)
	seq, err := d.world.bug.append(ctx, d, op.last, data)
	op.seq = seq
	d.owner.shard.mirror.follow(d.world)
	if op.fate == crashAfter {
		d.owner.node.crash("between an append and its answer")
		err = errDead
	}
	op.finish(err)
}
