package jetstream

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/muster-gg/muster/internal/journal"
)

// checkEnd compares the journal with its newest intact snapshot and with the newest acknowledged record. It logs what
// is missing, or fails with ErrMissing if the rest gives no state.
func (j *shardJournal) checkEnd(ctx context.Context, snapshot uint64) error {
	acknowledged := j.mark.last()
	state, err := j.stateWith(ctx, max(snapshot, acknowledged))
	if err != nil {
		return err
	}
	name, first, end := j.name, state.FirstSeq, state.LastSeq
	log := j.engine.cfg.Log.With("stream", name)
	switch {
	case snapshot == 0 && end > 0 && first > 1:
		return fmt.Errorf("%w: no snapshot is intact, and the journal %s starts with record %d",
			journal.ErrMissing, name, first)
	case snapshot == 0 && end == 0 && acknowledged > 0:
		return fmt.Errorf("%w: all %d records of the journal %s are missing", journal.ErrMissing, acknowledged, name)
	case end < snapshot && j.engine.cfg.clustered(): // a majority is never behind a snapshot
		return fmt.Errorf("%w: the journal %s ends with record %d, and the newest snapshot includes record %d",
			journal.ErrMissing, name, end, snapshot)
	case end < snapshot:
		log.Error("the end of the journal is missing: the journal continues after the newest snapshot",
			"journal_end", end, "snapshot_seq", snapshot)
		if err := j.stream.Purge(ctx, jetstream.WithPurgeSequence(snapshot+1)); err != nil {
			return fmt.Errorf("move the end of the journal to record %d: %w", snapshot, err)
		}
		end = snapshot
	}
	if end < acknowledged {
		log.Error("acknowledged records are missing: the end of the journal was truncated or damaged, and the "+
			"service continues without them. "+
			"To get them back, stop it and restore the data directory from a backup",
			"first_missing", end+1, "last_missing", acknowledged, "missing", acknowledged-end)
	}
	if end == acknowledged {
		return nil
	}
	if err := j.mark.settle(end); err != nil {
		return fmt.Errorf("write the mark of stream %s: %w", name, err)
	}
	return nil
}
