//go:build linux && diskfull

package crash

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

// diskSize is the size of a small disk, in MiB.
const diskSize = 64

// A smallDisk is a file system in memory that can be filled. It is mounted in the
// mount namespace of a process that holds it, and seen through that process's
// root: when the holder ends the mount is gone, and it ends with this test
// however that ends. Who is not root becomes so in a user namespace of his own.
type smallDisk struct {
	t      *testing.T
	path   string
	holder *exec.Cmd
	stdin  io.Closer // the holder ends with it
}

func newSmallDisk(t *testing.T) *smallDisk {
	t.Helper()
	at := t.TempDir()
	d := &smallDisk{t: t, holder: exec.Command("/bin/sh", "-c", `mount -t tmpfs -o "size=$1" muster-crash "$0" && echo mounted && exec cat`, at, fmt.Sprintf("%dm", diskSize))}
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
	d.path = filepath.Join("/proc", fmt.Sprint(d.holder.Process.Pid), "root", at)
	return d
}

// release ends the holder, and the mount with it.
func (d *smallDisk) release() {
	if err := d.stdin.Close(); err != nil {
		d.t.Error(err)
	}
	if err := d.holder.Wait(); err != nil {
		d.t.Errorf("the holder of the small disk: %v", err)
	}
}

func (d *smallDisk) ballast() string { return filepath.Join(d.path, "ballast") }

// fill leaves so many bytes free.
func (d *smallDisk) fill(leave int64) {
	d.t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.path, &s); err != nil {
		d.t.Fatal(err)
	}
	block := int64(s.Bsize) //nolint:unconvert // the type differs between architectures
	d.write(int64(s.Bavail)*block - leave)
}

// full leaves nothing.
func (d *smallDisk) full() { d.write(diskSize << 20) }

// write makes the ballast larger by so many bytes, or until the disk is full.
func (d *smallDisk) write(n int64) {
	d.t.Helper()
	f, err := os.OpenFile(d.ballast(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, max(0, n))); err != nil && !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatal(err)
	}
}

func (d *smallDisk) free() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		d.t.Fatal(err)
	}
}
