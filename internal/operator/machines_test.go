package operator

import (
	"strings"
	"testing"
)

// TestMachines lists, drains and deletes machines, and makes tokens that are in no record.
func TestMachines(t *testing.T) {
	w := newWorld(t)
	defer w.runTrail()()
	local := w.keyFor("ada", `{"Effect":"Allow","Action":"muster:MachineTokenCreate",`+
		`"Resource":"arn:aws:muster:us-west-2:111122223333:location/custom-a"}`)
	for _, c := range []struct {
		method, path, key, body string
		status                  int
		want                    string
	}{
		{"GET", "/v1/machines", "AKID", "", 200, `"machines":null`},
		{"GET", "/v1/machines?location=custom-a&status=LOST&after=x&limit=7", "AKID", "", 200,
			`{Location:custom-a Status:LOST After:x Limit:7}`},
		{"GET", "/v1/machines?limit=0", "AKID", "", 400, "limit"},
		{"GET", "/v1/machines?zone=a", "AKID", "", 400, "Unknown parameter"},
		{"GET", "/v1/instances?fleet=f&location=l&machine=m&status=s&after=x&limit=7", "AKID", "", 200,
			`{Fleet:f Location:l Machine:m Status:s After:x Limit:7}`},
		{"GET", "/v1/instances?limit=0", "AKID", "", 400, "limit"},
		{"GET", "/v1/machines/box-1", "AKID", "", 200, `"machine":"box-1"`},
		{"GET", "/v1/machines/box-2", "AKID", "", 404, "Machine box-2 not found"},
		{"POST", "/v1/machines/box-1/drain", "AKID", "", 200, `"drained":true`},
		{"POST", "/v1/machines/box-1/undrain", "AKID", "", 200, `"drained":false`},
		{"POST", "/v1/machines/box-2/drain", "AKID", "", 404, "Machine box-2 not found"},
		{"POST", "/v1/machines/box-1/drain", "AKGUEST", "", 403, "muster:MachineDrain"},
		{"DELETE", "/v1/machines/box-1", "AKGUEST", "", 403, "muster:MachineDelete"},
		{"DELETE", "/v1/machines/box-1", "AKID", "", 409, "still runs 1 instance"},
		{"DELETE", "/v1/machines/box-1?force=yes", "AKID", "", 400, "it must be true or false"},
		{"DELETE", "/v1/machines/box-1?force=true", "AKID", "", 200, `{"deleted":"box-1"}`},
		{"GET", "/v1/machine-tokens", "AKID", "", 200, `{"tokens":[{"id":"mt-1","location":"custom-a"`},
		{"POST", "/v1/machine-tokens", "AKID", `{"location":"custom-b","ttlSeconds":60}`, 200, "mjt_secret for 60"},
		{"POST", "/v1/machine-tokens", local, `{"location":"custom-a","ttlSeconds":60}`, 200, "mjt_secret for 60"},
		{"POST", "/v1/machine-tokens", local, `{"location":"custom-b","ttlSeconds":60}`, 403,
			"muster:MachineTokenCreate"},
		{"POST", "/v1/machine-tokens", "AKID", `{"location":"custom-b","ttl":"1h"}`, 400, "Unknown field"},
		{"POST", "/v1/machine-tokens", "", `{"location":"custom-b"}`, 403, "MissingAuthenticationToken"},
		{"DELETE", "/v1/machine-tokens/mt-1", "AKID", "", 200, `{"deleted":"mt-1"}`},
		{"DELETE", "/v1/machine-tokens/mt-9", "AKID", "", 404, "There is no join token mt-9"},
	} {
		if status, body := w.send(c.method, c.path, c.key, c.body); status != c.status ||
			!strings.Contains(body, c.want) {
			t.Errorf("%s %s %s by %s: %d %s", c.method, c.path, c.body, c.key, status, body)
		}
	}
	if err := w.access.Trail().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, body := w.get("/v1/audit")
	for _, want := range []string{`"MachineDrain"`, `"MachineUndrain"`, `"MachineTokenCreate"`, `"token":"mt-2"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s is recorded: %s", want, body)
		}
	}
	if strings.Contains(body, "mjt_") {
		t.Errorf("a token is recorded: %s", body)
	}
}
