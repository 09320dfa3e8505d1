package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"
)

// Of a shared host the load average says nothing: others' work shows in how long
// memory and disk take. Both are measured before the first run.

// memoryProbe is what a load from a random place in memory takes, of an amount
// that no cache holds.
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

// diskProbe is what appending 4 KiB to a file takes until they are on the disk of
// the temporary directory.
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
	return fmt.Sprintf("fsync p50 %s, p99 %s", took[appends/2].Round(10*time.Microsecond), took[appends*99/100].Round(10*time.Microsecond)), nil
}
