package objects_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/objects"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func open(t testing.TB, dir string, clock clockwork.Clock) *objects.Store {
	t.Helper()
	s, err := objects.Open(objects.Config{Dir: dir, Clock: clock, MaxSize: 64 << 20,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t testing.TB, s *objects.Store, data []byte) *objects.Writer {
	t.Helper()
	w, err := s.Create(0)
	if err == nil {
		_, err = w.Write(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func commit(t testing.TB, s *objects.Store, data []byte) (hash string) {
	t.Helper()
	w := write(t, s, data)
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	w.Abort() // without effect
	return w.SHA256()
}

func read(t testing.TB, s *objects.Store, hash string) []byte {
	t.Helper()
	f, err := s.Open(hash)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// files returns the number of files below a directory of a store.
func files(t testing.TB, s *objects.Store, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(s.Dir, dir), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestBlobs(t *testing.T) {
	s := open(t, t.TempDir(), clockwork.NewFakeClockAt(now))
	data := []byte("a build")
	w := write(t, s, data)
	if w.SHA256() != fmt.Sprintf("%x", sha256.Sum256(data)) || w.MD5() != fmt.Sprintf("%x", md5.Sum(data)) ||
		w.Size() != int64(len(data)) {
		t.Errorf("%s %s %d", w.SHA256(), w.MD5(), w.Size())
	}
	if _, err := s.Open(w.SHA256()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before its commit: %v", err)
	}
	w.Abort()
	hash := commit(t, s, data)
	if again := commit(t, s, data); again != hash || !bytes.Equal(read(t, s, hash), data) {
		t.Errorf("%s, then %s", hash, again)
	}
	if blobs, temp := files(t, s, "sha256"), files(t, s, "temp"); blobs != 1 || temp != 0 {
		t.Errorf("%d blobs, %d temporary files", blobs, temp)
	}
	for range 2 { // the second time there is none
		if err := s.Delete(hash); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Open(hash); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestHashesAreNoPaths(t *testing.T) {
	s := open(t, t.TempDir(), clockwork.NewFakeClockAt(now))
	hash := commit(t, s, []byte("x"))
	for _, bad := range []string{"", "..", "../../../etc/passwd", strings.ToUpper(hash), hash[1:], hash + "/",
		"zz" + hash[2:]} {
		f, err := s.Open(bad)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open(%q): %v, %v", bad, f, err)
		}
		if s.Delete(bad) == nil || s.Renew(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestLimits(t *testing.T) {
	s := open(t, t.TempDir(), clockwork.NewFakeClockAt(now))
	w, err := s.Create(3)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write([]byte("abc")); err != nil {
		t.Error(err)
	}
	if _, err := w.Write([]byte("d")); objects.CodeOf(err) != objects.EntityTooLarge {
		t.Error(err)
	}
}

func TestOpenDeletesTemporaryFiles(t *testing.T) {
	dir, clock := t.TempDir(), clockwork.NewFakeClockAt(now)
	s := open(t, dir, clock)
	hash := commit(t, s, []byte("kept"))
	w := write(t, s, []byte("lost in a crash"))
	if files(t, s, "temp") != 1 {
		t.Error("no temporary file")
	}
	s = open(t, dir, clock)
	if n := files(t, s, "temp"); n != 0 {
		t.Errorf("%d temporary files after a restart", n)
	}
	if string(read(t, s, hash)) != "kept" {
		t.Error("a blob was lost")
	}
	w.Abort()
}

func TestSweep(t *testing.T) {
	clock := clockwork.NewFakeClockAt(now)
	s := open(t, t.TempDir(), clock)
	used, unused, renewed, again := commit(t, s, []byte("used")), commit(t, s, []byte("unused")),
		commit(t, s, []byte("renewed")), commit(t, s, []byte("again"))
	clock.Advance(2 * time.Hour)
	young := commit(t, s, []byte("young"))
	commit(t, s, []byte("again"))
	if err := s.Renew(renewed); err != nil {
		t.Fatal(err)
	}
	bytes, err := s.Sweep(t.Context(), func(hash string) bool { return hash == used })
	if err != nil || bytes != int64(len("unused")) {
		t.Errorf("%d bytes, %v", bytes, err)
	}
	left := map[string]bool{}
	if err := s.List(func(b objects.Blob) bool { left[b.Hash] = true; return true }); err != nil {
		t.Fatal(err)
	}
	for name, hash := range map[string]string{"used": used, "renewed": renewed, "again": again, "young": young} {
		if !left[hash] {
			t.Errorf("the %s blob was deleted", name)
		}
	}
	if left[unused] || len(left) != 4 {
		t.Errorf("%d blobs are left", len(left))
	}
	if err := s.Renew(unused); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Sweep(ended, func(string) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestSweepAndCommit commits and sweeps at the same time: what was committed since the sweep began must stay.
func TestSweepAndCommit(t *testing.T) {
	clock := clockwork.NewFakeClockAt(now)
	s := open(t, t.TempDir(), clock)
	var g errgroup.Group
	for i := range 4 {
		data := []byte{byte(i)}
		hash := commit(t, s, data)
		g.Go(func() error {
			for range 50 {
				clock.Advance(2 * time.Hour)
				w, err := s.Create(0)
				if err != nil {
					return err
				}
				_, _ = w.Write(data)
				if err := w.Commit(); err != nil {
					return err
				}
				if err := s.Renew(hash); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			return nil
		})
		g.Go(func() error {
			_, err := s.Sweep(t.Context(), func(string) bool { return false })
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

const mib = 1 << 20

// block returns bytes that differ by seed.
func block(seed byte, size int) []byte {
	return bytes.Repeat([]byte{seed, seed + 1, 3}, size/3+1)[:size]
}

func initiate(t testing.TB, s *objects.Store, a objects.Algorithm, full bool) objects.Upload {
	t.Helper()
	u, err := s.Initiate(objects.Upload{Bucket: "b", Key: "k", ContentType: "application/zip", Algorithm: a,
		FullObject: full, Metadata: map[string]string{"a": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func putPart(t testing.TB, s *objects.Store, u objects.Upload, number int, data []byte) objects.Part {
	t.Helper()
	checksum := ""
	if u.Algorithm != "" {
		h := u.Algorithm.New()
		h.Write(data)
		checksum = objects.Checksum(h)
	}
	p, err := s.PutPart(u, number, checksum, write(t, s, data))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestUploadSurvivesRestart(t *testing.T) {
	for _, test := range []struct {
		algorithm objects.Algorithm
		full      bool
	}{{"", false}, {objects.CRC32, false}, {objects.CRC32, true}, {objects.CRC64NVME, true}, {objects.SHA256, false}} {
		dir, clock := t.TempDir(), clockwork.NewFakeClockAt(now)
		s := open(t, dir, clock)
		u := initiate(t, s, test.algorithm, test.full)
		first, second := block(1, objects.MinPartSize), block(2, mib)
		b := putPart(t, s, u, 7, second)
		putPart(t, s, u, 2, block(9, mib)) // is replaced
		s = open(t, dir, clock)
		u, err := s.Upload(u.ID)
		if err != nil {
			t.Fatal(err)
		}
		a := putPart(t, s, u, 2, first)
		if parts, err := s.Parts(u, 0, 10); err != nil || len(parts) != 2 || parts[0] != a || parts[1] != b {
			t.Errorf("%v, %v; want %v and %v", parts, err, a, b)
		}
		if parts, err := s.Parts(u, 2, 10); err != nil || len(parts) != 1 || parts[0] != b {
			t.Errorf("%v, %v", parts, err)
		}
		o, err := s.Complete(u, []objects.Part{{Number: 2, ETag: a.ETag}, {Number: 7, ETag: b.ETag,
			Checksum: b.Checksum}})
		if err != nil {
			t.Fatal(err)
		}
		whole := append(bytes.Clone(first), second...)
		sumA, sumB := md5.Sum(first), md5.Sum(second)
		etag := fmt.Sprintf("%x-2", md5.Sum(append(sumA[:], sumB[:]...)))
		if o.ETag != etag || o.Size != int64(len(whole)) || o.Bucket != "b" || o.Key != "k" || o.Metadata["a"] != "b" ||
			!bytes.Equal(read(t, s, o.Hash), whole) {
			t.Errorf("%+v, want the ETag %s", o, etag)
		}
		expectChecksum(t, o, test.algorithm, test.full, whole, first, second)
		if err := s.Abort(u); err != nil {
			t.Error(err)
		}
		if files(t, s, "uploads")+files(t, s, "temp") != 0 {
			t.Error("files of a completed upload are left")
		}
	}
}

func expectChecksum(t *testing.T, o objects.Object, a objects.Algorithm, full bool, whole, first, second []byte) {
	t.Helper()
	if a == "" {
		if len(o.Checksums) != 0 {
			t.Errorf("checksums %v", o.Checksums)
		}
		return
	}
	sum := func(data []byte) []byte { h := a.New(); h.Write(data); return h.Sum(nil) }
	h, suffix := a.New(), ""
	if h.Write(whole); !full {
		h, suffix = a.New(), "-2"
		h.Write(append(sum(first), sum(second)...))
	}
	if want := objects.Checksum(h) + suffix; o.Checksums[string(a)] != want {
		t.Errorf("checksums %v, want %s", o.Checksums, want)
	}
}

func TestCompleteRefuses(t *testing.T) {
	s := open(t, t.TempDir(), clockwork.NewFakeClockAt(now))
	u := initiate(t, s, objects.CRC32, false)
	big, small := putPart(t, s, u, 1, block(1, objects.MinPartSize)), putPart(t, s, u, 2, []byte("small"))
	last := putPart(t, s, u, 3, nil)
	other := small
	other.ETag = big.ETag
	wrong := small
	wrong.Checksum = big.Checksum
	for _, test := range []struct {
		name  string
		parts []objects.Part
		code  objects.Code
	}{
		{"absent", []objects.Part{big, {Number: 9, ETag: big.ETag}}, objects.InvalidPart},
		{"number zero", []objects.Part{{Number: 0}}, objects.InvalidPart},
		{"negative number", []objects.Part{{Number: -1}}, objects.InvalidPart},
		{"ETag", []objects.Part{big, other}, objects.InvalidPart},
		{"checksum", []objects.Part{big, wrong}, objects.InvalidPart},
		{"order", []objects.Part{small, big}, objects.InvalidPartOrder},
		{"twice", []objects.Part{big, big}, objects.InvalidPartOrder},
		{"small", []objects.Part{big, small, last}, objects.EntityTooSmall},
		{"right", []objects.Part{big, last}, ""},
	} {
		if _, err := s.Complete(u, test.parts); objects.CodeOf(err) != test.code {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if n := files(t, s, "sha256"); n != 1 {
		t.Errorf("%d blobs, want that of the right completion", n)
	}
}

func TestEndedUploads(t *testing.T) {
	s := open(t, t.TempDir(), clockwork.NewFakeClockAt(now))
	u := initiate(t, s, "", false)
	if err := s.Abort(u); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{u.ID, "", ".", "../sha256", strings.ToUpper(u.ID)} {
		u.ID = id
		_, upload := s.Upload(id)
		_, part := s.PutPart(u, 1, "", write(t, s, []byte("x")))
		_, parts := s.Parts(u, 0, 1)
		_, complete := s.Complete(u, []objects.Part{{Number: 1}})
		for what, err := range map[string]error{"Upload": upload, "PutPart": part, "Parts": parts,
			"Abort": s.Abort(u)} {
			if objects.CodeOf(err) != objects.NoSuchUpload {
				t.Errorf("%s of %q: %v", what, id, err)
			}
		}
		if objects.CodeOf(complete) != objects.InvalidPart && objects.CodeOf(complete) != objects.NoSuchUpload {
			t.Errorf("Complete of %q: %v", id, complete)
		}
	}
	if n := files(t, s, "temp"); n != 0 {
		t.Errorf("%d temporary files", n)
	}
}

func TestOldUploadsAreDeleted(t *testing.T) {
	dir, clock := t.TempDir(), clockwork.NewFakeClockAt(now)
	s := open(t, dir, clock)
	old := initiate(t, s, "", false)
	putPart(t, s, old, 1, []byte("x"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running errgroup.Group
	running.Go(func() error { return s.Run(ctx) })
	if err := clock.BlockUntilContext(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	clock.Advance(23 * time.Hour)
	young := initiate(t, s, "", false)
	if _, err := s.Upload(old.ID); err != nil {
		t.Error(err)
	}
	clock.Advance(61 * time.Minute)
	for {
		if _, err := s.Upload(old.ID); err != nil {
			break
		}
		runtime.Gosched() // to Run; the test's time limit ends this
	}
	if _, err := s.Upload(young.ID); err != nil {
		t.Errorf("a young upload: %v", err)
	}
	cancel()
	if err := running.Wait(); err != nil {
		t.Error(err)
	}
	clock.Advance(24 * time.Hour)
	s = open(t, dir, clock)
	if _, err := s.Upload(young.ID); objects.CodeOf(err) != objects.NoSuchUpload {
		t.Errorf("old at the start: %v", err)
	}
}

// TestDamagedPart changes a part on disk.
func TestDamagedPart(t *testing.T) {
	s := open(t, t.TempDir(), clockwork.NewFakeClockAt(now))
	u := initiate(t, s, "", false)
	p := putPart(t, s, u, 1, []byte("some bytes"))
	path := filepath.Join(s.Dir, "uploads", u.ID, "00001")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(whole) {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if o, err := s.Complete(u, []objects.Part{p}); err == nil {
			t.Fatalf("%d of %d bytes: %+v", cut, len(whole), o)
		}
	}
}
