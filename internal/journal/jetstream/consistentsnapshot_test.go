package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

func openCut(t *testing.T, e *jetstream.Engine, shards int) journal.ConsistentSnapshot {
	t.Helper()
	return openCutOf(t, e, shards, e)
}

// openCutOf tries again if the streams were held for longer than is allowed: a busy machine may need several times.
func openCutOf(t *testing.T, e *jetstream.Engine, shards int, region jetstream.Region) journal.ConsistentSnapshot {
	t.Helper()
	for try := 1; ; try++ {
		c, err := e.ConsistentSnapshot(t.Context(), shards, region)
		if err == nil {
			return c
		}
		if try == 20 || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, jetstream.ErrBusy) {
			t.Fatal(err)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func appendRecords(t *testing.T, j journal.Journal, from, to uint64) {
	t.Helper()
	for seq := from; seq <= to; seq++ {
		if _, err := j.Append(t.Context(), seq-1, fmt.Appendf(nil, "record %d", seq)); err != nil {
			t.Fatal(err)
		}
	}
}

func saveSnapshot(t *testing.T, j journal.Journal, seq uint64) {
	t.Helper()
	err := j.SaveSnapshot(t.Context(), seq, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "state %d", seq)
		return err
	})
	check(t, err)
}

// contents writes all that a consistent snapshot holds as text.
func contents(t *testing.T, c journal.ConsistentSnapshot, shards int) string {
	t.Helper()
	var b strings.Builder
	line := func(s journal.Stored) error {
		_, err := fmt.Fprintf(&b, "%d %s %s\n", s.Seq, s.Subject, s.Data)
		if s.Time.IsZero() {
			return errors.New("it has no time")
		}
		return err
	}
	for i := range shards {
		held := must(c.Contents(t.Context(), i))(t)
		seq, r, err := c.Snapshot(t.Context(), i, held.Last)
		check(t, err)
		fmt.Fprintf(&b, "shard %d to %d, snapshot %d\n", i, held.Last, seq)
		if r != nil {
			fmt.Fprintf(&b, "%s\n", must(io.ReadAll(r))(t))
		}
		check(t, c.Records(t.Context(), i, seq, line))
	}
	fmt.Fprintf(&b, "history to %d\n", c.LastEntry())
	check(t, c.History(t.Context(), line))
	fmt.Fprintf(&b, "feed to %d\n", c.LastEvent())
	check(t, c.Feed(t.Context(), line))
	positions := must(c.Positions(t.Context()))(t)
	fmt.Fprintln(&b, positions)
	return b.String()
}

// fillRegion puts something into every corner: a shard with snapshot and records, one with
// records alone, one with a snapshot at its end, one with nothing; a history and a
// feed with gaps.
func fillRegion(t *testing.T, e *jetstream.Engine) {
	t.Helper()
	a, b, c := shardJournal(t, e, 0), shardJournal(t, e, 1), shardJournal(t, e, 2)
	appendRecords(t, a, 1, 9)
	for _, seq := range []uint64{3, 5, 7} {
		saveSnapshot(t, a, seq)
	}
	appendRecords(t, b, 1, 3)
	appendRecords(t, c, 1, 4)
	saveSnapshot(t, c, 2)
	saveSnapshot(t, c, 4)
	shardJournal(t, e, 3)
	must(e.History(t.Context()))(t)
	for _, subject := range []string{"s.1", "s.2", "s.3", "s.1", "q.1", "s.2"} {
		jetstream.PutEntry(t, e, subject, "entry "+subject)
	}
	f := must(e.Feed(t.Context()))(t)
	for i := range 6 {
		seq := must(f.Append(t.Context(), fmt.Sprint(i), fmt.Appendf(nil, "event %d", i)))(t)
		check(t, f.SavePosition(t.Context(), "ann", seq))
		check(t, f.SavePosition(t.Context(), fmt.Sprintf("bob-%d", i/3), seq))
	}
}

const inFillRegion = 4 // shards

// TestConsistentSnapshot holds one moment: what is written afterwards, snapshots that would have
// records forgotten included, changes nothing of it.
func TestConsistentSnapshot(t *testing.T) {
	defer leaktest.Check(t)()
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	empty := openCut(t, e, 2)
	if got := contents(t, empty, 2); !strings.HasPrefix(got, "shard 0 to 0, snapshot 0\nshard 1 to 0, snapshot "+
		"0\nhistory to 0\nfeed to 0\n") {
		t.Errorf("an empty engine: %s", got)
	}
	empty.Close()

	fillRegion(t, e)
	c := openCut(t, e, inFillRegion)
	want := contents(t, c, inFillRegion)
	for _, part := range []string{
		"shard 0 to 9, snapshot 7\nstate 7\n8  record 8\n9  record 9\n", "shard 1 to 3, snapshot 0\n1  record 1\n",
		"shard 2 to 4, snapshot 4\nstate 4\nshard 3 to 0",
		"history to 6\n3 s.3 entry s.3\n4 s.1 entry s.1\n5 q.1 entry q.1\n6 s.2 entry s.2\n",
		"feed to 18\n1  event 0\n4  event 1\n", "map[ann:16 bob-0:7 bob-1:16]",
	} {
		if !strings.Contains(want, part) {
			t.Errorf("%q is not in\n%s", part, want)
		}
	}
	if _, err := e.ConsistentSnapshot(t.Context(), 1, e); !errors.Is(err, journal.ErrSnapshotOpen) {
		t.Errorf("a second snapshot: %v", err)
	}
	a := shardJournal(t, e, 0)
	appendRecords(t, a, 10, 12)
	saveSnapshot(t, a, 10)
	saveSnapshot(t, a, 11)
	saveSnapshot(t, a, 12)
	must(must(e.History(t.Context()))(t).Append(t.Context(), nil))(t)
	f := must(e.Feed(t.Context()))(t)
	seq := must(f.Append(t.Context(), "later", []byte("later")))(t)
	check(t, f.SavePosition(t.Context(), "bob-0", seq))
	got := contents(t, c, inFillRegion)
	if want = strings.Replace(want, "bob-0:7", "bob-0:18", 1); got != want {
		t.Errorf("it has become\n%s, and was\n%s", got, want)
	}
	held := must(c.Contents(t.Context(), 0))(t)
	if held.First != 6 || held.Last != 9 || !slices.Equal(held.Snapshots, []uint64{5, 7}) {
		t.Errorf("held is %+v", held)
	}
	if seq, _, err := c.Snapshot(t.Context(), 0, 6); seq != 5 || err != nil {
		t.Errorf("the newest snapshot up to 6 is %d, %v", seq, err)
	}
	err := c.Records(t.Context(), 0, 4, func(journal.Stored) error { return nil })
	if !errors.Is(err, journal.ErrMissing) {
		t.Errorf("records that are forgotten: %v", err)
	}
	c.Close()
	saveSnapshot(t, a, 12)
	if n := jetstream.Messages(t, e, "MUSTER_SHARD_0"); n != 0 {
		t.Errorf("%d records are kept behind the snapshot's end", n)
	}
}

// TestConsistentSnapshotIsConsistent reads while a chain of records goes from shard to shard. A consistent snapshot
// holds a beginning of the chain.
func TestConsistentSnapshotIsConsistent(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	const shards = 12
	var journals []journal.Journal
	for i := range shards {
		journals = append(journals, shardJournal(t, e, i))
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- chain(ctx, journals) }()
	for range 200 {
		c := openCut(t, e, shards)
		checkChain(t, c, shards)
		c.Close()
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// chain appends records to one journal after the other, each when the one before it is durable.
func chain(ctx context.Context, journals []journal.Journal) (err error) {
	for n := 0; err == nil; n++ {
		_, err = journals[n%len(journals)].Append(ctx, uint64(n/len(journals)), []byte("."))
	}
	return err
}

// checkChain checks that a consistent snapshot holds a beginning of a chain.
func checkChain(t *testing.T, c journal.ConsistentSnapshot, shards int) {
	t.Helper()
	var ends []uint64
	for i := range shards {
		ends = append(ends, must(c.Contents(t.Context(), i))(t).Last)
	}
	if !slices.IsSortedFunc(ends, func(a, b uint64) int { return int(b) - int(a) }) || ends[0]-ends[shards-1] > 1 {
		t.Fatalf("the ends are %v", ends)
	}
}

// A restless region is a node alone that somebody else writes to.
type restless struct {
	*jetstream.Engine
	acknowledged map[string]uint64 // elsewhere
	released     error
}

func (r *restless) Hold(ctx context.Context) (map[string]uint64, func() error, error) {
	_, release, err := r.Engine.Hold(ctx)
	return r.acknowledged, func() error { return errors.Join(release(), r.released) }, err
}

// TestConsistentSnapshotRefused makes no snapshot of a stream that ends before what was acknowledged, nor when
// somebody may have published meanwhile; and nobody is held after that.
func TestConsistentSnapshotRefused(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	j := shardJournal(t, e, 0)
	appendRecords(t, j, 1, 3)
	early := errors.New("released too early")
	for _, c := range []struct {
		region *restless
		want   string
	}{
		{&restless{e, map[string]uint64{"MUSTER_SHARD_0": 4}, nil}, "message 4 was acknowledged"},
		{&restless{e, nil, early}, early.Error()},
	} {
		if _, err := e.ConsistentSnapshot(t.Context(), 1, c.region); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	appendRecords(t, j, 4, 4)
	openCut(t, e, 1).Close()
}

// TestHold waits for what is under way, and keeps others out.
func TestHold(t *testing.T) {
	e := open(t, t.TempDir())
	defer mustClose(t, e)
	j := shardJournal(t, e, 0)
	release := hold(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := j.Append(ctx, 0, []byte("not let in")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, _, err := e.Hold(t.Context()); err == nil {
		t.Error("two hold it")
	}
	appended := make(chan error)
	go func() {
		_, err := j.Append(t.Context(), 0, []byte("waits"))
		appended <- err
	}()
	check(t, release())
	check(t, release())
	check(t, <-appended)
	leave := jetstream.Enter(t, e)
	if _, _, err := e.Hold(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	leave()
	check(t, hold(t, e)())
}

func hold(t *testing.T, e *jetstream.Engine) (release func() error) {
	t.Helper()
	_, release, err := e.Hold(t.Context())
	check(t, err)
	return release
}

// fill copies a consistent snapshot into an empty engine.
func fill(t *testing.T, e *jetstream.Engine, c journal.ConsistentSnapshot, shards int) {
	t.Helper()
	ctx, to := t.Context(), must(e.NewRestorer())(t)
	put := func(r journal.RecordWriter) func(journal.Stored) error {
		return func(s journal.Stored) error { return r.Put(ctx, s) }
	}
	for i := range shards {
		last := must(c.Contents(ctx, i))(t).Last
		seq, snapshot, err := c.Snapshot(ctx, i, last)
		check(t, err)
		row := must(to.Shard(ctx, i, seq, snapshot))(t)
		check(t, c.Records(ctx, i, seq, put(row)))
		check(t, row.End(ctx, last))
	}
	h := must(to.History(ctx))(t)
	check(t, c.History(ctx, put(h)))
	check(t, h.End(ctx, c.LastEntry()))
	f := must(to.Feed(ctx))(t)
	check(t, c.Feed(ctx, put(f)))
	check(t, f.End(ctx, c.LastEvent()))
	for reader, seq := range must(c.Positions(ctx))(t) {
		check(t, to.SavePosition(ctx, reader, seq))
	}
}

// TestRestore gives another engine that holds the same, with the same numbers, also
// when it is opened anew; and that goes on.
func TestRestore(t *testing.T) {
	defer leaktest.Check(t)()
	from := open(t, t.TempDir())
	defer mustClose(t, from)
	fillRegion(t, from)
	check(t, must(from.Feed(t.Context()))(t).SavePosition(t.Context(), "ann", 10)) // the end is no record
	c := openCut(t, from, inFillRegion)
	defer c.Close()
	want := contents(t, c, inFillRegion)
	dir := t.TempDir()
	to := must(jetstream.Open(t.Context(), jetstream.Config{Dir: dir, Bulk: true}))(t)
	fill(t, to, c, inFillRegion)
	if _, err := must(to.NewRestorer())(t).Shard(t.Context(), 0, 0, nil); err == nil {
		t.Error("a shard was filled twice")
	}
	mustClose(t, to)
	to = open(t, dir)
	defer func() { mustClose(t, to) }()
	copied := openCut(t, to, inFillRegion)
	got := contents(t, copied, inFillRegion)
	copied.Close()
	want = strings.Replace(want, "feed to 19\n", fmt.Sprintf("feed to %d\n", 19+3), 1) // positions take numbers
	if got != want {
		t.Errorf("it has become\n%s, and was\n%s", got, want)
	}
	for i, next := range []uint64{10, 4, 5, 1} {
		j := shardJournal(t, to, i)
		if _, r, err := j.LoadSnapshot(t.Context()); err != nil || (r != nil) != (i == 0 || i == 2) {
			t.Errorf("shard %d: snapshot %v, %v", i, r, err)
		}
		appendRecords(t, j, next, next)
	}
	h := must(to.History(t.Context()))(t)
	if b := must(h.Bounds(t.Context(), 0))(t); b.First != 3 || b.Last != 6 {
		t.Errorf("the history is %+v", b)
	}
	f := must(to.Feed(t.Context()))(t)
	if seq := must(f.Append(t.Context(), "5", []byte("next")))(t); seq <= 19 {
		t.Errorf("the next event has the number %d", seq)
	}
}

// TestRestoreLarge has more and larger messages than may be under way.
func TestRestoreLarge(t *testing.T) {
	to := must(jetstream.Open(t.Context(), jetstream.Config{Dir: t.TempDir(), Bulk: true}))(t)
	defer mustClose(t, to)
	ctx := t.Context()
	row := must(must(to.NewRestorer())(t).Shard(ctx, 0, 0, nil))(t)
	for seq := uint64(1); seq <= 2000; seq++ {
		size := 10
		if seq%200 == 0 {
			size = 2 << 20
		}
		check(t, row.Put(ctx, journal.Stored{Seq: seq, Data: make([]byte, size)}))
	}
	if err := row.Put(ctx, journal.Stored{Seq: 2002}); !errors.Is(err, journal.ErrMissing) {
		t.Errorf("a gap: %v", err)
	}
	if err := row.Put(ctx, journal.Stored{Seq: 2000}); err == nil {
		t.Error("a number came twice")
	}
	if err := row.Put(ctx, journal.Stored{Seq: 2001, Data: make([]byte, 5<<20)}); !errors.Is(err, journal.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	check(t, row.End(ctx, 2000))
	if n := jetstream.Messages(t, to, "MUSTER_SHARD_0"); n != 2000 {
		t.Errorf("%d records", n)
	}
}
