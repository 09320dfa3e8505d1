package machine

import (
	"bufio"
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"
)

// A system is the files of the kernel, which tests replace.
type system struct{ proc, cgroup string }

var kernel = system{"/proc", "/sys/fs/cgroup"}

func capacity() (milliCPUs int32, memory uint64) { return kernel.capacity() }

func loadAverage() (float64, bool) { return kernel.loadAverage() }

func freeMemory() (uint64, bool) { return kernel.freeMemory() }

// capacity returns the limits of the control groups of this process, or of the machine. No CPUs: there is no limit.
func (s system) capacity() (milliCPUs int32, memory uint64) {
	memory, _ = s.memInfo("MemTotal:")
	for _, dir := range s.groups() {
		if n, ok := s.cpuLimit(dir); ok && (milliCPUs == 0 || n < milliCPUs) {
			milliCPUs = n
		}
		if n, ok := s.number(dir, "memory.max"); ok && (memory == 0 || n < memory) {
			memory = n
		}
	}
	return milliCPUs, memory
}

// groups returns the directories of the control group of this process and of those above it. In a container the
// directory of its own group is the root.
func (s system) groups() (dirs []string) {
	text, err := os.ReadFile(s.proc + "/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::") // version 2
		if !ok {
			continue
		}
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			dirs = append(dirs, s.cgroup+group)
			if group == "/" {
				return dirs
			}
		}
	}
	return nil
}

// cpuLimit reads "QUOTA PERIOD" in microseconds; QUOTA is "max" without a limit.
func (s system) cpuLimit(dir string) (milliCPUs int32, ok bool) {
	text, err := os.ReadFile(dir + "/cpu.max")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(text))
	if len(fields) != 2 {
		return 0, false
	}
	quota, err := strconv.ParseUint(fields[0], 10, 32)
	period, err2 := strconv.ParseUint(fields[1], 10, 32)
	if err != nil || err2 != nil || quota == 0 || period == 0 {
		return 0, false
	}
	return int32(min(max(1, quota*1000/period), 1<<30)), true //nolint:gosec // bounded
}

func (s system) number(dir, file string) (uint64, bool) {
	text, err := os.ReadFile(dir + "/" + file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil // "max" is no limit
}

// memInfo returns a row of /proc/meminfo in bytes.
func (s system) memInfo(row string) (uint64, bool) {
	f, err := os.Open(s.proc + "/meminfo")
	if err != nil {
		return 0, false
	}
	defer f.Close() //nolint:errcheck // it was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == row {
			kib, err := strconv.ParseUint(fields[1], 10, 54)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

func (s system) loadAverage() (float64, bool) {
	text, err := os.ReadFile(s.proc + "/loadavg")
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	return load, err == nil
}

// freeMemory returns what is available on the machine, or left below the lowest limit of a control group.
func (s system) freeMemory() (uint64, bool) {
	free, ok := s.memInfo("MemAvailable:")
	for _, dir := range s.groups() {
		limit, limited := s.number(dir, "memory.max")
		used, known := s.number(dir, "memory.current")
		if limited && known {
			free, ok = min(free, limit-min(limit, used)), true
		}
	}
	return free, ok
}
