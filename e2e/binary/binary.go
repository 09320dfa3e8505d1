// Package binary builds muster for the tests that need it as a process of its own.
package binary

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Build builds the binary into a directory and returns its path.
func Build(ctx context.Context, dir string) (path string, err error) {
	path = filepath.Join(dir, "muster")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/muster-gg/muster/cmd/muster").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}
