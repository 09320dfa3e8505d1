package publish

import (
	"fmt"
	"testing"
)

func TestRecordsOfTheFeed(t *testing.T) {
	for _, c := range []struct {
		outboxes [][]int // sizes of lines
		want     string  // how many of each the record takes
	}{
		{[][]int{{1}}, "[1]"},
		{[][]int{{1, 2, 3}, {}, {4}}, "[3 0 1]"},
		{[][]int{{1, maxRecord, 1}, {1}}, "[1 0]"},
		{[][]int{{2 * maxRecord, 1}}, "[1]"},
		{[][]int{{maxRecord / 2}, {maxRecord / 4, maxRecord}, {1}}, "[1 1 0]"},
		{[][]int{{}, {}}, "[0 0]"},
	} {
		p := &Publisher{}
		for _, lines := range c.outboxes {
			o := &outbox{}
			for i, n := range lines {
				line := func() ([]byte, error) { return make([]byte, n), nil }
				o.found = append(o.found, announcement{uint64(i + 1), line})
			}
			p.outboxes = append(p.outboxes, o)
		}
		r := p.record(maxRecord)
		r.done()
		got := make([]int, len(c.outboxes))
		for i, o := range p.outboxes {
			got[i] = int(o.published)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%v: %v, want %s", c.outboxes, got, c.want)
		}
	}
}
