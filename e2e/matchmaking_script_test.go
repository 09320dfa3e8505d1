package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMatchmakingScript runs examples/matchmaking/run.sh as a reader does.
func TestMatchmakingScript(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), "bash", filepath.Join("..", "examples", "matchmaking", "run.sh"))
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) } // it ends what it has started
	command.WaitDelay = 20 * time.Second
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	if printed := output.String(); err != nil || !strings.HasSuffix(printed, "\nEverything was as it must be.\n") {
		t.Errorf("the script ended with %v\n%s", err, printed)
	}
}
