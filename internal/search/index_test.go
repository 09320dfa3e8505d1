package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/event"
)

// describe shows hits in failures.
func describe(hits []Hit) string {
	var b strings.Builder
	for _, h := range hits {
		fmt.Fprintf(&b, "%d(%+v) ", h.Doc.Key, h.Position)
	}
	return b.String()
}

// sameHits reports whether both found the same docs at the same places.
func sameHits(a, b []Hit) bool { return slices.Equal(a, b) }

// change makes one random change to both the index and the reference.
func change(r *rand.Rand, x *Index, n naive, next *uint64) {
	switch keys := len(n); {
	case keys == 0 || r.IntN(3) == 0:
		*next += uint64(1 + r.IntN(3))
		d := randomDoc(r, *next)
		x.Put(d)
		n[d.Key] = d
	case r.IntN(4) == 0:
		key := r.Uint64N(*next + 2)
		x.Delete(key)
		delete(n, key)
	default:
		old, ok := x.Get(r.Uint64N(*next + 1))
		if !ok {
			return
		}
		d := *old
		switch r.IntN(3) {
		case 0: // the session is renamed, its properties change
			fresh := randomDoc(r, old.Key)
			d.Name, d.Properties = fresh.Name, fresh.Properties
		case 1: // its maximum changes
			d.Maximum = int32(r.IntN(5))
		default: // players come and go
			d.Players = int32(r.IntN(int(d.Maximum) + 1))
		}
		x.Put(&d)
		n[d.Key] = &d
	}
}

// checkPages reads all pages of a query and compares each with the reference.
func checkPages(t *testing.T, x *Index, n naive, filter, order string, limit int) {
	t.Helper()
	f, root := mustParse(filter)
	q := Query{Filter: f, Sort: mustSort(order), Limit: limit, Source: 7}
	for {
		got, want := x.Search(q), n.search(root, q)
		if !sameHits(got, want) {
			t.Fatalf("filter %s, sort %q, after %+v:\n got %s\nwant %s", filter, order, q.After, describe(got),
				describe(want))
		}
		if len(got) == 0 {
			return
		}
		q.After = &got[len(got)-1].Position
	}
}

func TestSearchEqualsNaive(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			x, n, next := NewIndex(), naive{}, uint64(0)
			for range 5 {
				for range 120 {
					change(r, x, n, &next)
				}
				checkIndexes(t, x, n)
				for range 12 {
					checkPages(t, x, n, randomFilter(r, 3), randomSort(r), 1+r.IntN(25))
				}
			}
			for key := range n {
				x.Delete(key)
			}
			checkEmpty(t, x)
		})
	}
}

// checkIndexes holds the sizes that the planner goes by against the docs.
func checkIndexes(t *testing.T, x *Index, n naive) {
	t.Helper()
	if x.Len() != len(n) {
		t.Fatalf("Len() = %d, want %d", x.Len(), len(n))
	}
	free := 0
	for _, d := range n {
		if d.Players < d.Maximum {
			free++
		}
	}
	if x.free.Len() != free {
		t.Fatalf("%d keys of free docs, want %d", x.free.Len(), free)
	}
	for _, value := range someNames[1:] {
		want := 0
		for _, d := range n {
			if d.Name == value {
				want++
			}
		}
		if got, _ := x.terms.counts.Get(hashName(value)); got != want {
			t.Fatalf("name %q: %d docs are counted, want %d", value, got, want)
		}
	}
}

func TestVisitKeysIntersects(t *testing.T) {
	x, n := NewIndex(), naive{}
	for key := range uint64(600) {
		n[key] = &Doc{
			Key: key, ID: fmt.Sprint(key), Name: someNames[key%5], Maximum: int32(key / 100 % 2),
			Properties: []Property{{"map", fmt.Sprint(key % 3)}, {"mode", fmt.Sprint(key % 7)}},
		}
		x.Put(n[key])
	}
	for _, filter := range []string{
		"hasAvailablePlayerSessions=true AND gameSessionProperties.map='1'",
		"gameSessionName='Cup' AND gameSessionProperties.map='1' AND NOT hasAvailablePlayerSessions=false",
		"gameSessionProperties.mode='2' AND gameSessionProperties.map='1'",
	} {
		f, root := mustParse(filter)
		sets := x.plan(f, stoppingEarly)
		if len(sets) != len(f.must) {
			t.Fatalf("%s: %d sets are used, want %d", filter, len(sets), len(f.must))
		}
		for _, backwards := range []bool{false, true} {
			var got, want []uint64
			x.visitKeys(sets, firstKey(backwards), backwards, func(key uint64) bool {
				got = append(got, key)
				return true
			})
			for key, d := range n {
				if holds(root, d) {
					want = append(want, key)
				}
			}
			slices.Sort(want)
			if backwards {
				slices.Reverse(want)
			}
			if len(want) == 0 || !slices.Equal(got, want) {
				t.Errorf("%s, backwards %v:\n got %v\nwant %v", filter, backwards, got, want)
			}
		}
	}
}

func TestPutOfAnotherID(t *testing.T) {
	x := NewIndex()
	for key := range uint64(10) {
		x.Put(&Doc{Key: key, Prefix: "arn:", ID: fmt.Sprint(key)})
	}
	x.Put(&Doc{Key: 4, Prefix: "arn:", ID: "new"})
	x.Put(&Doc{Key: 5, Prefix: "ARN:", ID: "5"})
	for id, want := range map[string]int{"arn:new": 1, "arn:4": 0, "ARN:5": 1, "arn:5": 0, "arn:6": 1} {
		f, _ := mustParse("gameSessionId='" + id + "'")
		if hits := x.Search(Query{Filter: f, Limit: 9}); len(hits) != want {
			t.Errorf("%s: %d hits, want %d", id, len(hits), want)
		}
	}
}

func TestCopyKeepsThePropertyKeys(t *testing.T) {
	x := NewIndex()
	x.Put(&Doc{Key: 1, ID: "1", Properties: []Property{{"map", "1"}}})
	c := x.Copy()
	x.Delete(1)
	checkEmpty(t, x)
	if c.terms.keys.Len() != 1 {
		t.Error("the copy lost a property key")
	}
}

// checkEmpty looks for remains after every doc has gone.
func checkEmpty(t *testing.T, x *Index) {
	t.Helper()
	if x.Len() != 0 || x.free.Len() != 0 || x.terms.postings.Len() != 0 || x.terms.counts.Len() != 0 ||
		x.terms.keys.Len() != 0 || x.terms.strays != 0 {
		t.Errorf("an empty index keeps: free %d, postings %d, counts %d, keys %d, strays %d",
			x.free.Len(), x.terms.postings.Len(), x.terms.counts.Len(), x.terms.keys.Len(), x.terms.strays)
	}
}

func TestSearchManyPropertyKeys(t *testing.T) {
	x, n := NewIndex(), naive{}
	put := func(d *Doc) {
		x.Put(d)
		n[d.Key] = d
	}
	for key := range uint64(700) { // each doc has a key of its own, and all have "map"
		put(&Doc{Key: key, ID: fmt.Sprint(key), Properties: []Property{{fmt.Sprintf("k%d", key), "v"},
			{"map", fmt.Sprint(key % 5)}}})
	}
	if got := x.terms.keys.Len(); got != maxPropertyKeys {
		t.Fatalf("%d property keys are followed, want %d", got, maxPropertyKeys)
	}
	check := func() {
		t.Helper()
		for _, filter := range []string{
			"gameSessionProperties.k3='v'", "gameSessionProperties.k650='v'",
			"gameSessionProperties.k650<>'v' AND gameSessionProperties.map='2'",
			"gameSessionProperties.never='v'", "gameSessionProperties.k699='v' AND gameSessionProperties.map='4'",
		} {
			checkPages(t, x, n, filter, "", 20)
			checkPages(t, x, n, filter, "gameSessionId DESC", 20)
		}
	}
	check()
	for key := range uint64(300) { // places among the followed keys become free while strays remain
		x.Delete(key)
		delete(n, key)
	}
	put(&Doc{Key: 700, ID: "700", Properties: []Property{{"k650", "v"}}})
	check()
	for key := uint64(400); key < 701; key++ { // the last stray goes: new keys are followed again
		x.Delete(key)
		delete(n, key)
	}
	if x.terms.strays != 0 {
		t.Fatalf("%d strays, want none", x.terms.strays)
	}
	put(&Doc{Key: 701, ID: "701", Properties: []Property{{"k650", "v"}}})
	if _, ok := x.terms.keys.Get("k650"); !ok {
		t.Error("a new key is not followed although there is room")
	}
	check()
}

func TestDottedKeysTakeNoPlace(t *testing.T) {
	x := NewIndex()
	x.Put(&Doc{Key: 1, ID: "1", Properties: []Property{{"a.b", "1"}, {"odd key", "1"}, {"map", "1"}}})
	if x.terms.strays != 0 || x.terms.keys.Len() != 1 {
		t.Errorf("%d strays and %d keys, want 0 and 1", x.terms.strays, x.terms.keys.Len())
	}
	x.Delete(1)
	checkEmpty(t, x)
}

func TestCopyNeverChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	x, n, next := NewIndex(), naive{}, uint64(0)
	type frozen struct {
		x *Index
		n naive
	}
	var copies []frozen
	for range 30 {
		for range 40 {
			change(r, x, n, &next)
		}
		kept := naive{}
		for key, d := range n {
			kept[key] = d
		}
		copies = append(copies, frozen{x.Copy(), kept})
	}
	for _, c := range copies {
		if c.x.Len() != len(c.n) {
			t.Fatalf("a copy of %d docs has %d", len(c.n), c.x.Len())
		}
		for range 20 {
			checkPages(t, c.x, c.n, randomFilter(r, 2), randomSort(r), 20)
		}
	}
	last := copies[len(copies)-1] // writing a copy does not show in the original
	for range 100 {
		change(r, last.x, last.n, &next)
	}
	checkPages(t, x, n, "hasAvailablePlayerSessions=true", "gameSessionName", 20)
	checkPages(t, last.x, last.n, "hasAvailablePlayerSessions=true", "gameSessionName", 20)
}

func TestCopyIsReadBesideTheWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	x, n, next := NewIndex(), naive{}, uint64(0)
	for range 2000 {
		change(r, x, n, &next)
	}
	kept := naive{}
	for key, d := range n {
		kept[key] = d
	}
	c, done := x.Copy(), make(chan struct{})
	go func() {
		defer close(done)
		own := rand.New(rand.NewPCG(7, 7))
		for range 50 {
			f, _ := mustParse(randomFilter(own, 2))
			c.Search(Query{Filter: f, Sort: mustSort(randomSort(own)), Limit: 20})
		}
	}()
	for range 2000 {
		change(r, x, n, &next)
	}
	<-done
	checkPages(t, c, kept, "gameSessionProperties.map='1' OR playerSessionCount>1", "playerSessionCount DESC", 20)
}

func TestPutTouchesOnlyWhatChanged(t *testing.T) {
	x := NewIndex()
	d := Doc{Key: 1, ID: "1", Name: "Cup", Properties: []Property{{"map", "1"}}, Maximum: 4}
	x.Put(&d)
	frozen := x.Copy()
	joined := d
	joined.Players++
	x.Put(&joined)
	allocations := testing.AllocsPerRun(100, func() { x.Put(&joined) })
	if allocations != 0 {
		t.Errorf("a join in a tree of its own allocates %v times, want 0", allocations)
	}
	if !untouched(x, frozen) {
		t.Error("a join wrote more than the docs")
	}
	if got, _ := frozen.Get(1); got.Players != 0 {
		t.Error("the copy changed")
	}
	full := joined
	full.Players = full.Maximum
	x.Put(&full)
	if x.free.Len() != 0 || frozen.free.Len() != 1 {
		t.Errorf("free: %d and %d, want 0 and 1", x.free.Len(), frozen.free.Len())
	}
}

// untouched reports whether x and its copy still share the free set and the
// terms: a tree that is written gets a root of its own.
func untouched(x, frozen *Index) bool {
	return sharesRoot(x.free, frozen.free) && sharesRoot(x.terms.postings, frozen.terms.postings) &&
		sharesRoot(x.terms.counts, frozen.terms.counts)
}

// sharesRoot reports whether two trees have the same root node.
func sharesRoot(a, b any) bool {
	root := func(tree any) uintptr { return findRoot(reflect.ValueOf(tree).Elem()) }
	return root(a) == root(b)
}

func findRoot(tree reflect.Value) uintptr {
	if f := tree.FieldByName("root"); f.IsValid() {
		return f.Pointer()
	}
	return findRoot(tree.FieldByName("base"))
}

func TestPagingWhileDocsChange(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 9))
		x, n, next := NewIndex(), naive{}, uint64(0)
		for range 600 {
			change(r, x, n, &next)
		}
		q := Query{Sort: mustSort(randomSort(r)), Limit: 5}
		stop := next
		seen := map[Position]bool{}
		for range 10_000 {
			hits := x.Search(q)
			if len(hits) == 0 {
				break
			}
			for i, h := range hits {
				if seen[h.Position] {
					t.Fatalf("seed %d: position %+v twice", seed, h.Position)
				}
				seen[h.Position] = true
				if q.After != nil && naiveCompare(q.Sort, *q.After, h.Position) >= 0 || i > 0 &&
					naiveCompare(q.Sort, hits[i-1].Position, h.Position) >= 0 {
					t.Fatalf("seed %d: %+v is out of order", seed, h.Position)
				}
			}
			q.After = &hits[len(hits)-1].Position
			x.Delete(q.After.Key) // the doc of the position itself goes
			if d, ok := x.Get(r.Uint64N(stop)); ok {
				changed := *d
				changed.Players, changed.Name = 0, pick(r, someNames)
				x.Put(&changed)
			}
		}
		if hits := x.Search(q); len(hits) != 0 {
			t.Fatalf("seed %d: paging does not end", seed)
		}
	}
}

func TestCollidingTerms(t *testing.T) {
	x, n := NewIndex(), naive{}
	for key := range uint64(100) {
		d := &Doc{Key: key, ID: fmt.Sprint(key), Name: fmt.Sprint(key % 10), Maximum: int32(key % 2)}
		x.Put(d)
		n[key] = d
	}
	for key := range uint64(100) { // as if other terms of some docs had the hash of the name 3
		if key%10 == 0 {
			x.terms.insert(hashName("3"), key)
		}
	}
	checkPages(t, x, n, "gameSessionName='3'", "", 3)
	checkPages(t, x, n, "gameSessionName='3' AND hasAvailablePlayerSessions=true", "creationTimeMillis DESC", 3)
	checkPages(t, x, n, "gameSessionName='3'", "playerSessionCount", 3)
}

func TestKeysAtTheEnds(t *testing.T) {
	x, n := NewIndex(), naive{}
	for _, key := range []uint64{0, 1, 5, math.MaxUint64 - 1, math.MaxUint64} {
		d := &Doc{Key: key, ID: fmt.Sprint(key), Name: "Cup", Maximum: 1, Created: event.Time(key >> 1)}
		x.Put(d)
		n[key] = d
	}
	for key := uint64(10); key < 30; key++ { // full, so that the sets of keys are small enough to be used
		d := &Doc{Key: key, ID: fmt.Sprint(key), Created: event.Time(key >> 1)}
		x.Put(d)
		n[key] = d
	}
	for _, order := range []string{"", "creationTimeMillis DESC"} {
		checkPages(t, x, n, "", order, 2)
		checkPages(t, x, n, "hasAvailablePlayerSessions=true", order, 2)
		checkPages(t, x, n, "hasAvailablePlayerSessions=true AND gameSessionName='Cup'", order, 2)
		checkPages(t, x, n, "creationTimeMillis>=9223372036854775807", order, 2)
		checkPages(t, x, n, "creationTimeMillis<-9223372036854775808", order, 2)
	}
}

func TestLimit(t *testing.T) {
	x := NewIndex()
	x.Put(&Doc{Key: 1, ID: "1"})
	for _, limit := range []int{0, -1} {
		if hits := x.Search(Query{Limit: limit}); hits != nil {
			t.Errorf("limit %d: %d hits", limit, len(hits))
		}
	}
	if hits := x.Search(Query{Limit: 1 << 40}); len(hits) != 1 {
		t.Errorf("%d hits, want 1", len(hits))
	}
	if hits := x.Search(Query{Limit: 1 << 40, Sort: mustSort("gameSessionId")}); len(hits) != 1 {
		t.Errorf("%d hits, want 1", len(hits))
	}
}

func TestMergeOfSeveralIndexes(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 3))
		indexes, references := make([]*Index, 3), make([]naive, 3)
		for i := range indexes {
			indexes[i], references[i] = NewIndex(), naive{}
			next := uint64(0)
			for range 200 {
				change(r, indexes[i], references[i], &next)
			}
		}
		filter, order, limit := randomFilter(r, 1), randomSort(r), 1+r.IntN(20)
		f, root := mustParse(filter)
		s := mustSort(order)

		var want []Hit // everything, in order
		for i := range references {
			want = append(want, references[i].search(root, Query{Sort: s, Limit: 1000, Source: uint32(i)})...)
		}
		slices.SortFunc(want, func(a, b Hit) int { return naiveCompare(s, a.Position, b.Position) })

		var got []Hit
		var after *Position
		for {
			lists := make([][]Hit, len(indexes))
			for i, x := range indexes {
				lists[i] = x.Search(Query{Filter: f, Sort: s, Limit: limit, After: after, Source: uint32(i)})
			}
			page := Merge(s, limit, lists...)
			if len(page) == 0 {
				break
			}
			if len(page) > limit {
				t.Fatalf("%d hits, limit %d", len(page), limit)
			}
			got = append(got, page...)
			encoded, err := page[len(page)-1].Position.MarshalText()
			if err != nil {
				t.Fatal(err)
			}
			after = &Position{}
			if err := after.UnmarshalText(encoded); err != nil {
				t.Fatal(err)
			}
		}
		if !sameHits(got, want) {
			t.Fatalf("seed %d, filter %s, sort %q:\n got %s\nwant %s", seed, filter, order, describe(got),
				describe(want))
		}
	}
}

func TestMergeOfNothing(t *testing.T) {
	if got := Merge(Sort{}, 20); len(got) != 0 {
		t.Errorf("%d hits", len(got))
	}
	if got := Merge(Sort{}, -1, []Hit{{Doc: &Doc{}}}); len(got) != 0 {
		t.Errorf("%d hits", len(got))
	}
}
