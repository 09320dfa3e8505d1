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

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/localca"
)

// InitCluster prepares the data directory out/NODE of each node of a cluster: all get
// the same secret and the same certificate authority. Directories that have these,
// also of nodes that ran, stay as they are and the others get what those have: so nodes are
// added later, and a call that was interrupted is repeated. What does not agree is
// refused, and nothing is written.
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
		if err := s.give(); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		return !slices.Contains(secret.missing, dir) && !slices.Contains(authority.missing, dir)
	}), nil
}

func checkNodes(nodes []string) error {
	if len(nodes) == 0 {
		return errors.New("no node is named: name each node of the cluster")
	}
	for i, node := range nodes {
		switch {
		case !config.NodeName.MatchString(node):
			return fmt.Errorf("the name of a node is %q: use 1 to 64 letters, digits, - and _", node)
		case slices.Contains(nodes[:i], node):
			return fmt.Errorf("node %s is named twice: each node has a name of its own", node)
		}
	}
	return nil
}

// A share is something that all nodes of a cluster have.
type share struct {
	files []string // in a data directory. The last is written last: with it all are there
	draw  func(dir string) error
	check func(dir string) error

	source  string   // a directory that has it; "": there is none
	missing []string // the directories that lack it
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
			if err == nil && len(secret) != control.SecretSize {
				err = fmt.Errorf("%s: region.secret has %d bytes instead of %d: restore it, or delete it if no node ran with it", dir, len(secret), control.SecretSize)
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

// last is the file that says that the share is there.
func (s *share) last() string { return s.files[len(s.files)-1] }

// find looks which directories have the share, and refuses what is broken or not the same in all.
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
			return fmt.Errorf("%s and %s differ in %s, which all nodes of a cluster have in common: name nodes of one cluster, or move the wrong directory away", s.source, dir, file)
		}
	}
	return nil
}

// give puts the share where it is missing, and draws it when nobody has it.
func (s *share) give() error {
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

// copyShared copies a small file. What is no certificate is for its owner alone.
func copyShared(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := writeDurably(to, data); err != nil || filepath.Ext(to) != ".pem" {
		return err
	}
	return os.Chmod(to, 0o644)
}

// checkLost refuses directories of nodes that ran with a secret that is gone.
func checkLost(withoutSecret []string) error {
	for _, dir := range withoutSecret {
		for _, name := range []string{identityFile, journalDir} {
			ran, err := exists(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			if ran {
				return fmt.Errorf("%s has %s but no region.secret, without which nothing in it is of use: restore that file, or move the directory away", dir, name)
			}
		}
	}
	return nil
}

// checkUnnamed refuses to draw a secret beside directories that have one and were not
// named: new nodes would be a cluster of their own.
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
		if has, _ := exists(filepath.Join(dir, secret.last())); has { // an error: it is no directory
			return fmt.Errorf("%s is of a node that was not named: name it too, so that the new nodes join its cluster, or choose another directory for theirs", dir)
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
