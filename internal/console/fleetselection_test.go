package console

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestFleetSelection selects two fleets in the list, tags them, and deletes them after a question that names what is
// lost.
func TestFleetSelection(t *testing.T) {
	w := newWorld(t)
	ids := []string{"fleet-1", "fleet-2"}
	w.answers["ListFleets"] = &wire.ListFleetsOutput{FleetIds: ids}
	attributes, use := &wire.DescribeFleetAttributesOutput{}, &wire.DescribeFleetUtilizationOutput{}
	for i, id := range ids {
		attributes.FleetAttributes = append(attributes.FleetAttributes, wire.FleetAttributes{FleetId: id,
			FleetArn: "arn:aws:gamelift:eu-west-1::fleet/" + id, Name: fmt.Sprint("arena-", i)})
		use.FleetUtilization = append(use.FleetUtilization, wire.FleetUtilization{FleetId: id,
			ActiveGameSessionCount: wire.Some[int32](2), CurrentPlayerSessionCount: wire.Some[int32](20)})
	}
	w.answers["DescribeFleetAttributes"], w.answers["DescribeFleetUtilization"] = attributes, use
	w.answers["TagResource"], w.answers["DeleteFleet"] = &wire.TagResourceResponse{}, new(wire.NoOutput)
	const box = `<input type="checkbox" form="selection" name="fleet" value="fleet-2" id="x-fleet-2"`
	w.shows("GET", "/console/fleets", nil, 200, box+` aria-label="Select arena-1">`)
	w.shows("GET", "/console/fleets/selected?fleet=fleet-1&fleet=fleet-2", nil, 200,
		"4 game sessions with 40 players end", "Type “delete 2 fleets”", "/console/fleets/selected/tag")
	if to := w.do("GET", "/console/fleets/selected", nil).Header().Get("Location"); !strings.Contains(to, "none-sel") {
		t.Errorf("without a fleet: to %s", to)
	}

	both := func(more ...string) url.Values {
		form := url.Values{"fleet": {"fleet-1", "fleet-2", "fleet-1"}}
		for i := 0; i < len(more); i += 2 {
			form.Set(more[i], more[i+1])
		}
		return form
	}
	w.leads("/console/fleets/selected/tag", both("tag-key", "team", "tag-value", "red"),
		"/console/fleets?done=fleets-tagged")
	w.shows("POST", "/console/fleets/selected/delete", both("confirm", "delete"), 400,
		"InvalidRequestException: Type “delete 2 fleets” to delete them.")
	if fmt.Sprint(w.calls) != strings.ReplaceAll(fmt.Sprint(w.calls), "DeleteFleet", "") {
		t.Error("a fleet was deleted without the words")
	}
	w.leads("/console/fleets/selected/delete", both("confirm", "delete 2 fleets"),
		"/console/fleets?done=fleets-deleted")
	if n := strings.Count(fmt.Sprint(w.calls), "DeleteFleet"); n != 2 {
		t.Errorf("%d fleets were deleted", n)
	}
	w.fails["DeleteFleet"] = fault.New(fault.InvalidRequest, "It has an alias.")
	w.shows("POST", "/console/fleets/selected/delete", both("confirm", "delete 2 fleets"), 400,
		"It failed for arena-0, arena-1, and was done to the others. It has an alias.")

	w.fails["gamelift:DeleteFleet"], w.fails["gamelift:TagResource"] = denied, denied
	if page := w.do("GET", "/console/fleets", nil).Body.String(); strings.Contains(page, box) {
		t.Error("fleets can be selected for nothing")
	}
	w.shows("GET", "/console/fleets/selected?fleet=fleet-1", nil, 200, "You may not tag or delete")
}
