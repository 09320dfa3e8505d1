package jetstream

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// dropIndexes removes the indexes of the journals, so that the server reads the
// files themselves. It would believe an index that looks newer than they are;
// where they were cut off since, that leaves a hole at the end of the journal.
// The time stamps do not tell: they are as coarse as the system's clock tick. A
// journal is as short as its snapshots make it, and reading it takes little.
func (e *Engine) dropIndexes() error {
	indexes, err := filepath.Glob(filepath.Join(e.cfg.Dir, "jetstream", "*", "streams", "MUSTER_SHARD_*", "msgs", "index.db"))
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
