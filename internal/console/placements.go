package console

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/arn"
)

// A placementBody is a placement with its trail.
type placementBody struct {
	control.PlacementTrail
	QueueARN string
	Took     string // until it ended, or until now
	Steps    []placementStep
	names    map[string]string // of fleets, by id
}

// Fleet returns the name of a fleet; its id, if it has none, or the person may not see it.
func (b placementBody) Fleet(id string) string { return b.names[id] }

// A placementStep is a step in words.
type placementStep struct {
	control.PlacementStep
	After    string // since the start
	Sentence string
}

// findPlacement leads to a placement that was typed.
func findPlacement(v *visit) error {
	return v.redirect("/console/placements/" + url.PathEscape(strings.TrimSpace(v.form("id"))))
}

func placementPage(v *visit) error { return v.placement(v.r.PathValue("id"), nil) }

func (v *visit) placement(id string, refused error) error {
	var b placementBody
	if err := v.request("GET", in("placements", id), nil, &b.PlacementTrail); err != nil {
		return err
	}
	b.names = v.fleetNames(&b.PlacementTrail)
	b.QueueARN = arn.Queue(v.h.RegionName, v.h.Account, b.Queue)
	end := v.h.Clock.Now()
	if b.EndTime != nil {
		end = *b.EndTime
	}
	b.Took = shortSpan(end.Sub(b.StartTime))
	for _, s := range b.PlacementTrail.Steps {
		b.Steps = append(b.Steps, placementStep{s, shortSpan(s.Time.Sub(b.StartTime)), stepSentence(&s)})
	}
	return v.refused("placement", page{Title: b.PlacementID, Nav: "/console/queues",
		Live: refused == nil && b.EndTime == nil, Body: b, Crumbs: []link{{"Queues", "/console/queues"},
			{b.Queue, queuePath(b.Queue)}}}, refused)
}

// fleetNames returns the names of a placement's fleets by id.
func (v *visit) fleetNames(t *control.PlacementTrail) map[string]string {
	names := map[string]string{}
	add := func(id string) {
		if _, ok := names[id]; !ok && id != "" {
			names[id] = v.fleetName(id, arn.Fleet(v.h.RegionName, v.h.Account, id))
		}
	}
	for _, c := range t.Candidates {
		add(c.FleetID)
	}
	for _, s := range t.Steps {
		add(s.FleetID)
	}
	if t.Waiting != nil {
		for _, l := range t.Waiting.Lines {
			add(l.FleetID)
		}
	}
	return names
}

// stepSentence says what happened at a step, and why.
func stepSentence(s *control.PlacementStep) string {
	switch s.Kind {
	case placement.StepAttempt:
		return "A game session was requested."
	case placement.StepRefused:
		return "Refused" + because(cmp.Or(s.Text, "no server process was free")) + "."
	case placement.StepEnded:
		return "The game session ended before it was ACTIVE" + because(s.Text) + "."
	case placement.StepWaiting:
		return "It waits" + because(cmp.Or(s.Text, "no location has a free server process")) + "."
	case placement.StepFulfilled:
		return "The game session is ACTIVE" + because(s.Text) + "."
	case placement.StepCancelled:
		return "It was cancelled" + because(s.Text) + "."
	case placement.StepTimedOut:
		return "It timed out" + because(s.Text) + "."
	case placement.StepFailed:
		return "It failed" + because(s.Text) + "."
	}
	return s.Text
}

// because returns a reason as the end of a sentence.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(reason, ".")
}

func stopPlacement(v *visit) error {
	id := v.r.PathValue("id")
	if _, err := call(v, wire.OpStopGameSessionPlacement,
		&wire.StopGameSessionPlacementInput{PlacementId: id}); err != nil {
		return v.placement(id, err)
	}
	return v.redirect("/console/placements/" + url.PathEscape(id) + "?done=placement-stopped")
}
