package control

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/api"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func offers() (all []api.Offer) {
	for _, f := range api.Families {
		all = append(all, f.Offers...)
	}
	return all
}

// TestHandlersAreOffered holds the handlers to the table of operations.
func TestHandlersAreOffered(t *testing.T) {
	handled := map[string]int{}
	for _, h := range new(Plane).Handlers() {
		handled[h.Info.Name]++
	}
	for _, o := range offers() {
		want := 1
		if o.Support == api.No {
			want = 0
		}
		if got := handled[o.Info.Name]; got != want {
			t.Errorf("%s is offered %q and has %d handlers", o.Info.Name, o.Support, got)
		}
		delete(handled, o.Info.Name)
	}
	if len(handled) > 0 {
		t.Errorf("not in the table: %v", handled)
	}
}

// Operations that are not offered are rejected with an exception that every client knows for that operation, and with a
// reason.
func TestRefusedOperationsAnswerWithAModelledException(t *testing.T) {
	w := newWorld(t, withShards(1))
	for _, o := range offers() {
		if o.Support != api.No {
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
	w.refused(fault.NotFound, "DescribeInstances", `{"FleetId":"fleet-1"}`)
	w.refused(fault.NotFound, "DeleteScalingPolicy", `{"FleetId":"fleet-1","Name":"p"}`)
}
