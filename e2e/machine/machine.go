// Package machine says on what benchmarks were measured, for the line above a table. What cannot be found out is left
// out, or "unknown".
package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// Describe names processors, memory, system and compiler.
func Describe(ctx context.Context) string {
	parts := []string{fmt.Sprintf("%d × %s", runtime.NumCPU(), member("/proc/cpuinfo", "model name", runtime.GOARCH))}
	kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(member("/proc/meminfo", "MemTotal", ""), " kB"), 64)
	if err == nil {
		parts = append(parts, fmt.Sprintf("%.0f GB", kilobytes/(1<<20)))
	}
	system := runtime.GOOS
	if text, err := exec.CommandContext(ctx, "uname", "-sr").Output(); err == nil {
		system, _, _ = strings.Cut(strings.TrimSpace(string(text)), "-") // what follows is the build's own name
	}
	return strings.Join(append(parts, system, runtime.Version()), ", ")
}

// Load is the load average of the last minute.
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return minute
}

// Commit names the state of the sources in a directory.
func Commit(ctx context.Context, directory string) string {
	command := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty=, changed")
	command.Dir = directory
	text, err := command.Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// member is the value of the first line "name: value" of a file.
func member(path, name, otherwise string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return otherwise
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return otherwise
}
