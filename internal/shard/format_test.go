package shard

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/muster-gg/muster/internal/event"
)

type note struct {
	Text string `cbor:"1,keyasint"`
}

var notes = event.NewSet([]event.Entry{{Number: 7, Type: (*note)(nil)}})

func noteFact(text string) event.Fact { return event.Fact{Room: 1, Body: &note{text}} }

// The bytes of a record and of a snapshot are a file format.
func TestFormats(t *testing.T) {
	var b batch[struct{}]
	if err := b.add(notes, 0x0102030405060708, 1000, []event.Fact{noteFact("a"), noteFact("b")}); err != nil {
		t.Fatal(err)
	}
	got, want := hex.EncodeToString(b.record(0)), "01"+"0102030405060708"+"830701a1016161"+"830701a1016162"
	if got != want {
		t.Errorf("the record is %s, want %s", got, want)
	}
	if got, want := hex.EncodeToString(snapshotOf(t, "a",
		"b")), hex.EncodeToString([]byte("MSS\x01"))+"0e"+"830701a1016161"+"830701a1016162"+"00"+"02"; got != want {
		t.Errorf("the snapshot is %s, want %s", got, want)
	}
}

func snapshotOf(t testing.TB, texts ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	err := writeSnapshot(&buf, notes, func(write func(event.Fact) error) error {
		for _, text := range texts {
			if err := write(noteFact(text)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func textsOf(data io.Reader) (texts []string, err error) {
	err = ReadSnapshot(data, notes, func(f event.Fact) error {
		texts = append(texts, f.Body.(*note).Text)
		return nil
	})
	return texts, err
}

func TestSnapshotRoundTrip(t *testing.T) {
	large := strings.Repeat("x", 3*frameSize)
	for _, want := range [][]string{nil, {"a"}, {"a", large, "b"}, strings.Split(strings.Repeat("y,", 50_000), ",")} {
		got, err := textsOf(iotest.HalfReader(bytes.NewReader(snapshotOf(t, want...))))
		if err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%d facts become %d, %v", len(want), len(got), err)
		}
	}
}

func TestSnapshotThatIsDamaged(t *testing.T) {
	whole := snapshotOf(t, "a", "b")
	for n := range whole {
		if _, err := textsOf(bytes.NewReader(whole[:n])); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%d of %d bytes give %v", n, len(whole), err)
		}
	}
	for what, data := range map[string]string{
		"magic":         "MSS\x02\x00\x00",
		"a wrong count": "MSS\x01\x00\x01",
		"a giant frame": "MSS\x01\xff\xff\xff\xff\xff\x0f",
		"a lie":         "MSS\x01\xff\xff\xff\x0fabc",
		"no fact":       "MSS\x01\x03abc\x00\x01",
	} {
		if _, err := textsOf(strings.NewReader(data)); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s gives %v", what, err)
		}
	}
	broken := errors.New("broken")
	if _, err := textsOf(iotest.ErrReader(broken)); !errors.Is(err, broken) || errors.Is(err, ErrUnreadable) {
		t.Errorf("a reader that fails gives %v", err)
	}
}

func TestBatchIsUnchangedByWhatItRefuses(t *testing.T) {
	var b batch[struct{}]
	add := func(n int) error {
		return b.add(notes, 1, 100, []event.Fact{noteFact("first"), noteFact(strings.Repeat("x", n))})
	}
	if err := add(200); !errors.Is(err, errTooLarge) || !b.empty() || len(b.facts) > 0 {
		t.Errorf("got %v, %d bytes, %d facts", err, b.buf.Len(), len(b.facts))
	}
	if err := errors.Join(add(20), add(20), add(20)); err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(b.buf.Bytes())
	if err := add(200); !errors.Is(err, errTooLarge) || !bytes.Equal(b.buf.Bytes(), before) || len(b.facts) != 6 {
		t.Errorf("got %v, %d bytes, %d facts", err, b.buf.Len(), len(b.facts))
	}
	for i := range b.records() {
		record, err := ReadRecord(b.record(i))
		if err != nil || record.Owner != 1 || record.Opening || len(b.record(i)) > 100 {
			t.Errorf("record %d of %d bytes: owner %d, %v", i, len(b.record(i)), record.Owner, err)
		}
		if err := record.Each(notes, func(event.Fact) error { return nil }); err != nil {
			t.Errorf("record %d: %v", i, err)
		}
	}
	if b.records() != 2 {
		t.Errorf("%d records, want 2", b.records())
	}
}

func FuzzReadSnapshot(f *testing.F) {
	f.Add(snapshotOf(f))
	f.Add(snapshotOf(f, "a", "b", "c"))
	f.Add([]byte("MSS\x01\xff\xff\xff\x0fabc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		texts, err := textsOf(bytes.NewReader(data))
		if err != nil {
			return
		}
		again, err := textsOf(bytes.NewReader(snapshotOf(t, texts...)))
		if err != nil || strings.Join(again, "|") != strings.Join(texts, "|") {
			t.Errorf("%q becomes %q, %v", texts, again, err)
		}
	})
}

func FuzzRecord(f *testing.F) {
	var b batch[struct{}]
	if err := b.add(notes, 1, 1000, []event.Fact{noteFact("a"), noteFact("b")}); err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Clone(b.record(0)))
	f.Add([]byte{})
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{3, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		record, err := ReadRecord(data)
		if err != nil {
			return
		}
		_ = record.Each(notes, func(fact event.Fact) error {
			if _, ok := fact.Body.(*note); !ok {
				t.Errorf("a fact is a %T", fact.Body)
			}
			return nil
		})
	})
}
