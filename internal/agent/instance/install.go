package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
	"github.com/muster-gg/muster/internal/agent/supervisor"
)

const (
	// installLimit is how long an installer may take.
	installLimit = 30 * time.Minute
	// outputDelay is how long the output of an installer is read after its end, if what it has started holds it open.
	outputDelay = 5 * time.Second
)

// findInstaller returns the path of the installer of a build for this system; "" if it has none. Source: developer
// guide, "Add a build install script".
func findInstaller(tree string) string {
	name := "install.sh"
	if runtime.GOOS == "windows" {
		name = "install.bat"
	}
	path := filepath.Join(tree, name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

// installFor installs a build with the keys of an instance's role, as the user that runs installers, which gets the
// files, and can reach them meanwhile.
func (b *builds) installFor(ctx context.Context, i *instance, w protocol.Instance, dir, installer string) (
	err error) {
	if b.cfg.User != nil {
		if err := errors.Join(b.cfg.giveTree(filepath.Dir(installer)), os.Chmod(dir, passMode)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.Chmod(dir, privateMode)) }()
	}
	environ, keyed := i.role(ctx, w, "installers")
	err = b.install(ctx, dir, installer, environ)
	if f, is := errors.AsType[*failure](err); is && !keyed {
		f.Message += " (the service has issued no keys of the role in time)"
		f.keyless = true
	}
	return err
}

// install runs the installer of a build in its directory, and keeps the output.
func (b *builds) install(ctx context.Context, dir, installer string, environ []string) error {
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	output := new(newest)
	command := exec.CommandContext(ctx, installer)
	if runtime.GOOS != "windows" {
		program := `exec "$0"` // by a shell, for a script without #!
		if info, err := os.Stat(installer); err == nil && info.Mode().Perm()&0o111 == 0 {
			program = `. "$0"`
		}
		command = exec.CommandContext(ctx, "/bin/sh", "-c", program, installer)
	}
	command.Dir, command.Env, command.WaitDelay = filepath.Dir(installer), environ, outputDelay
	command.Stdout, command.Stderr = output, output
	groupOf(command)
	supervisor.RunAs(command, b.cfg.User)
	err := command.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	writeErr := os.WriteFile(filepath.Join(dir, outputFile), output.bytes(), 0o600)
	switch {
	case errors.Is(err, exec.ErrWaitDelay), err == nil:
		return writeErr
	case errors.Is(err, context.Canceled):
		return err
	}
	reason := err.Error()
	if line := output.lastLine(); line != "" {
		reason += ", its last line: " + line
	}
	return errors.Join(writeErr, failed(codeInstaller, "%s", fmt.Sprint(filepath.Base(installer), ": ", reason)))
}

// A newest keeps the newest maxOutput bytes of what is written to it.
type newest struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (n *newest) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kept = append(n.kept, p...)
	if len(n.kept) > 2*maxOutput {
		n.kept = append(n.kept[:0], n.kept[len(n.kept)-maxOutput:]...)
	}
	return len(p), nil
}

func (n *newest) bytes() []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.kept[max(0, len(n.kept)-maxOutput):]
}

func (n *newest) lastLine() string {
	text := strings.TrimSpace(string(n.bytes()))
	return cut(strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]), 200)
}
