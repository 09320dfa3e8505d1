package backup

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/muster-gg/muster/internal/journal"
)

// A shardCut is a shard of a cut.
type shardCut struct {
	snapshot []byte // nil: none
	seq      uint64 // its record
	records  []journal.Stored
	last     uint64
}

// A testCut is a cut in memory.
type testSnapshot struct {
	shards          []shardCut
	entries, events []journal.Stored
	positions       map[string]uint64
	fail            string // the part that cannot be read
	closed          bool
}

var taken = time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)

var errDisk = errors.New("the disk is gone")

func (c *testSnapshot) broken(part string) error {
	if c.fail == part {
		return errDisk
	}
	return nil
}

func (c *testSnapshot) Taken() time.Time  { return taken }
func (c *testSnapshot) LastEntry() uint64 { return 30 }
func (c *testSnapshot) LastEvent() uint64 { return 40 }
func (c *testSnapshot) Close()            { c.closed = true }

func (c *testSnapshot) Contents(_ context.Context, shard int) (journal.ShardContents, error) {
	return journal.ShardContents{Last: c.shards[shard].last}, c.broken("held")
}

func (c *testSnapshot) Snapshot(_ context.Context, shard int, _ uint64) (uint64, io.ReadCloser, error) {
	s := c.shards[shard]
	if s.snapshot == nil {
		return 0, nil, c.broken("snapshot")
	}
	r := io.NopCloser(bytes.NewReader(s.snapshot))
	if c.fail == "chunk" {
		r = io.NopCloser(io.MultiReader(r, iotest.ErrReader(errDisk)))
	}
	return s.seq, r, c.broken("snapshot")
}

func each(all []journal.Stored, visit func(journal.Stored) error) error {
	for _, s := range all {
		if err := visit(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *testSnapshot) Records(_ context.Context, shard int, _ uint64, visit func(journal.Stored) error) error {
	return errors.Join(each(c.shards[shard].records, visit), c.broken("records"))
}

func (c *testSnapshot) History(_ context.Context, visit func(journal.Stored) error) error {
	return errors.Join(each(c.entries, visit), c.broken("history"))
}

func (c *testSnapshot) Feed(_ context.Context, visit func(journal.Stored) error) error {
	return errors.Join(each(c.events, visit), c.broken("feed"))
}

func (c *testSnapshot) Positions(context.Context) (map[string]uint64, error) {
	return c.positions, c.broken("positions")
}

func record(seq uint64, subject string) journal.Stored {
	return journal.Stored{Seq: seq, Time: taken.Add(time.Duration(seq)), Subject: subject,
		Data: fmt.Appendf(nil, "data %d", seq)}
}

// sampleCut has something of each kind. Its second snapshot has several chunks.
func sampleCut() *testSnapshot {
	return &testSnapshot{
		shards: []shardCut{
			{records: []journal.Stored{record(1, ""), record(2, "")}, last: 2},
			{snapshot: bytes.Repeat([]byte("state"), chunkSize/4), seq: 7, records: []journal.Stored{record(8, "")},
				last: 8},
			{},
			{snapshot: []byte("s"), seq: 3, last: 3},
		},
		entries:   []journal.Stored{record(4, "a.b"), record(9, "c")},
		events:    []journal.Stored{record(11, ""), record(40, "")},
		positions: map[string]uint64{"ann": 11, "bob": 40},
	}
}

var (
	sampleHeader = Header{Region: "us-west-2", Account: "111122223333", Shards: 4, Layout: 1, Release: "v1", Level: 2}
	sampleFiles  = []File{{Name: "region.secret", Mode: 0o600, Data: []byte("secret")},
		{Name: "tls/ca.pem", Mode: 0o644}}
)

// sampleBlobs are an empty blob and another one.
func sampleBlobs() *Blobs {
	contents := map[string]string{"e0": "", "b1": "bytes"}
	return &Blobs{List: []Blob{{"e0", 0}, {"b1", 5}},
		Open: func(hash string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(contents[hash])), nil
		}}
}

func sample(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(t.Context(), &b, sampleHeader, sampleFiles, sampleCut(), sampleBlobs()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// smallSample is sample without the large snapshot.
func smallSample(t testing.TB) []byte {
	t.Helper()
	small := sampleCut()
	small.shards[1].snapshot = []byte("state")
	var b bytes.Buffer
	if err := Write(t.Context(), &b, sampleHeader, sampleFiles, small, sampleBlobs()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// text is what a visitor sees.
func text(from io.Reader) (string, error) {
	var b strings.Builder
	say := func(format string, v ...any) error {
		_, err := fmt.Fprintf(&b, format+"\n", v...)
		return err
	}
	stored := func(what string) func(journal.Stored) error {
		return func(s journal.Stored) error {
			return say("%s %d %d %q %s", what, s.Seq, s.Time.Sub(taken), s.Subject, s.Data)
		}
	}
	number := func(what string) func(uint64) error {
		return func(n uint64) error { return say("%s %d", what, n) }
	}
	ended := func() error { return say("end") }
	_, err := Read(from, Visitor{
		Header: func(h Header) error { return say("%+v", h) },
		File:   func(f File) error { return say("file %s %o %s", f.Name, f.Mode, f.Data) },
		Shard: func(s Shard, snapshot io.Reader) error {
			var state []byte
			var err error
			if snapshot != nil {
				state, err = io.ReadAll(snapshot)
			}
			return errors.Join(err, say("%+v, %d bytes of snapshot, %.7s", s, len(state), state))
		},
		Record: stored("record"), EndShard: ended, History: number("history"), Entry: stored("entry"), EndEntry: ended,
		Feed: number("feed"), Event: stored("event"), EndEvent: ended,
		Position: func(p Position) error { return say("%+v", p) },
		Blob: func(b Blob, content io.Reader) error {
			n, err := io.Copy(io.Discard, content)
			return errors.Join(err, say("blob %s %d: %d bytes", b.Hash, b.Size, n))
		},
	})
	return b.String(), err
}

const sampleText = `{Region:us-west-2 Account:111122223333 Shards:4 Layout:1 Taken:2026-03-01 ` +
	`12:00:00.000000005 +0000 UTC Release:v1 Level:2}
file region.secret 600 secret
file tls/ca.pem 644 
{Number:0 Snapshot:0 Last:2}, 0 bytes of snapshot, 
record 1 1 "" data 1
record 2 2 "" data 2
end
{Number:1 Snapshot:7 Last:8}, 327680 bytes of snapshot, statest
record 8 8 "" data 8
end
{Number:2 Snapshot:0 Last:0}, 0 bytes of snapshot, 
end
{Number:3 Snapshot:3 Last:3}, 1 bytes of snapshot, s
end
history 30
entry 4 4 "a.b" data 4
entry 9 9 "c" data 9
end
feed 40
event 11 11 "" data 11
event 40 40 "" data 40
end
{Reader:ann Seq:11}
{Reader:bob Seq:40}
blob e0 0: 0 bytes
blob b1 5: 5 bytes
`

func TestRoundTrip(t *testing.T) {
	data := sample(t)
	if got, err := text(iotest.OneByteReader(bytes.NewReader(data))); err != nil || got != sampleText {
		t.Errorf("%v; read as\n%s", err, got)
	}
	sum, err := Read(bytes.NewReader(data), Visitor{}) // a visitor need not look
	if err != nil || sum.Records != 3 || sum.Entries != 2 || sum.Events != 2 || len(sum.Shards) != 4 ||
		sum.Shards[1] != (Shard{1, 7, 8}) || sum.Header.Shards != 4 ||
		sum.Blobs != 2 || sum.Bytes != 5 {
		t.Errorf("got %+v, %v", sum, err)
	}
	if bytes.Contains(data, []byte("statestate")) {
		t.Error("it is not compressed")
	}
}

// TestBlobs: a blob that is not as long as it was, or that cannot be read, ends a backup. The snapshot is closed
// before.
func TestBlobs(t *testing.T) {
	for name, open := range map[string]func(string) (io.ReadCloser, error){
		"shorter": func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("b")), nil },
		"lost":    func(string) (io.ReadCloser, error) { return nil, errDisk },
		"broken":  func(string) (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(errDisk)), nil },
	} {
		c := sampleCut()
		err := Write(t.Context(), io.Discard, sampleHeader, nil, c, &Blobs{List: []Blob{{"b1", 2}},
			Open: func(hash string) (io.ReadCloser, error) {
				if !c.closed {
					t.Error("a blob is read while the journal deletes nothing")
				}
				return open(hash)
			}})
		if err == nil || !strings.Contains(err.Error(), "blob b1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var with, without bytes.Buffer
	if err := errors.Join(Write(t.Context(), &with, Header{Shards: 4}, nil, sampleCut(), &Blobs{}),
		Write(t.Context(), &without, Header{Shards: 4}, nil, sampleCut(), nil)); err != nil {
		t.Fatal(err)
	}
	for _, file := range []*bytes.Buffer{&with, &without} {
		if sum, err := Read(file, Visitor{}); err != nil || sum.Blobs != 0 {
			t.Errorf("%+v, %v", sum, err)
		}
	}
}

func TestEmptyRegion(t *testing.T) {
	var b bytes.Buffer
	empty := &testSnapshot{shards: make([]shardCut, 1)}
	if err := Write(t.Context(), &b, Header{Shards: 1}, nil, empty, nil); err != nil {
		t.Fatal(err)
	}
	if sum, err := Read(&b, Visitor{}); err != nil || sum.Records != 0 {
		t.Errorf("got %+v, %v", sum, err)
	}
}

// TestTruncated cuts the file off behind every byte.
func TestTruncated(t *testing.T) {
	data := sample(t)
	for n := range data {
		want := ErrDamaged
		if n < len(magic) {
			want = ErrNoBackup
		}
		if _, err := Read(bytes.NewReader(data[:n]), Visitor{}); !errors.Is(err, want) {
			t.Fatalf("%d of %d bytes: %v", n, len(data), err)
		}
	}
	if _, err := Read(bytes.NewReader(append(data, 0)), Visitor{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("with a byte behind: %v", err)
	}
	if _, err := Read(bytes.NewReader(append(data, data[len(magic):]...)), Visitor{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("with a second one behind: %v", err)
	}
}

// TestDamaged changes each byte of the file. The compression leaves some without a
// meaning; then what is read is right.
func TestDamaged(t *testing.T) {
	data := sample(t)
	for i := range data {
		for _, flip := range []byte{0x11} {
			data[i] ^= flip
			got, err := text(bytes.NewReader(data))
			data[i] ^= flip
			if err == nil && got != sampleText {
				t.Fatalf("byte %d of %d: read as\n%s", i, len(data), got)
			}
			if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNoBackup) {
				t.Fatalf("byte %d of %d: %v", i, len(data), err)
			}
		}
	}
}

// frames is the inside of a backup, and pack puts it back.
func frames(t testing.TB, file []byte) []byte {
	t.Helper()
	d, err := zstd.NewReader(bytes.NewReader(file[len(magic):]))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	data, err := io.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var packer = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)))

func pack(frames []byte) []byte { return packer.EncodeAll(frames, []byte(magic)) }

// TestDamagedFrames changes and drops what the compression has no checksum of its own for,
// because it was written so. The error says where.
func TestDamagedFrames(t *testing.T) {
	file := smallSample(t)
	inside := frames(t, file)
	if _, err := Read(bytes.NewReader(pack(inside)), Visitor{}); err != nil {
		t.Fatal(err)
	}
	places := map[string]bool{}
	for i := range inside {
		inside[i] ^= 0x10
		_, err := Read(bytes.NewReader(pack(inside)), Visitor{})
		inside[i] ^= 0x10
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d of %d: %v", i, len(inside), err)
		}
		if _, err := Read(bytes.NewReader(pack(inside[:i])), Visitor{}); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d of %d bytes: %v", i, len(inside), err)
		} else if _, place, ok := strings.Cut(err.Error(), "file ends in "); ok {
			places[place] = true
		}
	}
	for _, place := range []string{"the header", "the files", "shard 0", "shard 3", "the history", "the event feed",
		"the trailer"} {
		if !places[place] {
			t.Errorf("no file ended in %s, only in %v", place, places)
		}
	}
}

// split cuts the inside into frames.
func split(t *testing.T, inside []byte) (all [][]byte) {
	t.Helper()
	for len(inside) > 0 {
		size, n := binary.Uvarint(inside[1:])
		length := 1 + n + int(size)
		all = append(all, inside[:length])
		inside = inside[length:]
	}
	return all
}

// TestFramesOutOfPlace drops, doubles and swaps whole frames.
func TestFramesOutOfPlace(t *testing.T) {
	all := split(t, frames(t, sample(t)))
	refused := func(what string, i int, changed ...[][]byte) {
		t.Helper()
		var inside []byte
		for _, part := range changed {
			inside = append(inside, bytes.Join(part, nil)...)
		}
		if _, err := Read(bytes.NewReader(pack(inside)), Visitor{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("frame %d of kind %d %s: %v", i, all[i][0], what, err)
		}
	}
	for i := range all {
		refused("dropped", i, all[:i], all[i+1:])
		refused("twice", i, all[:i+1], all[i:])
		if i > 0 && !bytes.Equal(all[i], all[i-1]) {
			refused("too early", i, all[:i-1], all[i:i+1], all[i-1:i], all[i+1:])
		}
	}
}

func TestNoBackup(t *testing.T) {
	for _, text := range []string{"", "PK\x03\x04", "MUSTER BACKUP 2\nxyz"} {
		if _, err := Read(strings.NewReader(text), Visitor{}); !errors.Is(err, ErrNoBackup) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestFailingReader is no damage: the disk or the network is to blame.
func TestFailingReader(t *testing.T) {
	data := sample(t)
	for _, n := range []int{0, 5, len(magic), 40, len(data) - 1} {
		_, err := Read(io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(errDisk)), Visitor{})
		if !errors.Is(err, errDisk) || errors.Is(err, ErrDamaged) {
			t.Errorf("behind %d bytes: %v", n, err)
		}
	}
}

// TestVisitorFails ends the reading with the visitor's error.
func TestVisitorFails(t *testing.T) {
	data := sample(t)
	fail := func() error { return errDisk }
	stored := func(journal.Stored) error { return errDisk }
	number := func(uint64) error { return errDisk }
	for name, v := range map[string]Visitor{
		"header": {Header: func(Header) error { return errDisk }}, "file": {File: func(File) error { return errDisk }},
		"shard":  {Shard: func(Shard, io.Reader) error { return errDisk }},
		"record": {Record: stored}, "end of shard": {EndShard: fail},
		"history": {History: number}, "entry": {Entry: stored}, "end of history": {EndEntry: fail},
		"feed": {Feed: number}, "event": {Event: stored}, "end of feed": {EndEvent: fail},
		"position": {Position: func(Position) error { return errDisk }},
		"blob":     {Blob: func(Blob, io.Reader) error { return errDisk }},
	} {
		if _, err := Read(bytes.NewReader(data), v); !errors.Is(err, errDisk) || errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFailingCut leaves no file that passes for a backup.
func TestFailingCut(t *testing.T) {
	for _, part := range []string{"held", "snapshot", "chunk", "records", "history", "feed", "positions"} {
		c := sampleCut()
		c.fail = part
		var b bytes.Buffer
		if err := Write(t.Context(), &b, sampleHeader, sampleFiles, c, nil); !errors.Is(err, errDisk) {
			t.Errorf("%s: %v", part, err)
		}
		if _, err := Read(&b, Visitor{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: what was written is read: %v", part, err)
		}
	}
}

// A shortWriter takes some bytes.
type shortWriter int

func (w *shortWriter) Write(p []byte) (int, error) {
	if *w -= shortWriter(len(p)); *w < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestFailingWriter(t *testing.T) {
	for _, n := range []int{0, 20, 200} {
		w := shortWriter(n)
		if err := Write(t.Context(), &w, sampleHeader, sampleFiles, sampleCut(), nil); !errors.Is(err, errDisk) {
			t.Errorf("behind %d bytes: %v", n, err)
		}
	}
}

// TestRefusesLargeRecord keeps to what it can read again.
func TestRefusesLargeRecord(t *testing.T) {
	c := sampleCut()
	c.shards[0].records[0].Data = make([]byte, maxFrame)
	if err := Write(t.Context(), io.Discard, sampleHeader, nil, c, nil); err == nil {
		t.Error("a frame that nobody can read was written")
	}
}

// FuzzRead reads any file.
func FuzzRead(f *testing.F) {
	f.Add(smallSample(f))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = text(bytes.NewReader(data)) })
}

// FuzzFrames reads any frames, in a file that is whole as far as the compression knows.
func FuzzFrames(f *testing.F) {
	f.Add(frames(f, smallSample(f)))
	f.Add([]byte{byte(kindHeader), 0xff, 0xff, 0xff, 0x07})
	f.Fuzz(func(t *testing.T, inside []byte) {
		if _, err := Read(bytes.NewReader(pack(inside)), Visitor{}); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	})
}

// TestBoundedMemory reads what claims to be large and is not.
func TestBoundedMemory(t *testing.T) {
	claims := binary.AppendUvarint([]byte{byte(kindHeader)}, maxFrame)
	huge := binary.AppendUvarint([]byte{byte(kindHeader)}, 1<<40)
	for name, inside := range map[string][]byte{"claims": claims, "huge": huge} {
		packed := pack(inside)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Read(bytes.NewReader(packed), Visitor{}); !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}
