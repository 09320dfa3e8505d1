package objects_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/muster-gg/muster/e2e/clients"
)

// content returns bytes that are the same in each run.
func content(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	return data
}

// file writes bytes to a file.
func file(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "build.zip")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	small = 20 << 10
	large = 20 << 20 // of three parts
)

func TestBoto3(t *testing.T) {
	schemes(t, func(t *testing.T, s *server, scheme string) {
		for _, size := range []int{small, large} {
			data := content(size)
			out, err := clients.Python(t, s.environ(scheme), "boto3_objects.py", bucket, file(t, data))
			if err != nil {
				t.Fatal(err)
			}
			var seen struct {
				Put, Range, Presigned, Old, Location string
				PresignedPut                         string `json:"presigned put"`
				Head                                 map[string]any
				Keys, Prefixes, All, Buckets         []string
				Deleted                              int
				Refused                              map[string][2]any
			}
			if err := json.Unmarshal(out, &seen); err != nil {
				t.Fatal(err)
			}
			s.expectBytes("file", data, "")
			s.expectBytes("dir/fileobj", data, "")
			s.expectBytes("dir/put object+é", data, seen.Put)
			equal(t, "head", []any{seen.Head["ContentLength"], seen.Head["ContentType"], seen.Head["Metadata"]},
				[]any{float64(size), "application/zip", map[string]any{"who": "ada"}})
			if seen.Head["ChecksumCRC32"] == nil {
				t.Errorf("no checksum: %v", seen.Head)
			}
			equal(t, "range", seen.Range, hex.EncodeToString(data[3:10]))
			equal(t, "prefixes", seen.Prefixes, []string{"dir/", "sum/"})
			equal(t, "all", seen.All, []string{"dir/fileobj", "dir/put object+é"})
			equal(t, "buckets", seen.Buckets, []string{bucket, "other"})
			equal(t, "location", seen.Location, region)
			equal(t, "deleted", seen.Deleted, 2)
			equal(t, "refused", seen.Refused, map[string][2]any{
				"absent": {"NoSuchKey", 404.0}, "absent head": {"404", 404.0}, "absent bucket": {"NoSuchBucket", 404.0},
				"acl": {"NotImplemented", 501.0}, "versions": {"NotImplemented", 501.0},
				"tags": {"NotImplemented", 501.0}, "unmodified": {"304", 304.0},
				"changed": {"PreconditionFailed", 412.0},
				"range":   {"InvalidRange", 416.0}, "full bucket": {"BucketNotEmpty", 409.0},
			})
			s.expectPresigned(seen.Presigned, seen.PresignedPut, seen.Old, data)
		}
	})
}

// expectPresigned uses presigned URLs without a client of AWS.
func (s *server) expectPresigned(get, put, old string, data []byte) {
	s.Helper()
	if status, body := s.do(http.MethodGet, get, nil); status != http.StatusOK || !bytes.Equal(body, data) {
		s.Errorf("presigned GET: %d, %d bytes", status, len(body))
	}
	if status, body := s.do(http.MethodPut, put, data); status != http.StatusOK {
		s.Errorf("presigned PUT: %d %s", status, body)
	}
	s.expectBytes("presigned", data, "")
	status, body := s.do(http.MethodGet, old, nil)
	if status != http.StatusBadRequest || !strings.Contains(html.UnescapeString(string(body)),
		"signature_version='s3v4'") {
		s.Errorf("version 2: %d %s", status, body)
	}
}

func (s *server) do(method, url string, body []byte) (status int, answer []byte) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	got, err := s.web.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer got.Body.Close()
	if answer, err = io.ReadAll(got.Body); err != nil {
		s.Fatal(err)
	}
	return got.StatusCode, answer
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
