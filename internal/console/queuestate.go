package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/placement"
)

const (
	newestFulfilled = 100 // of which the page shows the waits
	newestFailed    = 20  // of which the page shows the reasons
)

// A queueState is how placements of a queue go, by those in memory.
type queueState struct {
	Outcomes  []outcome
	P50, P95  string // waits of the newest FULFILLED placements; "": there is none
	Fulfilled int    // how many of them
	Failures  []failureReason
	Failed    int // how many the reasons are of
}

// An outcome is how many placements have a status.
type outcome struct {
	Status placement.Status
	Count  int
	More   bool // there are more
}

// A failureReason is why placements failed, with the newest of them.
type failureReason struct {
	Text  string
	Count int
	control.PlacementRow
}

// queueState reads the newest placements that ended. newest is the first page of all, which begins with those that
// wait.
func (v *visit) queueState(queue string, newest *control.PlacementList) (*queueState, error) {
	waiting := &control.PlacementList{}
	for _, row := range newest.Placements {
		if row.Status == placement.Pending {
			waiting.Placements = append(waiting.Placements, row)
		}
	}
	if len(waiting.Placements) == len(newest.Placements) {
		waiting.NextToken = newest.NextToken
	}
	fulfilled, err := v.placementsThatAre(queue, placement.Fulfilled)
	if err != nil {
		return nil, err
	}
	others, err := v.placementsThatAre(queue, placement.Failed, placement.TimedOut, placement.Cancelled)
	if err != nil {
		return nil, err
	}
	s := &queueState{}
	s.outcomes(waiting, placement.Pending)
	s.outcomes(fulfilled, placement.Fulfilled)
	s.outcomes(others, placement.Failed, placement.TimedOut, placement.Cancelled)
	s.waits(fulfilled.Placements)
	for _, row := range others.Placements {
		if row.Status != placement.Cancelled && s.Failed < newestFailed {
			s.Failed++
			s.count(row, failureOf(row))
		}
	}
	slices.SortStableFunc(s.Failures, func(a, b failureReason) int { return cmp.Compare(b.Count, a.Count) })
	return s, nil
}

// placementsThatAre reads the newest placements that have one of some statuses.
func (v *visit) placementsThatAre(queue string, statuses ...placement.Status) (*control.PlacementList, error) {
	names := make([]string, len(statuses))
	for i, s := range statuses {
		names[i] = string(s)
	}
	q := url.Values{"status": {strings.Join(names, ",")}, "limit": {strconv.Itoa(newestFulfilled)}}
	var list control.PlacementList
	return &list, v.request("GET", in("queues", queue, "placements")+"?"+q.Encode(), nil, &list)
}

// outcomes adds how many placements of a list have each status.
func (s *queueState) outcomes(list *control.PlacementList, statuses ...placement.Status) {
	for _, status := range statuses {
		one := outcome{Status: status, More: list.NextToken != ""}
		for _, row := range list.Placements {
			if row.Status == status {
				one.Count++
			}
		}
		s.Outcomes = append(s.Outcomes, one)
	}
}

func (s *queueState) waits(rows []control.PlacementRow) {
	s.Fulfilled = len(rows)
	if s.Fulfilled == 0 {
		return
	}
	var ms []int64
	for _, r := range rows {
		ms = append(ms, r.AgeMS)
	}
	slices.Sort(ms)
	at := func(percent int) string {
		return shortSpan(time.Duration(ms[(len(ms)*percent+99)/100-1]) * time.Millisecond)
	}
	s.P50, s.P95 = at(50), at(95)
}

func (s *queueState) count(row control.PlacementRow, reason string) {
	for i := range s.Failures {
		if s.Failures[i].Text == reason {
			s.Failures[i].Count++
			return
		}
	}
	s.Failures = append(s.Failures, failureReason{reason, 1, row})
}

// failureOf returns why a placement failed: its reason, or what it waited for last.
func failureOf(row control.PlacementRow) string {
	switch {
	case row.Reason != "":
		return sentence(row.Reason)
	case row.LastStep != nil:
		return "It timed out. Before: " + stepSentence(row.LastStep)
	}
	return "It timed out."
}
