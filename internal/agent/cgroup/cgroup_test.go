package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

// fake returns a directory that looks like mounted cgroups: the kernel would create the files of a new cgroup.
func fake(t *testing.T, path, controllers string) string {
	t.Helper()
	mount := t.TempDir()
	dir := filepath.Join(mount, path)
	if err := os.MkdirAll(dir, mode); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "cgroup.controllers"), controllers)
	return mount
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != text {
			t.Errorf("%s has %q, %v, want %q", name, got, err, text)
		}
	}
}

func TestOpen(t *testing.T) {
	for what, c := range map[string]struct {
		path, controllers, membership string
		fails                         bool
	}{
		"delegated":           {"/m.service", "cpuset cpu io memory pids\n", "0::/m.service\n", false},
		"with the agent in":   {"/m.service", "cpu memory\n", "0::/m.service/agent\n", false},
		"beside version 1":    {"/", "cpu memory", "4:memory:/x\n0::/\n", false},
		"without memory":      {"/m.service", "cpu pids\n", "0::/m.service\n", true},
		"another word for it": {"/m.service", "cpuset memory\n", "0::/m.service\n", true},
		"version 1":           {"/", "cpu memory", "4:memory:/x\n", true},
		"not there":           {"/", "cpu memory", "0::/elsewhere\n", true},
	} {
		mount := fake(t, c.path, c.controllers)
		tree, err := Open(mount, []byte(c.membership), 1)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", what, err)
		}
		if err == nil {
			want(t, tree.dir, map[string]string{"cgroup.subtree_control": "+cpu +memory"})
		}
	}
}

func TestLimits(t *testing.T) {
	tree, err := Open(fake(t, "/", "cpu memory"), []byte("0::/"), 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limits              Limits
		weight, cpu, memory string
	}{
		{Limits{}, "100", "max 100000", "max"},
		{Limits{MilliCPUs: 2000, MemoryMiB: 4096}, "200", "max 100000", "4294967296"},
		{Limits{MilliCPUs: 500, MemoryMiB: 1, HardCPU: true}, "50", "50000 100000", "1048576"},
		{Limits{MilliCPUs: 1}, "1", "max 100000", "max"},
		{Limits{MilliCPUs: 384_000}, "10000", "max 100000", "max"},
	} {
		dir, err := tree.Limit("i-1", c.limits) // again and again
		if err != nil || filepath.Base(dir) != "muster-i-1" {
			t.Fatalf("%s, %v", dir, err)
		}
		want(t, dir, map[string]string{"cpu.weight": c.weight, "cpu.max": c.cpu, "memory.max": c.memory,
			"cgroup.subtree_control": "+memory"})
	}
}

// TestLeave: the count of its own cgroup decides whether a game server was killed for memory.
func TestLeave(t *testing.T) {
	for what, c := range map[string]struct {
		events string
		killed bool
	}{
		"not":                   {"low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\noom_group_kill 0\n", false},
		"one of its processes":  {"low 0\nmax 12\noom 3\noom_kill 1\n", true},
		"one of another server": {"oom 1\noom_kill 0\n", false},
		"empty":                 {"", false},
	} {
		dir := filepath.Join(t.TempDir(), "p")
		f, err := Enter(dir)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close() // of a directory
		put(t, filepath.Join(dir, "memory.events"), c.events)
		killed, err := Leave(dir)
		if killed != c.killed {
			t.Errorf("%s: %v, want %v", what, killed, c.killed)
		}
		if err == nil { // files of a real cgroup do not keep it from being removed
			t.Errorf("%s: the directory with files was removed", what)
		}
		want(t, dir, map[string]string{"cgroup.kill": "1"})
	}
}
