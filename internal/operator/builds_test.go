package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// stream sends a body of a media type whose hash is signed in the head.
func (w *world) stream(path, key, media, encoding, body string, change func(*http.Request)) (int, string) {
	w.t.Helper()
	r := w.newRequestOf(w.t.Context(), media, "POST", path, key, body)
	r.Header.Set("Content-Type", media)
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	sum := sha256.Sum256([]byte(body))
	r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	if change != nil {
		change(r)
	}
	return w.read(w.do(r))
}

// TestPushBuild: bodies that are read after their signature was verified are limited, and are what was signed.
func TestPushBuild(t *testing.T) {
	w := newWorld(t)
	defer w.runTrail()()
	compressor, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	compressed := func(body string) string { return string(compressor.EncodeAll([]byte(body), nil)) }
	const manifests, chunks = "/v1/builds", "/v1/build-chunks"
	const asJSON, asBytes = "application/json", "application/octet-stream"
	large := strings.Repeat("x", maxChunks+1)
	other := func(r *http.Request) { // as long as the one that was signed
		swapped, _ := http.NewRequest("POST", w.URL, strings.NewReader(strings.Repeat("y", int(r.ContentLength))))
		r.Body = swapped.Body
	}
	for _, c := range []struct {
		name, path, key, media, encoding, body string
		change                                 func(*http.Request)
		status                                 int
		want                                   string
	}{
		{"build", manifests, "AKID", asJSON, "", `{"name":"arena","files":[]}`, nil, 200, `"buildId":"build-1"`},
		{"missing", manifests, "AKID", asJSON, "zstd", compressed(`{"files":[{"path":"a","sha256":"ab"}]}`), nil, 200,
			`{"missing":["ab"]}`},
		{"chunks", chunks, "AKID", asBytes, "", "some chunk", nil, 200, `{"chunks":1,"bytes":10}`},
		{"compressed chunks", chunks, "AKID", asBytes, "zstd", compressed("some chunk"), nil, 200,
			`{"chunks":1,"bytes":10}`},
		{"guest", manifests, "AKGUEST", asJSON, "", `{"files":[]}`, nil, 403, "gamelift:CreateBuild"},
		{"chunks of a guest", chunks, "AKGUEST", asBytes, "", "x", nil, 403, "gamelift:CreateBuild"},
		{"unsigned", chunks, "", asBytes, "", "x", nil, 403, "MissingAuthenticationToken"},
		{"another body", chunks, "AKID", asBytes, "", "signed", other, 403, "has another SHA-256"},
		{"another manifest", manifests, "AKID", asJSON, "", `{"files":[]}`, other, 400, "InvalidRequest"},
		{"no hash", chunks, "AKID", asBytes, "", "x", func(r *http.Request) { r.Header.Del("X-Amz-Content-Sha256") },
			400, "X-Amz-Content-Sha256"},
		{"type", chunks, "AKID", asJSON, "", "x", nil, 400, "it must be application/octet-stream"},
		{"encoding", chunks, "AKID", asBytes, "gzip", "x", nil, 400, "it must be zstd"},
		{"not compressed", chunks, "AKID", asBytes, "zstd", "some chunk", nil, 400, "could not be read"},
		{"too large", chunks, "AKID", asBytes, "", large, nil, 400, "may have 67108864 bytes"},
		{"bomb", chunks, "AKID", asBytes, "zstd", compressed(large), nil, 400, "may have 67108864 bytes"},
		{"unknown field", manifests, "AKID", asJSON, "", `{"file":[]}`, nil, 400, `Unknown field \"file\"`},
		{"two objects", manifests, "AKID", asJSON, "", `{"files":[]}{}`, nil, 400, "must be one JSON object"},
		{"no object", manifests, "AKID", asJSON, "", "", nil, 400, "must be one JSON object"},
	} {
		status, body := w.stream(c.path, c.key, c.media, c.encoding, c.body, c.change)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
	if err := w.access.Trail().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, body := w.get("/v1/audit")
	for _, want := range []string{`"CreateBuild"`, `"BuildChunksStore"`, `"build":"build-1"`, `"bytes":"10"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s is recorded: %s", want, body)
		}
	}
}
