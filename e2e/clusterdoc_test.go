//go:build unix

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-gg/muster/e2e/clients"
)

// TestClusterDocument types what docs/cluster.md has its readers type, in another directory and
// on other ports, and looks for the output that it shows.
func TestClusterDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "docs", "cluster.md"))
	if err != nil {
		t.Fatal(err)
	}
	const root, ports, nodePorts = "/tmp/muster-walk", "127.0.0.1:908", "127.0.0.1:922"
	dir := t.TempDir()
	elsewhere := strings.NewReplacer(root, dir, ports, freePorts(t, 2000), nodePorts, freePorts(t, 2500))
	steps := typed(string(text))
	printed, err := typeAll(t, steps, elsewhere)
	defer showLogs(t, dir)
	for i, s := range steps {
		switch {
		case i >= len(printed):
			t.Fatalf("this was not typed:\n%s", s.commands)
		case i == len(printed)-1 && err != nil:
			t.Fatalf("%v after\n%s\nwhich printed\n%s", err, s.commands, printed[i])
		case !s.shows.MatchString(printed[i]):
			t.Errorf("this\n%s\nprinted\n%s\nwhich is not what the document shows", s.commands, printed[i])
		}
	}
}

// showLogs shows the ends of the nodes' logs when the test has failed.
func showLogs(t *testing.T, dir string) {
	if !t.Failed() {
		return
	}
	logs, _ := filepath.Glob(filepath.Join(dir, "cluster", "*.log"))
	for _, log := range logs {
		text, err := os.ReadFile(log)
		t.Logf("%s (%v) ends with:\n%s", filepath.Base(log), err, text[max(0, len(text)-4000):])
	}
}

// A step is what is typed, and what is to be seen then.
type step struct {
	commands string
	shows    *regexp.Regexp
}

var blocks = regexp.MustCompile("(?s)```sh\n(.*?)```\n+(?:```text\n(.*?)```)?")

// typed finds the steps of a document.
func typed(document string) (steps []step) {
	for _, block := range blocks.FindAllStringSubmatch(document, -1) {
		steps = append(steps, step{block[1], shown(block[2])})
	}
	return steps
}

// shown matches an output that has these lines in this order, where … stands for anything.
func shown(text string) *regexp.Regexp {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, "^ *"+strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), "…", ".*")+"$")
	}
	return regexp.MustCompile("(?m)" + strings.Join(lines, "(?s:.*?)"))
}

// typeAll has one shell run all steps. It gives what each of them printed, and the error of
// the last one.
func typeAll(t *testing.T, steps []step, elsewhere *strings.Replacer) (printed []string, err error) {
	const next = "\n=== the next step\n"
	script := "set -euo pipefail\ntrap 'kill -9 $(jobs -p) 2>/dev/null; wait' EXIT\n"
	for i, s := range steps {
		if i > 0 {
			script += fmt.Sprintf("printf %q\n", next)
		}
		script += elsewhere.Replace(s.commands)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute) // it may have to build muster
	defer cancel()
	command := clients.AWSCLI(t, nil).Bash(ctx, script)
	command.Dir = ".."
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// With all that it has started.
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err = command.Run()
	return strings.Split(output.String(), next), err
}

// freePorts finds ten ports of this host on which nobody listens and that differ in their last
// digit. They are below those that systems give to outgoing connections. The
// address that it gives lacks that digit.
func freePorts(t *testing.T, from int) (address string) {
	t.Helper()
	for range 100 {
		address = fmt.Sprintf("127.0.0.1:%d", from+rand.IntN(500))
		if free(address) {
			return address
		}
	}
	t.Fatal("no free ports")
	return ""
}

// free reports whether nobody listens on the ports that begin like this.
func free(address string) bool {
	for digit := range 10 {
		l, err := net.Listen("tcp", fmt.Sprint(address, digit))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}
