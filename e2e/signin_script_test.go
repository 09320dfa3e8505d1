package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSignInScript runs examples/walkthrough/run.sh as a reader does, with a command in place of a browser. The script
// takes the AWS CLI of the system if there is one: version 2 signs in itself.
func TestSignInScript(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs(filepath.Join("..", "examples", "walkthrough"))
	if err != nil {
		t.Fatal(err)
	}
	printed, err := runScript(t, filepath.Join(folder, "run.sh"), nil,
		"--browser-command", "bash "+filepath.Join(folder, "approve.sh"))
	if err != nil || !strings.HasSuffix(printed, "\nEverything was as it must be.\n") {
		t.Errorf("the script ended with %v\n%s", err, printed)
	}
}
