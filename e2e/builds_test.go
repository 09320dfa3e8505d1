package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/muster-gg/muster/e2e/clients"
)

// noise returns bytes that do not compress, the same in each run.
func noise(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	return data
}

// buildEnviron returns the environment of a client, by a scheme.
func (s *service) buildEnviron(scheme string) []string {
	endpoint := scheme + strings.TrimPrefix(s.HTTP, "http")
	return append(clients.Environ(endpoint, s.Region, s.AccessKey, s.SecretKey), "AWS_CA_BUNDLE="+s.CAFile)
}

// objects returns a client of S3 with these keys.
func (s *service) objects(accessKey, secretKey, token string) *s3.Client {
	return s3.New(s3.Options{Region: s.Region, BaseEndpoint: &s.HTTP, UsePathStyle: true, Retryer: aws.NopRetryer{},
		HTTPClient: s.http, Credentials: credentials.NewStaticCredentialsProvider(accessKey, secretKey, token)})
}

// TestUploadBuild runs the command that people use, with the variables of muster.env alone.
func TestUploadBuild(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx := t.Context()
	for _, scheme := range []string{"http", "https"} {
		cli := clients.AWSCLI(t, s.buildEnviron(scheme))
		for _, size := range []int{20_000, 20_000_000} {
			root := t.TempDir()
			data := noise(size)
			if err := errors.Join(os.Mkdir(filepath.Join(root, "bin"), 0o700),
				os.WriteFile(filepath.Join(root, "bin", "server"), data, 0o755), //nolint:gosec // a program
				os.WriteFile(filepath.Join(root, "readme.txt"), []byte("read me"), 0o600)); err != nil {
				t.Fatal(err)
			}
			out, err := cli.Run("gamelift", "upload-build", "--name", "arena", "--build-version", "1",
				"--build-root", root)
			if err != nil {
				t.Fatalf("%s, %d bytes: %v", scheme, size, err)
			}
			_, id, _ := strings.Cut(strings.TrimSpace(string(out)), "Build ID: ")
			described, err := s.client().DescribeBuild(ctx, &gamelift.DescribeBuildInput{BuildId: &id})
			if err != nil {
				t.Fatal(err)
			}
			b := described.Build
			archive := s.readBuild(t, id)
			if b.Status != types.BuildStatusReady || *b.SizeOnDisk != int64(len(archive)) ||
				b.OperatingSystem != types.OperatingSystemAmazonLinux2023 {
				t.Errorf("%s, %d bytes: %s, %d of %d bytes", scheme, size, b.Status, *b.SizeOnDisk, len(archive))
			}
			checkArchive(t, archive, data)
		}
	}
}

// checkArchive expects the program with its bytes and its mode.
func checkArchive(t *testing.T, archive, program []byte) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open("bin/server")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(got, program) {
		t.Errorf("the program has %d bytes: %v", len(got), err)
	}
	if info, err := f.Stat(); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("the program has the mode %v: %v", info.Mode(), err)
	}
}

// zipOf returns an archive of one entry.
func zipOf(t *testing.T, name string, mode fs.FileMode, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	h.SetMode(mode)
	f, err := z.CreateHeader(h)
	if err == nil {
		_, err = f.Write(content)
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestBuildCredentials: boto3 uploads with the credentials of a build, which allow nothing else.
func TestBuildCredentials(t *testing.T) {
	t.Parallel()
	s := start(t)
	archive := zipOf(t, "server", 0o755, noise(10_000_000)) // two parts
	path := filepath.Join(t.TempDir(), "build.zip")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"http", "https"} {
		out, err := clients.Python(t, s.buildEnviron(scheme), "boto3_builds.py", path)
		if err != nil {
			t.Fatal(err)
		}
		var seen map[string]struct {
			Status  string
			Size    int
			Refused map[string]string
		}
		if err := json.Unmarshal(out, &seen); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 3 {
			t.Errorf("%s: %s", scheme, out)
		}
		for way, b := range seen {
			if b.Status != "READY" || b.Size != len(archive) || len(b.Refused) != 6 {
				t.Errorf("%s, %s: %+v", scheme, way, b)
			}
			for what, code := range b.Refused {
				if code != "AccessDenied" {
					t.Errorf("%s, %s: %s: %q", scheme, way, what, code)
				}
			}
		}
	}
}

// TestBuildCredentialsExpire: after six hours others must be requested.
func TestBuildCredentialsExpire(t *testing.T) {
	t.Parallel()
	s := start(t, fakeTime)
	ctx := t.Context()
	made, err := s.client().CreateBuild(ctx, &gamelift.CreateBuildInput{})
	if err != nil {
		t.Fatal(err)
	}
	upload := func(c *types.AwsCredentials) error {
		_, err := s.objects(*c.AccessKeyId, *c.SecretAccessKey, *c.SessionToken).PutObject(ctx, &s3.PutObjectInput{
			Bucket: made.StorageLocation.Bucket, Key: made.StorageLocation.Key,
			Body: bytes.NewReader(zipOf(t, "server", 0o755, []byte("code")))})
		return err
	}
	s.clock.Advance(6 * time.Hour)
	refused, _ := errors.AsType[smithy.APIError](upload(made.UploadCredentials))
	if refused == nil || refused.ErrorCode() != "ExpiredToken" {
		t.Fatalf("%v", refused)
	}
	again, err := s.client().RequestUploadCredentials(ctx, &gamelift.RequestUploadCredentialsInput{
		BuildId: made.Build.BuildId})
	if err != nil {
		t.Fatal(err)
	}
	if err := upload(again.UploadCredentials); err != nil {
		t.Error(err)
	}
}

// TestHostileBuilds: archives that would write outside their directory or fill a disk are FAILED, with the reason.
func TestHostileBuilds(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx := t.Context()
	for want, archive := range map[string][]byte{
		`has the part \"..\"`:   zipOf(t, "../x", 0o644, []byte("x")),
		"is absolute":           zipOf(t, "/etc/cron.d/x", 0o644, []byte("x")),
		"leads out of the":      zipOf(t, "link", fs.ModeSymlink|0o777, []byte("/etc")),
		"100 times its size":    zipOf(t, "bomb", 0o644, make([]byte, 20_000_000)),
		"is not a zip file, or": []byte("no archive"),
	} {
		made, err := s.client().CreateBuild(ctx, &gamelift.CreateBuildInput{})
		if err != nil {
			t.Fatal(err)
		}
		c := made.UploadCredentials
		_, err = s.objects(*c.AccessKeyId, *c.SecretAccessKey, *c.SessionToken).PutObject(ctx, &s3.PutObjectInput{
			Bucket: made.StorageLocation.Bucket, Key: made.StorageLocation.Key, Body: bytes.NewReader(archive)})
		if err != nil {
			t.Fatal(err)
		}
		status, body := s.inspect(t, "/v1/builds/"+*made.Build.BuildId)
		if status != 200 || !strings.Contains(body, `"status":"FAILED"`) || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", want, status, body)
		}
	}
}

// TestUploadBuildToCluster: the command uploads its parts through a load balancer, to all nodes in turn, and each node
// has the bytes. The region keeps them without the node that has received them.
func TestUploadBuildToCluster(t *testing.T) {
	t.Parallel()
	nodes := initNodes(t, 3)
	runNodes(t, nodes)
	s := *nodes[0]
	s.HTTP = balance(t, nodes)
	root, data := t.TempDir(), noise(30_000_000) // four parts
	path := filepath.Join(root, "bin", "server")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700),
		os.WriteFile(path, data, 0o755)); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	cli := clients.AWSCLI(t, s.buildEnviron("http"))
	out, err := cli.Run("gamelift", "upload-build", "--name", "arena", "--build-version", "1", "--build-root", root)
	if err != nil {
		t.Fatal(err)
	}
	_, id, _ := strings.Cut(strings.TrimSpace(string(out)), "Build ID: ")
	for i, node := range nodes {
		described, err := node.client().DescribeBuild(t.Context(), &gamelift.DescribeBuildInput{BuildId: &id})
		if err != nil || described.Build.Status != types.BuildStatusReady {
			t.Fatalf("node %d: %+v, %v", i, described, err)
		}
		checkArchive(t, node.readBuild(t, id), data)
	}
	nodes[0].stop()
	checkArchive(t, nodes[1].readBuild(t, id), data)
	checkArchive(t, nodes[2].readBuild(t, id), data)
}

// readBuild returns the archive of a build.
func (s *service) readBuild(t *testing.T, id string) []byte {
	t.Helper()
	stored, err := s.objects(s.AccessKey, s.SecretKey, "").GetObject(t.Context(), &s3.GetObjectInput{
		Bucket: aws.String("gamelift-builds-" + s.Region), Key: aws.String(testAccount + "/" + id)})
	if err != nil {
		t.Fatal(err)
	}
	archive, err := io.ReadAll(stored.Body)
	if err = errors.Join(err, stored.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return archive
}
