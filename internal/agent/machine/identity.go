package machine

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-gg/muster/internal/atomicfile"
)

// identityFile is the file of a machine's identity in its data directory.
const identityFile = "machine.json"

// errIdentity is in the error chain if the machine cannot join, however often it tries.
var errIdentity = errors.New("cannot join")

// An identity is what a machine is known by.
type identity struct {
	Name   string `json:"machine"`
	Region string `json:"region,omitempty"` // the id of the region; "": the machine has not joined
	Seed   []byte `json:"privateKey"`       // of the ed25519 key
}

// openIdentity reads the identity in a directory, or makes one with a new key. name may be "".
func openIdentity(data, name string) (id identity, err error) {
	path := filepath.Join(data, identityFile)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return newIdentity(data, name)
	case err != nil:
		return id, err
	}
	if err := json.Unmarshal(text, &id); err != nil || id.Name == "" || len(id.Seed) != ed25519.SeedSize {
		return id, fmt.Errorf("%s is damaged: restore it, or delete it and the machine, and join again", path)
	}
	if name != "" && name != id.Name {
		return id, fmt.Errorf("%w: %s is of machine %s, not of %s: choose another directory, or --name %[3]s",
			errIdentity, data, id.Name, name)
	}
	return id, nil
}

func newIdentity(data, name string) (id identity, err error) {
	if name == "" {
		if name, err = os.Hostname(); err != nil {
			return id, fmt.Errorf("name of the machine: %w", err)
		}
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return id, err
	}
	id = identity{Name: name, Seed: make([]byte, ed25519.SeedSize)}
	_, _ = rand.Read(id.Seed) // never fails
	return id, id.write(data)
}

// joined records the region, after which no token is needed.
func (id *identity) joined(data, region string) error {
	if id.Region == region {
		return nil
	}
	id.Region = region
	return id.write(data)
}

func (id *identity) write(data string) error {
	text, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(data, identityFile), append(bytes.TrimSpace(text), '\n'), 0o600)
}
