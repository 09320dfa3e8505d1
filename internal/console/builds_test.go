package console

import (
	"net/url"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestBuilds(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/builds"] = `{"builds":[]}`
	w.shows("GET", "/console/builds", nil, 200, "No build yet", "aws gamelift upload-build")
	w.shows("GET", "/console/builds?status=FAILED", nil, 200, "No build with this status")
	w.answers["GET /v1/builds"] = `{"builds":[{"buildId":"build-1","name":"arena","status":"FAILED",` +
		`"reason":"the archive has no files","size":2048000,"files":12}],"nextToken":"more"}`
	w.shows("GET", "/console/builds?status=FAILED", nil, 200, "arena", "the archive has no files", ">2 MB<",
		"/console/builds?next=more&amp;status=FAILED")

	w.answers["GET /v1/builds/build-1"] = `{"buildId":"build-1","status":"INITIALIZED","hash":"6b86",` +
		`"tags":[{"key":"branch","value":"main"}]}`
	w.shows("GET", "/console/builds/build-1", nil, 200, "Its files are being checked.", "Tag branch", "6b86")
	w.shows("POST", "/console/builds/build-1/delete", url.Values{"confirm": {"build"}}, 400, "Type the id")
	w.answers["DeleteBuild"] = new(wire.NoOutput)
	w.leads("/console/builds/build-1/delete", url.Values{"confirm": {"build-1"}}, "/console/builds?done=build-deleted")
	w.fails["DeleteBuild"] = fault.New(fault.NotFound, "Build build-1 not found")
	w.shows("POST", "/console/builds/build-1/delete", url.Values{"confirm": {"build-1"}}, 404, "build-1 not found")
}
