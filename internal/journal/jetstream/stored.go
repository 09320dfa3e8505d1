package jetstream

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Version returns the version of the NATS server that the engine is connected to.
func (e *Engine) Version() string { return e.conn.ConnectedServerVersion() }

// Stored describes what is stored of a shard.
type Stored struct {
	Last     uint64 // the newest record of the journal
	Bytes    uint64 // of the journal
	Snapshot *StoredSnapshot
}

// StoredSnapshot describes the newest snapshot of a shard.
type StoredSnapshot struct {
	Seq   uint64 // the last record that it includes
	Bytes uint64
	Time  time.Time
}

// Stored asks the leaders of a shard's streams, once.
func (e *Engine) Stored(ctx context.Context, shard int) (Stored, error) {
	stream, err := e.js.Stream(ctx, streamName(shard))
	if err != nil {
		return Stored{}, fmt.Errorf("journal of shard %d: %w", shard, err)
	}
	state := stream.CachedInfo().State
	newest, err := snapshots{engine: e, bucket: bucketName(shard)}.newest(ctx)
	if err != nil {
		return Stored{}, fmt.Errorf("snapshots of shard %d: %w", shard, err)
	}
	return Stored{Last: state.LastSeq, Bytes: state.Bytes, Snapshot: newest}, nil
}

// newest returns the newest snapshot, without a look at its chunks: its metadata was written after them.
func (s snapshots) newest(ctx context.Context) (*StoredSnapshot, error) {
	stream, err := s.engine.js.Stream(ctx, "OBJ_"+s.bucket)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(s.metas()+">"))
	if err != nil {
		return nil, err
	}
	var name, subject string // names sort by the records that snapshots include
	for m := range info.State.Subjects {
		each, err := base64.URLEncoding.DecodeString(strings.TrimPrefix(m, s.metas()))
		if err == nil && string(each) > name {
			name, subject = string(each), m
		}
	}
	if subject == "" {
		return nil, nil
	}
	found, ok, err := s.object(ctx, stream, subject)
	if err != nil || !ok {
		return nil, err
	}
	return &StoredSnapshot{Seq: found.seq, Bytes: found.Size, Time: found.ModTime}, nil
}
