package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

var (
	begin = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	quiet = slog.New(slog.DiscardHandler)
)

const day = 24 * time.Hour

func open(t testing.TB, c Config) *Store {
	t.Helper()
	c.Retention, c.Log = 16*day, quiet // epochs of one day
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A model is what a store should be.
type model struct {
	applied uint64
	epochs  []modelEpoch
}

type modelEpoch struct {
	first uint64
	begun time.Time
	keys  map[string]string
}

func (m *model) apply(seq uint64, at time.Time, changes []change) {
	if n := len(m.epochs); n == 0 || at.Sub(m.epochs[n-1].begun) >= day {
		m.epochs = append(m.epochs, modelEpoch{seq, at, map[string]string{}})
	}
	m.applied = seq
	for _, c := range changes {
		if c.del {
			for _, e := range m.epochs {
				delete(e.keys, string(c.key))
			}
			continue
		}
		m.epochs[len(m.epochs)-1].keys[string(c.key)] = string(c.value)
	}
}

func (m *model) expire(first uint64) {
	if first > m.applied {
		m.epochs = nil
	}
	for len(m.epochs) > 1 && m.epochs[1].first <= first {
		m.epochs = m.epochs[1:]
	}
}

// all returns the keys with their newest values.
func (m *model) all() map[string]string {
	all := map[string]string{}
	for _, e := range m.epochs {
		maps.Copy(all, e.keys)
	}
	return all
}

func (m *model) clone() *model {
	c := &model{applied: m.applied}
	for _, e := range m.epochs {
		c.epochs = append(c.epochs, modelEpoch{e.first, e.begun, maps.Clone(e.keys)})
	}
	return c
}

// check compares a store with the model.
func (m *model) check(t *testing.T, s *Store, random *rand.Rand) {
	t.Helper()
	all := m.all()
	some := slices.Sorted(maps.Keys(all))
	random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	for _, key := range append(some[:min(len(some), 10)], randomKey(random), "\x01none", "\x50none") {
		value, err := s.Get([]byte(key))
		want, ok := all[key]
		if err != nil || (value != nil) != ok || string(value) != want {
			t.Fatalf("%q is %q, %v; want %q, %v", key, value, err, want, ok)
		}
	}
	from, to := randomKey(random), randomKey(random)
	if from > to {
		from, to = to, from
	}
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(k string) bool { return k < from || k >= to })
	limit := random.IntN(10)
	for _, reverse := range []bool{false, true} {
		var got []string
		err := s.Scan([]byte(from), []byte(to), reverse, func(key, value []byte) bool {
			if string(value) != all[string(key)] {
				t.Errorf("%q is %q in a scan, want %q", key, value, all[string(key)])
			}
			got = append(got, string(key))
			return len(got) < limit
		})
		want := slices.Clone(keys)
		if reverse {
			slices.Reverse(want)
		}
		want = want[:min(len(want), max(limit, 1))]
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("from %q to %q, reverse %v: %q, %v; want %q", from, to, reverse, got, err, want)
		}
	}
	if applied, _ := s.Applied(); applied != m.applied {
		t.Fatalf("applied %d, want %d", applied, m.applied)
	}
}

func randomKey(random *rand.Rand) string {
	kind := []byte{0x01, 0x02, FirstUnfiltered, FirstUnfiltered + 1, 0xff}[random.IntN(5)]
	return string([]byte{kind, byte(random.IntN(8)), byte(random.IntN(8))}[:2+random.IntN(2)])
}

func randomChanges(random *rand.Rand) (b Batch) {
	for range random.IntN(20) {
		key := []byte(randomKey(random))
		if random.IntN(4) == 0 {
			b.Delete(key)
		} else {
			b.Set(key, fmt.Append(nil, random.IntN(100)))
		}
	}
	return b
}

// TestStore compares a store with a model of it, over restarts and crashes.
func TestStore(t *testing.T) {
	defer leaktest.Check(t)()
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			fs := vfs.NewCrashableMem()
			s := open(t, Config{Dir: "index", fs: fs})
			m, seq, at := &model{}, uint64(0), begin
			history := map[uint64]*model{0: m.clone()} // by the message that was applied last
			for range 200 {
				switch random.IntN(40) {
				case 0:
					mustClose(t, s)
					s = open(t, Config{Dir: "index", fs: fs})
				case 1:
					fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(2) * 50, RNG: random})
					mustClose(t, s)
					s = open(t, Config{Dir: "index", fs: fs})
					seq, at = s.Applied()
					if at = at.UTC(); seq == 0 {
						at = begin
					}
					m = history[seq].clone()
				case 2:
					first := seq - min(seq, uint64(random.IntN(60))) + uint64(random.IntN(2))
					if err := s.Expire(first); err != nil {
						t.Fatal(err)
					}
					m.expire(first)
					history = map[uint64]*model{}
					flush(t, s) // or an epoch comes back, which is right, too
				case 3:
					flush(t, s)
				default:
					seq += 1 + uint64(random.IntN(2))
					at = at.Add(time.Duration(random.IntN(8)) * time.Hour)
					b := randomChanges(random)
					if err := s.Apply(seq, at, &b); err != nil {
						t.Fatal(err)
					}
					m.apply(seq, at, b.changes)
				}
				history[seq] = m.clone()
				m.check(t, s, random)
			}
			mustClose(t, s)
		})
	}
}

func flush(t *testing.T, s *Store) {
	t.Helper()
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
}

func TestWait(t *testing.T) {
	s := open(t, Config{})
	defer func() { _ = s.Close() }() // with the error that is given at the end
	done := make(chan error, 1)
	go func() { done <- s.Wait(t.Context(), 2) }()
	for seq := uint64(1); seq <= 2; seq++ {
		select {
		case err := <-done:
			t.Fatalf("it waited for %d: %v", seq, err)
		default:
		}
		if err := s.Apply(seq, begin, &Batch{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx, 3); err != context.Canceled {
		t.Error(err)
	}
	go func() { done <- s.Wait(t.Context(), 3) }()
	_ = s.Fail(os.ErrInvalid)
	if err := <-done; err != os.ErrInvalid || s.Err() != os.ErrInvalid {
		t.Errorf("%v, %v", err, s.Err())
	}
}

func TestOtherVersion(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Config{Dir: dir, Version: 1})
	if err := s.Apply(1, begin, &Batch{}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	if s, err := Open(Config{Dir: dir, Version: 2, Retention: day, Log: quiet}); err == nil {
		mustClose(t, s)
		t.Error("a store with other keys is opened")
	}
	mustClose(t, open(t, Config{Dir: dir, Version: 1}))
}

// TestDamage flips bits of each file, and cuts it: whatever is read is an error, or right.
func TestDamage(t *testing.T) {
	whole := t.TempDir()
	s := open(t, Config{Dir: whole})
	value := bytes.Repeat([]byte("v"), 100)
	var keys [][]byte
	for seq := uint64(1); seq <= 20; seq++ {
		var b Batch
		for i := range 50 {
			key := binary.BigEndian.AppendUint64([]byte{byte(1 + i%2*0x50)}, seq*100+uint64(i))
			b.Set(key, value)
			keys = append(keys, key)
		}
		if err := s.Apply(seq, begin, &b); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, s)
	files, err := os.ReadDir(whole)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	damages := map[string]func([]byte) []byte{
		"flipped": func(data []byte) []byte {
			data[random.IntN(len(data))] ^= 1 << random.IntN(8)
			return data
		},
		"cut":   func(data []byte) []byte { return data[:random.IntN(len(data))] },
		"empty": func([]byte) []byte { return nil },
	}
	for _, file := range files {
		for name, damage := range damages {
			t.Run(file.Name()+" "+name, func(t *testing.T) {
				for range 5 {
					checkDamaged(t, whole, file.Name(), damage, keys, value)
				}
			})
		}
	}
}

func checkDamaged(t *testing.T, whole, file string, damage func([]byte) []byte, keys [][]byte, value []byte) {
	dir := filepath.Join(t.TempDir(), "index")
	if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil || len(data) == 0 {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, file), damage(data), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(Config{Dir: dir, Retention: 16 * day, Log: quiet})
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }() // it may fail
	applied, _ := s.Applied()
	for _, key := range keys {
		got, err := s.Get(key)
		if err != nil {
			if s.Err() == nil {
				t.Error("the error is not kept")
			}
			return
		}
		if applied == 20 && !bytes.Equal(got, value) {
			t.Fatalf("%x is %q", key, got)
		}
	}
}

func TestFilter(t *testing.T) {
	var f filter
	const n = 200_000
	for i := range uint64(n) {
		f.add(hash(binary.BigEndian.AppendUint64(nil, i)))
	}
	for i := range uint64(n) {
		if !f.has(hash(binary.BigEndian.AppendUint64(nil, i))) {
			t.Fatalf("key %d is missing", i)
		}
	}
	wrong := 0
	for i := range uint64(n) {
		if f.has(hash(binary.BigEndian.AppendUint64(nil, n+i))) {
			wrong++
		}
	}
	if wrong > n/10 {
		t.Errorf("%d of %d other keys seem to be there", wrong, n)
	}
	if perKey := float64(f.bytes()) / n; perKey > 4 {
		t.Errorf("%.1f bytes a key", perKey)
	}
}

func BenchmarkAbsent(b *testing.B) {
	s := open(b, Config{Dir: b.TempDir()})
	defer mustClose(b, s)
	for seq := range uint64(16) {
		var batch Batch
		for i := range uint64(1000) {
			batch.Set(binary.BigEndian.AppendUint64([]byte{1}, seq<<32|i), nil)
		}
		if err := s.Apply(seq+1, begin.Add(time.Duration(seq)*day), &batch); err != nil {
			b.Fatal(err)
		}
	}
	key := []byte("\x01placement-0123456789")
	b.ReportAllocs()
	for b.Loop() {
		if value, err := s.Get(key); value != nil || err != nil {
			b.Fatal(value, err)
		}
	}
}

// TestCloseOnFullDisk ends with an error, and not never, nor the program; what is there later is what was stored.
func TestCloseOnFullDisk(t *testing.T) {
	for _, file := range []string{"", "MANIFEST", ".sst"} {
		t.Run("full for "+file, func(t *testing.T) {
			full, disk := false, vfs.NewMem()
			fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if full && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.Contains(op.Path, file) {
					return syscall.ENOSPC
				}
				return nil
			}))
			s := open(t, Config{Dir: "index", fs: fs})
			for seq := uint64(1); seq <= 4; seq++ {
				var b Batch
				b.Set([]byte{1, byte(seq)}, nil)
				if err := s.Apply(seq, begin, &b); err != nil {
					t.Fatal(err)
				}
				if seq == 2 {
					flush(t, s)
				}
			}
			full = true
			if err := s.Close(); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("got %v", err)
			}
			s, err := Open(Config{Dir: "index", Retention: 16 * day, Log: quiet, fs: disk})
			if err != nil {
				return // it is rebuilt
			}
			defer mustClose(t, s)
			applied, _ := s.Applied()
			for seq := uint64(1); seq <= 4; seq++ {
				if value, err := s.Get([]byte{1, byte(seq)}); err != nil || (value != nil) != (seq <= applied) {
					t.Errorf("applied %d, and %d is %v, %v", applied, seq, value, err)
				}
			}
		})
	}
}
