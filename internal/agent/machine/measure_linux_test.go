package machine

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLimits: the lowest limit of the control groups counts, else what the machine has.
func TestLimits(t *testing.T) {
	const meminfo = "MemTotal:       8388608 kB\nMemFree:         100 kB\nMemAvailable:   4194304 kB\n"
	for name, c := range map[string]struct {
		files       map[string]string
		cpus        int32
		total, free uint64 // MiB
	}{
		"no limits": {map[string]string{"proc/self/cgroup": "0::/\n"}, 0, 8192, 4096},
		"no groups": {nil, 0, 8192, 4096},
		"version 1": {map[string]string{"proc/self/cgroup": "4:memory:/a\n"}, 0, 8192, 4096},
		"in a container": {map[string]string{"proc/self/cgroup": "0::/\n", "cgroup/cpu.max": "150000 100000\n",
			"cgroup/memory.max": "1073741824\n", "cgroup/memory.current": "268435456\n"}, 1500, 1024, 768},
		"of a parent": {map[string]string{"proc/self/cgroup": "0::/a.slice/b.service\n",
			"cgroup/a.slice/b.service/cpu.max":    "max 100000\n",
			"cgroup/a.slice/b.service/memory.max": "max\n",
			"cgroup/a.slice/cpu.max":              "50000 100000\n",
			"cgroup/a.slice/memory.max":           "2147483648\n",
			"cgroup/a.slice/memory.current":       "3221225472\n"}, 500, 2048, 0},
		"above the machine": {map[string]string{"proc/self/cgroup": "0::/\n", "cgroup/memory.max": "99999999999999\n"},
			0, 8192, 4096},
		"damaged": {map[string]string{"proc/self/cgroup": "0::/../..\n", "cgroup/cpu.max": "1 0\n",
			"cgroup/memory.max": "-1\n"}, 0, 8192, 4096},
		"other damage": {map[string]string{"proc/self/cgroup": "0::/\n", "cgroup/cpu.max": "99999999999999999999 1\n"},
			0, 8192, 4096},
	} {
		dir := t.TempDir()
		s := system{filepath.Join(dir, "proc"), filepath.Join(dir, "cgroup")}
		write := func(file, text string) {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("proc/meminfo", meminfo)
		write("proc/loadavg", "0.75 0.50 0.25 1/100 1234\n")
		for file, text := range c.files {
			write(file, text)
		}
		cpus, total := s.capacity()
		free, ok := s.freeMemory()
		load, _ := s.loadAverage()
		if cpus != c.cpus || total>>20 != c.total || free>>20 != c.free || !ok || load != 0.75 {
			t.Errorf("%s: %d CPUs, %d and %d MiB, load %g", name, cpus, total>>20, free>>20, load)
		}
	}
	nothing := system{t.TempDir(), t.TempDir()}
	if _, memory := nothing.capacity(); memory != 0 {
		t.Errorf("memory %d without files", memory)
	}
	if _, ok := nothing.freeMemory(); ok {
		t.Error("free memory without files")
	}
}
