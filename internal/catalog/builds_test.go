package catalog

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func buildMade(id string, change ...func(*Build)) *BuildCreated {
	b := Build{ID: id, Name: "arena", Version: "1", OperatingSystem: "AMAZON_LINUX_2023", SDKVersion: "4.0.2",
		Status: BuildInitialized, Created: t0}
	for _, c := range change {
		c(&b)
	}
	return &BuildCreated{b}
}

func uploaded(build, hash string) Event {
	return &ObjectPut{Object{Key: build, Hash: hash, Size: 10, ETag: "e", Modified: t0}}
}

func bucketMade(name string) Event { return &BucketCreated{Bucket{Name: name, Created: t0}} }

func objectPut(bucket, key, hash string) Event {
	return &ObjectPut{Object{Bucket: bucket, Key: key, Hash: hash, Size: 1, Modified: t0}}
}

// indexBuilds makes anew what is derived from builds and objects.
func indexBuilds(all map[string]any, s *State) {
	refer := func(hash string) {
		if hash != "" {
			n, _ := all["referred "+hash].(int)
			all["referred "+hash] = n + 1
		}
	}
	for _, b := range s.builds.Values() {
		refer(b.Hash)
		if b.Status == BuildInitialized && b.Hash != "" {
			all["unchecked "+b.ID] = struct{}{}
		}
	}
	for _, o := range s.objects.Values() {
		refer(o.Hash)
	}
	for _, f := range s.fleets.Values() {
		if f.Status != StatusTerminated {
			for _, hash := range f.Hashes() {
				refer(hash)
			}
		}
	}
	for _, e := range s.fleetEvents.Values() {
		refer(e.Log)
	}
	for _, i := range s.instances.Values() {
		refer(i.Log)
	}
}

func (w *world) build() string { return w.some("build-", 4) }

func (w *world) hash() string { return w.some("hash-", 3) }

func (w *world) bucket() string { return w.some("bucket-", 3) }

func (w *world) buildCommand() Command {
	switch w.r.IntN(12) {
	case 0, 1:
		c := CreateBuild{ID: w.build(), Name: "arena", Tags: w.tags()}
		if w.chance(2) {
			c.Source = BuildSource{Bucket: w.bucket(), Key: "a.zip"}
			c.Hash = [...]string{"", w.hash()}[w.r.IntN(2)]
		}
		return c
	case 2:
		return UpdateBuild{ID: w.build(), Name: ptr(w.some("name-", 3))}
	case 3, 4:
		c := FinishBuild{ID: w.build(), Hash: w.hash(), BuildContent: BuildContent{Tree: "t", Files: 1}}
		if w.chance(2) {
			c.Reason = "it is no zip"
		}
		return c
	case 5:
		return DeleteBuild{w.build()}
	case 6:
		return CreateBucket{w.bucket()}
	case 7:
		return DeleteBucket{w.bucket()}
	case 8:
		return DeleteObject{w.bucket(), w.some("key-", 3)}
	case 9:
		return PutObject{Object{Key: w.build(), Hash: w.hash(), Size: 3}}
	default:
		return PutObject{Object{Bucket: w.bucket(), Key: w.some("key-", 3), Hash: w.hash()}}
	}
}

// checkBuilds holds what is true of all builds and objects.
func checkBuilds(t *testing.T, s *State) {
	t.Helper()
	l := s.limits
	if s.builds.Len() > l.Builds || s.buckets.Len() > l.Buckets || s.objects.Len() > l.Objects+l.Builds {
		t.Errorf("over a limit: %d builds, %d buckets, %d objects", s.builds.Len(), s.buckets.Len(), s.objects.Len())
	}
	for _, b := range s.builds.Values() {
		o, uploaded := s.Object("", b.ID)
		if (b.Status == BuildFailed) != (b.Reason != "") || b.Status == BuildReady && b.Hash == "" ||
			uploaded && (o.Hash != b.Hash || o.Size != b.Size) {
			t.Errorf("build %+v with object %+v", b, o)
		}
	}
	for _, o := range s.objects.Values() {
		_, build := s.builds.Get(o.Key)
		if _, ok := s.buckets.Get(o.Bucket); !ok && !(o.Bucket == "" && build) {
			t.Errorf("object %s has neither a bucket nor a build", o.Key)
		}
	}
}

func TestBuildCommands(t *testing.T) {
	made, ready := buildMade("build-1"), BuildContent{Tree: "5f", Files: 2, Unpacked: 20}
	create := CreateBuild{ID: "build-1", Name: "arena", Version: "1", OperatingSystem: "AMAZON_LINUX_2023",
		SDKVersion: "4.0.2"}
	from := create
	from.Source = BuildSource{Bucket: "games", Key: "a.zip"}
	found := from
	found.Hash, found.Size = "aa", 7
	finish := FinishBuild{ID: "build-1", Hash: "aa", BuildContent: ready}
	failed := finish
	failed.BuildContent = BuildContent{Reason: "it is no zip"}
	full := []Event{buildMade("build-1"), buildMade("build-2"), buildMade("build-3")}
	play(t, []scene{
		{name: "create", when: create, then: []Event{made}},
		{name: "again", given: []Event{made}, when: create},
		{name: "with tags", when: CreateBuild{ID: "build-1", Tags: []Tag{{"stage", "test"}}}, then: []Event{
			&BuildCreated{Build{ID: "build-1", Status: BuildInitialized, Created: t0}},
			&ResourceTagged{"build/build-1", []Tag{{"stage", "test"}}}}},
		{name: "wrong tags", when: CreateBuild{ID: "build-1", Tags: []Tag{{"aws:x", ""}}}, fault: fault.TaggingFailed},
		{name: "too many", given: full, when: CreateBuild{ID: "build-4"}, fault: fault.InvalidRequest,
			text: "The limit of 3 builds is reached. Delete builds that no fleet needs."},
		{name: "of an object", when: found, then: []Event{buildMade("build-1", func(b *Build) {
			b.Source, b.Hash, b.Size = from.Source, "aa", 7
		})}},
		{name: "of no object", when: from, then: []Event{buildMade("build-1", func(b *Build) {
			b.Source, b.Status = from.Source, BuildFailed
			b.Reason = "There is no object a.zip in bucket games"
		})}},

		{name: "update", given: []Event{made}, when: UpdateBuild{"build-1", ptr("duel"), nil},
			then: []Event{&BuildUpdated{"build-1", "duel", "1"}}},
		{name: "update nothing", given: []Event{made}, when: UpdateBuild{"build-1", ptr("arena"), ptr("1")}},
		{name: "update an unknown one", when: UpdateBuild{ID: "build-1"}, fault: fault.NotFound,
			text: "Build build-1 not found"},

		{name: "ready", given: []Event{made, uploaded("build-1", "aa")}, when: finish,
			then: []Event{&BuildFinished{"build-1", BuildReady, ready}}},
		{name: "failed", given: []Event{made, uploaded("build-1", "aa")}, when: failed,
			then: []Event{&BuildFinished{"build-1", BuildFailed, failed.BuildContent}}},
		{name: "finish twice", given: []Event{made, uploaded("build-1", "aa"),
			&BuildFinished{"build-1", BuildReady, ready}}, when: failed},
		{name: "finish other bytes", given: []Event{made, uploaded("build-1", "bb")}, when: finish,
			fault: fault.Conflict},
		{name: "finish without bytes", given: []Event{made}, when: FinishBuild{ID: "build-1"}, fault: fault.Conflict},
		{name: "finish an unknown one", when: finish, fault: fault.NotFound},

		{name: "delete", given: []Event{made}, when: DeleteBuild{"build-1"}, then: []Event{&BuildDeleted{"build-1"}}},
		{name: "delete an unknown one", when: DeleteBuild{"build-1"}, fault: fault.NotFound},
	})
}

func TestObjectCommands(t *testing.T) {
	made := buildMade("build-1")
	upload := PutObject{Object{Key: "build-1", Hash: "aa", Size: 10, ETag: "e"}}
	put := PutObject{Object{Bucket: "games", Key: "a", Hash: "aa", Size: 1}}
	full := []Event{bucketMade("games")}
	for i := range 4 {
		full = append(full, objectPut("games", fmt.Sprint("k", i), "aa"))
	}
	play(t, []scene{
		{name: "create a bucket", when: CreateBucket{"games"}, then: []Event{bucketMade("games")}},
		{name: "again", given: []Event{bucketMade("games")}, when: CreateBucket{"games"}, fault: fault.Conflict},
		{name: "too many buckets", given: []Event{bucketMade("a"), bucketMade("b")}, when: CreateBucket{"games"},
			fault: fault.LimitExceeded, text: "The limit of 2 buckets is reached"},
		{name: "delete a bucket", given: []Event{bucketMade("games")}, when: DeleteBucket{"games"},
			then: []Event{&BucketDeleted{"games"}}},
		{name: "delete a full bucket", given: full, when: DeleteBucket{"games"}, fault: fault.Conflict},
		{name: "delete an unknown bucket", when: DeleteBucket{"games"}, fault: fault.NotFound},

		{name: "put", given: []Event{bucketMade("games")}, when: put, then: []Event{objectPut("games", "a", "aa")}},
		{name: "put into no bucket", when: put, fault: fault.NotFound, text: "Bucket games not found"},
		{name: "too many", given: full, when: put, fault: fault.LimitExceeded},
		{name: "replace at the limit", given: full, when: PutObject{Object{Bucket: "games", Key: "k1", Hash: "bb",
			Size: 1}}, then: []Event{objectPut("games", "k1", "bb")}},
		{name: "upload", given: []Event{made}, when: upload, then: []Event{uploaded("build-1", "aa")}},
		{name: "upload twice", given: []Event{made, uploaded("build-1", "bb")}, when: upload,
			fault: fault.AccessDenied,
			text:  "Build build-1 has its files, and they cannot be changed. Create another build."},
		{name: "upload for no build", when: upload, fault: fault.NotFound},

		{name: "delete", given: full, when: DeleteObject{"games", "k1"}, then: []Event{&ObjectDeleted{"games", "k1"}}},
		{name: "delete nothing", given: full, when: DeleteObject{"games", "x"}},
		{name: "delete in no bucket", when: DeleteObject{"x", "k1"}, fault: fault.NotFound},
	})
}

// TestReferences: bytes are referred to by builds and objects, until the last of them is deleted.
func TestReferences(t *testing.T) {
	s := given(t, DefaultLimits(), buildMade("build-1"), uploaded("build-1", "aa"), bucketMade("games"),
		objectPut("games", "a", "aa"), objectPut("games", "b", "bb"))
	if list := s.UncheckedBuilds(); len(list) != 1 || list[0].Hash != "aa" || list[0].Size != 10 {
		t.Fatalf("unchecked %+v", list)
	}
	do(t, s, t0, FinishBuild{ID: "build-1", Hash: "aa"})
	do(t, s, t0, CreateBuild{ID: "build-2", Source: BuildSource{Bucket: "games", Key: "b"}, Hash: "bb"})
	before := encode(t, s)
	checkEqual(t, "snapshot", decode(t, DefaultLimits(), before), s)
	frozen := s.Copy()
	do(t, s, t0, DeleteObject{"games", "b"})
	do(t, s, t0, DeleteBuild{"build-1"})
	if !s.Referred("aa") || !s.Referred("bb") || s.Referred("cc") {
		t.Error("bytes that an object or a build needs are not referred to")
	}
	do(t, s, t0, PutObject{Object{Bucket: "games", Key: "a", Hash: "cc"}})
	do(t, s, t0, DeleteBuild{"build-2"})
	if s.Referred("aa") || s.Referred("bb") || !s.Referred("cc") || len(s.UncheckedBuilds()) != 0 {
		t.Error("bytes are referred to that nothing needs")
	}
	if !bytes.Equal(before, encode(t, frozen)) {
		t.Error("the copy changed with the original")
	}
}

func TestListObjects(t *testing.T) {
	s := given(t, DefaultLimits(), bucketMade("games"), bucketMade("game"), objectPut("game", "b", "x"))
	for _, key := range []string{"a", "b", "b/1", "b/2", "c"} {
		s.Apply(objectPut("games", key, "x"))
	}
	for _, c := range []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"", "", 9, []string{"a", "b", "b/1", "b/2", "c"}},
		{"", "", 2, []string{"a", "b"}},
		{"", "b", 9, []string{"b/1", "b/2", "c"}},
		{"b", "", 9, []string{"b", "b/1", "b/2"}},
		{"b", "b", 9, []string{"b/1", "b/2"}},
		{"b/", "a", 9, []string{"b/1", "b/2"}},
		{"b/", "b/1", 9, []string{"b/2"}},
		{"b/", "c", 9, nil},
		{"", "z", 9, nil},
	} {
		var keys []string
		for _, o := range s.Objects("games", c.prefix, c.after, c.limit) {
			keys = append(keys, o.Key)
		}
		if !slices.Equal(keys, c.want) {
			t.Errorf("%+v: %v", c, keys)
		}
	}
}

// TestBuildLevel: below their level there are no builds and buckets.
func TestBuildLevel(t *testing.T) {
	s := New(DefaultLimits())
	s.Raise(BuildLevel - 1)
	for _, c := range []Command{CreateBuild{ID: "build-1"}, CreateBucket{"games"}} {
		if _, err := s.Decide(t0, c); !fault.Is(err, fault.ServiceUnavailable) {
			t.Errorf("%T: %v", c, err)
		}
	}
}
