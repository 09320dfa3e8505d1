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

// Agree gives what the first caller in the cluster has said about a subject: the value of
// this call, if that is the first.
func (e *Engine) Agree(ctx context.Context, subject string, value []byte) ([]byte, error) {
	a, err := e.Agreement(ctx)
	if err != nil {
		return nil, err
	}
	return gather(ctx, e, subject, func(ctx context.Context) ([]byte, error) {
		if _, err := a.Write(ctx, subject, value, 0); !errors.Is(err, jetstream.ErrKeyExists) {
			return value, err
		}
		said, revision, err := a.Read(ctx, subject)
		if err == nil && revision == 0 {
			return nil, fmt.Errorf("%w: a replica that is behind was asked", nats.ErrTimeout) // it is asked again
		}
		return said, err
	})
}
