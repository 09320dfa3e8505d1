//go:build unix

package fault

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// A trail is what a node reads of the audit trail: how often each record is there, by its id, and the requests that
// have one.
type trail struct {
	records  map[string]int
	requests map[string]bool
}

// readTrail reads the audit trail of the sign-ins.
func (r *signInRegion) readTrail(ctx context.Context, n *node) (*trail, error) {
	var text rawText
	_, err := r.do(ctx, n, request{path: "/v1/audit?event=SignIn", keys: r.root}, &text)
	if err != nil {
		return nil, err
	}
	t := &trail{map[string]int{}, map[string]bool{}}
	for from := json.NewDecoder(strings.NewReader(string(text))); ; {
		var record struct{ EventID, RequestID string }
		if err := from.Decode(&record); errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, err
		}
		t.records[record.EventID]++
		t.requests[record.RequestID] = true
	}
}

// awaitTrail waits until a node reads the records of requests, and returns all records.
func (r *signInRegion) awaitTrail(n *node, requests ...string) (t *trail) {
	r.t.Helper()
	await(r.t, "the audit trail has the sign-ins", func() bool {
		var err error
		if t, err = r.readTrail(r.t.Context(), n); err != nil {
			return false
		}
		for _, id := range requests {
			if !t.requests[id] {
				return false
			}
		}
		return true
	})
	return t
}

// keeps checks that nothing of an earlier trail is missing, and nothing is there twice.
func (t *trail) keeps(r *signInRegion, n *node, earlier *trail) {
	r.t.Helper()
	for id := range earlier.records {
		if t.records[id] != 1 {
			r.t.Errorf("node %s reads record %s %d times, want once", n.name, id, t.records[id])
		}
	}
}
