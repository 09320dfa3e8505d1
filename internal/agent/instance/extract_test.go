package instance

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// FuzzExtract: whatever an archive has, nothing is written outside of its directory.
func FuzzExtract(f *testing.F) {
	for _, name := range []string{"a/b", "../x", "/x", "l/x"} {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		link := &zip.FileHeader{Name: "l"}
		link.SetMode(fs.ModeSymlink | 0o777)
		if target, err := w.CreateHeader(link); err == nil {
			_, _ = target.Write([]byte("..")) // into memory
		}
		if file, err := w.Create(name); err == nil {
			_, _ = file.Write([]byte("content")) // into memory
		}
		_ = w.Close() // into memory
		f.Add(out.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		archive := filepath.Join(dir, "archive")
		if err := os.WriteFile(archive, data, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = extract(t.Context(), archive, filepath.Join(dir, "tree")) // most are refused
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > 2 {
			t.Errorf("there are %v, %v", entries, err)
		}
	})
}
