package server

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/muster-gg/muster/internal/config"
)

// apiKeys returns the keys of the file and of the configuration, by name.
func apiKeys(c *config.Gateway) (map[string]string, error) {
	keys := maps.Clone(c.Keys)
	if c.KeysFile == "" {
		return keys, nil
	}
	data, err := os.ReadFile(c.KeysFile)
	if err != nil {
		return nil, fmt.Errorf("gateway-keys-file: %w", err)
	}
	if keys == nil {
		keys = map[string]string{}
	}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, key, ok := strings.Cut(line, ":")
		name, key = strings.TrimSpace(name), strings.TrimSpace(key)
		if _, again := keys[name]; !ok || name == "" || len(key) < minKey || again {
			return nil, fmt.Errorf("gateway-keys-file: line %d must be name:key with a unique name and a key of "+
				"at least %d "+
				"characters", number, minKey)
		}
		keys[name] = key
	}
	if len(keys) == 0 {
		return nil, errors.New("gateway-keys-file: the file has no keys")
	}
	return keys, nil
}

// idSecret returns the secret of the file, or else own.
func idSecret(c *config.Gateway, own []byte) ([]byte, error) {
	if c.SecretFile == "" {
		return own, nil
	}
	data, err := os.ReadFile(c.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("gateway-secret-file: %w", err)
	}
	if data = bytes.TrimSpace(data); len(data) < minKey {
		return nil, fmt.Errorf("gateway-secret-file: the file has %d characters; use at least %d random ones",
			len(data), minKey)
	}
	return data, nil
}

// minKey is the minimum length of a key that cannot be guessed.
const minKey = 16
