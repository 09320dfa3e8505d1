package audit

import "time"

// A queue holds what was recorded and not taken yet. When it is full, the oldest record makes room for a new one. It is
// pure: it has no clock, and its owner locks it.
type queue struct {
	capacity int
	ring     []Record // grows up to the capacity
	first, n int      // the oldest record in the ring, and how many there are
	gone     uint64   // how many have been taken or dropped
	folds    folds
}

// add adds a record, counts it as a repeated refusal, and ends such counts. It returns how many calls' records were
// dropped.
func (q *queue) add(now time.Time, r *Record) (dropped int) {
	dropped = q.end(now)
	if r.ErrorCode == "" || q.folds.add(now, r) {
		dropped += q.push(r)
	}
	return dropped
}

// end adds the counts of repeated refusals that end until now.
func (q *queue) end(now time.Time) (dropped int) {
	q.folds.end(now, func(r Record) { dropped += q.push(&r) })
	return dropped
}

func (q *queue) push(r *Record) (dropped int) {
	if q.n == q.capacity {
		oldest := q.pop()
		dropped = oldest.weight()
	}
	if q.n == len(q.ring) {
		q.grow()
	}
	q.ring[(q.first+q.n)%len(q.ring)] = *r
	q.n++
	return dropped
}

func (q *queue) grow() {
	larger := make([]Record, min(max(2*len(q.ring), 16), q.capacity))
	for i := range q.n {
		larger[i] = q.ring[(q.first+i)%len(q.ring)]
	}
	q.ring, q.first = larger, 0
}

// pop removes the oldest record.
func (q *queue) pop() Record {
	r := q.ring[q.first]
	q.ring[q.first] = Record{}
	q.first = (q.first + 1) % len(q.ring)
	q.n--
	q.gone++
	return r
}

// take moves the oldest records, at most limit of them, behind others.
func (q *queue) take(to []Record, limit int) []Record {
	for range min(q.n, limit) {
		to = append(to, q.pop())
	}
	return to
}

// added returns how many records have been added to the ring.
func (q *queue) added() uint64 { return q.gone + uint64(q.n) }
