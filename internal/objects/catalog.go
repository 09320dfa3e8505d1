// Package objects stores the bytes of objects as files, named by the SHA-256 of their content. What it stores for which
// bucket and key is the catalog's, see [Catalog].
package objects

import (
	"context"
	"time"
)

// An Object is what the catalog knows of one object of a bucket.
type Object struct {
	Bucket, Key string
	Hash        string // SHA-256 of the bytes in hex: the name of the blob
	Size        int64  // in bytes
	ETag        string // without quotes
	ContentType string
	Modified    time.Time

	// Checksums by algorithm in S3's spelling, such as "CRC64NVME"; base64 as S3 shows them. That of a multipart upload
	// ends in "-n" if it is the checksum of the checksums of n parts.
	Checksums map[string]string

	Metadata map[string]string // by the name after x-amz-meta-, in lower case
}

// A Bucket is a set of objects.
type Bucket struct {
	Name    string
	Created time.Time
}

// A Catalog stores metadata. It is safe for concurrent use. Methods that change it return when the change is durable.
// An error that a client sees is an *Error; others are internal.
type Catalog interface {
	// Buckets returns all buckets by name, in byte order.
	Buckets(ctx context.Context) ([]Bucket, error)

	// CreateBucket fails with BucketAlreadyOwnedByYou for a bucket that exists.
	CreateBucket(ctx context.Context, name string) error

	// DeleteBucket deletes an empty bucket. It fails with NoSuchBucket or BucketNotEmpty.
	DeleteBucket(ctx context.Context, name string) error

	// Bucket fails with NoSuchBucket.
	Bucket(ctx context.Context, name string) (Bucket, error)

	// Object fails with NoSuchBucket or NoSuchKey.
	Object(ctx context.Context, bucket, key string) (Object, error)

	// Put stores or replaces an object. It is called after the bytes are durable. It may refuse: NoSuchBucket, and
	// AccessDenied for a sealed build.
	Put(ctx context.Context, o Object) error

	// Check reports whether Put would be refused. It is called before the bytes are read.
	Check(ctx context.Context, bucket, key string) error

	// Delete deletes an object. It is no error if there is none. It fails with NoSuchBucket, and AccessDenied.
	Delete(ctx context.Context, bucket, key string) error

	// List returns at most limit objects whose keys begin with prefix and are greater than after, by key in byte order.
	// It fails with NoSuchBucket.
	List(ctx context.Context, bucket, prefix, after string, limit int) (objects []Object, err error)
}

// A Caller is the verified identity of a request.
type Caller interface {
	// Allow reports whether the caller may carry out an action, such as "s3:PutObject", on a bucket and key. The key is
	// "" for actions on a bucket, and the bucket "" for s3:ListAllMyBuckets. The error is an *Error with the code
	// AccessDenied.
	Allow(ctx context.Context, action, bucket, key string) error
}

// Keys opens access keys.
type Keys interface {
	// Open returns the secret of an access key, and its caller. sessionToken is "" for long-lived keys. The error is an
	// *Error with the code InvalidAccessKeyId, ExpiredToken or InvalidToken otherwise.
	Open(ctx context.Context, accessKey, sessionToken string) (secret string, caller Caller, err error)
}
