package e2e

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/binary"
)

var shownCommand = regexp.MustCompile(`(?s)aria-label="Command">(.*?)</pre>`)

// TestConsoleCommand: the command that the console shows for a new compute starts the sample
// game server, over the encrypted connection, and that hosts a game session.
func TestConsoleCommand(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the command is for a POSIX shell")
	}
	s := start(t, func(c *muster.Config) { c.OpenConsole = "on" })
	fleet := s.newFleet(t)
	dir := t.TempDir()
	if err := binary.BuildAll(t.Context(), dir, "./examples/gameserver"); err != nil {
		t.Fatal(err)
	}
	form := url.Values{"compute-name": {"attic"}, "ip": {"127.0.0.1"}, "location": {home}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.HTTP+"/console/fleets/"+fleet+"/computes",
		strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := s.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	_, body := read(t, answer)
	found := shownCommand.FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("the page shows no command: %s", body)
	}
	s.shell(t, dir, strings.Replace(html.UnescapeString(found[1]), "./your-game-server",
		"exec ./gameserver -port=7777", 1))
	eventually(t, "the fleet has a server process", func() bool {
		use := call(t, s.client().DescribeFleetUtilization,
			&gamelift.DescribeFleetUtilizationInput{FleetIds: []string{fleet}}).FleetUtilization
		return len(use) == 1 && *use[0].ActiveServerProcessCount == 1
	})
	if got := s.session(t, s.newActiveSession(t, fleet, home)); *got.Port != 7777 {
		t.Errorf("the game session has the port %d", *got.Port)
	}
}

// shell runs a command in a directory until the test ends. uuidgen, which not every machine has, is a script.
func (s *service) shell(t *testing.T, dir, command string) {
	t.Helper()
	const uuidgen = "#!/bin/sh\necho 0c9e5a4e-3c5b-4a55-9a7d-6f2f1f5a3a11\n"
	if err := os.WriteFile(filepath.Join(dir, "uuidgen"), []byte(uuidgen), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, "sh", "-c", command)
	c.Dir, c.Stdout, c.Stderr = dir, t.Output(), t.Output()
	c.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 10 * time.Second
	if err := c.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = c.Wait() // it was told to end
	})
}
