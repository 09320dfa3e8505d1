package hasher

import (
	"bytes"
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/jonboulle/clockwork"
	"golang.org/x/crypto/argon2"
)

// serving is the argument with which this test binary is the process that hashes.
const serving = "serve-hashes"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serving {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A fixture is a pool and its log.
type fixture struct {
	*Pool
	clock *clockwork.FakeClock
	log   bytes.Buffer
}

func newFixture(t *testing.T, command ...string) *fixture {
	f := &fixture{clock: clockwork.NewFakeClock()}
	f.Pool = New(command, f.clock, slog.New(slog.NewTextHandler(&f.log, nil)))
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func self(t *testing.T) string {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// check compares a hash with that of the library.
func (f *fixture) check(t *testing.T, password string) {
	t.Helper()
	salt := []byte("0123456789abcdef")
	sum := f.Argon2id([]byte(password), salt, 2, 64, 1, 32)
	if !bytes.Equal(sum, argon2.IDKey([]byte(password), salt, 2, 64, 1, 32)) {
		t.Errorf("the hash of %q is %x", password, sum)
	}
}

func (f *fixture) waiting() []*process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*process(nil), f.idle...)
}

func TestPool(t *testing.T) {
	f := newFixture(t, self(t), serving)
	f.check(t, "")
	first := f.waiting()
	f.check(t, "correct horse battery")
	if now := f.waiting(); len(now) != 1 || now[0] != first[0] {
		t.Error("a process that waits is not used again")
	}
	var together sync.WaitGroup
	for range 3 {
		together.Go(func() { f.check(t, "at the same time") })
	}
	together.Wait()
	waiting := f.waiting()
	if err := f.clock.BlockUntilContext(t.Context(), len(waiting)); err != nil { // each has its timer
		t.Fatal(err)
	}
	for _, c := range waiting {
		f.expire(c)
		f.expire(c) // its timer, at the same moment
	}
	if len(f.waiting()) > 0 {
		t.Error("processes wait for ever")
	}
	f.check(t, "again")
	if f.log.Len() > 0 {
		t.Error(f.log.String())
	}
	if err := f.Close(); err != nil || len(f.waiting()) > 0 {
		t.Error("processes are left behind:", err)
	}
	if f.check(t, "late"); len(f.waiting()) > 0 {
		t.Error("a closed pool keeps a process")
	}
}

// TestWithoutProcesses: a password can be checked although its process cannot start, or is killed.
func TestWithoutProcesses(t *testing.T) {
	missing := newFixture(t, "/nonexistent/program")
	missing.check(t, "x")
	killed := newFixture(t, self(t), serving)
	killed.check(t, "x")
	if err := killed.waiting()[0].command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed.check(t, "y")
	for _, f := range []*fixture{missing, killed} {
		if !bytes.Contains(f.log.Bytes(), []byte("in the service's own process")) {
			t.Errorf("nothing tells the operator: %q", f.log.String())
		}
	}
	killed.check(t, "z")
	if len(killed.waiting()) != 1 {
		t.Error("no other process was started")
	}
}

func TestServe(t *testing.T) {
	if err := Serve(bytes.NewReader([]byte("no request")), &bytes.Buffer{}); err == nil {
		t.Error("it reads what is no request")
	}
}
