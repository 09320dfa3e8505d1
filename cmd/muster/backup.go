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

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/server"
)

func (a *app) backupCommand() *cobra.Command {
	b := &operatorCall{app: a}
	command := &cobra.Command{
		Use:   "backup FILE",
		Short: "Take a backup of a running service",
		Long: `Take a backup of a whole region into one file, while its service runs. The file shows
the region as it was at one moment: all that was acknowledged before the command began
is in it. "muster restore" makes a data directory of it. Of a cluster, ask any node.

The file is checked before it gets its name, and must not exist. It holds the region's
secret: whoever has it can make access keys and tokens that open the service. Keep it as
you keep passwords. It is readable by its owner alone.

Endpoint and credentials are those of the AWS CLI's environment, as for "muster match
explain"; the access key must be the one that the service made at its first start.`,
		Example: `  muster backup "muster-$(date +%F).backup"
  muster backup region.backup --endpoint https://games.example.com:9080 --ca-file ca.pem`,
		Args: cobra.ExactArgs(1),
		RunE: b.run(func(ctx context.Context, args []string) error { return b.backup(ctx, args[0]) }),
	}
	b.addFlags(command)
	return command
}

// backup takes one under another name, and gives it this one when it is whole.
func (o *operatorCall) backup(ctx context.Context, file string) (err error) {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s exists already: name a new file", file))
	}
	if o.inTheClear() {
		fmt.Fprintln(o.stderr, "muster: the backup, with the region's secret, crosses the network in plain text: use an https endpoint")
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
	var size int64
	err = o.get(ctx, "/v1/backup", func(from io.Reader) (err error) {
		size, err = io.Copy(to, from)
		return err
	})
	if err != nil {
		return fmt.Errorf("take the backup: %w", err)
	}
	checked, err := checkFile(to)
	if err != nil {
		return fmt.Errorf("check the backup: %w", err)
	}
	if err := errors.Join(to.Sync(), to.Close()); err != nil {
		return err
	}
	if err := os.Rename(to.Name(), file); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.stdout, "%s holds %s, %d bytes.\n", file, outlineBackup(checked), size)
	return err
}

// ignoreClosed drops the error of a file that was closed before.
func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// checkFile reads what was written.
func checkFile(f *os.File) (muster.Restored, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return muster.Restored{}, err
	}
	return server.CheckBackup(f)
}

// inTheClear reports whether others may listen to the call.
func (o *operatorCall) inTheClear() bool {
	u, err := url.Parse(o.service)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return ip == nil || !ip.IsLoopback()
}

func outlineBackup(r muster.Restored) string {
	return fmt.Sprintf("region %s of account %s as it was at %s (%s, %s, %s of the history, %s of the event feed)",
		r.Region, r.Account, r.Taken.Format(time.RFC3339), counted(r.Shards, "shard"), counted(r.Records, "journal record"),
		countedEntries(r.History), counted(r.Events, "record"))
}

func countedEntries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func (a *app) restoreCommand() *cobra.Command {
	var data string
	command := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a data directory of a backup",
		Long: `Make a data directory of a backup that "muster backup" took. No service is needed. The
directory must not exist or be empty; it is there when all of the backup is in it,
and not before. All of the file is checked first.

Then "muster serve --data DIR" goes on from where the region was, with the same access
keys, tokens and certificate authority; its region, account and number of shards must be
those of the backup. The service that the backup was taken of must not run any more.

The service runs alone, also when the backup is of a cluster. "muster cluster init --backup"
makes the data directories of a cluster.`,
		Example: `  muster restore --data /var/lib/muster region.backup`,
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			if data == "" {
				return &misuseError{errors.New("--data is missing: name the directory to make")}
			}
			restored, err := muster.Restore(command.Context(), data, args[0], nil)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s holds %s.\nStart it: muster serve --data %s --region %s --account %s --shards %d\n",
				data, outlineBackup(restored), data, restored.Region, restored.Account, restored.Shards)
			return err
		},
	}
	command.Flags().StringVar(&data, "data", "", "data directory to make (required)")
	return command
}
