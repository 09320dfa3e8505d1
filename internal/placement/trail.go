package placement

import "strings"

// usualSteps is how many steps the trail of most placements has: ATTEMPT and FULFILLED.
const usualSteps = 2

// maxText bounds the texts of a trail, in bytes. Some of them repeat what a caller chose.
const maxText = 256

// maxName bounds the id of a player in such a text, in bytes.
const maxName = 64

// add appends a step, and leaves out the oldest one if there are too many. Records share
// the array behind Steps: each sees as many as it had, and only the newest one of a
// placement is ever continued.
func (t *Trail) add(s Step) {
	t.Steps = append(t.Steps, s)
	if n := len(t.Steps) - MaxSteps; n > 0 {
		t.Steps = t.Steps[n:]
		t.Earlier += n
	}
}

// bounded is what a trail keeps of candidates.
func bounded(candidates []Considered, omitted int) (kept []Considered, left int) {
	if n := len(candidates) - MaxCandidates; n > 0 {
		return candidates[:MaxCandidates], omitted + n
	}
	return candidates, omitted
}

// waitText says what a placement waits for that begins without an attempt. The
// candidates that were not dropped stand first.
func waitText(candidates []Considered) string {
	switch {
	case len(candidates) == 0: // each destination is considered, if only to be dropped
		return "the queue has no destinations"
	case candidates[0].Dropped != "":
		return "no fleet location can take it as things are"
	}
	return "waits for a free server process"
}

// clip bounds a text of a trail.
func clip(text string) string { return clipTo(text, maxText) }

func clipTo(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
