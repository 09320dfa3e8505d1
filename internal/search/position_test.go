package search

import (
	"math"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestPositionText(t *testing.T) {
	for _, p := range []Position{
		{},
		{Missing: true, Key: math.MaxUint64, Source: math.MaxUint32},
		{Number: math.MinInt64, Key: 1},
		{Number: math.MaxInt64, Text: strings.Repeat("\xff", maxSortText), Key: math.MaxUint64, Source: math.MaxUint32},
		{Text: "Matt's Game", Key: 3},
	} {
		encoded, err := p.MarshalText()
		if err != nil || len(encoded) > 718 {
			t.Fatalf("%+v: %d characters, %v", p, len(encoded), err)
		}
		var got Position
		if err := got.UnmarshalText(encoded); err != nil || got != p {
			t.Errorf("%+v became %+v, %v", p, got, err)
		}
	}
}

func TestPositionRefuses(t *testing.T) {
	for _, encoded := range []string{"", "A", "AA", "AAA", "AgAAAA", "!!!!", "AAAA" + strings.Repeat("A", 800),
		"AP__________________", "AAAA_____x8"} {
		p := Position{Key: 9}
		if err := p.UnmarshalText([]byte(encoded)); !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%q: got %+v, %v", encoded, p, err)
		}
		if p != (Position{Key: 9}) {
			t.Errorf("%q changed the position", encoded)
		}
	}
}

func TestLongTextsSortByTheirBeginning(t *testing.T) {
	x := NewIndex()
	long := strings.Repeat("n", maxSortText)
	for key, name := range []string{long + "b", long + "a", long[1:] + "m", long} {
		x.Put(&Doc{Key: uint64(key), Prefix: long[:300], ID: name, Name: name})
	}
	for _, order := range []string{"gameSessionName", "gameSessionId"} {
		q := Query{Sort: mustSort(order), Limit: 1}
		var keys []uint64
		for hits := x.Search(q); len(hits) > 0; hits = x.Search(q) {
			keys = append(keys, hits[0].Doc.Key)
			q.After = &hits[0].Position
			if n := len(q.After.Text); n > maxSortText {
				t.Errorf("a position has %d bytes of text", n)
			}
		}
		want := map[string][4]uint64{"gameSessionName": {2, 0, 1, 3}, "gameSessionId": {0, 1, 2, 3}}[order]
		if len(keys) != 4 || [4]uint64(keys) != want {
			t.Errorf("%s: got %v, want %v", order, keys, want)
		}
	}
}

func FuzzPosition(f *testing.F) {
	f.Add([]byte("AAAA"))
	f.Add([]byte("AQIDBGFiYw"))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		var p, again Position
		if p.UnmarshalText(encoded) != nil {
			return
		}
		text, err := p.MarshalText()
		if err != nil || again.UnmarshalText(text) != nil || again != p {
			t.Fatalf("%q: %+v became %+v", encoded, p, again)
		}
	})
}
