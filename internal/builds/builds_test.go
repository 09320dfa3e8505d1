package builds

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
)

// packed is an entry of an archive of a test.
type packed struct {
	name    string
	content string
	mode    fs.FileMode // 0: 0o644
	stored  bool        // not compressed
}

// pack returns an archive.
func pack(t testing.TB, entries ...packed) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		if e.mode == 0 {
			e.mode = 0o644
		}
		h.SetMode(e.mode)
		if e.stored {
			h.Method = zip.Store
		}
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(f, e.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const quota = 10 << 20

func checked(archive []byte, windows bool) (Content, error) {
	return Check(context.Background(), bytes.NewReader(archive), int64(len(archive)),
		Limits{Windows: windows, MaxUnpacked: quota})
}

func TestContent(t *testing.T) {
	server := packed{name: "bin/server", content: strings.Repeat("code", 100), mode: 0o755}
	readme := packed{name: "readme.txt", content: "read me"}
	latest := packed{name: "latest", content: "bin/../bin/server", mode: fs.ModeSymlink | 0o777}
	want, err := checked(pack(t, server, readme, latest), false)
	if err != nil {
		t.Fatal(err)
	}
	// The tree hash never changes.
	const tree = "3a529a7e32aaaceeb0f99fd07811684df5dbf0d7a66d7358ba7d4d3fb676da04"
	if want != (Content{Tree: tree, Files: 3, Unpacked: 400 + 7 + 17}) {
		t.Errorf("%+v", want)
	}
	same := [][]packed{
		{latest, readme, server},
		{{name: "bin/", mode: fs.ModeDir | 0o755}, server, readme, latest},
		{{name: server.name, content: server.content, mode: server.mode, stored: true}, readme, latest},
	}
	for i, entries := range same {
		if got, err := checked(pack(t, entries...), false); got != want {
			t.Errorf("%d: %+v, %v", i, got, err)
		}
	}
	other := map[string][]packed{
		"content": {server, latest, {name: "readme.txt", content: "read it"}},
		"mode":    {server, latest, {name: "readme.txt", content: "read me", mode: 0o600}},
		"path":    {server, latest, {name: "readme.md", content: "read me"}},
		"target":  {server, readme, {name: "latest", content: "bin/../readme.txt", mode: fs.ModeSymlink | 0o777}},
		"link":    {server, readme, {name: "latest", content: "bin/../bin/server", mode: 0o777}},
	}
	for name, entries := range other {
		if got, err := checked(pack(t, entries...), false); err != nil || got.Tree == want.Tree {
			t.Errorf("another %s: %+v, %v", name, got, err)
		}
	}
}

func TestInvalid(t *testing.T) {
	ok := packed{name: "a", content: "x"}
	named := func(name string) []packed { return []packed{ok, {name: name, content: "x"}} }
	linked := func(target string) []packed {
		return []packed{ok, {name: "d/l", content: target, mode: fs.ModeSymlink | 0o777}}
	}
	flip := func(archive []byte, text string) []byte {
		i := bytes.Index(archive, []byte(text))
		archive[i] ^= 1
		return archive
	}
	plain := pack(t, ok, packed{name: "b", content: "x"})
	for _, c := range []struct {
		name    string
		archive []byte
		windows bool
		reason  string // a part of it
	}{
		{"nothing", nil, false, "not a zip file"},
		{"no zip", []byte(strings.Repeat("x", 1000)), false, "not a zip file"},
		{"cut off", plain[:len(plain)/2], false, "not a zip file"},
		{"empty", pack(t), false, "the archive has no files"},
		{"directories alone", pack(t, packed{name: "d/", mode: fs.ModeDir | 0o755}), false, "no files"},
		{"parent", pack(t, named("../x")...), false, `has the part ".."`},
		{"parent within", pack(t, named("a/../../x")...), false, `has the part ".."`},
		{"dot", pack(t, named("b/./x")...), false, `has the part "."`},
		{"empty part", pack(t, named("b//x")...), false, `has the part ""`},
		{"absolute", pack(t, named("/etc/passwd")...), false, "is absolute"},
		{"backslash", pack(t, named(`..\x`)...), false, "backslash"},
		{"drive", pack(t, named("C:/x")...), false, "begins with a drive"},
		{"control character", pack(t, named("b\n")...), false, "control characters"},
		{"no UTF-8", pack(t, named("b\xff")...), false, "is not UTF-8"},
		{"long", pack(t, named(strings.Repeat("x/", 600)+"x")...), false, "must have 1 to 1024"},
		{"twice", pack(t, named("a")...), false, `two entries have the path "a"`},
		{"below a file", pack(t, named("a/b")...), false, "which is no directory"},
		{"file and directory", pack(t, packed{name: "d/x"}, packed{name: "d"}), false, "two entries"},
		{"directory twice", pack(t, packed{name: "d/", mode: fs.ModeDir | 0o755}, ok,
			packed{name: "d/", mode: fs.ModeDir | 0o755}), false, "two entries"},
		{"device", pack(t, ok, packed{name: "dev", mode: fs.ModeDevice | 0o644}), false, "neither a file nor a link"},
		{"pipe", pack(t, ok, packed{name: "pipe", mode: fs.ModeNamedPipe | 0o644}), false, "neither a file nor"},

		{"link to /etc", pack(t, linked("/etc")...), false, "leads out of the build"},
		{"link out", pack(t, linked("../../x")...), false, "leads out of the build"},
		{"link to itself", pack(t, linked("l")...), false, "leads out of the build"},
		{"link through a link", pack(t, ok, packed{name: "x/y", content: "..", mode: fs.ModeSymlink},
			packed{name: "z", content: "x/y/..", mode: fs.ModeSymlink}), false, `link "z" leads out`},
		{"below a link", pack(t, packed{name: "l", content: "d", mode: fs.ModeSymlink}, packed{name: "l/x"}), false,
			"which is no directory"},
		{"long link", pack(t, linked(strings.Repeat("x", 5000))...), false, "the maximum is 4096"},

		{"bomb", pack(t, packed{name: "b", content: strings.Repeat("\x00", 5<<20)}), false, "100 times its size"},
		{"bomb of many", pack(t, packed{name: "b", content: strings.Repeat("\x00", 600<<10)},
			packed{name: "c", content: strings.Repeat("\x00", 600<<10)}), false, "100 times its size"},
		{"beyond the quota", pack(t, packed{name: "b", content: noise(quota + 1)}), false,
			"more than 10485760 bytes"},
		{"flipped byte", flip(pack(t, packed{name: "b", content: noise(5000)}), noise(5000)[:20]), false,
			"cannot be unpacked"},

		{"case", pack(t, named("A")...), true, "if upper and lower case are the same"},
		{"case of a directory", pack(t, packed{name: "D/x"}, packed{name: "d"}), true, "if upper and lower"},
		{"stream", pack(t, named("ab:x")...), true, "which Windows does not allow"},
		{"device of Windows", pack(t, named("d/nul.txt")...), true, "which Windows does not allow"},
		{"port", pack(t, named("COM1")...), true, "which Windows does not allow"},
		{"dot at the end", pack(t, named("x.")...), true, "which Windows does not allow"},
		{"link for Windows", pack(t, linked("a")...), true, "is a symbolic link"},
	} {
		_, err := checked(c.archive, c.windows)
		if i, ok := errors.AsType[*Invalid](err); !ok || !strings.Contains(i.Reason, c.reason) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// noise is text that deflate leaves as it is: a stored block.
func noise(n int) string {
	b := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x >> 32)
	}
	return string(b)
}

func TestAllowed(t *testing.T) {
	for name, entries := range map[string][]packed{
		"case":              {{name: "a", content: "x"}, {name: "A", content: "y"}},
		"colon":             {{name: "a/b:c", content: "x"}},
		"dots":              {{name: "..a/b..", content: "x"}},
		"small and regular": {{name: "zeros", content: strings.Repeat("\x00", 20_000)}},
		"link to the root":  {{name: "d/l", content: "../.", mode: fs.ModeSymlink}},
		"link to nothing":   {{name: "l", content: "missing", mode: fs.ModeSymlink}},
	} {
		if _, err := checked(pack(t, entries...), false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"COM10", "console", "a.b.c", "lpt"} {
		if _, err := checked(pack(t, packed{name: name, content: "x"}), true); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTooManyEntries: the directory of an archive is not read into memory beyond a limit, whatever size it states.
func TestTooManyEntries(t *testing.T) {
	archive := pack(t, packed{name: "a", content: "x"})
	end := bytes.LastIndex(archive, []byte(endSignature))
	locator := append([]byte(locSignature), make([]byte, 16)...)
	end64 := append([]byte(end64Signature), make([]byte, end64Size-4)...)
	end64[32+3] = 1 // 16 million entries
	locator[8] = byte(end)
	forged := bytes.Join([][]byte{archive[:end], end64, locator, archive[end:]}, nil)
	_, err := checked(forged, false)
	if i, ok := errors.AsType[*Invalid](err); !ok || !strings.Contains(i.Reason, "16777216 entries") {
		t.Errorf("%v", err)
	}
}

// TestReaderFails: an archive that cannot be read is not called invalid.
func TestReaderFails(t *testing.T) {
	archive := pack(t, packed{name: "a", content: noise(100_000)})
	broken := errors.New("disk broken")
	for _, good := range []int64{0, 50_000} {
		r := readerAt(func(p []byte, at int64) (int, error) {
			if at >= int64(len(archive))-good || good == 0 || at < good/2 {
				return 0, broken
			}
			return bytes.NewReader(archive).ReadAt(p, at)
		})
		if _, err := Check(t.Context(), r, int64(len(archive)), Limits{MaxUnpacked: quota}); !errors.Is(err, broken) {
			t.Errorf("%d: %v", good, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Check(ctx, bytes.NewReader(archive), int64(len(archive)), Limits{MaxUnpacked: quota})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

type readerAt func(p []byte, at int64) (int, error)

func (f readerAt) ReadAt(p []byte, at int64) (int, error) { return f(p, at) }

// FuzzCheck: Check never panics, and accepts nothing that leads out of the root or is larger than allowed.
func FuzzCheck(f *testing.F) {
	f.Add(pack(f, packed{name: "bin/server", content: "code", mode: 0o755}), true)
	f.Add(pack(f, packed{name: "../x", content: "code"}), false)
	f.Add(pack(f, packed{name: "d/l", content: "../../x", mode: fs.ModeSymlink}), false)
	f.Add(pack(f, packed{name: "d/", mode: fs.ModeDir}, packed{name: "b", content: noise(100)}), false)
	f.Fuzz(func(t *testing.T, archive []byte, windows bool) {
		c, err := checked(archive, windows)
		if err != nil {
			return
		}
		if c.Files == 0 || len(c.Tree) != 64 || c.Unpacked > max(MaxRatio*int64(len(archive)), smallSize) {
			t.Errorf("%+v", c)
		}
		r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range r.File {
			if !fs.ValidPath(strings.TrimSuffix(entry.Name, "/")) {
				t.Errorf("accepted the path %q", entry.Name)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	for _, size := range []int{20 << 10, 8 << 20} {
		archive := pack(b, packed{name: "server", content: noise(size), mode: 0o755})
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := checked(archive, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
