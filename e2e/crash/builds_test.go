//go:build unix

package crash

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/muster-gg/muster/mustertest"
)

// TestKillDuringUploads kills the service while builds are uploaded. A build is READY with all its bytes, or
// INITIALIZED and can be uploaded; an acknowledged upload is READY. No temporary file is left.
func TestKillDuringUploads(t *testing.T) {
	t.Parallel()
	random := draw(t)
	s := newService(t, random, nil)
	s.start(t.Context())
	u := &uploads{T: t, s: s, archive: randomArchive(t, random, 2<<20), acked: map[string]bool{}}
	for range share(5) {
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for range 3 {
			running.Go(func() { u.run(ctx) })
		}
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond) // any moment is right
		s.Kill()
		stop()
		running.Wait()
		s.start(t.Context())
		u.verify(t.Context())
	}
	if !slices.Contains(slices.Collect(maps.Values(u.acked)), true) {
		t.Error("no upload was acknowledged")
	}
}

// uploads are builds that are uploaded until the service is killed.
type uploads struct {
	*testing.T
	s       *service
	archive []byte

	mu    sync.Mutex
	acked map[string]bool // builds, and whether the upload was acknowledged
}

func (u *uploads) client() *gamelift.Client {
	v := u.s.environment()
	return gamelift.New(gamelift.Options{Region: v["AWS_REGION"], Retryer: aws.NopRetryer{},
		BaseEndpoint: aws.String(v["AWS_ENDPOINT_URL_GAMELIFT"]),
		Credentials:  mustertest.StaticKey(v["AWS_ACCESS_KEY_ID"], v["AWS_SECRET_ACCESS_KEY"])})
}

func (u *uploads) objects(key, secret, token string) *s3.Client {
	v := u.s.environment()
	return s3.New(s3.Options{Region: v["AWS_REGION"], UsePathStyle: true, Retryer: aws.NopRetryer{},
		BaseEndpoint: aws.String(v["AWS_ENDPOINT_URL_S3"]),
		Credentials:  credentials.NewStaticCredentialsProvider(key, secret, token)})
}

// run uploads one build after the other until a call fails.
func (u *uploads) run(ctx context.Context) {
	client := u.client()
	for ctx.Err() == nil {
		made, err := client.CreateBuild(ctx, &gamelift.CreateBuildInput{})
		if err != nil {
			return
		}
		u.note(*made.Build.BuildId, false)
		c := made.UploadCredentials
		_, err = u.objects(*c.AccessKeyId, *c.SecretAccessKey, *c.SessionToken).PutObject(ctx, &s3.PutObjectInput{
			Bucket: made.StorageLocation.Bucket, Key: made.StorageLocation.Key, Body: bytes.NewReader(u.archive)})
		if err != nil {
			return
		}
		u.note(*made.Build.BuildId, true)
	}
}

func (u *uploads) note(build string, acked bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.acked[build] = acked
}

// verify compares all builds with what was acknowledged.
func (u *uploads) verify(ctx context.Context) {
	u.Helper()
	client := u.client()
	v := u.s.environment()
	objects := u.objects(v["AWS_ACCESS_KEY_ID"], v["AWS_SECRET_ACCESS_KEY"], "")
	for id, acked := range u.acked {
		var build *types.Build
		u.s.Await(ctx, func() bool { // the check of complete bytes continues
			out, err := client.DescribeBuild(ctx, &gamelift.DescribeBuildInput{BuildId: &id})
			if err != nil {
				u.Fatal(err)
			}
			build = out.Build
			return !acked || build.Status != types.BuildStatusInitialized
		})
		out, err := objects.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String("gamelift-builds-" + v["AWS_REGION"]),
			Key: aws.String("111122223333/" + id)})
		if err != nil {
			if build.Status != types.BuildStatusInitialized {
				u.Errorf("build %s is %s, and has no object: %v", id, build.Status, err)
			}
			continue
		}
		data, err := io.ReadAll(out.Body)
		if err = errors.Join(err, out.Body.Close()); err != nil || !bytes.Equal(data, u.archive) {
			u.Errorf("build %s has %d other bytes: %v", id, len(data), err)
		}
		if build.Status == types.BuildStatusFailed {
			u.Errorf("build %s is FAILED", id)
		}
	}
	if files, err := filepath.Glob(filepath.Join(u.s.data, "objects", "temp", "*")); err != nil || len(files) > 0 {
		u.Errorf("temporary files are left: %v, %v", files, err)
	}
	if _, err := os.Stat(filepath.Join(u.s.data, "objects", "sha256")); err != nil {
		u.Error(err)
	}
}

// randomArchive returns a zip archive with one file of random bytes.
func randomArchive(t *testing.T, random *rand.Rand, size int) []byte {
	t.Helper()
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	f, err := z.Create("server")
	if err == nil {
		_, err = f.Write(data)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
