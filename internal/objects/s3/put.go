package s3

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/muster-gg/muster/internal/objects"
)

const (
	metaHeader = "X-Amz-Meta-"
	copySource = "X-Amz-Copy-Source"

	// maxMetadata is the maximum size of the metadata of a user, names and values, in bytes. Source: Amazon S3 user
	// guide, "Working with object metadata".
	maxMetadata = 2 << 10

	defaultType = "binary/octet-stream"
)

// putObject serves PutObject and CopyObject.
func (q *request) putObject(ctx context.Context) error {
	if q.r.Header.Get(copySource) != "" {
		return q.copyObject(ctx)
	}
	if q.r.Header.Get("If-Match") != "" || q.r.Header.Get("If-None-Match") != "" {
		return notImplemented("Conditional writes are not implemented.")
	}
	o, err := q.described()
	if err != nil {
		return err
	}
	if err := q.Catalog.Check(ctx, q.bucket, q.key); err != nil {
		return err
	}
	w, p, err := q.store("")
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := w.Commit(); err != nil {
		return err
	}
	o.Hash, o.Size, o.ETag = w.SHA256(), w.Size(), w.MD5()
	if p.algorithm != "" {
		o.Checksums = map[string]string{string(p.algorithm): p.checksum}
	}
	if err := q.Catalog.Put(ctx, o); err != nil {
		return err
	}
	h := q.w.Header()
	h.Set("ETag", quoted(o.ETag))
	setChecksums(h, o.Checksums)
	return q.answer(http.StatusOK, nil)
}

// described returns an object as far as the headers describe it.
func (q *request) described() (o objects.Object, err error) {
	encoding := strings.ToLower(q.r.Header.Get("Content-Encoding"))
	if encoding = strings.Trim(strings.ReplaceAll(encoding, "aws-chunked", ""), ", "); encoding != "" {
		return o, notImplemented("The Content-Encoding '%.64s' is not stored. Upload without it.", encoding)
	}
	o = objects.Object{Bucket: q.bucket, Key: q.key, ContentType: q.r.Header.Get("Content-Type"),
		Modified: q.Clock.Now().UTC()}
	if o.ContentType == "" {
		o.ContentType = defaultType
	}
	size := 0
	for name, values := range q.r.Header {
		if short, ok := strings.CutPrefix(name, metaHeader); ok {
			if o.Metadata == nil {
				o.Metadata = map[string]string{}
			}
			short, value := strings.ToLower(short), strings.Join(values, ",")
			o.Metadata[short] = value
			size += len(short) + len(value)
		}
	}
	if size > maxMetadata {
		return o, objects.Errorf(objects.MetadataTooLarge, "Your metadata headers have %d bytes, more than %d.", size,
			maxMetadata)
	}
	return o, nil
}

type copyResult struct {
	XMLName      struct{} `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CopyObjectResult"`
	LastModified string
	ETag         string
	checksums
}

// copyObject serves CopyObject: the copy refers to the same bytes.
func (q *request) copyObject(ctx context.Context) error {
	for name := range q.r.Header {
		if strings.HasPrefix(name, copySource+"-If-") {
			return notImplemented("Conditional copies are not implemented.")
		}
	}
	described, err := q.described()
	if err != nil {
		return err
	}
	bucket, key, err := q.source()
	if err != nil {
		return err
	}
	if err := q.caller.Allow(ctx, "s3:GetObject", bucket, key); err != nil {
		return err
	}
	o, err := q.Catalog.Object(ctx, bucket, key)
	if err != nil {
		return err
	}
	if err := q.Store.Renew(o.Hash); errors.Is(err, fs.ErrNotExist) { // deleted since
		return objects.Errorf(objects.NoSuchKey, "The source of the copy does not exist.")
	} else if err != nil {
		return err
	}
	o.Bucket, o.Key, o.Modified = q.bucket, q.key, described.Modified
	if strings.EqualFold(q.r.Header.Get("X-Amz-Metadata-Directive"), "REPLACE") {
		o.ContentType, o.Metadata = described.ContentType, described.Metadata
	}
	if err := q.Catalog.Put(ctx, o); err != nil {
		return err
	}
	q.xml(http.StatusOK, copyResult{LastModified: xmlTime(o.Modified), ETag: quoted(o.ETag),
		checksums: checksumsOf(o.Checksums)})
	return nil
}

// source returns the bucket and key of the object to copy.
func (q *request) source() (bucket, key string, err error) {
	path, version, _ := strings.Cut(q.r.Header.Get(copySource), "?")
	if version != "" && version != "versionId=null" {
		return "", "", notImplemented("Versions of objects are not implemented.")
	}
	path, err = url.PathUnescape(strings.TrimPrefix(path, "/"))
	bucket, key, _ = strings.Cut(path, "/")
	if err != nil || bucket == "" || key == "" {
		return "", "", objects.Errorf(objects.InvalidArgument,
			"x-amz-copy-source must be the bucket and the encoded key of an object, with '/' between them.")
	}
	return bucket, key, checkName(bucket, key)
}

// deleteObject serves DeleteObject.
func (q *request) deleteObject(ctx context.Context) error {
	if err := q.Catalog.Delete(ctx, q.bucket, q.key); err != nil {
		return err
	}
	return q.answer(http.StatusNoContent, nil)
}

// maxDeletes is the maximum number of keys of DeleteObjects. Source: Amazon S3 API reference, DeleteObjects.
const maxDeletes = 1000

type deleteResult struct {
	XMLName struct{} `xml:"http://s3.amazonaws.com/doc/2006-03-01/ DeleteResult"`
	Deleted []deletedKey
	Error   []deleteError
}

type deletedKey struct{ Key string }

type deleteError struct{ Key, Code, Message string }

// deleteObjects serves DeleteObjects.
func (q *request) deleteObjects(ctx context.Context) error {
	body, release, err := q.small()
	if err != nil {
		return err
	}
	defer release()
	var input struct {
		Quiet  bool
		Object []struct{ Key, VersionID string }
	}
	if err := readXML(body, &input); err != nil {
		return err
	}
	if n := len(input.Object); n == 0 || n > maxDeletes {
		return objects.Errorf(objects.MalformedXML, "The list of objects must have 1 to %d keys.", maxDeletes)
	}
	var result deleteResult
	for _, o := range input.Object {
		err := q.caller.Allow(ctx, "s3:DeleteObject", q.bucket, o.Key)
		if err == nil {
			err = q.Catalog.Delete(ctx, q.bucket, o.Key)
		}
		switch refusal, ok := errors.AsType[*objects.Error](err); {
		case ok && refusal.Code == objects.NoSuchBucket:
			return err
		case ok:
			result.Error = append(result.Error, deleteError{o.Key, string(refusal.Code), refusal.Message})
		case err != nil:
			return err
		case !input.Quiet:
			result.Deleted = append(result.Deleted, deletedKey{o.Key})
		}
	}
	q.xml(http.StatusOK, result)
	return nil
}
