package catalog

import (
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Bucket is a set of objects.
type Bucket struct {
	Name    string     `cbor:"1,keyasint,omitempty"`
	Created event.Time `cbor:"2,keyasint,omitempty"`
}

// An Object is the metadata of bytes that the object store has. It is in a bucket, or is the uploaded object of a
// build.
type Object struct {
	Bucket      string       `cbor:"1,keyasint,omitempty"` // "" for that of a build
	Key         string       `cbor:"2,keyasint,omitempty"` // of a build its id
	Hash        string       `cbor:"3,keyasint,omitempty"` // SHA-256 of the bytes in hex
	Size        int64        `cbor:"4,keyasint,omitempty"` // in bytes
	ETag        string       `cbor:"5,keyasint,omitempty"` // without quotes
	ContentType string       `cbor:"6,keyasint,omitempty"`
	Modified    event.Time   `cbor:"7,keyasint,omitempty"`
	Checksums   []ObjectText `cbor:"8,keyasint,omitempty"` // base64 by algorithm
	Metadata    []ObjectText `cbor:"9,keyasint,omitempty"` // given by the client
}

// An ObjectText is a named text of an object. An object has them sorted by name.
type ObjectText struct {
	Name  string `cbor:"1,keyasint,omitempty"`
	Value string `cbor:"2,keyasint,omitempty"`
}

func (t ObjectText) compare(u ObjectText) int { return strings.Compare(t.Name, u.Name) }

// CreateBucket creates a bucket. Conflict if it exists, LimitExceeded.
type CreateBucket struct {
	Name string `cbor:"1,keyasint,omitzero"`
}

// DeleteBucket deletes an empty bucket. NotFound, Conflict if it has objects.
type DeleteBucket struct {
	Name string `cbor:"1,keyasint,omitzero"`
}

// PutObject stores or replaces the metadata of an object whose bytes are durable; its time is that of the command.
// NotFound for the bucket or build, LimitExceeded, AccessDenied for a build that has its bytes.
type PutObject struct{ Object }

// DeleteObject deletes an object of a bucket; a missing one is no error. NotFound for the bucket.
type DeleteObject struct {
	Bucket string `cbor:"1,keyasint,omitzero"`
	Key    string `cbor:"2,keyasint,omitzero"`
}

// BucketCreated follows CreateBucket.
type BucketCreated struct{ Bucket }

// BucketDeleted follows DeleteBucket.
type BucketDeleted struct {
	Name string `cbor:"1,keyasint,omitempty"`
}

// ObjectPut follows PutObject. A build has the bytes from then on.
type ObjectPut struct{ Object }

// ObjectDeleted follows DeleteObject.
type ObjectDeleted struct {
	Bucket string `cbor:"1,keyasint,omitempty"`
	Key    string `cbor:"2,keyasint,omitempty"`
}

func (c CreateBucket) decide(s *State, now event.Time) ([]Event, error) {
	if _, ok := s.buckets.Get(c.Name); ok {
		return nil, fault.New(fault.Conflict, "Bucket %s already exists", c.Name)
	}
	if err := checkLimit(s.buckets.Len(), s.limits.Buckets, "buckets"); err != nil {
		return nil, err
	}
	return []Event{&BucketCreated{Bucket{Name: c.Name, Created: now}}}, nil
}

func (c DeleteBucket) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.buckets.Get(c.Name); !ok {
		return nil, bucketNotFound(c.Name)
	}
	if len(s.Objects(c.Name, "", "", 1)) > 0 {
		return nil, fault.New(fault.Conflict, "Bucket %s has objects", c.Name)
	}
	return []Event{&BucketDeleted{Name: c.Name}}, nil
}

func (c PutObject) decide(s *State, now event.Time) ([]Event, error) {
	if err := s.CheckPut(c.Bucket, c.Key); err != nil {
		return nil, err
	}
	o := c.Object
	o.Modified = now
	o.Checksums, o.Metadata = sorted(o.Checksums, ObjectText.compare), sorted(o.Metadata, ObjectText.compare)
	return []Event{&ObjectPut{o}}, nil
}

// CheckPut returns the error of PutObject for a bucket and key; "" and an id for the object of a build.
func (s *State) CheckPut(bucket, key string) error {
	if bucket == "" {
		return s.checkUpload(key)
	}
	if _, ok := s.buckets.Get(bucket); !ok {
		return bucketNotFound(bucket)
	}
	if _, replaced := s.objects.Get(join(bucket, key)); replaced {
		return nil
	}
	return checkLimit(s.objects.Len(), s.limits.Objects, "objects")
}

// checkUpload returns an error unless the bytes of a build are missing.
func (s *State) checkUpload(id string) error {
	switch b, ok := s.builds.Get(id); {
	case !ok:
		return buildNotFound(id)
	case b.Hash != "" || b.Status != BuildInitialized:
		return fault.New(fault.AccessDenied,
			"Build %s has its files, and they cannot be changed. Create another build.", id)
	}
	return nil
}

func (c DeleteObject) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.buckets.Get(c.Bucket); !ok {
		return nil, bucketNotFound(c.Bucket)
	}
	if _, ok := s.objects.Get(join(c.Bucket, c.Key)); !ok {
		return nil, nil
	}
	return []Event{&ObjectDeleted{Bucket: c.Bucket, Key: c.Key}}, nil
}

func (e *BucketCreated) apply(s *State) { s.buckets.Set(e.Name, &e.Bucket) }

func (e *BucketDeleted) apply(s *State) {
	s.buckets.Delete(e.Name)
	for _, o := range entries(&s.objects, e.Name) {
		s.deleteObject(o.Bucket, o.Key)
	}
}

func (e *ObjectPut) apply(s *State) { s.putObject(&e.Object) }

func (e *ObjectDeleted) apply(s *State) { s.deleteObject(e.Bucket, e.Key) }

// putObject stores an object, if its bucket or build exists. A build has the bytes from then on.
func (s *State) putObject(o *Object) {
	if o.Bucket == "" {
		b, ok := s.builds.Get(o.Key)
		if !ok {
			return
		}
		if b.Hash == "" {
			changed := *b
			changed.Hash, changed.Size = o.Hash, o.Size
			s.putBuild(&changed)
		}
	} else if _, ok := s.buckets.Get(o.Bucket); !ok {
		return
	}
	if old, ok := s.objects.Set(join(o.Bucket, o.Key), o); ok {
		s.refer(old.Hash, -1)
	}
	s.refer(o.Hash, +1)
}

func (s *State) deleteObject(bucket, key string) {
	if old, ok := s.objects.Delete(join(bucket, key)); ok {
		s.refer(old.Hash, -1)
	}
}

// refer counts the records that refer to bytes.
func (s *State) refer(hash string, change int) {
	if hash == "" {
		return
	}
	n, _ := s.referred.Get(hash)
	if n += change; n == 0 {
		s.referred.Delete(hash)
		return
	}
	s.referred.Set(hash, n)
}

// referAll is refer for several hashes.
func (s *State) referAll(hashes []string, change int) {
	for _, hash := range hashes {
		s.refer(hash, change)
	}
}

func bucketNotFound(name string) error { return fault.New(fault.NotFound, "Bucket %s not found", name) }

// Bucket finds a bucket.
func (s *State) Bucket(name string) (*Bucket, bool) { return s.buckets.Get(name) }

// Buckets returns all buckets by name.
func (s *State) Buckets() []*Bucket { return s.buckets.Values() }

// Object finds an object of a bucket, or for "" the uploaded one of a build.
func (s *State) Object(bucket, key string) (*Object, bool) { return s.objects.Get(join(bucket, key)) }

// Objects returns at most limit objects of a bucket whose keys begin with a prefix and are greater than after, in
// order.
func (s *State) Objects(bucket, prefix, after string, limit int) (objects []*Object) {
	within := join(bucket, prefix)
	s.objects.Ascend(join(bucket, max(prefix, after)), func(key string, o *Object) bool {
		if !strings.HasPrefix(key, within) || len(objects) == limit {
			return false
		}
		if after == "" || o.Key > after {
			objects = append(objects, o)
		}
		return true
	})
	return objects
}

// ReferredHashes returns the hashes of all bytes to which builds and objects refer.
func (s *State) ReferredHashes() []string { return s.referred.Keys() }

// Referred reports whether a build or an object refers to bytes by their hash.
func (s *State) Referred(hash string) bool {
	_, ok := s.referred.Get(hash)
	return ok
}
