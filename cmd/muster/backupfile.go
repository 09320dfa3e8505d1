package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/muster-gg/muster/internal/backup"
)

// backupRecipients are the flags for the public keys to which a backup is encrypted.
type backupRecipients struct{ keys, files []string }

func (r *backupRecipients) addFlags(command *cobra.Command) {
	f := command.Flags()
	f.StringArrayVar(&r.keys, "encrypt-to", nil, "age recipient to encrypt to, age1…; may be repeated")
	f.StringArrayVar(&r.files, "encrypt-to-file", nil, "file of age recipients, one a line; may be repeated")
}

// parse returns the recipients; none: the backup is not encrypted.
func (r *backupRecipients) parse() (all []age.Recipient, err error) {
	for _, key := range r.keys {
		one, err := age.ParseRecipients(strings.NewReader(key))
		if err != nil { // without the key: it may be a secret one
			return nil, errors.New("--encrypt-to must be an age recipient, age1…, as age-keygen prints it")
		}
		all = append(all, one...)
	}
	for _, file := range r.files {
		some, err := parseKeys(file, age.ParseRecipients)
		if err != nil {
			return nil, fmt.Errorf("--encrypt-to-file %s: %w: give one age recipient a line, age1…", file, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// parseKeys reads a file of keys.
func parseKeys[K any](file string, parse func(io.Reader) ([]K, error)) ([]K, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parse(bytes.NewReader(data))
}

// backupIdentities are the flags for the secret keys of encrypted backups.
type backupIdentities struct{ files []string }

func (i *backupIdentities) addFlags(command *cobra.Command) {
	command.Flags().StringArrayVar(&i.files, "identity", nil,
		"file of age identities for an encrypted backup; may be repeated")
}

// with calls read with the content of a backup, which is decrypted as it is read. Damage is backup.ErrDamaged.
func (i *backupIdentities) with(name string, read func(content *io.SectionReader) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	content, err := i.open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	err = read(content)
	if errors.Is(err, backup.ErrDamaged) || errors.Is(err, backup.ErrNoBackup) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// ageMagic begins a file that age encrypted.
// Source: C2SP, age-encryption.org/v1.
const ageMagic = "age-encryption.org/"

func (i *backupIdentities) open(file *os.File) (*io.SectionReader, error) {
	about, err := file.Stat()
	if err != nil {
		return nil, err
	}
	size := about.Size()
	start, err := io.ReadAll(io.NewSectionReader(file, 0, int64(len(ageMagic))))
	if err != nil {
		return nil, err
	}
	if string(start) != ageMagic {
		return io.NewSectionReader(file, 0, size), nil
	}
	keys, err := i.parse()
	if err != nil {
		return nil, err
	}
	decrypted, size, err := age.DecryptReaderAt(file, size, keys...)
	if _, other := errors.AsType[*age.NoIdentityMatchError](err); other {
		return nil, errors.New("the backup is encrypted to others than the given identities: " +
			"name the file with the secret key of one of its recipients with --identity")
	}
	if err != nil {
		return nil, damage(err)
	}
	return io.NewSectionReader(decryptedFile{decrypted}, 0, size), nil
}

// parse returns the identities.
func (i *backupIdentities) parse() (all []age.Identity, err error) {
	if len(i.files) == 0 {
		return nil, errors.New("the backup is encrypted: " +
			"name the file with the secret key of one of its recipients with --identity")
	}
	for _, file := range i.files {
		some, err := parseKeys(file, age.ParseIdentities)
		if err != nil {
			return nil, fmt.Errorf("--identity %s: %w: give one identity a line, AGE-SECRET-KEY-1…, "+
				"as age-keygen writes it", file, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// A decryptedFile reports damage as such.
type decryptedFile struct{ io.ReaderAt }

func (d decryptedFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := d.ReaderAt.ReadAt(p, at)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damage(err)
	}
	return n, err
}

// damage marks an error of decrypting, unless the file could not be read.
func damage(err error) error {
	if _, unreadable := errors.AsType[*os.PathError](err); unreadable {
		return err
	}
	return fmt.Errorf("%w: %w", backup.ErrDamaged, err)
}
