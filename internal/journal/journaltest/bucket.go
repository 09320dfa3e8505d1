package journaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/muster-gg/muster/internal/journal"
)

func mustCreate(t *testing.T, b journal.Bucket, key, value string) (revision uint64) {
	t.Helper()
	revision, err := b.Create(t.Context(), key, []byte(value))
	if err != nil {
		t.Fatalf("create %s: %v", key, err)
	}
	return revision
}

func wantValue(t *testing.T, b journal.Bucket, key, want string, revision uint64) {
	t.Helper()
	if value, got, err := b.Get(t.Context(), key); string(value) != want || got != revision || err != nil {
		t.Errorf("%s is %.20q of revision %d, %v; want %.20q of %d", key, value, got, err, want, revision)
	}
}

func wantNone(t *testing.T, b journal.Bucket, key string) {
	t.Helper()
	if value, revision, err := b.Get(t.Context(), key); !errors.Is(err, journal.ErrNoValue) {
		t.Errorf("%s is %q of revision %d, %v; want none", key, value, revision, err)
	}
}

func testBucket(t *testing.T, f Fixture) {
	b := f.Bucket()
	wantNone(t, b, "a")
	a := mustCreate(t, b, "a", "one")
	other := mustCreate(t, b, "code.b-c_d=", "")
	wantValue(t, f.Bucket(), "a", "one", a)
	wantValue(t, f.Bucket(), "code.b-c_d=", "", other)
	wantNone(t, b, "code")
	changed, err := f.Bucket().Update(t.Context(), "a", []byte("two"), a)
	if err != nil || changed <= a {
		t.Fatalf("the update is revision %d after %d, %v", changed, a, err)
	}
	wantValue(t, b, "a", "two", changed)
	if err := f.Bucket().Delete(t.Context(), "a", changed); err != nil {
		t.Fatal(err)
	}
	wantNone(t, b, "a")
	wantValue(t, b, "code.b-c_d=", "", other)
}

// testBucketKey takes one key through all that can happen to it, several times: nothing of a deleted value is left.
func testBucketKey(t *testing.T, f Fixture) {
	last := uint64(0)
	for range 3 {
		b := f.Bucket()
		created := mustCreate(t, b, "key", "created")
		if created <= last {
			t.Fatalf("revision %d after %d", created, last)
		}
		if _, err := f.Bucket().Create(t.Context(), "key", nil); !errors.Is(err, journal.ErrExists) {
			t.Errorf("a second creation gives %v, want ErrExists", err)
		}
		updated, err := b.Update(t.Context(), "key", []byte("updated"), created)
		if err != nil {
			t.Fatal(err)
		}
		stale(t, f.Bucket(), "key", 0, last, created, updated+1)
		wantValue(t, b, "key", "updated", updated)
		if err := f.Bucket().Delete(t.Context(), "key", updated); err != nil {
			t.Fatal(err)
		}
		stale(t, f.Bucket(), "key", 0, created, updated, updated+1, updated+2)
		wantNone(t, b, "key")
		last = updated
	}
}

// stale checks that nothing can be done with revisions that are not the present one.
func stale(t *testing.T, b journal.Bucket, key string, revisions ...uint64) {
	t.Helper()
	for _, revision := range revisions {
		if _, err := b.Update(t.Context(), key, []byte("stale"), revision); !errors.Is(err, journal.ErrChanged) {
			t.Errorf("an update of revision %d gives %v, want ErrChanged", revision, err)
		}
		if err := b.Delete(t.Context(), key, revision); !errors.Is(err, journal.ErrChanged) {
			t.Errorf("a deletion of revision %d gives %v, want ErrChanged", revision, err)
		}
	}
}

func testBucketRefuses(t *testing.T, f Fixture) {
	b := f.Bucket()
	largest := string(bytes.Repeat([]byte{'x'}, journal.MaxValue))
	revision := mustCreate(t, b, "largest", largest)
	wantValue(t, b, "largest", largest, revision)
	if _, err := b.Create(t.Context(), "larger", []byte(largest+"x")); !errors.Is(err, journal.ErrTooLarge) {
		t.Errorf("a larger one gives %v, want ErrTooLarge", err)
	}
	if _, err := b.Update(t.Context(), "largest", []byte(largest+"x"), revision); !errors.Is(err, journal.ErrTooLarge) {
		t.Errorf("an update with it gives %v, want ErrTooLarge", err)
	}
	for _, key := range []string{"", "a b", "a.*", ">", "a..b"} {
		_, created := b.Create(t.Context(), key, nil)
		_, updated := b.Update(t.Context(), key, nil, 1)
		_, _, got := b.Get(t.Context(), key)
		for what, err := range map[string]error{
			"create": created, "update": updated, "get": got, "delete": b.Delete(t.Context(), key, 1),
		} {
			if err == nil || errors.Is(err, journal.ErrNoValue) || errors.Is(err, journal.ErrChanged) {
				t.Errorf("%s of key %q gives %v", what, key, err)
			}
		}
	}
}

// testBucketFull fills the bucket: what is there can still be changed and deleted, and makes room.
func testBucketFull(t *testing.T, f Fixture) {
	b, value := f.Bucket(), bytes.Repeat([]byte{'x'}, journal.MaxValue)
	var revisions []uint64
	for len(revisions) <= journal.BucketBytes/len(value) {
		revision, err := b.Create(t.Context(), fmt.Sprint(len(revisions)), value)
		if errors.Is(err, journal.ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, revision)
	}
	if least := journal.BucketBytes / (len(value) + 1000); len(revisions) < least ||
		len(revisions) > journal.BucketBytes/len(value) {
		t.Errorf("the bucket is full with %d values, want at least %d", len(revisions), least)
	}
	changed := bytes.Repeat([]byte{'y'}, len(value))
	revision, err := b.Update(t.Context(), "0", changed, revisions[0])
	if err != nil {
		t.Fatalf("an update in a full bucket: %v", err)
	}
	wantValue(t, b, "0", string(changed), revision)
	if _, err := b.Create(t.Context(), "more", value); !errors.Is(err, journal.ErrFull) {
		t.Errorf("a creation gives %v, want ErrFull", err)
	}
	for i := 1; i < 4; i++ {
		if err := b.Delete(t.Context(), fmt.Sprint(i), revisions[i]); err != nil {
			t.Fatalf("a deletion in a full bucket: %v", err)
		}
	}
	mustCreate(t, f.Bucket(), "more", string(value))
	wantNone(t, b, "1")
}

// atOnce calls f n times at the same time, each time with another handle, and returns how many calls succeed. The
// others must fail with an error.
func atOnce(t *testing.T, f Fixture, n int, want error, call func(b journal.Bucket, i int) error) (succeeded []int) {
	t.Helper()
	var mu sync.Mutex
	var calls sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		b := f.Bucket()
		calls.Go(func() {
			<-start
			err := call(b, i)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				succeeded = append(succeeded, i)
			} else if !errors.Is(err, want) {
				t.Errorf("call %d gives %v, want %v", i, err, want)
			}
		})
	}
	close(start)
	calls.Wait()
	return succeeded
}

// testBucketDeletesOnce: a value is deleted once, or changed, and a change does not bring it back.
func testBucketDeletesOnce(t *testing.T, f Fixture) {
	for round := range 10 {
		key := fmt.Sprint("key", round)
		revision := mustCreate(t, f.Bucket(), key, "code")
		deleted := atOnce(t, f, 12, journal.ErrChanged, func(b journal.Bucket, i int) error {
			if i%4 == 3 {
				_, err := b.Update(t.Context(), key, []byte("changed"), revision)
				return err
			}
			return b.Delete(t.Context(), key, revision)
		})
		if len(deleted) != 1 {
			t.Fatalf("calls %v of one revision succeed, want one", deleted)
		}
		_, _, err := f.Bucket().Get(t.Context(), key)
		if changed := deleted[0]%4 == 3; errors.Is(err, journal.ErrNoValue) == changed {
			t.Errorf("after call %d the value is there or not: %v", deleted[0], err)
		}
	}
}

func testBucketCreatesOnce(t *testing.T, f Fixture) {
	for round := range 10 {
		key := "key" + fmt.Sprint(round%2) // some were created and deleted before
		created := atOnce(t, f, 6, journal.ErrExists, func(b journal.Bucket, i int) error {
			_, err := b.Create(t.Context(), key, []byte{byte(i)})
			return err
		})
		if len(created) != 1 {
			t.Fatalf("creations %v of one key succeed, want one", created)
		}
		value, revision, err := f.Bucket().Get(t.Context(), key)
		if err != nil || value[0] != byte(created[0]) {
			t.Fatalf("the value is %v, %v; want that of creation %d", value, err, created[0])
		}
		if err := f.Bucket().Delete(t.Context(), key, revision); err != nil {
			t.Fatal(err)
		}
	}
}

func testBucketContext(t *testing.T, f Fixture) {
	b := f.Bucket()
	revision := mustCreate(t, b, "key", "value")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, created := b.Create(ctx, "other", nil)
	_, updated := b.Update(ctx, "key", nil, revision)
	_, _, got := b.Get(ctx, "key")
	for what, err := range map[string]error{
		"create": created, "update": updated, "get": got, "delete": b.Delete(ctx, "key", revision),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	wantValue(t, b, "key", "value", revision)
}

func testBucketRestart(t *testing.T, f Fixture) {
	mustCreate(t, f.Bucket(), "before", "value")
	f.Restart()
	b := f.Bucket()
	if _, _, err := b.Get(t.Context(), "before"); err != nil && !errors.Is(err, journal.ErrNoValue) {
		t.Error(err)
	}
	wantValue(t, f.Bucket(), "after", "value", mustCreate(t, b, "after", "value"))
}
