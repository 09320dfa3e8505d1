package child

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"sync"
)

// A Log keeps what a program says: all of its present run, the end of all runs. Any goroutine may read it. The zero Log
// is empty.
type Log struct {
	mu      sync.Mutex
	lines   []string // the last ones, of all runs
	present []string // all of the present run
	counted string
	count   int
}

// Count has the lines counted that have these words, from now on, over all runs.
func (l *Log) Count(words string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counted, l.count = words, 0
}

// Counted is the number of lines that Count asked for.
func (l *Log) Counted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Says reports whether a line of the present run has all these words.
func (l *Log) Says(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.present, func(line string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
	})
}

// Tail is the end of the log.
func (l *Log) Tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// begin begins the log of another run.
func (l *Log) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.present = nil
}

// follow reads a log until its end.
func (l *Log) follow(r io.Reader) {
	for scanner := bufio.NewScanner(r); scanner.Scan(); {
		l.add(scanner.Text())
	}
}

func (l *Log) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counted != "" && strings.Contains(line, l.counted) {
		l.count++
	}
	l.present = append(l.present, line)
	const most = 300
	if l.lines = append(l.lines, line); len(l.lines) > 2*most {
		l.lines = append([]string(nil), l.lines[most:]...)
	}
}
