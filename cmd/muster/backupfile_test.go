package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/muster-gg/muster/internal/backup"
)

// encryptedTo returns content as age encrypts it.
func encryptedTo(t *testing.T, content []byte, to ...age.Recipient) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := age.Encrypt(&b, to...)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readBackup reads a file twice.
func readBackup(name string, identities ...string) (content []byte, err error) {
	i := &backupIdentities{files: identities}
	err = i.with(name, func(file *io.SectionReader) error {
		if _, err := io.Copy(io.Discard, file); err != nil {
			return err
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		content, err = io.ReadAll(file)
		return err
	})
	return content, err
}

func TestReadBackupFile(t *testing.T) {
	content := bytes.Repeat([]byte("content "), 25_000) // several chunks of age
	mine, other := newIdentity(t), newIdentity(t)
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, text string) string { return writeFile(t, name, text) }
	encrypted := string(encryptedTo(t, content, mine.Recipient()))
	quantum := string(encryptedTo(t, content, hybrid.Recipient()))
	key, otherKey := file("key", mine.String()), file("other", other.String())
	both := string(encryptedTo(t, content, other.Recipient(), mine.Recipient()))
	for name, test := range map[string]struct {
		file       string
		identities []string
		want       string // part of the error; "": it is read
	}{
		"not encrypted":               {string(content), nil, ""},
		"not encrypted, and a key":    {string(content), []string{key}, ""},
		"empty":                       {"", nil, ""},
		"encrypted":                   {encrypted, []string{key}, ""},
		"to two recipients":           {both, []string{key}, ""},
		"the second of two keys":      {encrypted, []string{otherKey, key}, ""},
		"two keys in a file":          {encrypted, []string{file("two", other.String()+"\n"+mine.String())}, ""},
		"to a post-quantum recipient": {quantum, []string{file("pq", hybrid.String())}, ""},
		"without a key":               {encrypted, nil, "backup: the backup is encrypted: name the file"},
		"the key of another":          {encrypted, []string{otherKey}, "encrypted to others than the given identities"},
		"a missing file of keys":      {encrypted, []string{key + ".none"}, "--identity " + key + ".none: "},
		"a recipient as key": {encrypted, []string{file("public", mine.Recipient().String())},
			"unknown identity type: give one identity a line, AGE-SECRET-KEY-1…"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readBackup(file("backup", test.file), test.identities...)
			switch {
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %q", err, test.want)
			case test.want == "" && (err != nil || test.file != "" && !bytes.Equal(got, content)):
				t.Errorf("read %d bytes: %v", len(got), err)
			}
		})
	}
	if _, err := readBackup(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestDamagedEncryptedBackup: no byte of a file can be changed or cut off unnoticed.
func TestDamagedEncryptedBackup(t *testing.T) {
	const chunk = 64<<10 + 16 // of age, with its tag
	content := bytes.Repeat([]byte("content "), 25_000)
	mine := newIdentity(t)
	key := writeFile(t, "key", mine.String())
	encrypted := encryptedTo(t, content, mine.Recipient())
	header := len(encrypted) - len(content) - 4*16
	name := filepath.Join(t.TempDir(), "backup")
	refused := func(what string, at int, file []byte) {
		t.Helper()
		if err := os.WriteFile(name, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readBackup(name, key); err == nil || at >= header && !errors.Is(err, backup.ErrDamaged) {
			t.Errorf("%s at %d: %v", what, at, err)
		}
	}
	places := []int{len(ageMagic), header / 2, header, header + 1, header + chunk - 1, header + chunk,
		header + 2*chunk + 99, len(encrypted) - 1}
	for _, at := range places {
		changed := bytes.Clone(encrypted)
		changed[at] ^= 1
		refused("changed", at, changed)
		refused("cut off", at, encrypted[:at])
	}
	refused("extended", len(encrypted), append(bytes.Clone(encrypted), 0))
	swapped := bytes.Clone(encrypted)
	copy(swapped[header:], encrypted[header+chunk:header+2*chunk])
	copy(swapped[header+chunk:], encrypted[header:header+chunk])
	refused("swapped", header, swapped)
}
