package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-gg/muster/e2e/clients"
)

// TestManagedScript runs examples/managed/run.sh as a reader does.
func TestManagedScript(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=" + clients.AWSCLI(t, nil).Path()}
	printed, err := runScript(t, filepath.Join("..", "examples", "managed", "run.sh"), environ)
	if err != nil || !strings.HasSuffix(printed, "\nEverything was as it must be.\n") {
		t.Errorf("the script ended with %v\n%s", err, printed)
	}
}
