package server

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-gg/muster/internal/journal"
)

func TestAdvise(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"full, from the engine": {fmt.Errorf("append: %w: write 1.blk: no space left on device", journal.ErrBroken),
			"the disk is full: free some space for /data"},
		"full, from the system": {fmt.Errorf("write: %w", syscall.ENOSPC), "the disk is full"},
		"read-only": {errors.New("journal: remove index.db: read-only file system"),
			"the data directory /data is read-only: mount"},
		"failing": {fmt.Errorf("append: %w: input/output error", journal.ErrBroken),
			"the disk of /data fails"},
		"incomplete": {fmt.Errorf("replay: %w", journal.ErrMissing), "restore a backup in its place"},
		"other":      {errors.New("listen: address in use"), "listen: address in use"},
	} {
		t.Run(name, func(t *testing.T) {
			got := advise(c.err, "/data")
			if !strings.Contains(got.Error(), c.want) || !errors.Is(got, c.err) {
				t.Errorf("got %q, want %q and the cause", got, c.want)
			}
		})
	}
	full := fmt.Errorf("append: Filestore [KV_X]: %w", syscall.ENOSPC)
	if got := advise(full, "/data").Error(); strings.Contains(got, "Filestore") {
		t.Errorf("got %q, with the text of the engine", got)
	}
	if err := advise(nil, "/data"); err != nil {
		t.Error(err)
	}
}
