package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster/e2e/clients"
)

// walkScript runs examples/walkthrough/anywhere.sh and gives what it printed.
func walkScript(t *testing.T, environ []string, args ...string) (printed string, err error) {
	t.Helper()
	environ = append(environ, "PATH="+clients.AWSCLI(t, nil).Path())
	return runScript(t, filepath.Join("..", "examples", "walkthrough", "anywhere.sh"), environ, args...)
}

// runScript runs a script and returns what it printed.
func runScript(t *testing.T, script string, environ []string, args ...string) (printed string, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", append([]string{script}, args...)...)
	command.Env = append(os.Environ(), environ...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // it ends what it has started
	command.WaitDelay = 20 * time.Second
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err = command.Run()
	return output.String(), err
}

// TestWalkThroughScript runs the script as a reader does, on a service that it
// starts itself.
func TestWalkThroughScript(t *testing.T) {
	t.Parallel()
	printed, err := walkScript(t, nil, "--reservation-timeout", "20s")
	if err != nil {
		t.Errorf("the script failed: %v", err)
	}
	for item := 5; item <= 33; item++ {
		mark := "✓"
		if item == 10 || item == 28 { // of the console
			mark = "–"
		}
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^ +%d %s `, item, mark)).MatchString(printed) {
			t.Errorf("item %d is not marked %s", item, mark)
		}
	}
	if t.Failed() {
		t.Log(printed)
	}
}

// TestWalkThroughScriptFails runs it on a service that is not as it should be: it
// says so and leaves what it has not created alone.
func TestWalkThroughScriptFails(t *testing.T) {
	t.Parallel()
	s := start(t)
	call(t, s.client().CreateLocation, &gamelift.CreateLocationInput{LocationName: new("custom-home-desktop")})
	printed, err := walkScript(t, s.environ(), "--existing")
	if err == nil || !strings.Contains(printed, " 5 ✗ ") || !strings.Contains(printed, "not reached") {
		t.Errorf("got %v\n%s", err, printed)
	}
	if n := len(call(t, s.client().ListLocations, &gamelift.ListLocationsInput{}).Locations); n != 1 {
		t.Errorf("%d locations afterwards, want 1", n)
	}
}
