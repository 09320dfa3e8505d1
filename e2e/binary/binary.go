// Package binary builds programs of the service's module for the tests that need them as processes of their own.
package binary

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build builds muster into a directory, which must be an absolute path, and returns the binary's path.
func Build(ctx context.Context, dir string) (path string, err error) {
	path = filepath.Join(dir, "muster")
	return path, build(ctx, path, "./cmd/muster")
}

// BuildAll builds commands into a directory, which must be an absolute path. They are given as paths below the root of
// the repository.
func BuildAll(ctx context.Context, dir string, commands ...string) error {
	return build(ctx, dir+string(filepath.Separator), commands...)
}

func build(ctx context.Context, path string, commands ...string) error {
	root, err := Root(ctx)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", append([]string{"build", "-o", path}, commands...)...)
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
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
