package control

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/builds"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A pushedTree is the files of a push with their chunks by hash.
type pushedTree struct {
	BuildPush
	chunks map[string][]byte
}

// treeOf returns a push of files, whose names and contents alternate.
func treeOf(t *testing.T, name string, files ...string) *pushedTree {
	t.Helper()
	tree := &pushedTree{BuildPush: BuildPush{Name: name}, chunks: map[string][]byte{}}
	for i := 0; i < len(files); i += 2 {
		f := builds.File{Path: files[i], Mode: 0o755, Size: int64(len(files[i+1])), SHA256: sumOf(files[i+1])}
		err := builds.Split(strings.NewReader(files[i+1]), func(c []byte) error {
			f.Chunks = append(f.Chunks, builds.Chunk{SHA256: sumOf(string(c)), Size: int64(len(c))})
			tree.chunks[sumOf(string(c))] = bytes.Clone(c)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		tree.Files = append(tree.Files, f)
	}
	return tree
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// push pushes until there is a build, and returns the sizes of the chunks that were sent.
func (w *world) push(tree *pushedTree) (view *BuildView, sent []int) {
	w.t.Helper()
	for range 3 {
		pushed, err := w.PushBuild(w.ctx, &tree.BuildPush)
		if err != nil {
			w.t.Fatal(err)
		}
		if pushed.Build != nil {
			return pushed.Build, sent
		}
		var body []byte
		for _, hash := range pushed.Missing {
			body = builds.AppendChunk(body, tree.chunks[hash])
			sent = append(sent, len(tree.chunks[hash]))
		}
		stored, err := w.StoreChunks(w.ctx, bytes.NewReader(body))
		if err != nil || stored.Chunks != len(pushed.Missing) {
			w.t.Fatalf("%+v: %v", stored, err)
		}
	}
	w.t.Fatal("chunks are missing that were sent")
	return nil, nil
}

func TestPushBuild(t *testing.T) {
	w := newWorld(t, withObjects(t))
	large := strings.Repeat("0123456789abcdef", 3<<15) // 1.5 MiB
	view, sent := w.push(treeOf(t, "arena", "bin/server", large, "readme.txt", "read me", "copy.txt", "read me"))
	if view.Status != "READY" || view.Files != 3 || view.Unpacked != int64(len(large)+14) || len(sent) != 2 {
		t.Errorf("sent %v: %+v", sent, view)
	}
	// It is an ordinary build: the check of archives finds the same in its bytes.
	f, err := w.config.Objects.Open(view.Hash)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	content, err := builds.Check(w.ctx, f, view.Size, builds.Limits{MaxUnpacked: 10 << 20})
	if err != nil || content != (builds.Content{Tree: view.Tree, Files: view.Files, Unpacked: view.Unpacked}) {
		t.Errorf("%+v, %v", content, err)
	}
	if b := w.describeBuild(view.BuildID); b.SizeOnDisk != wire.Some(view.Size) ||
		b.OperatingSystem != "AMAZON_LINUX_2023" {
		t.Errorf("%+v", b)
	}

	same, sent := w.push(treeOf(t, "other", "copy.txt", "read me", "bin/server", large, "readme.txt", "read me"))
	if same.BuildID == view.BuildID || same.Hash != view.Hash || same.Status != "READY" || sent != nil {
		t.Errorf("the same files: sent %v: %+v", sent, same)
	}
	changed, sent := w.push(treeOf(t, "arena", "bin/server", large, "readme.txt", "read it"))
	if changed.Status != "READY" || !slices.Equal(sent, []int{7}) {
		t.Errorf("one changed file: sent %v: %+v", sent, changed)
	}
	if _, sent := w.push(treeOf(t, "another", "bin/server", large, "x", "x")); len(sent) != 2 {
		t.Errorf("of another name: sent %v", sent)
	}
}

// A pushBalancer passes the calls of a push to the nodes in turn.
type pushBalancer struct {
	*net
	manifests, bodies int
}

func (b *pushBalancer) next() *world { return b.worlds[(b.manifests+b.bodies)%len(b.worlds)] }

// push pushes until there is a build, with one chunk in a call, and returns how many it has sent.
func (b *pushBalancer) push(t *testing.T, tree *pushedTree) (view *BuildView, sent int) {
	t.Helper()
	for range 3 {
		w := b.next()
		b.manifests++
		pushed, err := w.PushBuild(w.ctx, &tree.BuildPush)
		if err != nil {
			t.Fatal(err)
		}
		if pushed.Build != nil {
			return pushed.Build, sent
		}
		for _, hash := range pushed.Missing {
			w := b.next()
			b.bodies++
			if _, err := w.StoreChunks(w.ctx, bytes.NewReader(builds.AppendChunk(nil, tree.chunks[hash]))); err != nil {
				t.Fatal(err)
			}
			sent++
		}
	}
	t.Fatal("chunks are missing that were sent")
	return nil, 0
}

// TestPushOverNodes: behind a load balancer each chunk is sent once and the manifest twice, whichever nodes receive
// them, and the next push sends what has changed.
func TestPushOverNodes(t *testing.T) {
	n := newStoringNet(t, 3)
	b := &pushBalancer{net: n}
	files := []string{"large", strings.Repeat("0123456789abcdef", 40<<10), "a", "aa", "b", "bb", "c", "cc", "d", "dd"}
	view, sent := b.push(t, treeOf(t, "arena", files...))
	if view.Status != "READY" || sent != 5 || b.manifests != 2 {
		t.Errorf("%d chunks and %d manifests were sent: %+v", sent, b.manifests, view)
	}
	for i := range 3 { // each time another node has the first manifest
		files[3] += "changed"
		*b = pushBalancer{net: n, bodies: i}
		view, sent = b.push(t, treeOf(t, "arena", files...))
		if view.Status != "READY" || sent != 1 || b.manifests != 2 {
			t.Errorf("one change: %d chunks and %d manifests were sent: %+v", sent, b.manifests, view)
		}
	}
	f, err := n.worlds[2].config.Objects.Open(view.Hash)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	content, err := builds.Check(n.worlds[2].ctx, f, view.Size, builds.Limits{MaxUnpacked: 10 << 20})
	if err != nil || content.Tree != view.Tree {
		t.Errorf("%+v, %v", content, err)
	}
}

// TestPushWithLostNode: chunks on a node that is lost before the build is complete are sent again.
func TestPushWithLostNode(t *testing.T) {
	n := newStoringNet(t, 3)
	tree := treeOf(t, "arena", "a", "aa", "b", "bb")
	for hash := range tree.chunks {
		w := n.worlds[1]
		if _, err := w.StoreChunks(w.ctx, bytes.NewReader(builds.AppendChunk(nil, tree.chunks[hash]))); err != nil {
			t.Fatal(err)
		}
	}
	n.setDown(1, true)
	w := n.worlds[0]
	if pushed, err := w.PushBuild(w.ctx, &tree.BuildPush); err != nil || len(pushed.Missing) != 2 {
		t.Errorf("%+v, %v", pushed, err)
	}
	if view, sent := w.push(tree); view.Status != "READY" || len(sent) != 2 {
		t.Errorf("sent %v: %+v", sent, view)
	}
}

// TestPushedChunksAreChecked: bytes on the disk that changed are sent again, and are in no build.
func TestPushedChunksAreChecked(t *testing.T) {
	w := newWorld(t, withObjects(t))
	first, _ := w.push(treeOf(t, "arena", "a", "aaaa", "b", "bbbb"))
	path := filepath.Join(w.config.Objects.Dir, "sha256", first.Hash[:2], first.Hash)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(data, []byte("aaaa"), []byte("aaax")), 0o600); err != nil {
		t.Fatal(err)
	}
	second, sent := w.push(treeOf(t, "arena", "a", "aaaa", "b", "bbbb", "c", "c"))
	if second.Status != "READY" || !slices.Equal(sent, []int{1, 4}) {
		t.Errorf("sent %v: %+v", sent, second)
	}
	f, err := w.config.Objects.Open(second.Hash)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if content, err := builds.Check(w.ctx, f, second.Size, builds.Limits{MaxUnpacked: 1 << 20}); err != nil ||
		content.Tree != second.Tree {
		t.Errorf("%+v, %v", content, err)
	}
}

// TestPushAfterDeletion: chunks of a build whose bytes were deleted are sent again.
func TestPushAfterDeletion(t *testing.T) {
	w := newWorld(t, withObjects(t))
	first, _ := w.push(treeOf(t, "arena", "a", "aaaa"))
	if err := w.config.Objects.Delete(first.Hash); err != nil {
		t.Fatal(err)
	}
	again, sent := w.push(treeOf(t, "arena", "a", "aaaa"))
	if len(sent) != 1 || again.Hash != first.Hash {
		t.Errorf("sent %v: %+v", sent, again)
	}
	if b := w.describeBuild(first.BuildID); b.Status != wire.BuildStatusReady {
		t.Errorf("the build whose bytes are back is %s", b.Status)
	}
}

func TestPushRefuses(t *testing.T) {
	w := newWorld(t, withObjects(t))
	lie := treeOf(t, "arena", "a", "aaaa")
	lie.Files[0].SHA256 = sumOf("another")
	for hash := range lie.chunks {
		if _, err := w.StoreChunks(w.ctx, bytes.NewReader(builds.AppendChunk(nil, lie.chunks[hash]))); err != nil {
			t.Fatal(err)
		}
	}
	size := treeOf(t, "arena", "a", "aaaa")
	size.Files[0].Size, size.Files[0].Chunks = 3, nil
	before := w.buildIDs()
	for name, c := range map[string]struct {
		push   *BuildPush
		reason string
	}{
		"hash of a file":   {&lie.BuildPush, "the manifest states"},
		"size of a chunk":  {&size.BuildPush, "the manifest states 3"},
		"no files":         {&BuildPush{}, "no files"},
		"path":             {&treeOf(t, "x", "../a", "x").BuildPush, `has the part ".."`},
		"operating system": {&BuildPush{OperatingSystem: "DOS", Files: lie.Files}, "operatingSystem"},
		"name":             {&BuildPush{Name: strings.Repeat("x", 2000), Files: lie.Files}, "name"},
		"Windows": {&BuildPush{OperatingSystem: "WINDOWS_2022", Files: treeOf(t, "x", "a", "x", "A", "y").Files},
			"two entries"},
		"size": {&BuildPush{Files: []builds.File{{Path: "a", Size: 11 << 20, SHA256: sumOf("")}}},
			"more than 10485760"},
	} {
		_, err := w.PushBuild(w.ctx, c.push)
		if !strings.Contains(fault.Of(err).Message, c.reason) || fault.Of(err).Kind.HTTPStatus() != 400 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := w.buildIDs(); !slices.Equal(before, after) {
		t.Errorf("refused pushes made builds: %v", after)
	}
	if _, err := w.StoreChunks(w.ctx, strings.NewReader("\xff\xff\xff\xff")); !fault.Is(err, fault.InvalidRequest) {
		t.Errorf("a chunk of 4 GiB: %v", err)
	}
}

// buildIDs returns the ids of all builds.
func (w *world) buildIDs() (ids []string) {
	w.t.Helper()
	list, err := w.BuildViews("", 100, "")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, b := range list.Builds {
		ids = append(ids, b.BuildID)
	}
	return ids
}

// TestPushedChunksAreDropped: chunks are not kept besides the build that has them.
func TestPushedChunksAreDropped(t *testing.T) {
	w := newWorld(t, withObjects(t))
	tree := treeOf(t, "arena", "a", "aaaa")
	if _, err := w.StoreChunks(w.ctx, bytes.NewReader(builds.AppendChunk(nil, []byte("aaaa")))); err != nil {
		t.Fatal(err)
	}
	if !w.config.Objects.HasChunk(sumOf("aaaa")) {
		t.Fatal("the chunk is missing")
	}
	if _, sent := w.push(tree); sent != nil {
		t.Errorf("sent %v", sent)
	}
	if w.config.Objects.HasChunk(sumOf("aaaa")) {
		t.Error("the chunk is kept besides its build")
	}
	_, err := w.StoreChunks(w.ctx, io.MultiReader(bytes.NewReader(builds.AppendChunk(nil, []byte("b"))),
		brokenBody{}))
	if err == nil {
		t.Error("a body that cannot be read is stored")
	}
}

// A brokenBody cannot be read.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }
