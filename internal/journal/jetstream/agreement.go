package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// agreementBucket is the bucket of the values that all nodes share.
const agreementBucket = "muster-region"

// An Agreement stores values that all nodes share, by subject.
type Agreement struct{ bucket jetstream.KeyValue }

// Agreement opens it, and waits until a majority of the nodes is up.
func (e *Engine) Agreement(ctx context.Context) (*Agreement, error) {
	return gather(ctx, e, "bucket "+agreementBucket, func(ctx context.Context) (*Agreement, error) {
		bucket, err := e.js.KeyValue(ctx, agreementBucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			bucket, err = e.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
				Bucket: agreementBucket, Description: "what all nodes agree on", Replicas: e.cfg.replicas(),
			})
		}
		return &Agreement{bucket}, err
	})
}

// Read returns the value of a subject, which may not be the newest; revision 0 if there is none.
func (a *Agreement) Read(ctx context.Context, subject string) (value []byte, revision uint64, err error) {
	entry, err := a.bucket.Get(ctx, subject)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	return entry.Value(), entry.Revision(), nil
}

// Write writes the value of a subject if it still has the given revision, and returns the new one. Revision 0 means
// that there is no value.
func (a *Agreement) Write(ctx context.Context, subject string, value []byte, revision uint64) (uint64, error) {
	if revision == 0 {
		return a.bucket.Create(ctx, subject, value)
	}
	return a.bucket.Update(ctx, subject, value, revision)
}

// Amend changes the value of a subject. change receives the present value, nil if there is none, and returns the new
// one. It is called again if another node wrote meanwhile, and its error ends the call. The last value that change
// received was the newest at some moment of the call, even if it changed nothing. Amend waits until a majority of the
// nodes is up.
func (e *Engine) Amend(ctx context.Context, subject string, change func(value []byte) ([]byte, error)) error {
	a, err := e.Agreement(ctx)
	if err != nil {
		return err
	}
	_, err = gather(ctx, e, subject, func(ctx context.Context) (struct{}, error) {
		value, revision, err := a.Read(ctx, subject)
		if err != nil {
			return struct{}{}, err
		}
		if value, err = change(value); err != nil {
			return struct{}{}, err
		}
		_, err = a.Write(ctx, subject, value, revision)
		if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			err = fmt.Errorf("%w: another node has written", nats.ErrTimeout) // gather retries
		}
		return struct{}{}, err
	})
	return err
}
