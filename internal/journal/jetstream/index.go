package jetstream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// dropIndexes deletes the indexes of the journals, so that the server reads the files themselves. It would trust an
// index that looks newer than the files; if those were truncated since, the journal would have a hole at its end.
// Timestamps do not show that: they are as coarse as the system's clock tick. Snapshots keep journals short, so reading
// them takes little time.
func (e *Engine) dropIndexes() error {
	indexes, err := filepath.Glob(filepath.Join(e.cfg.Dir, "jetstream", "*", "streams", "MUSTER_SHARD_*",
		"msgs", "index.db"))
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if err := os.Remove(index); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove index: %w", err)
		}
	}
	return nil
}
