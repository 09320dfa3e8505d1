package server

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/atomicfile"
	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/listen/localca"
)

// InitCluster prepares the data directory out/NODE of each node of a cluster: all get the same secret and the same CA.
// Existing directories stay as they are, and the others get their files: so nodes are added later, and an interrupted
// call is repeated. If existing directories differ, it fails and writes nothing.
//
// made are the directories that were written to.
func InitCluster(out string, nodes []string, now time.Time) (made []string, err error) {
	if err := checkNodes(nodes); err != nil {
		return nil, err
	}
	var dirs []string
	for _, node := range nodes {
		dir := filepath.Join(out, node)
		if err := CheckData(dir); err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	secret, authority := sharedSecret(), sharedAuthority(now)
	if err := errors.Join(secret.find(dirs), authority.find(dirs)); err != nil {
		return nil, err
	}
	if err := errors.Join(checkLost(secret.missing), checkUnnamed(out, secret)); err != nil {
		return nil, err
	}
	for _, s := range []*share{secret, authority} {
		if err := s.copyToMissing(); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		return !slices.Contains(secret.missing, dir) && !slices.Contains(authority.missing, dir)
	}), nil
}

func checkNodes(nodes []string) error {
	if len(nodes) == 0 {
		return errors.New("no nodes: name each node of the cluster")
	}
	for i, node := range nodes {
		switch {
		case !config.NodeName.MatchString(node):
			return fmt.Errorf("node name %q: use 1 to 64 letters, digits, - and _", node)
		case slices.Contains(nodes[:i], node):
			return fmt.Errorf("node %s is named twice: names must be unique", node)
		}
	}
	return nil
}

// A share is a set of files that all nodes of a cluster have in common.
type share struct {
	files []string // in a data directory; the last is written last, and marks the share as complete
	draw  func(dir string) error
	check func(dir string) error

	source  string   // a directory with the share; may be ""
	missing []string // directories without it
}

func sharedSecret() *share {
	return &share{
		files: []string{"region.secret"},
		draw: func(dir string) error {
			_, err := loadSecret(filepath.Join(dir, "region.secret"))
			return err
		},
		check: func(dir string) error {
			secret, err := os.ReadFile(filepath.Join(dir, "region.secret"))
			if err == nil && len(secret) != credentials.SecretSize {
				err = fmt.Errorf("%s: region.secret has %d bytes instead of %d: restore it, or delete it if no "+
					"node ran with it",
					dir, len(secret), credentials.SecretSize)
			}
			return err
		},
	}
}

func sharedAuthority(now time.Time) *share {
	return &share{
		files: []string{filepath.Join("tls", "ca.key"), filepath.Join("tls", "ca.pem")},
		draw:  func(dir string) error { return localca.CreateCA(filepath.Join(dir, "tls"), now) },
		check: func(dir string) error {
			_, err := localca.Node(filepath.Join(dir, "tls"), func() time.Time { return now })
			return err
		},
	}
}

// last returns the file that marks the share as complete.
func (s *share) last() string { return s.files[len(s.files)-1] }

// find finds the directories with the share, and rejects invalid or different ones.
func (s *share) find(dirs []string) (all error) {
	for _, dir := range dirs {
		has, err := exists(filepath.Join(dir, s.last()))
		switch {
		case err != nil:
		case !has:
			s.missing = append(s.missing, dir)
		case s.source == "":
			s.source, err = dir, s.check(dir)
		default:
			if err = s.check(dir); err == nil {
				err = s.compare(dir)
			}
		}
		all = errors.Join(all, err)
	}
	return all
}

func (s *share) compare(dir string) error {
	for _, file := range s.files {
		one, err := os.ReadFile(filepath.Join(s.source, file))
		if err != nil {
			return err
		}
		other, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		if !bytes.Equal(one, other) {
			return fmt.Errorf("%s and %s differ in %s, which must be the same on all nodes: "+
				"name nodes of one cluster, or move the wrong directory away", s.source, dir, file)
		}
	}
	return nil
}

// copyToMissing copies the share to where it is missing, and creates it if there is none.
func (s *share) copyToMissing() error {
	for _, dir := range s.missing {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, s.last())), 0o700); err != nil {
			return err
		}
		if s.source == "" {
			if err := s.draw(dir); err != nil {
				return err
			}
			s.source = dir
			continue
		}
		for _, file := range s.files {
			if err := copyShared(filepath.Join(s.source, file), filepath.Join(dir, file)); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyShared copies a small file. All but certificates are readable by their owner alone.
func copyShared(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(to, data, 0o600); err != nil || filepath.Ext(to) != ".pem" {
		return err
	}
	return os.Chmod(to, 0o644)
}

// checkLost rejects directories of nodes that ran, but whose secret is missing.
func checkLost(withoutSecret []string) error {
	for _, dir := range withoutSecret {
		for _, name := range []string{identityFile, journalDir} {
			ran, err := exists(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			if ran {
				return fmt.Errorf("%s has %s but no region.secret, without which its data is useless: "+
					"restore that file, or move the directory away", dir, name)
			}
		}
	}
	return nil
}

// checkUnnamed refuses to create a secret if there are other directories with one: the new nodes would form a different
// cluster.
func checkUnnamed(out string, secret *share) error {
	if secret.source != "" {
		return nil
	}
	entries, err := os.ReadDir(out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		dir := filepath.Join(out, e.Name())
		if has, _ := exists(filepath.Join(dir, secret.last())); has { // an error means it is no directory
			return fmt.Errorf("%s belongs to an unnamed node: name it too, so that the new nodes join its cluster, "+
				"or choose another directory for the new nodes", dir)
		}
	}
	return nil
}

func exists(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
