package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/server"
)

func (a *app) backupCommand() *cobra.Command {
	b := &operatorCall{app: a}
	var builds bool
	var recipients backupRecipients
	command := &cobra.Command{
		Use:   "backup FILE",
		Short: "Take a backup of a running service",
		Long: `Back up a whole region to one file while its service runs. The file is a consistent
snapshot with everything that was acknowledged before the command began. "muster
restore" creates a data directory from it. In a cluster, call any node.

With --with-builds the file also has the bytes of builds and objects, which "muster
restore" puts into the object store. Without it, builds are FAILED after a restore,
until "objects/sha256" of the data directory is copied.

The file must not exist; it is checked before it gets its name. It contains the
region's secret, with which access keys and tokens can be made: protect it like a
password. It is readable by its owner alone.

With --encrypt-to or --encrypt-to-file the file is encrypted with age before it is
written. Only a secret key of one of the recipients decrypts it: "muster restore
--identity", or "age --decrypt".

Endpoint and credentials are those of the AWS CLI's environment or of --profile, as for
"muster match explain"; they need the action muster:BackupCreate, as the root key has.`,
		Example: `  muster backup "muster-$(date +%F).backup"
  muster backup region.backup --encrypt-to age1…
  muster backup region.backup --endpoint https://games.example.com:9080 --ca-file ca.pem`,
		Args: cobra.ExactArgs(1),
		RunE: b.run(func(ctx context.Context, args []string) error {
			to, err := recipients.parse()
			if err != nil {
				return &misuseError{err}
			}
			return b.backup(ctx, args[0], builds, to)
		}),
	}
	b.addFlags(command)
	recipients.addFlags(command)
	command.Flags().BoolVar(&builds, "with-builds", false, "with the bytes of builds and objects")
	return command
}

// backup writes to a temporary file, and renames it when it is complete.
func (o *operatorCall) backup(ctx context.Context, file string, builds bool, recipients []age.Recipient) (err error) {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s exists: name a new file", file))
	}
	if o.unencrypted() {
		fmt.Fprintln(o.stderr, "muster: the backup, with the region's secret, is sent "+
			"unencrypted: use an https endpoint")
	}
	to, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".partial-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreClosed(to.Close()), os.Remove(to.Name()))
		}
	}()
	var checked muster.Restored
	path := "/v1/backup"
	if builds {
		path += "?builds=true"
	}
	err = o.get(ctx, path, func(from io.Reader) (err error) {
		checked, err = writeBackup(to, from, recipients)
		return err
	})
	if err != nil {
		return fmt.Errorf("take the backup: %w", err)
	}
	about, err := to.Stat()
	if err != nil {
		return err
	}
	if err := errors.Join(to.Sync(), to.Close()); err != nil {
		return err
	}
	if err := os.Rename(to.Name(), file); err != nil {
		return err
	}
	encrypted := ""
	if len(recipients) > 0 {
		encrypted = ", encrypted to " + counted(len(recipients), "recipient")
	}
	_, err = fmt.Fprintf(o.stdout, "%s contains %s, %d bytes%s.\n", file, outlineBackup(checked), about.Size(),
		encrypted)
	return err
}

// writeBackup writes a backup to a file, encrypted if there are recipients, and checks it on the way: an encrypted one
// cannot be read back.
func writeBackup(to io.Writer, from io.Reader, recipients []age.Recipient) (checked muster.Restored, err error) {
	if len(recipients) == 0 {
		return server.CheckBackup(io.TeeReader(from, to))
	}
	encrypted, err := age.Encrypt(to, recipients...)
	if err != nil {
		return checked, fmt.Errorf("encrypt: %w", err)
	}
	if checked, err = server.CheckBackup(io.TeeReader(from, encrypted)); err != nil {
		return checked, err
	}
	return checked, encrypted.Close() // which writes the last chunk
}

// ignoreClosed ignores the error for a file that is already closed.
func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// unencrypted reports whether others could read the call.
func (o *operatorCall) unencrypted() bool {
	u, err := url.Parse(o.service)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return ip == nil || !ip.IsLoopback()
}

func outlineBackup(r muster.Restored) string {
	blobs := ""
	if r.Blobs > 0 {
		blobs = fmt.Sprintf(", %s of builds and objects with %d bytes", counted(r.Blobs, "file"), r.Bytes)
	}
	return fmt.Sprintf("region %s of account %s at %s (%s, %s, %s of the history, %s of the event feed%s)",
		r.Region, r.Account, r.Taken.Format(time.RFC3339), counted(r.Shards, "shard"),
		counted(r.Records, "journal record"),
		countedEntries(r.History), counted(r.Events, "record"), blobs)
}

func countedEntries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func (a *app) restoreCommand() *cobra.Command {
	var data string
	var identities backupIdentities
	command := &cobra.Command{
		Use:   "restore FILE",
		Short: "Create a data directory from a backup",
		Long: `Create a data directory from a file of "muster backup". No service is needed. The
directory must be missing or empty. The whole file is checked first, and the
directory gets its name only when it is complete.

Then "muster serve --data DIR" continues the region, with the same access keys, tokens
and CA. Its region, account and number of shards must be those of the backup, and the
original service must not run any more.

The service runs without a cluster, even if the backup is of one. "muster cluster init
--backup" creates the data directories of a cluster.

An encrypted backup needs --identity, the file with the secret key of a recipient. It
is decrypted as it is read; nothing else is written.`,
		Example: `  muster restore --data /var/lib/muster region.backup
  muster restore --data /var/lib/muster --identity key.txt region.backup`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if data == "" {
				return &misuseError{errors.New("--data is missing: name the directory to create")}
			}
			var restored muster.Restored
			err := identities.with(args[0], func(file *io.SectionReader) (err error) {
				restored, err = muster.Restore(command.Context(), data, file, nil)
				return err
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout,
				"%s contains %s.\nStart it: muster serve --data %s --region %s --account %s --shards %d\n",
				data, outlineBackup(restored), data, restored.Region, restored.Account, restored.Shards)
			return err
		},
	}
	command.Flags().StringVar(&data, "data", "", "data directory to create (required)")
	identities.addFlags(command)
	return command
}
