// Package cgroup limits the memory and CPUs of instances by cgroups of version 2, where the system has delegated one
// to the machine agent: writable, with the controllers cpu and memory.
//
// An instance has a cgroup with its limits, and each of its game servers one below it, so that it is known which one
// the kernel has killed for memory, and all of its processes can be killed at once.
package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// Mount is where cgroups are usually mounted.
	Mount = "/sys/fs/cgroup"
	// Membership is the file that names the cgroup of this process.
	Membership = "/proc/self/cgroup"

	// agentLeaf is the cgroup of the agent itself: one with limits for others may have no process of its own.
	agentLeaf = "agent"
	prefix    = "muster-" // of the cgroups of instances

	mode = 0o755 // of directories: the kernel decides about the files

	// removeLimit is how long a cgroup is removed whose processes have been killed.
	removeLimit = time.Second
	removePause = 10 * time.Millisecond
)

// Limits are those of an instance.
type Limits struct {
	MilliCPUs int32 // its share where CPUs are short; 0: that of one CPU
	MemoryMiB int64 // 0: unlimited
	HardCPU   bool  // it gets no more than MilliCPUs
}

// A Tree is a delegated cgroup.
type Tree struct{ dir string }

// Open returns the cgroup that was delegated to the process pid. mount is where cgroups are mounted, membership the
// content of Membership. If the process is in the delegated cgroup itself, it moves to one below it.
func Open(mount string, membership []byte, pid int) (*Tree, error) {
	path, ok := own(membership)
	if !ok {
		return nil, errors.New("this process is in no cgroup of version 2")
	}
	t := &Tree{dir: filepath.Join(mount, path)}
	if filepath.Base(t.dir) == agentLeaf {
		t.dir = filepath.Dir(t.dir)
	}
	has, err := os.ReadFile(filepath.Join(t.dir, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	for _, controller := range []string{"cpu", "memory"} {
		if !hasWord(has, controller) {
			return nil, fmt.Errorf("cgroup %s has no controller %s", t.dir, controller)
		}
	}
	if err := t.enable(pid); err != nil {
		return nil, err
	}
	return t, nil
}

// own returns the path of a process in the hierarchy of version 2.
func own(membership []byte) (string, bool) {
	for line := range bytes.Lines(membership) {
		if path, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("0::")); ok {
			return string(path), true
		}
	}
	return "", false
}

func hasWord(text []byte, word string) bool {
	for field := range strings.FieldsSeq(string(text)) {
		if field == word {
			return true
		}
	}
	return false
}

// enable has the cgroups below have limits. The kernel refuses that for one with processes, other than the root.
func (t *Tree) enable(pid int) error {
	const controllers = "+cpu +memory"
	err := write(t.dir, "cgroup.subtree_control", controllers)
	if !errors.Is(err, syscall.EBUSY) {
		return err
	}
	leaf := filepath.Join(t.dir, agentLeaf)
	if err := makeDir(leaf); err != nil {
		return err
	}
	if err := write(leaf, "cgroup.procs", strconv.Itoa(pid)); err != nil {
		return err
	}
	if err = write(t.dir, "cgroup.subtree_control", controllers); err != nil { // others are in it, too
		back := write(t.dir, "cgroup.procs", strconv.Itoa(pid))
		return errors.Join(err, back, os.Remove(leaf))
	}
	return nil
}

// Limit creates the cgroup of an instance, or changes its limits. It returns its directory.
func (t *Tree) Limit(instance string, l Limits) (dir string, err error) {
	dir = filepath.Join(t.dir, prefix+instance)
	if err := makeDir(dir); err != nil {
		return "", err
	}
	cpus := int64(l.MilliCPUs)
	weight := min(max(cpus/10, 1), 10000) // the default, 100, is one CPU
	if cpus == 0 {
		weight = 100
	}
	memory, quota := "max", "max"
	if l.MemoryMiB > 0 {
		memory = strconv.FormatInt(l.MemoryMiB<<20, 10)
	}
	if l.HardCPU && cpus > 0 {
		quota = strconv.FormatInt(cpus*100, 10)
	}
	return dir, errors.Join(
		write(dir, "cpu.weight", strconv.FormatInt(weight, 10)),
		write(dir, "cpu.max", quota+" 100000"),
		write(dir, "memory.max", memory),
		write(dir, "cgroup.subtree_control", "+memory"), // for the count of each game server
	)
}

// Remove kills what is left in the cgroup of an instance, and removes it.
func (t *Tree) Remove(instance string) error {
	dir := filepath.Join(t.dir, prefix+instance)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	Kill(dir)
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, remove(dir))
}

// Enter creates the cgroup of a game server, and returns its open directory for the start of the first process.
func Enter(dir string) (*os.File, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	return os.Open(dir)
}

// Kill kills all processes of a cgroup and of those below it.
func Kill(dir string) { _ = write(dir, "cgroup.kill", "1") } // it may have been removed

// Leave kills what is left in the cgroup of a game server, and removes it. It reports whether the kernel has killed one
// of its processes because the memory of its instance was used up.
func Leave(dir string) (outOfMemory bool, err error) {
	Kill(dir)
	events, err := os.ReadFile(filepath.Join(dir, "memory.events"))
	if errors.Is(err, fs.ErrNotExist) { // without the controller
		err = nil
	}
	for line := range bytes.Lines(events) {
		name, count, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if string(name) == "oom_kill" && string(count) != "0" {
			outOfMemory = true
		}
	}
	return outOfMemory, errors.Join(err, remove(dir))
}

// remove removes a cgroup. Processes that were killed are in it for a moment.
func remove(dir string) error {
	for deadline := time.Now().Add(removeLimit); ; time.Sleep(removePause) {
		err := syscall.Rmdir(dir)
		if !errors.Is(err, syscall.EBUSY) || time.Now().After(deadline) {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
	}
}

func makeDir(dir string) error {
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func write(dir, file, text string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644)
}
