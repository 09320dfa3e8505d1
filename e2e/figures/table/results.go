package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Results are what benchmarks came to, in all their rounds.
type results struct {
	about  map[string]string               // what the file says of machine and command
	values map[string]map[string][]float64 // by benchmark and unit
}

// read reads the text format of Go benchmarks. Source: golang.org/design/14313-benchmark-format.
func read(r io.Reader) (results, error) {
	all := results{map[string]string{}, map[string]map[string][]float64{}}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "Benchmark"); ok {
			if err := all.add(strings.Fields(name)); err != nil {
				return all, fmt.Errorf("%q: %w", line, err)
			}
		} else if key, text, ok := strings.Cut(line, ": "); ok && all.about[key] == "" {
			all.about[key] = text
		}
	}
	return all, lines.Err()
}

// add takes the fields of one line: the name, how often the benchmark was run, and pairs of a number and its unit. A
// name alone is a benchmark that failed.
func (r results) add(fields []string) error {
	if len(fields) < 2 {
		return nil
	}
	name := withoutProcessors(fields[0])
	if r.values[name] == nil {
		r.values[name] = map[string][]float64{}
	}
	for pair := range slices.Chunk(fields[2:], 2) {
		if len(pair) < 2 {
			return fmt.Errorf("%s has no unit", pair[0])
		}
		n, err := strconv.ParseFloat(pair[0], 64)
		if err != nil {
			return err
		}
		r.values[name][pair[1]] = append(r.values[name][pair[1]], n)
	}
	return nil
}

// withoutProcessors takes the number of processors off a benchmark's name.
func withoutProcessors(name string) string {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return name
	}
	if _, err := strconv.Atoi(name[i+1:]); err != nil {
		return name
	}
	return name[:i]
}

// median is the middle of the rounds; false when there are none.
func (r results) median(benchmark, unit string) (float64, bool) {
	values := slices.Sorted(slices.Values(r.values[benchmark][unit]))
	if len(values) == 0 {
		return 0, false
	}
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2, true
	}
	return values[middle], true
}

// total is the sum over the rounds.
func (r results) total(benchmark, unit string) (sum float64) {
	for _, n := range r.values[benchmark][unit] {
		sum += n
	}
	return sum
}
