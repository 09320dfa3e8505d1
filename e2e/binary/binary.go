// Package binary builds programs of the service's module for the tests that need them as processes of their own.
package binary

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Build builds muster into a directory, which must be an absolute path, and returns the binary's path.
func Build(ctx context.Context, dir string) (path string, err error) {
	path = filepath.Join(dir, "muster")
	if runtime.GOOS == "windows" { // it has no cp
		return path, run(ctx, "build", "-o", path, "./cmd/muster")
	}
	// go run keeps the linked program in its cache, go build does not: several packages of tests link it once.
	return path, run(ctx, "run", "-exec", "cp", "./cmd/muster", path)
}

// BuildAll builds commands into a directory, which must be an absolute path. They are given as paths below the root of
// the repository.
func BuildAll(ctx context.Context, dir string, commands ...string) error {
	return run(ctx, append([]string{"build", "-o", dir + string(filepath.Separator)}, commands...)...)
}

// run runs go in the root of the repository.
func run(ctx context.Context, args ...string) error {
	root, err := Root(ctx)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// Root returns the root of the repository, where the service's module is.
func Root(ctx context.Context) (string, error) {
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/muster-gg/muster")
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go list -m: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
