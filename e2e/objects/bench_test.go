package objects_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// BenchmarkUpload uploads 100 MB by a presigned URL, for which the client computes nothing, and in the same run writes
// the same bytes to a file with the hashes that the store needs: the ceiling. ratio is the time of the upload over that
// of the file.
func BenchmarkUpload(b *testing.B) {
	data := content(100_000_000)
	for _, scheme := range []string{"http", "https"} {
		b.Run(scheme, func(b *testing.B) {
			s := start(b)
			var upload, ceiling time.Duration
			b.SetBytes(int64(len(data)))
			for i := 0; b.Loop(); i++ {
				data[0] = byte(i) // another blob each time
				ceiling += writeFile(b, data)
				presigned, err := s3.NewPresignClient(s.sdk(scheme)).PresignPutObject(b.Context(), &s3.PutObjectInput{
					Bucket: aws.String(bucket), Key: aws.String("k")})
				if err != nil {
					b.Fatal(err)
				}
				begun := time.Now()
				if status, answer := s.do(http.MethodPut, presigned.URL, data); status != http.StatusOK {
					b.Fatalf("%d %s", status, answer)
				}
				upload += time.Since(begun)
			}
			megabytes := float64(len(data)*b.N) / 1e6
			b.ReportMetric(megabytes/upload.Seconds(), "upload-MB/s")
			b.ReportMetric(megabytes/ceiling.Seconds(), "ceiling-MB/s")
			b.ReportMetric(upload.Seconds()/ceiling.Seconds(), "ratio")
		})
	}
}

// writeFile writes to a file with both hashes, durably, and returns how long it took.
func writeFile(b *testing.B, data []byte) time.Duration {
	b.Helper()
	path := filepath.Join(b.TempDir(), "plain")
	begun := time.Now()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	to := io.MultiWriter(f, sha256.New(), md5.New())
	if _, err := io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{bytes.NewReader(data)},
		make([]byte, 256<<10)); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	took := time.Since(begun)
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		b.Fatal(err)
	}
	return took
}

// BenchmarkDownload reads an object of 100 MB by a presigned URL. Unencrypted, the file is sent with sendfile.
func BenchmarkDownload(b *testing.B) {
	data := content(100_000_000)
	for _, scheme := range []string{"http", "https"} {
		b.Run(scheme, func(b *testing.B) {
			s := start(b)
			if _, err := s.sdk(scheme).PutObject(b.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket),
				Key: aws.String("k"), Body: bytes.NewReader(data)}); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				presigned, err := s3.NewPresignClient(s.sdk(scheme)).PresignGetObject(b.Context(), &s3.GetObjectInput{
					Bucket: aws.String(bucket), Key: aws.String("k")})
				if err != nil {
					b.Fatal(err)
				}
				r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, presigned.URL, nil)
				if err != nil {
					b.Fatal(err)
				}
				got, err := s.web.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, got.Body); n != int64(len(data)) || err != nil {
					b.Fatal(n, err)
				}
				if err := got.Body.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
