package control

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/objects"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// withObjects gives a world a store of objects.
func withObjects(t *testing.T) option {
	dir := t.TempDir()
	return func(w *world) {
		store, err := objects.Open(objects.Config{Dir: dir, Clock: w.clock, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		w.config.Objects, w.config.MaxBuildSize = store, 10<<20
	}
}

// archive returns a zip with one file.
func archive(t *testing.T, name, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	f, err := z.Create(name)
	if err == nil {
		_, err = io.WriteString(f, content)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// keep stores bytes, without metadata.
func (w *world) keep(data []byte) objects.Object {
	w.t.Helper()
	out, err := w.config.Objects.Create(0)
	if err == nil {
		_, err = out.Write(data)
	}
	if err = errors.Join(err, out.Commit()); err != nil {
		w.t.Fatal(err)
	}
	return objects.Object{Hash: out.SHA256(), Size: out.Size(), ETag: out.MD5()}
}

// put stores an object as the endpoint of S3 does.
func (w *world) put(bucket, key string, data []byte) error {
	w.t.Helper()
	o := w.keep(data)
	o.Bucket, o.Key, o.Checksums = bucket, key, map[string]string{"CRC32": "AAAAAA=="}
	return ObjectCatalog{w.Plane}.Put(w.ctx, o)
}

func (w *world) createBuild(in *wire.CreateBuildInput) *wire.CreateBuildOutput {
	w.t.Helper()
	out, err := w.CreateBuild(w.ctx, in)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) describeBuild(id string) *wire.Build {
	w.t.Helper()
	out, err := w.DescribeBuild(w.ctx, &wire.DescribeBuildInput{BuildId: id})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.Build
}

func TestUploadedBuild(t *testing.T) {
	w := newWorld(t, withObjects(t))
	out := w.createBuild(&wire.CreateBuildInput{Name: "arena", Tags: []wire.Tag{{Key: "stage", Value: "test"}}})
	id, at := out.Build.BuildId, out.StorageLocation
	if b := out.Build; b.Status != wire.BuildStatusInitialized || b.SizeOnDisk != wire.Some(int64(0)) ||
		b.OperatingSystem != wire.OperatingSystemAmazonLinux2023 || b.ServerSdkVersion != "4.0.2" ||
		b.BuildArn != "arn:aws:gamelift:us-west-2:111122223333:build/"+id {
		t.Errorf("%+v", b)
	}
	if at.Bucket != "gamelift-builds-us-west-2" || at.Key != testAccount+"/"+id ||
		!strings.HasPrefix(out.UploadCredentials.AccessKeyId, "ASIA") {
		t.Errorf("%+v, %+v", at, out.UploadCredentials)
	}
	if _, err := w.RequestUploadCredentials(w.ctx, &wire.RequestUploadCredentialsInput{BuildId: id}); err != nil {
		t.Error(err)
	}
	data := archive(t, "server", "code")
	if err := w.put(at.Bucket, at.Key, data); err != nil {
		t.Fatal(err)
	}
	if b := w.describeBuild(out.Build.BuildArn); b.Status != wire.BuildStatusReady ||
		b.SizeOnDisk != wire.Some(int64(len(data))) {
		t.Errorf("%+v", b)
	}
	sum := sha256.Sum256(data)
	view, err := w.BuildView(id)
	if err != nil || view.Files != 1 || view.Unpacked != 4 || view.Hash != hex.EncodeToString(sum[:]) ||
		len(view.Tree) != 64 || len(view.Tags) != 1 {
		t.Errorf("%+v, %v", view, err)
	}

	// The build is sealed.
	if err := w.put(at.Bucket, at.Key, data); objects.CodeOf(err) != objects.AccessDenied {
		t.Errorf("second upload: %v", err)
	}
	err = ObjectCatalog{w.Plane}.Check(w.ctx, at.Bucket, at.Key)
	if objects.CodeOf(err) != objects.AccessDenied || !strings.Contains(err.Error(), "cannot be changed") {
		t.Errorf("second upload: %v", err)
	}
	_, err = w.RequestUploadCredentials(w.ctx, &wire.RequestUploadCredentialsInput{BuildId: id})
	if !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("credentials: %v", err)
	}

	if _, err := w.UpdateBuild(w.ctx, &wire.UpdateBuildInput{BuildId: id, Version: "2"}); err != nil {
		t.Fatal(err)
	}
	if b := w.describeBuild(id); b.Name != "arena" || b.Version != "2" {
		t.Errorf("%+v", b)
	}
	if err := w.DeleteBuild(w.ctx, &wire.DeleteBuildInput{BuildId: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.DescribeBuild(w.ctx, &wire.DescribeBuildInput{BuildId: id}); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

func TestHostileBuild(t *testing.T) {
	w := newWorld(t, withObjects(t))
	out := w.createBuild(&wire.CreateBuildInput{OperatingSystem: wire.OperatingSystemWindows2022})
	if err := w.put(out.StorageLocation.Bucket, out.StorageLocation.Key, archive(t, "nul", "x")); err != nil {
		t.Fatal(err)
	}
	view, err := w.BuildView(out.Build.BuildId)
	if err != nil || view.Status != "FAILED" || !strings.Contains(view.Reason, "which Windows does not allow") {
		t.Errorf("%+v, %v", view, err)
	}
}

func TestBuildOfAnObject(t *testing.T) {
	w := newWorld(t, withObjects(t))
	c := ObjectCatalog{w.Plane}
	if err := c.CreateBucket(w.ctx, "games"); err != nil {
		t.Fatal(err)
	}
	if err := w.put("games", "a.zip", archive(t, "server", "code")); err != nil {
		t.Fatal(err)
	}
	from := func(bucket, key, version string) *wire.CreateBuildInput {
		return &wire.CreateBuildInput{StorageLocation: &wire.S3Location{Bucket: bucket, Key: key,
			ObjectVersion: version, RoleArn: "arn:aws:iam::111122223333:role/x"}}
	}
	out := w.createBuild(from("games", "a.zip", "null"))
	if out.UploadCredentials != nil || out.StorageLocation != nil {
		t.Errorf("%+v", out)
	}
	if err := c.Delete(w.ctx, "games", "a.zip"); err != nil { // the build has the bytes
		t.Fatal(err)
	}
	w.await("READY", func() bool { return w.describeBuild(out.Build.BuildId).Status == wire.BuildStatusReady })
	if b := w.describeBuild(out.Build.BuildId); b.SizeOnDisk != wire.Some(int64(0)) {
		t.Errorf("%+v", b)
	}
	if b := w.createBuild(from("games", "b.zip", "")).Build; b.Status != wire.BuildStatusFailed {
		t.Errorf("%+v", b)
	}
	for _, in := range []*wire.CreateBuildInput{from("games", "a.zip", "v1"), from("", "a.zip", ""),
		from("games", "", "")} {
		if _, err := w.CreateBuild(w.ctx, in); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%+v: %v", in.StorageLocation, err)
		}
	}
	list, err := w.ListBuilds(w.ctx, &wire.ListBuildsInput{Status: wire.BuildStatusFailed})
	if err != nil || len(list.Builds) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	list, err = w.ListBuilds(w.ctx, &wire.ListBuildsInput{Limit: wire.Some(int32(1))})
	if err != nil || len(list.Builds) != 1 || list.NextToken == "" {
		t.Fatalf("%+v, %v", list, err)
	}
	list, err = w.ListBuilds(w.ctx, &wire.ListBuildsInput{Limit: wire.Some(int32(1)), NextToken: list.NextToken})
	if err != nil || len(list.Builds) != 1 || list.NextToken != "" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestBuildAfterRestart: a build whose bytes were complete when the service stopped is checked by the next one.
func TestBuildAfterRestart(t *testing.T) {
	w := newWorld(t, withObjects(t))
	id := w.createBuild(&wire.CreateBuildInput{}).Build.BuildId
	o := w.keep(archive(t, "server", "code"))
	w.stop()
	w.journals[0] = w.journals[0].Reopen()
	w.start() // without the runner's notice
	err := w.Change(w.ctx, catalog.PutObject{Object: catalog.Object{Key: id, Hash: o.Hash, Size: o.Size}})
	if err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.await("READY", func() bool { return w.describeBuild(id).Status == wire.BuildStatusReady })
}

// TestBytesMissing: builds without bytes are FAILED, as long as they are missing.
func TestBytesMissing(t *testing.T) {
	w := newWorld(t, withObjects(t))
	out := w.createBuild(&wire.CreateBuildInput{})
	if err := w.put(out.StorageLocation.Bucket, out.StorageLocation.Key, archive(t, "server", "code")); err != nil {
		t.Fatal(err)
	}
	b, _ := w.Catalog().Build(out.Build.BuildId)
	path := filepath.Join(w.config.Objects.Dir, "sha256", b.Hash[:2], b.Hash)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	view, err := w.BuildView(b.ID)
	if err != nil || view.Status != "FAILED" || !strings.Contains(view.Reason, "not in the object store") {
		t.Errorf("%+v, %v", view, err)
	}
	if list, err := w.BuildViews("READY", 10, ""); err != nil || len(list.Builds) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if list, err := w.BuildViews("READY", 10, ""); err != nil || len(list.Builds) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := w.BuildViews("ready", 10, ""); !fault.Is(err, fault.InvalidRequest) {
		t.Error(err)
	}
}

// TestUnusedBytesAreDeleted: with the last reference, if they are old enough.
func TestUnusedBytesAreDeleted(t *testing.T) {
	w := newWorld(t, withObjects(t))
	out := w.createBuild(&wire.CreateBuildInput{})
	if err := w.put(out.StorageLocation.Bucket, out.StorageLocation.Key, archive(t, "server", "code")); err != nil {
		t.Fatal(err)
	}
	b, _ := w.Catalog().Build(out.Build.BuildId)
	if err := w.DeleteBuild(w.ctx, &wire.DeleteBuildInput{BuildId: b.ID}); err != nil {
		t.Fatal(err)
	}
	if !w.hasBytes(b.Hash) {
		t.Fatal("bytes that an upload may use were deleted")
	}
	w.clock.Advance(2 * time.Hour)
	w.await("deletion", func() bool { return !w.hasBytes(b.Hash) })
}

// TestBuildsNeedAStore: a region that keeps no bytes refuses builds, and says why.
func TestBuildsNeedAStore(t *testing.T) {
	w := newWorld(t)
	_, err := w.CreateBuild(w.ctx, &wire.CreateBuildInput{})
	if !fault.Is(err, fault.InvalidRequest) || !strings.Contains(err.Error(), "no directory") {
		t.Error(err)
	}
	c := ObjectCatalog{w.Plane}
	for _, err := range []error{c.CreateBucket(w.ctx, "games"), c.Check(w.ctx, "games", "a")} {
		if objects.CodeOf(err) != objects.NotImplemented {
			t.Error(err)
		}
	}
}

func TestObjectCatalog(t *testing.T) {
	w := newWorld(t, withObjects(t))
	c := ObjectCatalog{w.Plane}
	out := w.createBuild(&wire.CreateBuildInput{})
	builds, key := out.StorageLocation.Bucket, out.StorageLocation.Key
	if err := w.put(builds, key, archive(t, "server", "code")); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateBucket(w.ctx, "games"); err != nil {
		t.Fatal(err)
	}
	if err := w.put("games", "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	_, noBucket := c.Object(w.ctx, "x", "a")
	_, noKey := c.Object(w.ctx, "games", "b")
	_, noBuild := c.Object(w.ctx, builds, "b")
	_, noList := c.List(w.ctx, "x", "", "", 1)
	for want, err := range map[objects.Code][]error{
		objects.NoSuchBucket: {noBucket, noList, c.Check(w.ctx, "x", "a"), c.Delete(w.ctx, "x", "a"),
			c.DeleteBucket(w.ctx, "x")},
		objects.NoSuchKey:          {noKey, noBuild},
		objects.BucketAlreadyOwned: {c.CreateBucket(w.ctx, "games"), c.CreateBucket(w.ctx, builds)},
		objects.BucketNotEmpty:     {c.DeleteBucket(w.ctx, "games")},
		objects.AccessDenied: {c.Delete(w.ctx, builds, key), c.DeleteBucket(w.ctx, builds),
			c.Check(w.ctx, builds, "x"), c.Check(w.ctx, builds, testAccount+"/build-x"), w.put(builds, "x", nil),
			w.put(builds, testAccount+"/build-x", nil)},
		"": {c.Check(w.ctx, "games", "b"), c.Delete(w.ctx, "games", "b")},
	} {
		for i, err := range err {
			if objects.CodeOf(err) != want {
				t.Errorf("%s %d: %v", want, i, err)
			}
		}
	}
	o, err := c.Object(w.ctx, builds, key)
	if err != nil || o.Key != key || o.Bucket != builds || o.Checksums["CRC32"] != "AAAAAA==" ||
		!o.Modified.Equal(w.clock.Now()) {
		t.Errorf("%+v, %v", o, err)
	}
	for _, l := range []struct {
		prefix, after string
		want          int
	}{
		{"", "", 1}, {"1111", "", 1}, {testAccount + "/build-", "", 1}, {"x", "", 0}, {"", key, 0}, {"", "0", 1},
		{"", "2", 0},
	} {
		list, err := c.List(w.ctx, builds, l.prefix, l.after, 10)
		if err != nil || len(list) != l.want {
			t.Errorf("%+v: %+v, %v", l, list, err)
		}
	}
	buckets, err := c.Buckets(w.ctx)
	if err != nil || len(buckets) != 1 || buckets[0].Name != "games" {
		t.Errorf("%+v, %v", buckets, err)
	}
}

// TestUploadCredentials: they are for one key, until they expire or the build has its files.
func TestUploadCredentials(t *testing.T) {
	w := newWorld(t, withObjects(t))
	out, other := w.createBuild(&wire.CreateBuildInput{}), w.createBuild(&wire.CreateBuildInput{})
	keys, given := ObjectKeys{w.Plane}, out.UploadCredentials
	secret, caller, err := keys.Open(w.ctx, given.AccessKeyId, given.SessionToken)
	if err != nil || secret != given.SecretAccessKey {
		t.Fatalf("%s, %v", secret, err)
	}
	bucket, key := out.StorageLocation.Bucket, out.StorageLocation.Key
	for _, c := range []struct {
		action, bucket, key string
		allowed             bool
	}{
		{"s3:PutObject", bucket, key, true},
		{"s3:AbortMultipartUpload", bucket, key, true},
		{"s3:ListMultipartUploadParts", bucket, key, true},
		{"s3:GetObject", bucket, key, false},
		{"s3:DeleteObject", bucket, key, false},
		{"s3:ListBucket", bucket, "", false},
		{"s3:ListAllMyBuckets", "", "", false},
		{"s3:PutObject", bucket, other.StorageLocation.Key, false},
		{"s3:PutObject", bucket, key + "x", false},
		{"s3:PutObject", "games", key, false},
	} {
		if err := caller.Allow(w.ctx, c.action, c.bucket, c.key); (err == nil) != c.allowed ||
			err != nil && objects.CodeOf(err) != objects.AccessDenied {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for want, c := range map[objects.Code][2]string{
		objects.InvalidToken:       {other.UploadCredentials.AccessKeyId, given.SessionToken},
		objects.InvalidAccessKeyID: {given.AccessKeyId, ""},
	} {
		if _, _, err := keys.Open(w.ctx, c[0], c[1]); objects.CodeOf(err) != want {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, ok := w.Secret(given.AccessKeyId, given.SessionToken); ok {
		t.Error("the credentials open the API")
	}
	w.clock.Advance(access.UploadLifetime - time.Second)
	if _, _, err := keys.Open(w.ctx, given.AccessKeyId, given.SessionToken); err != nil {
		t.Error(err)
	}
	if err := w.put(bucket, key, archive(t, "server", "code")); err != nil {
		t.Fatal(err)
	}
	if err := caller.Allow(w.ctx, "s3:PutObject", bucket, key); objects.CodeOf(err) != objects.AccessDenied {
		t.Errorf("after the upload: %v", err)
	}
	w.clock.Advance(time.Second)
	_, _, err = keys.Open(w.ctx, given.AccessKeyId, given.SessionToken)
	if objects.CodeOf(err) != objects.ExpiredToken {
		t.Error(err)
	}
}

// TestObjectPolicies: the keys of people work for objects, and their policies decide.
func TestObjectPolicies(t *testing.T) {
	w := newWorld(t, withObjects(t))
	root, err := w.Plane.CreateKey(w.ctx, nil, access.KeyInput{Service: "uploader",
		Document: []byte(`{"Version":"2012-10-17","Statement":{"Effect":"Allow",` +
			`"Action":["s3:PutObject","s3:ListBucket"],"Resource":["arn:aws:s3:::games/ci/*","arn:aws:s3:::games"]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	secret, caller, err := ObjectKeys{w.Plane}.Open(w.ctx, root.ID, "")
	if err != nil || secret != root.Secret {
		t.Fatalf("%s, %v", secret, err)
	}
	for _, c := range []struct {
		action, bucket, key string
		allowed             bool
	}{
		{"s3:PutObject", "games", "ci/a", true},
		{"s3:ListBucket", "games", "", true},
		{"s3:PutObject", "games", "a", false},
		{"s3:GetObject", "games", "ci/a", false},
		{"s3:ListBucket", "other", "", false},
		{"s3:ListAllMyBuckets", "", "", false},
		{"s3:Unknown", "games", "ci/a", false},
	} {
		if err := caller.Allow(w.ctx, c.action, c.bucket, c.key); (err == nil) != c.allowed ||
			err != nil && objects.CodeOf(err) != objects.AccessDenied {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, _, err := (ObjectKeys{w.Plane}).Open(w.ctx, "AKIAX", ""); objects.CodeOf(err) != objects.InvalidAccessKeyID {
		t.Error(err)
	}
	if err := (ObjectKeys{w.Plane}).Anyone().Allow(w.ctx, "s3:PutObject", "games", "a"); err != nil {
		t.Error(err)
	}
}

func TestEmptyLists(t *testing.T) {
	w := newWorld(t)
	fleet := w.fleetAt("custom-a")
	policies, err := w.DescribeScalingPolicies(w.ctx, &wire.DescribeScalingPoliciesInput{FleetId: fleet})
	if err != nil || policies.ScalingPolicies == nil || len(policies.ScalingPolicies) != 0 {
		t.Errorf("%+v, %v", policies, err)
	}
	for _, in := range []wire.DescribeScalingPoliciesInput{{FleetId: "fleet-x"},
		{FleetId: fleet, Location: "custom-x"}} {
		if _, err := w.DescribeScalingPolicies(w.ctx, &in); !fault.Is(err, fault.NotFound) {
			t.Errorf("%+v: %v", in, err)
		}
	}
	authorizations, err := w.DescribeVpcPeeringAuthorizations(w.ctx, &wire.DescribeVpcPeeringAuthorizationsInput{})
	if err != nil || authorizations.VpcPeeringAuthorizations == nil {
		t.Error(err)
	}
	connections, err := w.DescribeVpcPeeringConnections(w.ctx, &wire.DescribeVpcPeeringConnectionsInput{FleetId: fleet})
	if err != nil || connections.VpcPeeringConnections == nil {
		t.Error(err)
	}
	_, err = w.DescribeVpcPeeringConnections(w.ctx, &wire.DescribeVpcPeeringConnectionsInput{FleetId: "fleet-x"})
	if !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}
