package damage

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A SmallDisk is a file system in memory that can be filled. It is mounted in the mount namespace of a process that
// holds it, and seen through that process's root: when the holder ends the mount is gone, and it ends with this test
// however that ends. Who is not root becomes so in a user namespace of his own.
type SmallDisk struct {
	Path string // of the disk, as others see it

	t      testing.TB
	size   int // MiB
	holder *exec.Cmd
	stdin  io.Closer // the holder ends with it
}

// NewSmallDisk makes a disk of so many MiB; the test's end takes it away.
func NewSmallDisk(t testing.TB, size int) *SmallDisk {
	t.Helper()
	at := t.TempDir()
	d := &SmallDisk{t: t, size: size, holder: exec.Command("/bin/sh", "-c",
		`mount -t tmpfs -o "size=$1" muster-test "$0" && echo mounted && exec cat`, at, fmt.Sprintf("%dm", size))}
	d.holder.Stderr = os.Stderr
	if os.Geteuid() == 0 {
		d.holder.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	} else {
		d.holder.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		}
	}
	stdin, err := d.holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := d.holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.holder.Start(); err != nil {
		t.Fatal(err)
	}
	d.stdin = stdin
	t.Cleanup(d.release)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || strings.TrimSpace(line) != "mounted" {
		t.Fatalf("no small disk: %q, %v", line, err)
	}
	d.Path = filepath.Join("/proc", fmt.Sprint(d.holder.Process.Pid), "root", at)
	return d
}

// release ends the holder, and the mount with it.
func (d *SmallDisk) release() {
	if err := d.stdin.Close(); err != nil {
		d.t.Error(err)
	}
	if err := d.holder.Wait(); err != nil {
		d.t.Errorf("the holder of the small disk: %v", err)
	}
}

func (d *SmallDisk) ballast() string { return filepath.Join(d.Path, "ballast") }

// Fill leaves so many bytes free.
func (d *SmallDisk) Fill(leave int64) {
	d.t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.Path, &s); err != nil {
		d.t.Fatal(err)
	}
	block := int64(s.Bsize) //nolint:unconvert // the type differs between architectures
	d.write(int64(s.Bavail)*block - leave)
}

// Full leaves nothing.
func (d *SmallDisk) Full() { d.write(int64(d.size) << 20) }

// write makes the ballast larger by so many bytes, or until the disk is full.
func (d *SmallDisk) write(n int64) {
	d.t.Helper()
	f, err := os.OpenFile(d.ballast(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, max(0, n))); err != nil && !errors.Is(err, syscall.ENOSPC) {
		d.t.Error(err)
	}
	if err := f.Close(); err != nil {
		d.t.Error(err)
	}
}

// Free takes away what fills the disk.
func (d *SmallDisk) Free() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		d.t.Fatal(err)
	}
}
