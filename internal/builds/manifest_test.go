package builds

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"
)

func hexSum(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// chunked returns a file, and stores its chunks.
func chunked(t testing.TB, path, content string, chunks map[string][]byte) File {
	t.Helper()
	f := File{Path: path, Mode: 0o644, Size: int64(len(content)), SHA256: hexSum(content)}
	err := Split(strings.NewReader(content), func(c []byte) error {
		sum := hexSum(string(c))
		chunks[sum] = bytes.Clone(c)
		f.Chunks = append(f.Chunks, Chunk{sum, int64(len(c))})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Chunks) == 1 {
		f.Chunks = nil
	}
	return f
}

func assembled(t testing.TB, files []File, chunks map[string][]byte) ([]byte, []Place) {
	t.Helper()
	var out bytes.Buffer
	places, err := Assemble(context.Background(), &out, files, func(c Chunk) ([]byte, error) {
		return chunks[c.SHA256], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), places
}

// TestAssemble: an assembled archive is what its files say, and is the same whatever their order and chunks are.
func TestAssemble(t *testing.T) {
	chunks := map[string][]byte{}
	large := noise(9<<20 + 5)
	files := []File{
		chunked(t, "data/large", large, chunks), chunked(t, "bin/server", "code", chunks),
		chunked(t, "empty", "", chunks), {Path: "latest", Mode: 0o777, Link: "bin/server"},
	}
	files[1].Mode = 0o755
	limits := Limits{MaxUnpacked: 100 << 20}
	want, err := CheckFiles(files, limits)
	if err != nil {
		t.Fatal(err)
	}
	archive, places := assembled(t, files, chunks)
	got, err := Check(context.Background(), bytes.NewReader(archive), int64(len(archive)), limits)
	if err != nil || got != want {
		t.Errorf("the archive has %+v (%v), the manifest %+v", got, err, want)
	}
	for _, p := range DecodePlaces(EncodePlaces(places)) {
		if at := archive[p.Offset : p.Offset+p.Size]; hexSum(string(at)) != p.SHA256 {
			t.Errorf("another chunk is at %d", p.Offset)
		}
	}
	slices.Reverse(files)
	half := 4 << 20
	chunks[hexSum(large[:half])], chunks[hexSum(large[half:])] = []byte(large[:half]), []byte(large[half:])
	files[3].Chunks = []Chunk{{hexSum(large[:half]), int64(half)}, {hexSum(large[half:]), int64(len(large) - half)}}
	if again, _ := assembled(t, files, chunks); !bytes.Equal(again, archive) {
		t.Error("another order and other chunks give another archive")
	}
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil || z.File[0].Name != "bin/server" || z.File[0].Mode() != 0o755 ||
		z.File[3].Mode() != fs.ModeSymlink|0o777 {
		t.Errorf("%v: %v", z.File[0].FileHeader, err)
	}
}

// TestAssembleWrongHash: chunks that are not the file are detected.
func TestAssembleWrongHash(t *testing.T) {
	chunks := map[string][]byte{}
	large := chunked(t, "large", noise(9<<20), chunks)
	large.SHA256 = hexSum("another")
	small := File{Path: "small", Size: 4, SHA256: hexSum("code"), Chunks: []Chunk{{hexSum("cord"), 4}}}
	chunks[hexSum("cord")] = []byte("cord")
	for _, f := range []File{large, small} {
		if _, err := CheckFiles([]File{f}, Limits{MaxUnpacked: 10 << 20}); err != nil {
			t.Fatal(err)
		}
		_, err := Assemble(context.Background(), io.Discard, []File{f}, func(c Chunk) ([]byte, error) {
			return chunks[c.SHA256], nil
		})
		if i, ok := errors.AsType[*Invalid](err); !ok || !strings.Contains(i.Reason, "the manifest states") {
			t.Errorf("%s: %v", f.Path, err)
		}
	}
	broken := errors.New("disk broken")
	_, err := Assemble(context.Background(), io.Discard, []File{small}, func(Chunk) ([]byte, error) {
		return nil, broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Assemble(ctx, io.Discard, []File{small}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestHostileManifests(t *testing.T) {
	ok := File{Path: "a", Size: 1, SHA256: hexSum("x")}
	with := func(change func(*File)) []File {
		f := File{Path: "b", Size: 1, SHA256: hexSum("x")}
		change(&f)
		return []File{ok, f}
	}
	cut := func(sizes ...int64) []File {
		return with(func(f *File) {
			f.Size = 9 << 20
			for _, size := range sizes {
				f.Chunks = append(f.Chunks, Chunk{hexSum("x"), size})
			}
		})
	}
	for _, c := range []struct {
		name    string
		files   []File
		windows bool
		reason  string
	}{
		{"none", nil, false, "no files"},
		{"too many", make([]File, MaxFiles+1), false, "the maximum is 200000"},
		{"no path", with(func(f *File) { f.Path = "" }), false, "must have 1 to 1024"},
		{"a directory", with(func(f *File) { f.Path = "b/" }), false, `has the part ""`},
		{"parent", with(func(f *File) { f.Path = "../b" }), false, `has the part ".."`},
		{"absolute", with(func(f *File) { f.Path = "/b" }), false, "is absolute"},
		{"twice", with(func(f *File) { f.Path = "a" }), false, `two entries have the path "a"`},
		{"below a file", with(func(f *File) { f.Path = "a/b" }), false, "which is no directory"},
		{"case", with(func(f *File) { f.Path = "A" }), true, "two entries"},
		{"setuid", with(func(f *File) { f.Mode = 0o4755 }), false, "permissions alone"},
		{"negative", with(func(f *File) { f.Size = -1 }), false, "has the size -1"},
		{"overflow", with(func(f *File) { f.Size = math.MaxInt64 }), false, "more than"},
		{"beyond the quota", with(func(f *File) { f.Size = quota }), false, "more than 10485760 bytes"},
		{"upper case", with(func(f *File) { f.SHA256 = strings.ToUpper(f.SHA256) }), false, "lower-case hex"},
		{"short hash", with(func(f *File) { f.SHA256 = f.SHA256[:62] }), false, "lower-case hex"},
		{"no chunks", cut(), false, "chunk 0 of entry \"b\" has 9437184 bytes"},
		{"less", cut(8 << 20), false, "1048576 bytes less"},
		{"more", cut(8<<20, 1<<20, 1), false, "chunk 2"},
		{"tiny", cut(1, 8<<20, 1<<20-1), false, "it must have 1048576 to"},
		{"empty chunk", cut(8<<20, 0, 1<<20), false, "chunk 1"},
		{"negative chunk", cut(8<<20, 2<<20, -1<<20), false, "chunk 1"},
		{"chunk's hash", with(func(f *File) { f.Chunks = []Chunk{{"x", 1}} }), false, "chunk 0"},
		{"chunks of nothing", with(func(f *File) { f.Size, f.Chunks = 0, []Chunk{{hexSum(""), 0}} }), false, "chunk 0"},
		{"link out", with(func(f *File) { *f = File{Path: "l", Link: "../x"} }), false, "leads out of the build"},
		{"link with content", with(func(f *File) { f.Link = "a" }), false, "has content"},
		{"long link", with(func(f *File) { *f = File{Path: "l", Link: strings.Repeat("x", 5000)} }), false, "4096"},
		{"link for Windows", with(func(f *File) { *f = File{Path: "l", Link: "a"} }), true, "is a symbolic link"},
	} {
		_, err := CheckFiles(c.files, Limits{Windows: c.windows, MaxUnpacked: quota})
		if i, ok := errors.AsType[*Invalid](err); !ok || !strings.Contains(i.Reason, c.reason) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// sums returns the hashes of the chunks of a text.
func sums(t *testing.T, text string) (sums []string) {
	t.Helper()
	rest := text
	err := Split(strings.NewReader(text), func(c []byte) error {
		sums = append(sums, hexSum(string(c)))
		if len(text) > MaxChunk && (len(c) > largestChunk || len(c) < minChunk && len(c) != len(rest)) {
			return fmt.Errorf("a chunk of %d bytes", len(c))
		}
		var isNext bool
		if rest, isNext = strings.CutPrefix(rest, string(c)); !isNext {
			return errors.New("the chunks are not the text")
		}
		return nil
	})
	if err != nil || rest != "" {
		t.Fatalf("%v, %d bytes are missing", err, len(rest))
	}
	return sums
}

// TestSplit: a change in a file changes the chunks near it alone.
func TestSplit(t *testing.T) {
	text := noise(48 << 20)
	before := sums(t, text)
	if len(before) < 16 || len(before) > 36 {
		t.Errorf("%d chunks; expected about 24", len(before))
	}
	at := 20 << 20
	for name, after := range map[string]string{
		"insertion":    text[:at] + "more" + text[at:],
		"at the front": "more" + text,
		"deletion":     text[:at] + text[at+100:],
		"replacement":  text[:at] + "more" + text[at+4:],
		"at the end":   text + "more",
	} {
		fresh := 0
		for _, sum := range sums(t, after) {
			if !slices.Contains(before, sum) {
				fresh++
			}
		}
		if fresh == 0 || fresh > 3 {
			t.Errorf("%s: %d of %d chunks are new", name, fresh, len(before))
		}
	}
	for _, size := range []int{1, MaxChunk} {
		if got := sums(t, text[:size]); len(got) != 1 {
			t.Errorf("%d bytes are %d chunks", size, len(got))
		}
	}
	if got := sums(t, ""); got != nil {
		t.Errorf("an empty file has chunks")
	}
	sums(t, strings.Repeat("\x00", 20<<20+1))
}

// TestSplitNeverChanges: other boundaries would send all large files again.
func TestSplitNeverChanges(t *testing.T) {
	const first = "3884818ad36395bb42f4f2f719d89fb7709336dc547a7e5cbfc4f8e3643519ad"
	if got := sums(t, noise(9<<20))[0]; got != first {
		t.Errorf("the first chunk is %s", got)
	}
}

func TestReadChunks(t *testing.T) {
	body := AppendChunk(AppendChunk(nil, []byte("first")), []byte("2"))
	var got []string
	read := func(body []byte) error {
		got = nil
		return ReadChunks(bytes.NewReader(body), func(c []byte) error {
			got = append(got, string(c))
			return nil
		})
	}
	if err := read(body); err != nil || !slices.Equal(got, []string{"first", "2"}) {
		t.Errorf("%q, %v", got, err)
	}
	for reason, body := range map[string][]byte{
		"not complete": body[:len(body)-1], "not complete ": body[:len(body)-3], "has 0 bytes": {0, 0, 0, 0},
		"has 4294967295 bytes": {255, 255, 255, 255},
	} {
		err := read(body)
		if i, ok := errors.AsType[*Invalid](err); !ok || !strings.Contains(i.Reason, strings.TrimSpace(reason)) {
			t.Errorf("%s: %v", reason, err)
		}
	}
	stop := errors.New("stop")
	if err := ReadChunks(bytes.NewReader(body), func([]byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

func FuzzReadChunks(f *testing.F) {
	f.Add(AppendChunk(nil, []byte("x")))
	f.Fuzz(func(_ *testing.T, body []byte) {
		_ = ReadChunks(bytes.NewReader(body), func([]byte) error { return nil })
	})
}

func FuzzDecodePlaces(f *testing.F) {
	f.Add(EncodePlaces([]Place{{hexSum("x"), 40, 1}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range DecodePlaces(data) {
			if p.Offset < 0 || p.Size < 1 || p.Size > MaxChunk {
				t.Errorf("%+v", p)
			}
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	text := noise(64 << 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := Split(strings.NewReader(text), func([]byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
