package search

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/muster-gg/muster/internal/event"
)

// A naive answers as Search does, by looking at every doc and sorting all.
type naive map[uint64]*Doc

// search is the reference for Index.Search.
func (n naive) search(root *node, q Query) []Hit {
	var hits []Hit
	for _, d := range n {
		r := q.Sort.rank(d, q.Source)
		if root == nil || holds(root, d) {
			hits = append(hits, Hit{d, r.position()})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int { return naiveCompare(q.Sort, a.Position, b.Position) })
	if q.After != nil {
		hits = slices.DeleteFunc(hits, func(h Hit) bool { return naiveCompare(q.Sort, h.Position, *q.After) <= 0 })
	}
	return hits[:min(len(hits), max(q.Limit, 0))]
}

// holds evaluates the tree as the grammar reads.
func holds(n *node, d *Doc) bool {
	switch n.kind {
	case both:
		return holds(n.left, d) && holds(n.right, d)
	case either:
		return holds(n.left, d) || holds(n.right, d)
	case negation:
		return !holds(n.left, d)
	}
	c := n.condition
	if c.operand.valueType() == text {
		var value string
		present := true
		switch c.operand {
		case id:
			value = d.Prefix + d.ID
		case name:
			value = d.Name
		default:
			i := slices.IndexFunc(d.Properties, func(p Property) bool { return p.Key == c.key })
			if present = i >= 0; present {
				value = d.Properties[i].Value
			}
		}
		same := present && value == c.text
		return same == (c.comparator == equal)
	}
	v := map[operand]int64{created: int64(d.Created), maximum: int64(d.Maximum), players: int64(d.Players),
		available: 0}[c.operand]
	if c.operand == available && d.Players < d.Maximum {
		v = 1
	}
	return map[comparator]bool{
		equal: v == c.number, different: v != c.number, less: v < c.number, greater: v > c.number,
		atMost:  v <= c.number,
		atLeast: v >= c.number,
	}[c.comparator]
}

// naiveCompare is the order that Query documents.
func naiveCompare(s Sort, a, b Position) int {
	switch {
	case a.Missing != b.Missing:
		if a.Missing {
			return 1
		}
		return -1
	case s.descending:
		a, b = b, a
	}
	switch {
	case a.Number != b.Number:
		return sign(a.Number < b.Number)
	case a.Text != b.Text:
		return sign(a.Text < b.Text)
	case a.Key != b.Key:
		return sign(a.Key < b.Key)
	case a.Source != b.Source:
		return sign(a.Source < b.Source)
	}
	return 0
}

func sign(less bool) int {
	if less {
		return -1
	}
	return 1
}

// mustParse reads a filter and also returns its tree.
func mustParse(expression string) (*Filter, *node) {
	f, err := ParseFilter(expression)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", expression, err))
	}
	if expression == "" {
		return f, nil
	}
	p, _ := newParser("filter", expression)
	root, _ := p.or()
	return f, root
}

func mustSort(expression string) Sort {
	s, err := ParseSort(expression)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", expression, err))
	}
	return s
}

// Vocabulary of the random docs and filters: small, so that values repeat.
var (
	someNames  = []string{"", "Cup", "Cup final", "Matt's Game", "Ø"}
	someKeys   = []string{"map", "mode", "rank", "a.b", "odd key", "room"}
	someValues = []string{"", "1", "2", "10", "ranked", "Casual"}
	somePrefix = []string{"arn:a/", "arn:a/", "arn:", ""}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// randomDoc makes a doc with the key; ids of different docs differ.
func randomDoc(r *rand.Rand, key uint64) *Doc {
	d := &Doc{Key: key, Prefix: pick(r, somePrefix), Name: pick(r, someNames), Created: event.Time(1000 + key/3)}
	d.ID = fmt.Sprintf("gsess-%d", key)
	if d.Prefix != "arn:a/" {
		d.ID = "a/" + d.ID // the same beginning, cut elsewhere
	}
	for range r.IntN(4) {
		d.Properties = append(d.Properties, Property{pick(r, someKeys), pick(r, someValues)})
	}
	d.Maximum = int32(1 + r.IntN(4))
	d.Players = int32(r.IntN(int(d.Maximum) + 1))
	return d
}

// randomFilter writes a random expression of at most the given depth.
func randomFilter(r *rand.Rand, depth int) string {
	if depth > 0 {
		switch r.IntN(5) {
		case 0, 1:
			return randomFilter(r, depth-1) + " AND " + randomFilter(r, depth-1)
		case 2:
			return randomFilter(r, depth-1) + " OR " + randomFilter(r, depth-1)
		case 3:
			return "NOT " + randomFilter(r, depth-1)
		case 4:
			return "(" + randomFilter(r, depth-1) + ")"
		}
	}
	eq := pick(r, []string{"=", "<>"})
	all := pick(r, []string{"=", "<>", "<", ">", "<=", ">="})
	switch r.IntN(7) {
	case 0:
		return fmt.Sprintf("gameSessionId%s'%sgsess-%d'", eq, "arn:a/", r.IntN(400))
	case 1:
		return fmt.Sprintf("gameSessionName %s %q", eq, pick(r, someNames))
	case 2:
		return fmt.Sprintf("maximumSessions%s%d", all, r.IntN(5))
	case 3:
		return fmt.Sprintf("playerSessionCount %s%d", all, r.IntN(5))
	case 4:
		return fmt.Sprintf("creationTimeMillis%s %d", all, 1000+r.IntN(140))
	case 5:
		return fmt.Sprintf("hasAvailablePlayerSessions%s%t", eq, r.IntN(2) == 0)
	default:
		return fmt.Sprintf("gameSessionProperties.%s%s'%s'", pick(r, []string{"map", "mode", "rank", "room", "none"}),
			eq,
			pick(r, someValues))
	}
}

// randomSort writes a random sort expression.
func randomSort(r *rand.Rand) string {
	operand := pick(r, []string{
		"creationTimeMillis", "gameSessionId", "gameSessionName", "maximumSessions", "playerSessionCount",
		"hasAvailablePlayerSessions", "gameSessionProperties.map", "gameSessionProperties.none",
	})
	return pick(r, []string{"", operand, operand + " ASC", operand + " DESC"})
}
