package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Of a shared host the load average says nothing: others' work shows in how long memory and disk take, which is
// measured before the first run, and in how much of the processors' time the host gives to others, which is measured
// beside each.

// memoryProbe is what a load from a random place in memory takes, of an amount that no cache holds.
func memoryProbe() string {
	const places, loads = 1 << 24, 1 << 21
	next := make([]uint32, places)
	for i := range next {
		next[i] = uint32(i)
	}
	for i := places - 1; i > 0; i-- { // one round through all places: Sattolo's algorithm
		j := rand.IntN(i)
		next[i], next[j] = next[j], next[i]
	}
	at, begin := uint32(0), time.Now()
	for range loads {
		at = next[at]
	}
	took := time.Since(begin)
	next[0] = at // so that the loads are not left out
	return fmt.Sprintf("%d ns a random load", took.Nanoseconds()/loads)
}

// diskProbe is what appending 4 KiB to a file takes until they are on the disk of the temporary directory.
func diskProbe() (string, error) {
	const appends = 200
	file, err := os.CreateTemp("", "muster-probe-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	defer func() { _ = file.Close() }()
	var took []time.Duration
	block := make([]byte, 4<<10)
	for range appends {
		begin := time.Now()
		if _, err := file.Write(block); err != nil {
			return "", err
		}
		if err := file.Sync(); err != nil {
			return "", err
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return fmt.Sprintf("fsync p50 %s, p99 %s", took[appends/2].Round(10*time.Microsecond),
		took[appends*99/100].Round(10*time.Microsecond)), nil
}

// A processorTime is what the processors of this machine have done so far, in ticks.
type processorTime struct{ stolen, all uint64 }

// processors reads their time; zero where the system does not tell it, which is anywhere but on Linux.
func processors() processorTime {
	text, _ := os.ReadFile("/proc/stat")
	return processorsIn(string(text))
}

// processorsIn takes their time from the text of /proc/stat. Source: proc_stat(5).
func processorsIn(text string) (t processorTime) {
	const steal, guest = 7, 8 // fields; guests' time is in that of user and nice already
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) <= guest || fields[0] != "cpu" {
		return processorTime{}
	}
	for i, field := range fields[1 : guest+1] {
		ticks, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return processorTime{}
		}
		if t.all += ticks; i == steal {
			t.stolen = ticks
		}
	}
	return t
}

// since is the share of the processors' time that the host gave to others: 0 to 1.
func (t processorTime) since(begin processorTime) float64 {
	if t.all <= begin.all {
		return 0
	}
	return float64(t.stolen-begin.stolen) / float64(t.all-begin.all)
}
