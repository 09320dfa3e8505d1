package control

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/muster-gg/muster/internal/builds"
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/objects"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// reusedBuilds is the number of builds of the same name, the newest, in which the chunks of a pushed build are
// searched.
const reusedBuilds = 4

// collecting is how many chunks of other nodes are awaited at the same time.
const collecting = 4

// A BuildPush describes a build whose files are sent in chunks. What is empty is as in CreateBuild.
type BuildPush struct {
	Name             string        `json:"name,omitempty"`
	Version          string        `json:"version,omitempty"`
	OperatingSystem  string        `json:"operatingSystem,omitempty"`
	ServerSDKVersion string        `json:"serverSdkVersion,omitempty"`
	Tags             []BuildTag    `json:"tags,omitempty"`
	Files            []builds.File `json:"files"`
}

// A BuildPushed is the answer to a BuildPush: the chunks that the service does not have, or the build.
type BuildPushed struct {
	Missing []string   `json:"missing,omitempty"` // SHA-256 in hex; send them, and repeat the push
	Build   *BuildView `json:"build,omitempty"`   // READY; absent if chunks are missing
}

// ChunksStored is the answer to the sending of chunks.
type ChunksStored struct {
	Chunks int   `json:"chunks"`
	Bytes  int64 `json:"bytes"`
}

// StoreChunks stores the chunks of a body for a push that follows: see builds.ReadChunks for its format.
// InvalidRequest, LimitExceeded if the chunks of unfinished builds are too many.
func (p *Plane) StoreChunks(_ context.Context, body io.Reader) (*ChunksStored, error) {
	if !p.keepsObjects() {
		return nil, invalid("%s", noObjects)
	}
	stored := &ChunksStored{}
	err := builds.ReadChunks(body, func(chunk []byte) error {
		stored.Chunks++
		stored.Bytes += int64(len(chunk))
		_, err := p.cfg.Objects.PutChunk(chunk)
		return err
	})
	if objects.CodeOf(err) == objects.SlowDown {
		return nil, fault.New(fault.LimitExceeded, "%v", err)
	}
	if err != nil {
		return nil, hostile(err)
	}
	return stored, nil
}

// hostile converts the error of a list of files or of chunks that are no build.
func hostile(err error) error {
	if i, ok := errors.AsType[*builds.Invalid](err); ok {
		return invalid("The build is not valid: %s", i.Reason)
	}
	return err
}

// PushBuild creates a READY build of chunks, or returns those that are missing. Files that a READY build has already
// are not stored again. InvalidRequest.
func (p *Plane) PushBuild(ctx context.Context, in *BuildPush) (*BuildPushed, error) {
	command, content, err := p.checkPush(in)
	if err != nil {
		return nil, err
	}
	same, ok := p.sameFiles(content.Tree)
	if !ok {
		var missing []string
		if same, missing, err = p.assemble(ctx, in); err != nil || len(missing) > 0 {
			return &BuildPushed{Missing: missing}, err
		}
	}
	view, err := p.createPushed(ctx, command, same, content)
	return &BuildPushed{Build: view}, err
}

// checkPush checks a push by the rules of CreateBuild and of archives.
func (p *Plane) checkPush(in *BuildPush) (command catalog.CreateBuild, content builds.Content, err error) {
	if !p.keepsObjects() {
		return command, content, invalid("%s", noObjects)
	}
	create := &wire.CreateBuildInput{Name: in.Name, Version: in.Version,
		OperatingSystem: wire.OperatingSystem(in.OperatingSystem), ServerSdkVersion: in.ServerSDKVersion}
	for _, t := range in.Tags {
		create.Tags = append(create.Tags, wire.Tag{Key: t.Key, Value: t.Value})
	}
	if err := wire.OpCreateBuild.Check(create); err != nil {
		return command, content, err
	}
	command = newBuild(create)
	content, err = builds.CheckFiles(in.Files, p.buildLimits(command.OperatingSystem))
	return command, content, hostile(err)
}

// sameFiles returns the object of a READY build with the same files, whose bytes are kept from then on for a while.
func (p *Plane) sameFiles(tree string) (catalog.Object, bool) {
	found, _ := p.Catalog().Builds(func(b *catalog.Build) bool {
		return b.Tree == tree && b.Status == catalog.BuildReady && p.hasBytes(b.Hash)
	}, "", reusedBuilds)
	for _, b := range found {
		o, ok := p.Catalog().Object("", b.ID)
		if ok && p.cfg.Objects.Renew(o.Hash) == nil {
			return *o, true
		}
	}
	return catalog.Object{}, false
}

// createPushed creates a build that has the bytes of an object.
func (p *Plane) createPushed(ctx context.Context, command catalog.CreateBuild, o catalog.Object,
	content builds.Content) (*BuildView, error) {
	if err := p.spreadObject(ctx, o.Hash); err != nil {
		return nil, tooFewCopies(err)
	}
	o.Bucket, o.Key = "", command.ID
	for _, c := range []catalog.Command{command, catalog.PutObject{Object: o},
		catalog.FinishBuild{ID: command.ID, Hash: o.Hash, BuildContent: catalog.BuildContent{
			Tree: content.Tree, Files: content.Files, Unpacked: content.Unpacked}}} {
		if err := p.Change(ctx, c); err != nil {
			return nil, err
		}
	}
	return p.BuildView(command.ID)
}

// assemble writes the archive of a push, unless chunks are missing. One is written at a time: more would be slower
// together.
func (p *Plane) assemble(ctx context.Context, in *BuildPush) (o catalog.Object, missing []string, err error) {
	select {
	case p.builds.assembling <- struct{}{}:
		defer func() { <-p.builds.assembling }()
	case <-ctx.Done():
		return o, nil, ctx.Err()
	}
	from := p.newChunkSource(ctx, in.Name)
	defer from.close()
	if missing = from.missing(ctx, in.Files); len(missing) == 0 {
		missing = from.collect(ctx)
	}
	if len(missing) > 0 {
		return o, missing, ctx.Err()
	}
	w, err := p.cfg.Objects.Create(0)
	if err != nil {
		return o, nil, err
	}
	defer w.Abort()
	places, err := builds.Assemble(ctx, w, in.Files, from.chunk)
	if errors.Is(err, errNoChunk) { // deleted or damaged meanwhile
		return o, from.missing(ctx, in.Files), nil
	}
	if err == nil {
		err = w.Commit()
	}
	if err != nil {
		return o, nil, hostile(err)
	}
	o = catalog.Object{Hash: w.SHA256(), Size: w.Size(), ETag: w.MD5(), ContentType: "application/zip"}
	if err := p.cfg.Objects.PutIndex(o.Hash, builds.EncodePlaces(places)); err != nil {
		p.cfg.Log.Warn("index of a build not written: the next push sends more", "err", err)
	}
	from.drop()
	return o, nil, nil
}

// A chunkSource finds the chunks of a build: those that were sent, to any node, and those of earlier builds.
type chunkSource struct {
	plane    *Plane
	store    *objects.Store
	others   []string        // chunks that other nodes have
	sent     map[string]bool // the chunks that were used
	places   map[string]placeOf
	archives map[string]*os.File // by hash; opened when they are read
	buffer   []byte
}

// A placeOf is a place in an archive.
type placeOf struct {
	archive string // hash
	builds.Place
}

// newChunkSource returns a source for a build of a name.
func (p *Plane) newChunkSource(ctx context.Context, name string) *chunkSource {
	s := &chunkSource{plane: p, store: p.cfg.Objects, sent: map[string]bool{}, places: map[string]placeOf{},
		archives: map[string]*os.File{}}
	for _, b := range p.newestBuilds(name) {
		index, err := p.indexOf(ctx, b.Hash)
		if err != nil { // it was not pushed, or the index is lost
			continue
		}
		for _, place := range builds.DecodePlaces(index) {
			s.places[place.SHA256] = placeOf{b.Hash, place}
		}
	}
	return s
}

// indexOf returns the index of a pushed build, which the node has written that has assembled it.
func (p *Plane) indexOf(ctx context.Context, hash string) ([]byte, error) {
	if p.copies != nil {
		if err := p.copies.Indexes.Fetch(ctx, hash); err != nil {
			return nil, err
		}
	}
	return p.cfg.Objects.Index(hash)
}

// newestBuilds returns the READY builds of a name whose chunks are searched, the newest last.
func (p *Plane) newestBuilds(name string) []*catalog.Build {
	all := p.Catalog()
	found, _ := all.Builds(func(b *catalog.Build) bool {
		return b.Name == name && b.Status == catalog.BuildReady
	}, "", all.BuildCount())
	slices.SortFunc(found, func(a, b *catalog.Build) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), strings.Compare(a.ID, b.ID))
	})
	return found[max(0, len(found)-reusedBuilds):]
}

// missing returns the hashes of the chunks that are nowhere, each once. Those that only other nodes have are in others.
func (s *chunkSource) missing(ctx context.Context, files []builds.File) (missing []string) {
	seen := map[string]bool{}
	for i := range files {
		for _, c := range files[i].Pieces() {
			if seen[c.SHA256] {
				continue
			}
			seen[c.SHA256] = true
			if place, ok := s.places[c.SHA256]; ok && place.Size == c.Size && s.plane.hasBytes(place.archive) {
				continue
			}
			if !s.store.HasChunk(c.SHA256) {
				missing = append(missing, c.SHA256)
			}
		}
	}
	if s.plane.copies == nil || len(missing) == 0 {
		return missing
	}
	elsewhere, err := s.plane.copies.Chunks.Elsewhere(ctx, missing)
	if err != nil {
		s.plane.cfg.Log.Warn("chunks of a build not found on all nodes: they are sent again", "err", err)
	}
	s.others = nil
	return slices.DeleteFunc(missing, func(hash string) bool {
		if elsewhere[hash] {
			s.others = append(s.others, hash)
		}
		return elsewhere[hash]
	})
}

// collect fetches the chunks that other nodes have, and returns those for which that has failed.
func (s *chunkSource) collect(ctx context.Context) (failed []string) {
	var group errgroup.Group
	group.SetLimit(collecting)
	for _, hash := range s.others {
		group.Go(func() error {
			if err := s.plane.copies.Chunks.Fetch(ctx, hash); err != nil {
				s.plane.cfg.Log.Warn("chunk of a build not fetched: it is sent again", "sha256", hash, "err", err)
			}
			return nil
		})
	}
	_ = group.Wait() // there is none
	return slices.DeleteFunc(slices.Clone(s.others), s.store.HasChunk)
}

// errNoChunk is the error for a chunk that is nowhere.
var errNoChunk = errors.New("the chunk is missing")

// chunk returns a chunk whose size and hash are right, or errNoChunk.
func (s *chunkSource) chunk(c builds.Chunk) ([]byte, error) {
	if place, ok := s.places[c.SHA256]; ok && place.Size == c.Size {
		data, err := s.read(place)
		if err == nil || !errors.Is(err, errNoChunk) {
			return data, err
		}
		delete(s.places, c.SHA256)
	}
	data, err := s.store.Chunk(c.SHA256)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNoChunk
	case err != nil:
		return nil, err
	case int64(len(data)) != c.Size:
		return nil, &builds.Invalid{Reason: fmt.Sprintf("chunk %s has %d bytes; the manifest states %d", c.SHA256,
			len(data), c.Size)}
	}
	s.sent[c.SHA256] = true
	return data, nil
}

// read reads a chunk of an earlier build; errNoChunk if it is not there.
func (s *chunkSource) read(from placeOf) ([]byte, error) {
	f := s.archives[from.archive]
	if f == nil {
		var err error
		if f, err = s.store.Open(from.archive); errors.Is(err, fs.ErrNotExist) {
			return nil, errNoChunk
		} else if err != nil {
			return nil, err
		}
		s.archives[from.archive] = f
	}
	if s.buffer == nil {
		s.buffer = make([]byte, builds.MaxChunk)
	}
	data := s.buffer[:from.Size]
	if _, err := f.ReadAt(data, from.Offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read a chunk: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != from.SHA256 {
		return nil, errNoChunk
	}
	return data, nil
}

// drop deletes the chunks that were used, which the archive has now.
func (s *chunkSource) drop() {
	for hash := range s.sent {
		_ = s.store.DeleteChunk(hash) // it is deleted later otherwise
	}
}

func (s *chunkSource) close() {
	for _, f := range s.archives {
		_ = f.Close() // only read
	}
}
