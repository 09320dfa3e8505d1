package console

import (
	"net/url"
	"testing"

	"github.com/muster-gg/muster/internal/wire/fault"
)

func TestMachines(t *testing.T) {
	w := newWorld(t)
	w.answers["GET /v1/machines"] = `{"machines":[]}`
	w.shows("GET", "/console/machines", nil, 200, "No machine", "muster machine token create")
	w.answers["GET /v1/machines"] = `{"machines":[` +
		`{"machine":"box-1","status":"ONLINE","location":"custom-a","cpus":1.5,"memoryMiB":2048,"version":"v9",` +
		`"os":"linux","arch":"arm64","load":0.25,"freeMemoryMiB":1000,"lastReport":"2026-11-25T11:58:00Z"},` +
		`{"machine":"box-2","status":"RECONNECTING","drained":true,"instances":2},` +
		`{"machine":"box-3","status":"LOST"}],` +
		`"nextToken":"t&"}`
	w.shows("GET", "/console/machines?status=LOST&location=custom-a", nil, 200, "box-1", "1.5", "load 0.25",
		"2048 MiB", "1000 free", ">drained<", "v9", "arm64", "2 m 0 s ago", "Drain box-1", "Undrain box-2",
		"Delete box-2", "End its 2 instances", "Drain box-3", "Delete box-3", "<option selected>LOST</option>",
		"next=t%26&amp;status=LOST")
	w.answers["POST /v1/machines/box-1/drain"] = `{}`
	w.answers["POST /v1/machines/box-2/undrain"] = `{}`
	w.answers["DELETE /v1/machines/box-2"] = `{}`
	w.leads("/console/machines/box-1/drain", nil, "/console/machines?done=machine-drained")
	w.leads("/console/machines/box-2/undrain", nil, "/console/machines?done=machine-undrained")
	w.leads("/console/machines/box-2/delete", url.Values{"confirm": {"box-2"}},
		"/console/machines?done=machine-deleted")
	w.answers["DELETE /v1/machines/box-2?force=true"] = `{}`
	w.leads("/console/machines/box-2/delete", url.Values{"confirm": {"box-2"}, "force": {"yes"}},
		"/console/machines?done=machine-deleted")
	w.shows("POST", "/console/machines/box-2/delete", url.Values{"confirm": {"box"}}, 400, "Type the name")
	w.fails["DELETE /v1/machines/box-1"] = fault.New(fault.Conflict, "Machine box-1 is used.")
	w.shows("POST", "/console/machines/box-1/delete", url.Values{"confirm": {"box-1"}}, 409, "Machine box-1 is used.")
}
