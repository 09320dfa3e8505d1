package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/muster-gg/muster/internal/agent/supervisor"
	"github.com/muster-gg/muster/internal/atomicfile"
)

// Modes of directories. The user that runs game servers passes through those with its files, and lists none.
const (
	privateMode = 0o700
	passMode    = 0o711
)

// owner returns the ids of the user that runs game servers; "": that of this process does.
func (m *Instances) owner() string {
	if u := m.cfg.User; u != nil {
		return fmt.Sprintf("%d:%d", u.UID, u.GID)
	}
	return ""
}

// admit lets the user that runs game servers pass through the directories of the machine to its own, and checks that it
// can.
func (m *Instances) admit() error {
	if m.cfg.User == nil {
		return nil
	}
	last := filepath.Join(m.cfg.Data, "i")
	for _, dir := range []string{m.cfg.Data, filepath.Join(m.cfg.Data, "b"), last} {
		if err := m.makeDir(dir); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(last)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if validID(e.Name()) {
			if err := os.Chmod(filepath.Join(last, e.Name()), passMode); err != nil {
				return err
			}
		}
	}
	probe := exec.CommandContext(context.Background(), "/bin/sh", "-c", ":")
	groupOf(probe)
	supervisor.RunAs(probe, m.cfg.User)
	probe.Dir = last
	err = probe.Run()
	if errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("run game servers as user %d: the agent must be run by root, with the capabilities of root "+
			"to change the users of programs and files: %w", m.cfg.User.UID, err)
	}
	if err != nil {
		return fmt.Errorf("user %d, which runs game servers, cannot reach %s: choose a data directory whose parents "+
			"it may pass through, such as one below /var/lib: %w", m.cfg.User.UID, last, err)
	}
	return nil
}

// makeDir makes a directory with files of the user that runs game servers.
func (m *Instances) makeDir(dir string) error {
	if m.cfg.User == nil {
		return os.MkdirAll(dir, privateMode)
	}
	return errors.Join(os.MkdirAll(dir, passMode), os.Chmod(dir, passMode))
}

// writeFile replaces a secret file for game servers. Its directory is not theirs, so that they cannot have links there.
func (m *Instances) writeFile(path string, data []byte) error {
	if u := m.cfg.User; u != nil {
		return atomicfile.WriteFor(path, data, 0o600, int(u.UID), int(u.GID))
	}
	return atomicfile.Write(path, data, 0o600)
}

// copyTree makes a directory with the files of a build for game servers, durably.
func (m *Instances) copyTree(ctx context.Context, tree, to string) error {
	if err := cloneTree(ctx, tree, to); err != nil {
		return err
	}
	if err := m.giveTree(to); err != nil {
		return err
	}
	return syncTree(to)
}

// giveTree gives a directory with all that is in it to the user that runs game servers.
func (c *Config) giveTree(dir string) (err error) {
	if c.User == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(name, int(c.User.UID), int(c.User.GID))
	})
}

func (m *Instances) giveTree(dir string) error { return m.cfg.giveTree(dir) }
