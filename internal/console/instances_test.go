package console

import (
	"testing"
)

func TestInstances(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/instances"] = `{"instances":[]}`
	w.shows("GET", "/console/instances", nil, 200, "No instance", "aws gamelift create-fleet")
	w.shows("GET", "/console/instances?fleet=f", nil, 200, "No such instance")
	w.answers["GET /v1/instances"] = `{"instances":[{"instanceId":"i-1","fleetId":"fleet-1","location":"custom-a",` +
		`"machine":"box-1","buildId":"build-1","type":"c5.large","status":"PENDING","stage":"FAILED",` +
		`"failureCode":"FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE","failure":"no such file","processes":2,` +
		`"creationTime":"2026-11-25T11:58:00Z"}],"nextToken":"t&"}`
	w.shows("GET", "/console/instances?status=PENDING&machine=box-1", nil, 200, "i-1", "fleet-1", "custom-a", "box-1",
		"build-1", "c5.large", "FAILED", "EXECUTABLE_RUNTIME_FAILURE", "no such file", "<td class=\"n\">2</td>",
		"2 m 0 s",
		"<option selected>PENDING</option>", "machine=box-1&amp;next=t%26&amp;status=PENDING",
		"/console/fleets/fleet-1?tab=computes&amp;compute=i-1#processes")
}
