package search

import (
	"math/rand/v2"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// checkFault fails unless err is what clients get for a bad expression.
func checkFault(t *testing.T, expression string, err error) {
	t.Helper()
	if !fault.Is(err, fault.InvalidRequest) || fault.Of(err).Message == "" {
		t.Fatalf("%q: got %v, want InvalidRequestException", expression, err)
	}
}

func FuzzParseFilter(f *testing.F) {
	for _, seed := range []string{
		"", "maximumSessions>=10", `gameSessionName='Matt\'s Game'`,
		`gameSessionProperties.map="oasis" AND NOT playerSessionCount<>3`,
		"(hasAvailablePlayerSessions=true OR creationTimeMillis<9) AND gameSessionId<>'x'", "((", "'", `"\`,
		"gameSessionProperties.Ø='\\\\'",
	} {
		f.Add(seed)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		f.Add(randomFilter(r, 3))
	}
	docs := []*Doc{cup, {}}
	x := NewIndex()
	for key := range uint64(64) {
		docs = append(docs, randomDoc(r, key))
		x.Put(docs[len(docs)-1])
	}
	f.Fuzz(func(t *testing.T, expression string) {
		filter, err := ParseFilter(expression)
		if err != nil {
			checkFault(t, expression, err)
			return
		}
		found := 0
		_, root := mustParse(expression)
		for _, d := range docs {
			match := filter.Match(d)
			if root != nil && match != holds(root, d) {
				t.Fatalf("%q: Match is %v for %+v", expression, match, d)
			}
			if match && d != docs[0] && d != docs[1] {
				found++
			}
		}
		if hits := x.Search(Query{Filter: filter, Limit: 100}); len(hits) != found {
			t.Fatalf("%q: %d hits, want %d", expression, len(hits), found)
		}
	})
}

func FuzzParseSort(f *testing.F) {
	for _, seed := range []string{"", "playerSessionCount", "maximumSessions DESC", "gameSessionProperties.map asc",
		"gameSessionName 'x", "a b c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		s, err := ParseSort(expression)
		if err != nil {
			checkFault(t, expression, err)
			return
		}
		a, b := s.rank(cup, 1), s.rank(&Doc{Key: 2}, 1)
		if s.compare(&a, &b) != -s.compare(&b, &a) || s.compare(&a, &a) != 0 {
			t.Fatalf("%q is no order", expression)
		}
	})
}
