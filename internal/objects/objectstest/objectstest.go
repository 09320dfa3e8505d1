// Package objectstest has a catalog of objects, and access keys, in memory, for tests.
package objectstest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/objects"
)

// A Catalog is an objects.Catalog in memory. Its zero value is not usable, see [New].
type Catalog struct {
	clock clockwork.Clock

	mu      sync.Mutex
	buckets map[string]objects.Bucket
	objects map[name]objects.Object
	sealed  map[name]bool
}

type name struct{ bucket, key string }

// New returns a catalog with these buckets.
func New(clock clockwork.Clock, buckets ...string) *Catalog {
	c := &Catalog{clock: clock, buckets: map[string]objects.Bucket{}, objects: map[name]objects.Object{},
		sealed: map[name]bool{}}
	for _, b := range buckets {
		c.buckets[b] = objects.Bucket{Name: b, Created: clock.Now()}
	}
	return c
}

// Seal makes Put and Check refuse a key.
func (c *Catalog) Seal(bucket, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealed[name{bucket, key}] = true
}

// Len returns the number of objects.
func (c *Catalog) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.objects)
}

// Buckets implements objects.Catalog.
func (c *Catalog) Buckets(context.Context) ([]objects.Bucket, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.buckets), func(a, b objects.Bucket) int {
		return cmp.Compare(a.Name, b.Name)
	}), nil
}

// CreateBucket implements objects.Catalog.
func (c *Catalog) CreateBucket(_ context.Context, bucket string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.buckets[bucket]; ok {
		return objects.Errorf(objects.BucketAlreadyOwned, "The bucket %s exists.", bucket)
	}
	c.buckets[bucket] = objects.Bucket{Name: bucket, Created: c.clock.Now()}
	return nil
}

// DeleteBucket implements objects.Catalog.
func (c *Catalog) DeleteBucket(_ context.Context, bucket string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range c.objects {
		if n.bucket == bucket {
			return objects.Errorf(objects.BucketNotEmpty, "The bucket %s has objects.", bucket)
		}
	}
	if err := c.exists(bucket); err != nil {
		return err
	}
	delete(c.buckets, bucket)
	return nil
}

func (c *Catalog) exists(bucket string) error {
	if _, ok := c.buckets[bucket]; !ok {
		return objects.Errorf(objects.NoSuchBucket, "The bucket %s does not exist.", bucket)
	}
	return nil
}

// Bucket implements objects.Catalog.
func (c *Catalog) Bucket(_ context.Context, bucket string) (objects.Bucket, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buckets[bucket], c.exists(bucket)
}

// Object implements objects.Catalog.
func (c *Catalog) Object(_ context.Context, bucket, key string) (objects.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.exists(bucket); err != nil {
		return objects.Object{}, err
	}
	o, ok := c.objects[name{bucket, key}]
	if !ok {
		return o, objects.Errorf(objects.NoSuchKey, "The key %s does not exist.", key)
	}
	return o, nil
}

// Put implements objects.Catalog.
func (c *Catalog) Put(_ context.Context, o objects.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.check(o.Bucket, o.Key); err != nil {
		return err
	}
	c.objects[name{o.Bucket, o.Key}] = o
	return nil
}

// Check implements objects.Catalog.
func (c *Catalog) Check(_ context.Context, bucket, key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.check(bucket, key)
}

func (c *Catalog) check(bucket, key string) error {
	if c.sealed[name{bucket, key}] {
		return objects.Errorf(objects.AccessDenied, "The object %s is sealed.", key)
	}
	return c.exists(bucket)
}

// Delete implements objects.Catalog.
func (c *Catalog) Delete(_ context.Context, bucket, key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects, name{bucket, key})
	return c.exists(bucket)
}

// List implements objects.Catalog.
func (c *Catalog) List(_ context.Context, bucket, prefix, after string, limit int) (list []objects.Object, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, o := range c.objects {
		if n.bucket == bucket && strings.HasPrefix(n.key, prefix) && n.key > after {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b objects.Object) int { return cmp.Compare(a.Key, b.Key) })
	return list[:min(limit, len(list))], c.exists(bucket)
}

// Keys are access keys by id. They implement objects.Keys.
type Keys map[string]Key

// A Key is an access key.
type Key struct {
	Secret, Token string
	Expired       bool
	Deny          func(action, bucket, key string) bool // nil: nothing
}

// Open implements objects.Keys.
func (k Keys) Open(_ context.Context, id, token string) (secret string, caller objects.Caller, err error) {
	key, ok := k[id]
	switch {
	case !ok:
		return "", nil, objects.Errorf(objects.InvalidAccessKeyID, "The access key %s does not exist.", id)
	case key.Token != token:
		return "", nil, objects.Errorf(objects.InvalidToken, "The session token is invalid.")
	case key.Expired:
		return "", nil, objects.Errorf(objects.ExpiredToken, "The session token has expired.")
	}
	return key.Secret, key, nil
}

// Allow implements objects.Caller.
func (k Key) Allow(_ context.Context, action, bucket, key string) error {
	if k.Deny != nil && k.Deny(action, bucket, key) {
		return objects.Errorf(objects.AccessDenied, "%s is not allowed on %s/%s.", action, bucket, key)
	}
	return nil
}
