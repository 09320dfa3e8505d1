package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// agreementBucket is the bucket of what the nodes agree on.
const agreementBucket = "muster-region"

// An Agreement is where nodes write down what all of them must know: values by subject.
type Agreement struct{ bucket jetstream.KeyValue }

// Agreement opens it. It waits until the cluster has gathered.
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

// Read gives the value of a subject, which may be older than the newest; revision 0 when
// there is none.
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

// Write writes the value of a subject if it still has a revision, and returns the new one.
// Revision 0 is that of a subject without a value.
func (a *Agreement) Write(ctx context.Context, subject string, value []byte, revision uint64) (uint64, error) {
	if revision == 0 {
		return a.bucket.Create(ctx, subject, value)
	}
	return a.bucket.Update(ctx, subject, value, revision)
}

// Amend changes the value of a subject. change gets the present value, nil when there is none, and
// returns the new one; it is called again when another node has written meanwhile, and its error ends
// the call. What change saw last was the newest value at some moment of the call, also if it changed
// nothing. Amend waits until the cluster has gathered.
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
			err = fmt.Errorf("%w: another node has written", nats.ErrTimeout) // it is tried again
		}
		return struct{}{}, err
	})
	return err
}
