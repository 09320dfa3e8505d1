package control

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/objects"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// An ObjectCatalog is the buckets and objects of a region for the endpoint of S3. The bucket of builds exists always:
// it has the uploaded objects of builds, each of which can be put once.
type ObjectCatalog struct{ *Plane }

var _ objects.Catalog = ObjectCatalog{}

// Buckets implements objects.Catalog. It does not list the bucket of builds, which on AWS is the service's own.
func (c ObjectCatalog) Buckets(context.Context) (buckets []objects.Bucket, err error) {
	for _, b := range c.Catalog().Buckets() {
		buckets = append(buckets, objects.Bucket{Name: b.Name, Created: b.Created.Time()})
	}
	return buckets, nil
}

// CreateBucket implements objects.Catalog.
func (c ObjectCatalog) CreateBucket(ctx context.Context, name string) error {
	if name == c.buildBucket() {
		return objects.Errorf(objects.BucketAlreadyOwned, "Bucket %s has the builds of this region.", name)
	}
	return c.change(ctx, objects.BucketAlreadyOwned, catalog.CreateBucket{Name: name})
}

// DeleteBucket implements objects.Catalog.
func (c ObjectCatalog) DeleteBucket(ctx context.Context, name string) error {
	if name == c.buildBucket() {
		return objects.Errorf(objects.AccessDenied, "Bucket %s has the builds of this region.", name)
	}
	return c.change(ctx, objects.BucketNotEmpty, catalog.DeleteBucket{Name: name})
}

// change changes the catalog. conflict is the code of a Conflict.
func (c ObjectCatalog) change(ctx context.Context, conflict objects.Code, command catalog.Command) error {
	if !c.keepsObjects() {
		return objects.Errorf(objects.NotImplemented, noObjects)
	}
	return s3Error(c.Change(ctx, command), conflict)
}

// s3Error converts an error of the catalog, in which NotFound is of the bucket.
func s3Error(err error, conflict objects.Code) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	var code objects.Code
	switch f.Kind {
	case fault.NotFound:
		code = objects.NoSuchBucket
	case fault.Conflict:
		code = conflict
	case fault.AccessDenied:
		code = objects.AccessDenied
	case fault.LimitExceeded, fault.InvalidRequest:
		code = objects.InvalidRequest
	case fault.ServiceUnavailable, fault.Throttling:
		code = objects.ServiceUnavailable
	default:
		return err
	}
	return &objects.Error{Code: code, Message: f.Message, Err: f.Err}
}

// Bucket implements objects.Catalog.
func (c ObjectCatalog) Bucket(_ context.Context, name string) (objects.Bucket, error) {
	if name == c.buildBucket() {
		return objects.Bucket{Name: name, Created: time.Unix(0, 0).UTC()}, nil
	}
	b, ok := c.Catalog().Bucket(name)
	if !ok {
		return objects.Bucket{}, objects.Errorf(objects.NoSuchBucket, "Bucket %s not found", name)
	}
	return objects.Bucket{Name: b.Name, Created: b.Created.Time()}, nil
}

// Object implements objects.Catalog.
func (c ObjectCatalog) Object(ctx context.Context, bucket, key string) (objects.Object, error) {
	if _, err := c.Bucket(ctx, bucket); err != nil {
		return objects.Object{}, err
	}
	within, name, ok := c.stored(bucket, key)
	if o, found := c.Catalog().Object(within, name); ok && found {
		return c.shown(o), nil
	}
	return objects.Object{}, objects.Errorf(objects.NoSuchKey, "Bucket %s has no object %s", bucket, key)
}

// stored returns bucket and key of an object in the catalog; ok is false for a key that no build has.
func (c ObjectCatalog) stored(bucket, key string) (within, name string, ok bool) {
	if bucket != c.buildBucket() {
		return bucket, key, true
	}
	build, ok := c.buildOfKey(key)
	return "", build, ok
}

func (c ObjectCatalog) shown(o *catalog.Object) objects.Object {
	to := objects.Object{Bucket: o.Bucket, Key: o.Key, Hash: o.Hash, Size: o.Size, ETag: o.ETag,
		ContentType: o.ContentType, Modified: o.Modified.Time(), Checksums: textMap(o.Checksums),
		Metadata: textMap(o.Metadata)}
	if o.Bucket == "" {
		to.Bucket, to.Key = c.buildBucket(), c.buildKey(o.Key)
	}
	return to
}

func textMap(texts []catalog.ObjectText) map[string]string {
	to := make(map[string]string, len(texts))
	for _, t := range texts {
		to[t.Name] = t.Value
	}
	return to
}

func textList(texts map[string]string) (to []catalog.ObjectText) {
	for name, value := range texts {
		to = append(to, catalog.ObjectText{Name: name, Value: value})
	}
	return to
}

// Put implements objects.Catalog. For a build it returns when the build is READY or FAILED, or after a while.
func (c ObjectCatalog) Put(ctx context.Context, o objects.Object) error {
	bucket, key, ok := c.stored(o.Bucket, o.Key)
	if !ok {
		return noBuild(o.Key)
	}
	put := catalog.PutObject{Object: catalog.Object{Bucket: bucket, Key: key, Hash: o.Hash, Size: o.Size, ETag: o.ETag,
		ContentType: o.ContentType, Checksums: textList(o.Checksums), Metadata: textList(o.Metadata)}}
	if err := c.spreadObject(ctx, o.Hash); err != nil {
		return s3Error(tooFewCopies(err), objects.InternalError)
	}
	if bucket != "" {
		return c.change(ctx, objects.InternalError, put)
	}
	ended := c.builds.watch(key)
	if err := c.change(ctx, objects.InternalError, put); err != nil {
		c.builds.ended(key)
		return uploadError(o.Key, err)
	}
	c.awaitCheck(ctx, ended)
	return nil
}

func noBuild(key string) error {
	return objects.Errorf(objects.AccessDenied, "There is no build with the key %s. Create it by CreateBuild.", key)
}

// uploadError converts the error of an upload: there is no build instead of no bucket.
func uploadError(key string, err error) error {
	if objects.CodeOf(err) == objects.NoSuchBucket {
		return noBuild(key)
	}
	return err
}

// Check implements objects.Catalog.
func (c ObjectCatalog) Check(_ context.Context, bucket, key string) error {
	if !c.keepsObjects() {
		return objects.Errorf(objects.NotImplemented, noObjects)
	}
	within, name, ok := c.stored(bucket, key)
	if !ok {
		return noBuild(key)
	}
	err := s3Error(c.Catalog().CheckPut(within, name), objects.InternalError)
	if within == "" {
		return uploadError(key, err)
	}
	return err
}

// Delete implements objects.Catalog.
func (c ObjectCatalog) Delete(ctx context.Context, bucket, key string) error {
	if bucket == c.buildBucket() {
		return objects.Errorf(objects.AccessDenied, "The object belongs to a build. Delete the build by DeleteBuild.")
	}
	err := c.change(ctx, objects.InternalError, catalog.DeleteObject{Bucket: bucket, Key: key})
	if err == nil {
		c.builds.sweep()
	}
	return err
}

// List implements objects.Catalog.
func (c ObjectCatalog) List(ctx context.Context, bucket, prefix, after string, limit int) ([]objects.Object, error) {
	if _, err := c.Bucket(ctx, bucket); err != nil {
		return nil, err
	}
	if bucket == c.buildBucket() {
		return c.listBuilds(prefix, after, limit), nil
	}
	return c.shownAll(c.Catalog().Objects(bucket, prefix, after, limit)), nil
}

func (c ObjectCatalog) shownAll(list []*catalog.Object) []objects.Object {
	to := make([]objects.Object, len(list))
	for i, o := range list {
		to[i] = c.shown(o)
	}
	return to
}

// listBuilds lists the uploaded objects of builds. All their keys have the account in front of the id.
func (c ObjectCatalog) listBuilds(prefix, after string, limit int) []objects.Object {
	common := c.buildKey("")
	ids, within := strings.CutPrefix(prefix, common)
	switch {
	case within:
	case strings.HasPrefix(common, prefix):
		ids = ""
	default:
		return nil
	}
	last, within := strings.CutPrefix(after, common)
	switch {
	case within:
	case after < common:
		last = ""
	default:
		return nil
	}
	return c.shownAll(c.Catalog().Objects("", ids, last, limit))
}

// ObjectKeys opens access keys for the endpoint of S3: those of the region, and those for the upload of a build.
type ObjectKeys struct{ *Plane }

var _ objects.Keys = ObjectKeys{}

// Open implements objects.Keys.
func (k ObjectKeys) Open(_ context.Context, accessKey, sessionToken string) (string, objects.Caller, error) {
	if u, ok := k.OpenUpload(accessKey, sessionToken); ok {
		if !k.cfg.Clock.Now().Before(u.Expires) {
			return "", nil, objects.Errorf(objects.ExpiredToken,
				"The credentials for the upload have expired. Request others by RequestUploadCredentials.")
		}
		return u.Secret, uploader{k.Plane, u.Build}, nil
	}
	credential, ok := k.Secret(accessKey, sessionToken)
	switch {
	case !ok && sessionToken != "":
		return "", nil, objects.Errorf(objects.InvalidToken,
			"The session token is not valid for the access key, or what it was issued for has ended.")
	case !ok:
		return "", nil, objects.Errorf(objects.InvalidAccessKeyID, "The access key does not exist in this region.")
	case !credential.Expires.IsZero() && !k.cfg.Clock.Now().Before(credential.Expires):
		return "", nil, objects.Errorf(objects.ExpiredToken, "The session token has expired.")
	}
	id := k.IdentityOf(sigv4.Caller{AccessKeyID: accessKey, Principal: credential.Principal,
		Identity: credential.Identity})
	return credential.Secret, person{k.Plane, id}, nil
}

// Anyone returns the caller of requests to an open service, who may do everything.
func (k ObjectKeys) Anyone() objects.Caller { return person{k.Plane, nil} }

// A person is a caller for whom policies decide.
type person struct {
	*Plane
	id *access.Identity
}

// Allow implements objects.Caller.
func (c person) Allow(ctx context.Context, action, bucket, key string) error {
	known, ok := policy.ActionOf(action)
	if !ok {
		return objects.Errorf(objects.AccessDenied, "The action %s is unknown.", action)
	}
	return s3Error(c.Plane.Allow(c.id, access.OriginOf(ctx), known, c.objectARN(bucket, key)), objects.AccessDenied)
}

// objectARN returns the ARN of an object, of a bucket if there is no key, or "*" if there is no bucket.
func (c person) objectARN(bucket, key string) string {
	if bucket == "" {
		return "*"
	}
	name := "arn:" + arn.Partition(c.cfg.Region) + ":s3:::" + bucket
	if key == "" {
		return name
	}
	return name + "/" + key
}

// An uploader is a caller with the credentials for the upload of a build.
type uploader struct {
	*Plane
	build string
}

// uploadActions are what an upload needs.
var uploadActions = []string{"s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"}

// Allow implements objects.Caller.
func (u uploader) Allow(_ context.Context, action, bucket, key string) error {
	if !slices.Contains(uploadActions, action) || bucket != u.buildBucket() || key != u.buildKey(u.build) {
		return objects.Errorf(objects.AccessDenied, "The credentials are for the upload of %s to %s/%s alone.", u.build,
			u.buildBucket(), u.buildKey(u.build))
	}
	return uploadError(key, s3Error(u.Catalog().CheckPut("", u.build), objects.AccessDenied))
}
