package placement

import "strings"

// usualSteps is the usual length of a trail: ATTEMPT and FULFILLED.
const usualSteps = 2

// maxText is the maximum length of a trail's texts in bytes. Some of them include callers' texts.
const maxText = 256

// maxName is the maximum length of a player id in such a text, in bytes.
const maxName = 64

// add appends a step, and drops the oldest one if there are too many. Copies share the array of Steps: each sees its
// own length, and only the newest copy of a placement is continued.
func (t *Trail) add(s Step) {
	t.Steps = append(t.Steps, s)
	if n := len(t.Steps) - MaxSteps; n > 0 {
		t.Steps = t.Steps[n:]
		t.Earlier += n
	}
}

// bounded returns the candidates that a trail keeps.
func bounded(candidates []Considered, omitted int) (kept []Considered, left int) {
	if n := len(candidates) - MaxCandidates; n > 0 {
		return candidates[:MaxCandidates], omitted + n
	}
	return candidates, omitted
}

// waitText describes why a placement begins without an attempt. Candidates that were not dropped are first.
func waitText(candidates []Considered) string {
	switch {
	case len(candidates) == 0: // dropped destinations are included
		return "the queue has no destinations"
	case candidates[0].Dropped != "":
		return "no fleet location can take it now"
	}
	return "waits for a free server process"
}

func clip(text string) string { return clipTo(text, maxText) }

func clipTo(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
