package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// owns counts the shards that run on a node.
func (m *member) owns() (n int) {
	for _, tn := range m.tenants {
		tn.mu.Lock()
		if tn.turn != 0 {
			n++
		}
		tn.mu.Unlock()
	}
	return n
}

// A node transfers its shards under load, sent through it and through another: no command fails, nor do those that
// arrive before it leaves.
func TestTransfer(t *testing.T) {
	var book ledger
	_, members := three(t, &book, nil, nil)
	n3 := members[2]
	through, around := n3.load(8), members[0].load(8)
	await(t, "some answers",
		func() bool { return through.answersCount.Load() > 100 && around.answersCount.Load() > 100 })
	book.mu.Lock()
	book.vacancy = 0
	book.mu.Unlock()
	begin := time.Now()
	if err := n3.Transfer(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("handing over took %v", time.Since(begin))
	if n := n3.owns(); n > 0 {
		t.Errorf("the node still owns %d shards", n)
	}
	spread(t, members[:2]...)
	await(t, "all shards to run", func() bool { return members[0].owns()+members[1].owns() == shards })
	book.mu.Lock()
	t.Logf("the longest time without an owner was %v", book.vacancy)
	book.mu.Unlock()
	await(t, "more answers", forwards(through, around))
	for i := range shards {
		if _, err := n3.askFor(i); err != nil {
			t.Error(err)
		}
	}
	through.end()
	if err := n3.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-n3.result; err != nil {
		t.Error(err)
	}
	await(t, "more answers", forwards(around))
	around.end()
	for _, l := range []*load{through, around} {
		l.verify(t, &book)
		if len(l.unknown)+len(l.notDone) > 0 {
			t.Error("commands failed")
		}
	}
	if n := n3.owns(); n > 0 {
		t.Errorf("the node took %d shards back", n)
	}
}

// forwards becomes true when each load has got many more answers.
func forwards(loads ...*load) func() bool {
	var before []int64
	for _, l := range loads {
		before = append(before, l.answersCount.Load())
	}
	return func() bool {
		for i, l := range loads {
			if l.answersCount.Load() < before[i]+1000 {
				return false
			}
		}
		return true
	}
}

// All nodes stop at once: each continues to serve until it leaves.
func TestAllLeave(t *testing.T) {
	var book ledger
	_, members := three(t, &book, nil, nil)
	var loads []*load
	for _, m := range members {
		loads = append(loads, m.load(4))
	}
	await(t, "answers", forwards(loads...))
	all := func(what string, do func(*Node, context.Context) error) {
		var leaving sync.WaitGroup
		begin := time.Now()
		for _, m := range members {
			leaving.Go(func() {
				if err := do(m.Node, t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		leaving.Wait()
		t.Logf("%s took %v", what, time.Since(begin))
	}
	all("handing over", (*Node).Transfer)
	await(t, "more answers", forwards(loads...))
	for _, l := range loads {
		l.end()
		l.verify(t, &book)
		if len(l.unknown)+len(l.notDone) > 0 {
			t.Error("commands failed")
		}
	}
	all("leaving", (*Node).Leave)
	for _, m := range members {
		if err := <-m.result; err != nil || m.owns() > 0 {
			t.Error(err, m.owns())
		}
	}
}

// A single node continues to serve until another one joins.
func TestTransferAlone(t *testing.T) {
	var book ledger
	s := engine(t)
	first := start(t, connect(t, s), &book, "n1", nil, nil)
	first.Ready()
	spread(t, first)
	if err := first.Transfer(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range shards {
		if r := first.do(i, "command"); r.err != nil {
			t.Error(r.err)
		}
	}
	second := start(t, connect(t, s), &book, "n2", nil, nil)
	second.Ready()
	await(t, "the other to take all", func() bool { return second.owns() == shards && first.owns() == 0 })
	for i := range shards {
		if r := first.do(i, "command"); r.err != nil {
			t.Error(r.err)
		}
	}
	if err := first.Leave(t.Context()); err != nil {
		t.Error(err)
	}
}

// A shard does not release in time: Transfer returns the cause of its context, and the node continues.
func TestTransferGivenUp(t *testing.T) {
	var book ledger
	_, members := three(t, &book, nil, nil)
	for _, tn := range members[2].tenants {
		tn.mu.Lock()
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := members[2].Transfer(ctx); !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause of the context", err)
	}
	for _, tn := range members[2].tenants {
		tn.mu.Unlock()
	}
	spread(t, members[:2]...)
	if err := members[2].Transfer(t.Context()); err != nil {
		t.Error(err)
	}
}
