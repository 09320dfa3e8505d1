package placement

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"time"
)

// policyAt is the latency policy in force at an age, and the age at which the next one
// takes its place; 0: none does. Policies are in force one after another, and the last
// one, whose cap is the largest, stays in force when its time is over.
// Source: API reference, PlayerLatencyPolicy.
func policyAt(policies []LatencyPolicy, age time.Duration) (policy *LatencyPolicy, next time.Duration) {
	for i := range policies {
		policy = &policies[i]
		if policy.Duration == 0 || i == len(policies)-1 {
			break
		}
		if next += policy.Duration; age < next {
			return policy, next
		}
	}
	return policy, 0
}

// latencies are those of a request by location.
type latencies struct {
	reports   []Latency
	locations map[string]*measures
	players   []string // who reports anything, if it matters who is missing
}

// measures are what players report about one location.
type measures struct {
	sum     float64
	reports int
	worst   int       // index of the report that is the highest
	players playerSet // who reports it, if it matters who is missing
}

// playerSet is a set of indexes in latencies.players.
type playerSet []uint64

func (p *playerSet) add(index int) {
	for len(*p) <= index/64 {
		*p = append(*p, 0)
	}
	(*p)[index/64] |= 1 << (index % 64)
}

// firstMissing is the first of n players that is not in the set; n if all are.
func (p playerSet) firstMissing(n int) int {
	for i, word := range p {
		if word != math.MaxUint64 {
			return min(i*64+bits.TrailingZeros64(^word), n)
		}
	}
	return min(len(p)*64, n)
}

// tabulate sorts reports by location. Who is missing matters under a policy, and for
// matches.
func tabulate(reports []Latency, missing bool) *latencies {
	l := &latencies{reports: reports, locations: make(map[string]*measures, 8)}
	for i := range reports {
		l.add(i)
	}
	if missing {
		l.addPlayers()
	}
	return l
}

func (l *latencies) add(index int) {
	r := &l.reports[index]
	m, ok := l.locations[r.Location]
	if !ok {
		m = &measures{worst: index}
		l.locations[r.Location] = m
	}
	m.sum += r.Milliseconds
	m.reports++
	if r.Milliseconds > l.reports[m.worst].Milliseconds {
		m.worst = index
	}
}

func (l *latencies) addPlayers() {
	indexes := make(map[string]int, 16)
	for _, r := range l.reports {
		index, ok := indexes[r.PlayerID]
		if !ok {
			index = len(l.players)
			indexes[r.PlayerID] = index
			l.players = append(l.players, r.PlayerID)
		}
		l.locations[r.Location].players.add(index)
	}
}

// average is the average of what players report about a location, in milliseconds; ok is
// false if nobody does, or if l is nil. It is rounded to microseconds, so that the order
// of the players does not decide between locations that are equally near.
func (l *latencies) average(location string) (ms float64, ok bool) {
	if l == nil {
		return 0, false
	}
	m, ok := l.locations[location]
	if !ok {
		return 0, false
	}
	return math.Round(m.sum/float64(m.reports)*1000) / 1000, true
}

// violation says whose latency to a location a cap forbids; "" if nobody's. A player who
// reports nothing about this location, but something about others, forbids it too: it
// is not known whether the cap holds.
// Source: API reference, PlayerLatencyPolicy.
func (l *latencies) violation(location string, limit int32) string {
	m, ok := l.locations[location]
	if !ok {
		return fmt.Sprintf("no player reports a latency, the policy allows %d ms", limit)
	}
	if worst := &l.reports[m.worst]; worst.Milliseconds > float64(limit) {
		return fmt.Sprintf("player %s reports %s ms, the policy allows %d ms", clipTo(worst.PlayerID, maxName), milliseconds(worst.Milliseconds), limit)
	}
	if missing := m.players.firstMissing(len(l.players)); missing < len(l.players) {
		return fmt.Sprintf("player %s reports no latency, the policy allows %d ms", clipTo(l.players[missing], maxName), limit)
	}
	return ""
}

// unreported says who reports latencies, and none to a location; "" if nobody. A match
// is placed only where all its players with latency data can play.
// Source: API reference, Player, LatencyInMs.
func (l *latencies) unreported(location string) string {
	m, ok := l.locations[location]
	if !ok {
		return "no player reports a latency"
	}
	if missing := m.players.firstMissing(len(l.players)); missing < len(l.players) {
		return fmt.Sprintf("player %s reports no latency", clipTo(l.players[missing], maxName))
	}
	return ""
}

// milliseconds is a latency as a person writes it: on the wire it has 32 bits.
func milliseconds(ms float64) string { return strconv.FormatFloat(ms, 'f', -1, 32) }
