package control

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/fault"
	"github.com/muster-gg/muster/internal/wire"
)

func TestOffersCoverEveryOperationOnce(t *testing.T) {
	p := new(Plane)
	seen := map[string]int{}
	for _, o := range p.Offers() {
		seen[o.Info.Name]++
		if o.Support != Full && o.Note == "" {
			t.Errorf("%s is offered %q without a note", o.Info.Name, o.Support)
		}
	}
	for _, op := range wire.Operations {
		if seen[op.Name] != 1 {
			t.Errorf("%s is offered %d times, want once", op.Name, seen[op.Name])
		}
		delete(seen, op.Name)
	}
	if len(seen) > 0 || len(wire.Operations) != 120 {
		t.Errorf("%d operations in the model, offered beyond them: %v", len(wire.Operations), seen)
	}
	if got := len(p.Handlers()); got != 120 {
		t.Errorf("%d handlers, want 120", got)
	}
}

func TestFamiliesHaveNamesAndOffers(t *testing.T) {
	var names []string
	for _, f := range new(Plane).Families() {
		if f.Name == "" || len(f.Offers) == 0 || slices.Contains(names, f.Name) {
			t.Errorf("family %q with %d offers", f.Name, len(f.Offers))
		}
		names = append(names, f.Name)
	}
}

// What is not offered is refused with an exception that every client knows for
// that operation, and with a reason.
func TestRefusedOperationsAnswerWithAModelledException(t *testing.T) {
	w := newWorld(t, withShards(1))
	for _, o := range w.Offers() {
		if o.Support != No {
			continue
		}
		if !o.Info.Models(o.Refusal) {
			t.Errorf("%s is refused with %s, which is none of %v", o.Info.Name, o.Refusal, o.Info.Errors)
		}
		// Callers learn of their own mistakes first; operations without required members have none.
		_, err := w.call(o.Info.Name, `{}`)
		f := fault.Of(err)
		byModel := fault.Is(err, fault.InvalidRequest) && strings.Contains(f.Message, "validation error")
		if !byModel && (!fault.Is(err, o.Refusal) || f.Message != o.Info.Name+" is not offered. "+o.Note) {
			t.Errorf("%s: got %v, want %s because %s", o.Info.Name, err, o.Refusal, o.Note)
		}
	}
	w.refused(fault.UnsupportedRegion, "CreateContainerFleet", `{"FleetRoleArn":"arn:aws:iam::111122223333:role/r"}`)
	w.refused(fault.InvalidRequest, "DescribeInstances", `{"FleetId":"fleet-1"}`)
	w.refused(fault.NotFound, "DeleteScalingPolicy", `{"FleetId":"fleet-1","Name":"p"}`)
}
