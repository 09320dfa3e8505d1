package publish

// recent holds the newest ids that were added.
type recent struct {
	ids  map[string]bool
	ring []string
	next int
}

func newRecent(n int) *recent { return &recent{ids: make(map[string]bool, n), ring: make([]string, n)} }

// add reports whether an id is new.
func (r *recent) add(id string) bool {
	if r.ids[id] {
		return false
	}
	delete(r.ids, r.ring[r.next])
	r.ids[id], r.ring[r.next] = true, id
	r.next = (r.next + 1) % len(r.ring)
	return true
}
