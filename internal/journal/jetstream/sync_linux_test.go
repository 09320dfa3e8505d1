package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/muster-gg/muster/internal/journal"
	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/journal/journaltest"
)

// childUnsynced names what this binary is to write while no fsync succeeds, instead of
// testing, and childUnsyncedDir the directory.
const (
	childUnsynced    = "MUSTER_TEST_WRITE_UNSYNCED"
	childUnsyncedDir = "MUSTER_TEST_WRITE_UNSYNCED_TO"
)

// writes are the ways to write to the engine. What they return without an error is
// promised to be on disk.
var writes = map[string]func(ctx context.Context, e *jetstream.Engine) (write func() error, err error){
	"record": func(ctx context.Context, e *jetstream.Engine) (func() error, error) {
		j, err := e.Journal(ctx, 0)
		return func() error { _, err := j.Append(ctx, 0, []byte("record")); return err }, err
	},
	"snapshot": func(ctx context.Context, e *jetstream.Engine) (func() error, error) {
		j, err := e.Journal(ctx, 0)
		if err == nil { // the first snapshot makes its stream
			err = j.SaveSnapshot(ctx, 0, journaltest.Writing("state"))
		}
		return func() error { return j.SaveSnapshot(ctx, 0, journaltest.Writing("state")) }, err
	},
	"batch": func(ctx context.Context, e *jetstream.Engine) (func() error, error) {
		h, err := e.History(ctx)
		return func() error { _, err := h.Append(ctx, []byte("data")); return err }, err
	},
	"feed record": func(ctx context.Context, e *jetstream.Engine) (func() error, error) {
		f, err := e.Feed(ctx)
		return func() error { _, err := f.Append(ctx, "id", []byte("data")); return err }, err
	},
}

// TestNothingIsAcknowledgedUnsynced: from some moment on every fsync of the process fails.
// Whatever is written then must not be acknowledged. An engine that leaves it to the
// system when data reaches the disk calls no fsync for a message, and would acknowledge
// it. So this shows that an fsync stands between each message and its acknowledgement; it
// does not show that the disk obeys.
func TestNothingIsAcknowledgedUnsynced(t *testing.T) {
	if kind := os.Getenv(childUnsynced); kind != "" {
		if err := writeUnsynced(t.Context(), kind, os.Getenv(childUnsyncedDir)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	this := "-test.run=^" + t.Name() + "$"
	for kind := range writes {
		t.Run(kind, func(t *testing.T) {
			child := exec.CommandContext(t.Context(), self, this)
			child.Env = append(os.Environ(), childUnsynced+"="+kind, childUnsyncedDir+"="+t.TempDir())
			out, err := child.CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), "refused: ") ||
				!strings.Contains(string(out), journal.ErrBroken.Error()) {
				t.Errorf("the child ends with %v and says %s", err, out)
			}
		})
	}
}

// writeUnsynced writes once with and once without a working fsync, and says what came of
// the second.
func writeUnsynced(ctx context.Context, kind, dir string) error {
	e, err := jetstream.Open(ctx, jetstream.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	write, err := writes[kind](ctx, e)
	if err != nil {
		return err
	}
	if err := failSyncs(); err != nil {
		return err
	}
	err = write()
	if err == nil {
		return errors.New("acknowledged, and no fsync has succeeded")
	}
	_, err = fmt.Println("refused:", err)
	return err
}

// failSyncs lets every fsync of this process fail from now on, by a seccomp filter, which
// needs no rights. It cannot be undone.
func failSyncs() error {
	const callNumber = 0 // its offset in struct seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: callNumber},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FSYNC, Jt: 1},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FDATASYNC, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	_, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if failed != 0 {
		return fmt.Errorf("seccomp filter: %w", failed)
	}
	return nil
}
