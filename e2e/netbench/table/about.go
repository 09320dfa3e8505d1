package table

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// About says on what is measured, when, and how: a line to stand above the table.
// It must be asked for before the measurements, because it tells the load of the
// machine.
func About(ctx context.Context, rounds int, lasts time.Duration) string {
	return fmt.Sprintf("%s. %s, commit %s, `make bench-net`. Before it: load average %s. Medians of %d rounds of %s each.\n",
		machine(ctx), time.Now().Format("2 January 2006, 15:04"), commit(ctx), firstWord("/proc/loadavg"), rounds, lasts)
}

// machine names processors, memory, system and compiler, as far as they can be
// found out.
func machine(ctx context.Context) string {
	parts := []string{fmt.Sprintf("%d × %s", runtime.NumCPU(), member("/proc/cpuinfo", "model name", runtime.GOARCH))}
	if kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(member("/proc/meminfo", "MemTotal", ""), " kB"), 64); err == nil {
		parts = append(parts, fmt.Sprintf("%.0f GB", kilobytes/(1<<20)))
	}
	system := runtime.GOOS
	if text, err := exec.CommandContext(ctx, "uname", "-sr").Output(); err == nil {
		system, _, _ = strings.Cut(strings.TrimSpace(string(text)), "-") // what follows is the build's own name
	}
	return strings.Join(append(parts, system, runtime.Version()), ", ")
}

// commit names the state of the sources.
func commit(ctx context.Context) string {
	text, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty=, changed").Output()
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

func firstWord(path string) string {
	text, err := os.ReadFile(path)
	if words := strings.Fields(string(text)); err == nil && len(words) > 0 {
		return words[0]
	}
	return "unknown"
}
