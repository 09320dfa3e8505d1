// Command recording runs "muster demo" in a pseudo-terminal and writes docs/images/demo.svg, in which its lines appear
// one after the other: an image that is animated by CSS alone, as pages on GitHub show it. Run it in the directory of
// the module tools.
package main

import (
	"bufio"
	"errors"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
)

const columns, lines = 100, 26 // of the terminal

// A line is what the demo printed, and when.
type line struct {
	text string // with escape sequences
	at   time.Duration
}

func main() {
	log.SetFlags(0)
	all, err := record()
	if err == nil {
		err = os.WriteFile("../docs/images/demo.svg", picture(all), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// record builds muster, and runs its demo.
func record() (all []line, err error) {
	dir, err := os.MkdirTemp("", "muster-recording-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary := filepath.Join(dir, "muster")
	build := exec.Command("go", "build", "-o", binary, "./cmd/muster")
	build.Dir, build.Stderr = "..", os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	demo := exec.Command(binary, "demo")
	demo.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=")
	terminal, err := pty.StartWithSize(demo, &pty.Winsize{Rows: lines, Cols: columns})
	if err != nil {
		return nil, err
	}
	defer terminal.Close() //nolint:errcheck // it was only read
	begun := time.Now()
	scanner := bufio.NewScanner(terminal)
	for scanner.Scan() {
		all = append(all, line{strings.TrimSuffix(scanner.Text(), "\r"), time.Since(begun)})
	}
	if err := scanner.Err(); err != nil && !errors.Is(err, syscall.EIO) { // Linux reports the end so
		return nil, err
	}
	return all, demo.Wait()
}
