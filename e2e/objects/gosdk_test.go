package objects_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"
)

// sdk returns the client of the AWS SDK for Go, with temporary credentials.
func (s *server) sdk(scheme string) *s3.Client {
	endpoint := s.url(scheme)
	return s3.New(s3.Options{Region: region, BaseEndpoint: &endpoint, HTTPClient: s.web, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(tempKey, secretKey, token),
		Retryer:     aws.NopRetryer{}})
}

var algorithms = []types.ChecksumAlgorithm{types.ChecksumAlgorithmCrc32, types.ChecksumAlgorithmCrc32c,
	types.ChecksumAlgorithmCrc64nvme, types.ChecksumAlgorithmSha1, types.ChecksumAlgorithmSha256}

// TestGoSDK puts and reads objects with each checksum, which the SDK verifies when it reads.
func TestGoSDK(t *testing.T) {
	schemes(t, func(t *testing.T, s *server, scheme string) {
		client, data := s.sdk(scheme), content(small)
		for _, a := range algorithms {
			for kind, body := range map[string]io.Reader{"seekable": bytes.NewReader(data),
				"stream": struct{ io.Reader }{bytes.NewReader(data)}} {
				if kind == "stream" && scheme == "http" {
					continue // the SDK needs to read such a body twice
				}
				key := string(a) + "/" + kind
				put, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &key,
					Body: body, ChecksumAlgorithm: a, ContentLength: aws.Int64(int64(len(data)))})
				if err != nil {
					t.Errorf("%s: %v", key, err)
					continue
				}
				s.expectBytes(key, data, *put.ETag)
				expectDownload(t, client, key, data)
			}
		}
	})
}

// expectDownload reads an object, whose checksum the client verifies.
func expectDownload(t testing.TB, client *s3.Client, key string, want []byte) {
	t.Helper()
	got, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: &key,
		ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		t.Errorf("%s: %v", key, err)
		return
	}
	defer got.Body.Close()
	if body, err := io.ReadAll(got.Body); err != nil || !bytes.Equal(body, want) {
		t.Errorf("%s: %d bytes, %v", key, len(body), err)
	}
	if got.ChecksumType == "" {
		t.Errorf("%s: no checksum", key)
	}
}

// TestGoSDKParts uploads parts in any order and some twice, at the same time.
func TestGoSDKParts(t *testing.T) {
	schemes(t, func(t *testing.T, s *server, scheme string) {
		client, data := s.sdk(scheme), content(large)
		for _, a := range algorithms {
			key := "parts/" + string(a)
			created, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{
				Bucket: aws.String(bucket), Key: &key, ChecksumAlgorithm: a})
			if err != nil {
				t.Fatal(err)
			}
			parts := uploadParts(t, client, created, data, a)
			listed := listedParts(t, client, created)
			if len(listed) != len(parts) {
				t.Errorf("%s: %v parts are listed", key, listed)
			}
			complete := &s3.CompleteMultipartUploadInput{Bucket: aws.String(bucket), Key: &key,
				UploadId: created.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts}}
			done, err := client.CompleteMultipartUpload(t.Context(), complete)
			if err != nil {
				t.Fatalf("%s: %v", key, err)
			}
			s.expectBytes(key, data, *done.ETag)
			expectDownload(t, client, key, data)
			again, err := client.CompleteMultipartUpload(t.Context(), complete)
			if err != nil || *again.ETag != *done.ETag {
				t.Errorf("%s: completed again: %v, %v", key, again, err)
			}
		}
	})
}

const partSize = 5 << 20

func uploadParts(t testing.TB, client *s3.Client, of *s3.CreateMultipartUploadOutput, data []byte,
	a types.ChecksumAlgorithm) []types.CompletedPart {
	t.Helper()
	blocks := slices.Collect(slices.Chunk(data, partSize))
	parts := make([]types.CompletedPart, len(blocks))
	var uploads errgroup.Group
	for _, i := range append(rand.Perm(len(blocks)), 0) {
		uploads.Go(func() error {
			number := int32(i + 1)
			put, err := client.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: of.Bucket, Key: of.Key,
				UploadId: of.UploadId, PartNumber: &number, Body: bytes.NewReader(blocks[i]), ChecksumAlgorithm: a})
			if err == nil && i > 0 {
				parts[i] = types.CompletedPart{ETag: put.ETag, PartNumber: &number, ChecksumCRC32: put.ChecksumCRC32,
					ChecksumCRC32C: put.ChecksumCRC32C, ChecksumCRC64NVME: put.ChecksumCRC64NVME,
					ChecksumSHA1: put.ChecksumSHA1, ChecksumSHA256: put.ChecksumSHA256}
			}
			return err
		})
	}
	if err := uploads.Wait(); err != nil {
		t.Fatal(err)
	}
	// Two goroutines have uploaded the first part.
	parts[0] = types.CompletedPart{ETag: listedParts(t, client, of)[0].ETag, PartNumber: aws.Int32(1)}
	return parts
}

func listedParts(t testing.TB, client *s3.Client, of *s3.CreateMultipartUploadOutput) (parts []types.Part) {
	t.Helper()
	pages := s3.NewListPartsPaginator(client, &s3.ListPartsInput{Bucket: of.Bucket, Key: of.Key, UploadId: of.UploadId,
		MaxParts: aws.Int32(2)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, page.Parts...)
	}
	return parts
}

// TestGoSDKRefusals checks errors that no client that works well causes.
func TestGoSDKRefusals(t *testing.T) {
	schemes(t, func(t *testing.T, s *server, scheme string) {
		client := s.sdk(scheme)
		code := func(err error) string {
			if refusal, ok := errors.AsType[smithy.APIError](err); ok {
				return refusal.ErrorCode()
			}
			return fmt.Sprint(err)
		}
		put := func(options ...func(*s3.Options)) error {
			_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("k"),
				Body: strings.NewReader("text")}, options...)
			return err
		}
		signedBy := func(key, secret, token string) func(*s3.Options) {
			return func(o *s3.Options) {
				o.Credentials = credentials.NewStaticCredentialsProvider(key, secret, token)
			}
		}
		equal(t, "wrong secret", code(put(signedBy(accessKey, "wrong", ""))), "SignatureDoesNotMatch")
		equal(t, "unknown key", code(put(signedBy("AKIDX", secretKey, ""))), "InvalidAccessKeyId")
		equal(t, "wrong token", code(put(signedBy(tempKey, secretKey, "x"))), "InvalidToken")
		_, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String("absent"),
			Key: aws.String("k")})
		equal(t, "absent bucket", code(err), "NoSuchBucket")
		_, err = client.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: aws.String(bucket), Key: aws.String("k"),
			UploadId: aws.String("../../x"), PartNumber: aws.Int32(1), Body: strings.NewReader("text")})
		equal(t, "absent upload", code(err), "NoSuchUpload")
		s.catalog.Seal(bucket, "k")
		equal(t, "sealed", code(put()), "AccessDenied")
		equal(t, "objects", s.catalog.Len(), 0)
	})
}

// TestListPages lists many objects in pages, with and without a delimiter.
func TestListPages(t *testing.T) {
	s := start(t)
	client := s.sdk("http")
	var want []string
	for i := range 120 {
		want = append(want, fmt.Sprintf("d%d/ü &<%03d>", i%3, i))
	}
	var next atomic.Int32
	var puts errgroup.Group
	for range 4 {
		puts.Go(func() error {
			for i := next.Add(1) - 1; int(i) < len(want); i = next.Add(1) - 1 {
				if _, err := client.PutObject(context.WithoutCancel(t.Context()), &s3.PutObjectInput{
					Bucket: aws.String(bucket), Key: &want[i], Body: strings.NewReader("x")}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := puts.Wait(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	for _, delimiter := range []string{"", "/"} {
		for _, size := range []int32{1, 2, 7, 40, 1000} {
			keys, prefixes := s.list(client, delimiter, size)
			if delimiter == "" {
				equal(t, "keys", keys, want)
			} else {
				equal(t, "prefixes", prefixes, []string{"d0/", "d1/", "d2/"})
				equal(t, "keys", len(keys), 0)
			}
		}
	}
}

func (s *server) list(client *s3.Client, delimiter string, size int32) (keys, prefixes []string) {
	s.Helper()
	pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: aws.String(bucket),
		Delimiter: &delimiter, MaxKeys: &size})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		for _, o := range page.Contents {
			keys = append(keys, *o.Key)
		}
		for _, p := range page.CommonPrefixes {
			prefixes = append(prefixes, *p.Prefix)
		}
	}
	return keys, prefixes
}
