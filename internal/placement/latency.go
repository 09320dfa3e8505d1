package placement

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"time"
)

// policyAt returns the latency policy in force at an age, and the age at which the next one replaces it; 0: none does.
// Policies are in force one after another; the last one, which has the largest cap, stays in force. Source: API
// reference, PlayerLatencyPolicy.
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

// latencies are the reports of a request by location.
type latencies struct {
	reports   []Latency
	locations map[string]*measures
	players   []string // all reporting players, if missing reports matter
}

// measures are the reports about one location.
type measures struct {
	sum     float64
	reports int
	worst   int       // index of the highest report
	players playerSet // reporting it, if missing reports matter
}

// playerSet is a set of indexes in latencies.players.
type playerSet []uint64

func (p *playerSet) add(index int) {
	for len(*p) <= index/64 {
		*p = append(*p, 0)
	}
	(*p)[index/64] |= 1 << (index % 64)
}

// firstMissing returns the first of n players that is not in the set; n if all are.
func (p playerSet) firstMissing(n int) int {
	for i, word := range p {
		if word != math.MaxUint64 {
			return min(i*64+bits.TrailingZeros64(^word), n)
		}
	}
	return min(len(p)*64, n)
}

// tabulate groups reports by location. Missing reports matter under a policy, and for matches.
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

// average returns the average latency to a location in milliseconds; ok is false without reports, or if l is nil. It is
// rounded to microseconds, so that the order of the players does not decide between equal locations.
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

// violation describes a violation of the cap by a location, or returns "". A player who reports other locations but not
// this one violates it too, because the latency is unknown. Source: API reference, PlayerLatencyPolicy.
func (l *latencies) violation(location string, limit int32) string {
	m, ok := l.locations[location]
	if !ok {
		return fmt.Sprintf("no player reports a latency, the policy allows %d ms", limit)
	}
	if worst := &l.reports[m.worst]; worst.Milliseconds > float64(limit) {
		return fmt.Sprintf("player %s reports %s ms, the policy allows %d ms", clipTo(worst.PlayerID, maxName),
			milliseconds(worst.Milliseconds), limit)
	}
	if missing := m.players.firstMissing(len(l.players)); missing < len(l.players) {
		return fmt.Sprintf("player %s reports no latency, the policy allows %d ms",
			clipTo(l.players[missing], maxName), limit)
	}
	return ""
}

// unreported names a player who reports other locations but not this one, or returns "". A match is placed only where
// all its players with latency data can play. Source: API reference, Player, LatencyInMs.
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

// milliseconds formats a latency as the client wrote it: it has 32 bits on the wire.
func milliseconds(ms float64) string { return strconv.FormatFloat(ms, 'f', -1, 32) }
