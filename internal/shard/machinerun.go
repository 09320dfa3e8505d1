package shard

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal"
)

// chunk is how many requests are handled between two checks of the journal, deadlines and stop.
const chunk = 64

// A machineRun runs one machine, from its recovery to a failure or the stop. The loop owns all of it, except the batch
// that the committer has.
type machineRun[C any, M Machine[C, M]] struct {
	*runner[C, M]
	machine   M
	committer *committer[C, M]
	gathering *batch[M]
	spare     *batch[M] // nil while the committer has it
	since     progress  // since the last snapshot
	expiry    expiry
	stopping  bool
	failure   error // the machine must not be used any more
}

func newMachineRun[C any, M Machine[C, M]](r *runner[C, M], machine M, last uint64, since progress) *machineRun[C, M] {
	return &machineRun[C, M]{
		runner: r, machine: machine, committer: newCommitter(r, last),
		gathering: &batch[M]{}, spare: &batch[M]{}, since: since, expiry: expiry{clock: r.cfg.Clock},
	}
}

// open appends the opening record, after which only this owner can append. Without a valid lease it must not: it would
// fence the lease's owner, who would continue to answer reads.
func (t *machineRun[C, M]) open() error {
	if t.cfg.HoldsLease != nil && !t.cfg.HoldsLease() {
		return errNoLease
	}
	b := t.gathering
	b.recovered, b.showView = true, true
	b.open(t.owner)
	now := t.cfg.Clock.Now()
	t.expiry.pause(now) // Recovered extends deadlines from now on
	facts := t.machine.Recovered(now)
	for i := range facts {
		if err := t.add(facts[i : i+1]); err != nil {
			return fmt.Errorf("opening record: %w", err)
		}
	}
	b.view = t.machine.Freeze()
	err := t.committer.commit(b)
	if errors.Is(err, journal.ErrFenced) {
		return errRaced
	}
	if err != nil {
		return fmt.Errorf("opening record: %w", err)
	}
	t.settle(b)
	return nil
}

// run handles requests until the machine ends. It returns nil after a graceful stop, and the failure otherwise; all
// handled requests are answered either way.
func (t *machineRun[C, M]) run(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.committer.run()
	}()
	t.loop(ctx.Done())
	close(t.committer.in)
	<-ended
	t.expiry.stop()
	if t.failure == nil && t.cfg.FinalSnapshot && t.since.records > 0 {
		t.saveFinal()
	}
	if t.failure == nil {
		t.s.finalState = &State[M]{Machine: t.machine, Seq: t.committer.last}
	}
	return t.failure
}

// saveFinal writes the snapshot of a graceful stop. A failure is only logged: its contents are durable already.
func (t *machineRun[C, M]) saveFinal() {
	freeze := func() (view M, err error) {
		defer Catch("machine's freeze", &err)
		return t.machine.Freeze(), nil
	}
	view, err := freeze()
	if err != nil {
		t.report(err)
		return
	}
	t.snapshots.final(t.committer.last, view)
}

func (t *machineRun[C, M]) loop(stop <-chan struct{}) {
	for {
		t.gather()
		t.flush()
		if t.work() {
			t.poll(stop)
			continue
		}
		if (t.failure != nil || t.stopping) && !t.busy() && t.gathering.empty() {
			return
		}
		t.wait(stop)
	}
}

// gatherRounds bounds how often a batch waits for more callers.
const gatherRounds = 2

// gather lets running goroutines add their requests to the next batch: a batch costs the same whatever its size, and on
// a busy machine there are many. On an idle one it takes less than a microsecond.
func (t *machineRun[C, M]) gather() {
	for range gatherRounds {
		if t.busy() || t.gathering.empty() {
			return
		}
		if runtime.Gosched(); !t.work() {
			return
		}
	}
}

// poll handles events without waiting.
func (t *machineRun[C, M]) poll(stop <-chan struct{}) {
	select {
	case c := <-t.committer.out:
		t.settled(c)
	default:
	}
	select {
	case <-stop:
		t.stop()
	default:
	}
}

func (t *machineRun[C, M]) wait(stop <-chan struct{}) {
	if t.stopping {
		stop = nil
	}
	select {
	case c := <-t.committer.out:
		t.settled(c)
	case <-t.s.queue.wake:
	case <-t.expiry.due():
		t.expiry.fired()
	case <-stop:
		t.stop()
	}
}

// stop closes the queue: waiting requests are still handled.
func (t *machineRun[C, M]) stop() {
	if !t.stopping {
		t.stopping = true
		t.s.queue.close()
	}
}

// busy reports whether the committer has a batch.
func (t *machineRun[C, M]) busy() bool { return t.spare == nil }

// full reports whether the open batch accepts no more.
func (t *machineRun[C, M]) full() bool {
	return t.gathering.buf.Len() >= t.cfg.BatchBytes || len(t.gathering.answers) >= t.cfg.BatchRequests
}

// work handles some deadlines and requests. It reports whether there were any.
func (t *machineRun[C, M]) work() bool {
	if t.failure != nil || t.full() {
		return false
	}
	now := t.cfg.Clock.Now()
	expired, err := t.expire(now)
	if err == nil {
		var handled bool
		if handled, err = t.handleSome(now); handled {
			expired = true
		}
	}
	if err != nil {
		t.failure = err
		return true
	}
	return expired
}

func (t *machineRun[C, M]) handleSome(now time.Time) (any bool, err error) {
	for range chunk {
		if t.full() {
			return any, nil
		}
		req, ok := t.request()
		if !ok {
			return any, nil
		}
		any = true
		if err := t.handle(now, &req); err != nil {
			return true, err
		}
	}
	return any, nil
}

// handle handles one request; the answer waits in the batch. An error means that the machine failed; the request is
// answered then.
func (t *machineRun[C, M]) handle(now time.Time, req *request[C, M]) error {
	if req.refresh {
		t.gathering.refresh = true
		return nil
	}
	if !req.claim() {
		return nil
	}
	a := answer{done: req.done, call: req.call}
	if req.read != nil {
		a.err = t.read(req.read)
		t.gathering.answers = append(t.gathering.answers, a)
		return nil
	}
	err := t.decide(now, req.cmd, &a)
	if err != nil {
		a.send(t.cfg.Log, nil, rejection(err))
		return err
	}
	t.gathering.answers = append(t.gathering.answers, a)
	return nil
}

// decide lets the machine handle a command and adds its facts to the batch.
func (t *machineRun[C, M]) decide(now time.Time, cmd C, a *answer) (err error) {
	defer Catch("machine", &err)
	var facts []event.Fact
	facts, a.answer, a.err = t.machine.Handle(now, cmd)
	if a.err != nil {
		return nil
	}
	return t.add(facts)
}

// read calls a caller's function. Its panic is returned to the caller.
func (t *machineRun[C, M]) read(read func(M)) (err error) {
	defer func() {
		if err != nil {
			t.report(err)
			err = notDone(err)
		}
	}()
	defer Catch("caller's read", &err)
	read(t.machine)
	return nil
}

func (t *machineRun[C, M]) add(facts []event.Fact) error {
	return t.gathering.add(t.cfg.Events, t.owner, t.cfg.Journal.MaxRecord(), facts)
}

// flush passes the open batch to the committer if that is idle.
func (t *machineRun[C, M]) flush() {
	if t.busy() || t.gathering.empty() {
		return
	}
	b := t.gathering
	if err := t.freeze(b); err != nil {
		t.failure = err
	}
	t.gathering, t.spare = t.spare, nil
	t.committer.in <- b
}

// freeze adds a view to a batch if one is needed. The machine is now exactly what the batch makes durable.
func (t *machineRun[C, M]) freeze(b *batch[M]) (err error) {
	if t.failure != nil {
		b.refresh = false
	}
	if t.failure != nil || b.records() == 0 && !b.refresh {
		return nil // failed: the recovery's commit has the view
	}
	defer func() {
		if err != nil {
			b.showView, b.isSnapshot, b.refresh = false, false, false
		}
	}()
	defer Catch("machine's freeze", &err)
	b.showView = t.cfg.ViewWhen != nil && t.cfg.ViewWhen(b.facts)
	b.isSnapshot = t.snapshotDue(b)
	if b.showView || b.isSnapshot || b.refresh {
		b.view = t.machine.Freeze()
	}
	return nil
}

func (t *machineRun[C, M]) snapshotDue(b *batch[M]) bool {
	if t.snapshots.busy.Load() {
		return false
	}
	every := t.cfg.SnapshotEvery
	return every.Records > 0 && t.since.records+b.records() >= every.Records ||
		every.Bytes > 0 && t.since.bytes+int64(b.buf.Len()) >= every.Bytes
}

// settled takes a batch back from the committer. If it failed the machineRun ends: the facts of the open batch exist
// only in the machine.
func (t *machineRun[C, M]) settled(c committed[M]) {
	t.spare = c.batch
	if c.err == nil {
		t.settle(c.batch)
		return
	}
	t.failure = c.err
	c.batch.fail(t.cfg.Log, unknown(c.err))
	c.batch.reset()
	t.gathering.fail(t.cfg.Log, interrupted(c.err))
	t.gathering.reset()
}

// settle updates the progress after a batch became durable, and empties it.
func (t *machineRun[C, M]) settle(b *batch[M]) {
	t.known = t.committer.last
	t.since.records += b.records()
	t.since.bytes += int64(b.buf.Len())
	if b.isSnapshot {
		t.since = progress{}
		t.snapshots.start(t.committer.last, b.view)
	}
	b.reset()
}
