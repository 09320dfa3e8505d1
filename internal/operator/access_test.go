package operator

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/journal/memory"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/policy"
)

// A store is a catalog in memory.
type store struct {
	mu    sync.Mutex
	state *catalog.State
	clock clockwork.Clock
}

func (s *store) Catalog() *catalog.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Copy()
}

func (s *store) Now() event.Time { return event.At(s.clock.Now()) }

func (s *store) Change(_ context.Context, c catalog.Command) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, err := s.state.Decide(s.Now(), c)
	for _, e := range events {
		s.state.Apply(e)
	}
	return err
}

// regionSecret is the secret of the region of the tests.
var regionSecret = []byte(strings.Repeat("s", credentials.SecretSize))

// newAccess returns the access of a new region, with the credentials of the root key as AKID, and of the user guest,
// who may read, as AKGUEST.
func newAccess(t *testing.T, clock clockwork.Clock) (*access.Access, map[string]aws.Credentials) {
	t.Helper()
	secrets, err := credentials.New(regionSecret)
	if err != nil {
		t.Fatal(err)
	}
	a := access.New(access.Config{
		Region: "us-west-2", Account: "111122223333", Secrets: secrets,
		Catalog: &store{state: catalog.New(catalog.DefaultLimits()), clock: clock}, Clock: clock,
		Log:   slog.New(slog.DiscardHandler),
		Trail: audit.New(audit.Config{Feed: memory.NewFeedAt(clock), Clock: clock}),
	})
	root, _, err := a.RootKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	guest, err := a.CreateKey(t.Context(), nil,
		access.KeyInput{Service: "guest", Document: json.RawMessage(guestPolicy)})
	if err != nil {
		t.Fatal(err)
	}
	return a, map[string]aws.Credentials{
		"AKID":    {AccessKeyID: root.ID, SecretAccessKey: root.Secret},
		"AKGUEST": {AccessKeyID: guest.ID, SecretAccessKey: guest.Secret},
	}
}

const guestPolicy = `{"Version":"2012-10-17","Statement":[
	{"Effect":"Allow","Action":["muster:NodeRead","muster:PlacementRead","muster:RoleRead"],"Resource":"*"},
	{"Effect":"Deny","Action":"muster:RoleRead","Resource":"arn:aws:muster:us-west-2:111122223333:role/secret"},
	{"Effect":"Allow","Action":"muster:KeyCreate","Resource":"arn:aws:muster:*:*:user/${aws:username}"}]}`

// send sends a body, and returns the status and the answer.
func (w *world) send(method, path, key, body string) (int, string) {
	w.t.Helper()
	return w.read(w.sendRequest(w.t.Context(), method, path, key, body))
}

// TestAccess goes through all requests for who may do what.
func TestAccess(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string // part of the answer
	}{
		{"GET", "/v1/whoami", "", 200, `"arn":"arn:aws:iam::111122223333:root"`},
		{"POST", "/v1/groups", `{"name":"team","description":"d"}`, 200, `{"name":"team","description":"d"}`},
		{"POST", "/v1/users", `{"name":"ada","groups":["team"],"invite":true}`, 200,
			`"invite":"https://games.example.com/signin/invite?token=`},
		{"POST", "/v1/users", `{"name":"ada"}`, 409, `ConflictException`},
		{"POST", "/v1/users", `{"name":"bo b"}`, 400, `InvalidRequestException`},
		{"GET", "/v1/users?limit=1", "", 200, `"after":"ada"`},
		{"GET", "/v1/users?limit=1&after=ada", "", 200, `{"users":[{"name":"guest"`},
		{"GET", "/v1/users?limit=0", "", 400, `Parameter limit is \"0\": it must be a number from 1 to 1000.`},
		{"GET", "/v1/users?limit=1&limit=2", "", 400, `Parameter limit was given 2 times`},
		{"GET", "/v1/users?first=1", "", 400, `Unknown parameter \"first\". The parameters are after, limit.`},
		{"PATCH", "/v1/users/ada", `{"email":"ada@example.com","password":"correct horse battery"}`, 200,
			`"hasPassword":true`},
		{"PATCH", "/v1/users/nobody", `{}`, 404, `NotFoundException`},
		{"GET", "/v1/users/ada", "", 200, `"email":"ada@example.com"`},
		{"PUT", "/v1/users/ada/policies/own", `{"document":{"Version":"2012-10-17","Statement":[]}}`, 400,
			`MalformedPolicyDocument`},
		{"PUT", "/v1/users/ada/policies/own", `{"document":` + guestPolicy + `}`, 200, `"policies":[{"name":"own"`},
		{"DELETE", "/v1/users/ada/policies/own", "", 200, `{"deleted":"own"}`},
		{"DELETE", "/v1/users/ada/policies/own", "", 404, `NotFoundException`},
		{"GET", "/v1/users/ada/sign-ins", "", 200, `{"signIns":`},
		{"GET", "/v1/users/nobody/sign-ins", "", 404, `NotFoundException`},
		{"DELETE", "/v1/users/ada/sign-ins", "", 200, `{"ended":0}`},
		{"POST", "/v1/users/ada/unlock", "", 200, `{"unlocked":"ada"}`},
		{"POST", "/v1/users/nobody/unlock", "", 404, `NotFoundException`},

		{"PUT", "/v1/policies/p", `{"document":` + guestPolicy + `,"description":"d"}`, 200, `"version":1`},
		{"PUT", "/v1/policies/q", `{"document":{"Version":"2012-10-17","Statement":{"Effect":"Allow",` +
			`"Action":"sqs:Get*","Resource":"*"}},"allowUnknown":true}`, 200, `"ignored":[`},
		{"GET", "/v1/policies", "", 200, `"name":"GameLiftReadOnly"`},
		{"GET", "/v1/policies/p", "", 200, `"description":"d"`},
		{"GET", "/v1/policies/none", "", 404, `NotFoundException`},
		{"POST", "/v1/policies/check", `{"who":"guest","action":"muster:NodeRead"}`, 200, `"allowed":true`},
		{"POST", "/v1/policies/check", `{"who":"guest","action":"gamelift:ListFleets"}`, 200, `"allowed":false`},
		{"DELETE", "/v1/policies/q", "", 200, `{"deleted":"q"}`},

		{"PUT", "/v1/roles/dev", `{"policies":["p"],"maxDuration":7200}`, 200, `"maxDuration":7200`},
		{"PUT", "/v1/roles/dev", `{"name":"other","policies":["p"]}`, 400, `the path names \"dev\"`},
		{"GET", "/v1/roles", "", 200, `"name":"dev"`},
		{"GET", "/v1/roles/dev", "", 200, `"policies":["p"]`},
		{"PUT", "/v1/assignments/dev/@team", "", 200, `{"role":"dev","subject":"@team"}`},
		{"PUT", "/v1/assignments/none/@team", "", 404, `NotFoundException`},
		{"GET", "/v1/assignments", "", 200, `{"role":"dev","subject":"@team"`},
		{"DELETE", "/v1/assignments/dev/@team", "", 200, `{"deleted":"dev/@team"}`},
		{"DELETE", "/v1/roles/dev", "", 200, `{"deleted":"dev"}`},

		{"POST", "/v1/keys", `{"user":"ada","document":null,"name":"laptop"}`, 200, `"secret":"`},
		{"GET", "/v1/keys?user=ada", "", 200, `"name":"laptop"`},
		{"PATCH", "/v1/keys/AKIANONE", `{"status":"Inactive"}`, 404, `NotFoundException`},
		{"POST", "/v1/keys/AKIANONE/rotate", "", 404, `NotFoundException`},
		{"DELETE", "/v1/keys/AKIANONE", "", 404, `NotFoundException`},

		{"PUT", "/v1/providers/corp", `{"issuer":"https://id.example.com","clientId":"m","clientSecret":"s3cret",` +
			`"signIn":true}`, 200, `"hasSecret":true`},
		{"PUT", "/v1/providers/corp", `{"name":"x","issuer":"https://id.example.com"}`, 400, `the path names \"corp\"`},
		{"GET", "/v1/providers", "", 200, `"issuer":"https://id.example.com"`},
		{"GET", "/v1/providers/corp", "", 200, `"name":"corp"`},
		{"PATCH", "/v1/settings/sign-in", `{}`, 400, `localPasswords is missing`},
		{"PATCH", "/v1/settings/sign-in", `{"localPasswords":false}`, 200, `"localPasswords":false`},
		{"GET", "/v1/settings/sign-in", "", 200, `"localPasswords":false`},
		{"DELETE", "/v1/providers/corp", "", 409, `switch passwords on first`},
		{"PATCH", "/v1/settings/sign-in", `{"localPasswords":true}`, 200, `"localPasswords":true`},
		{"DELETE", "/v1/providers/corp", "", 200, `{"deleted":"corp"}`},

		{"POST", "/v1/secret/rotate", "", 200, `"epochs":[`},
		{"DELETE", "/v1/users/ada", "", 200, `{"deleted":"ada"}`},
		{"DELETE", "/v1/groups/team", "", 200, `{"deleted":"team"}`},
		{"GET", "/v1/groups", "", 200, `{"groups":null}`},
		{"POST", "/v1/root-key/rotate", "", 200, `"secret":"`},
		{"GET", "/v1/users", "", 403, `UnrecognizedClientException`}, // by the old root key
	} {
		status, body := w.send(c.method, c.path, "AKID", c.body)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s %s: %d %s; want %d with %s", c.method, c.path, c.body, status, body, c.status, c.want)
		}
		if strings.Contains(body, "s3cret") || strings.Contains(body, "correct horse") {
			t.Errorf("%s %s answers a secret: %s", c.method, c.path, body)
		}
	}
}

// TestKeys changes, rotates and deletes a key.
func TestKeys(t *testing.T) {
	w := newWorld(t)
	create := func(path, by, body string) (made access.KeyCreated) {
		t.Helper()
		status, text := w.send("POST", path, by, body)
		if err := json.Unmarshal([]byte(text), &made); status != 200 || err != nil || made.Secret == "" {
			t.Fatalf("%d %s, %v", status, text, err)
		}
		return made
	}
	own := create("/v1/keys", "AKGUEST", `{}`)
	if own.Owner != "guest" {
		t.Errorf("made %+v", own)
	}
	w.keys["AKOWN"] = aws.Credentials{AccessKeyID: own.ID, SecretAccessKey: own.Secret}
	for _, c := range []struct {
		method, key, body string
		status, then      int // and that of a call with the key
	}{
		{"PATCH", "AKGUEST", `{"status":"Inactive"}`, 403, 200},
		{"PATCH", "AKID", `{"status":"Inactive"}`, 200, 403},
		{"PATCH", "AKID", `{"status":"Active"}`, 200, 200},
		{"DELETE", "AKID", "", 200, 403},
	} {
		if status, body := w.send(c.method, "/v1/keys/"+own.ID, c.key, c.body); status != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.body, status, body)
		}
		if status, body := w.ask("GET", "/v1/whoami", "AKOWN"); status != c.then {
			t.Errorf("after %s %s: %d %s", c.method, c.body, status, body)
		}
	}
	before := w.keys["AKGUEST"].AccessKeyID
	next := create("/v1/keys/"+before+"/rotate", "AKID", "")
	if status, _ := w.ask("GET", "/v1/whoami", "AKGUEST"); status != 403 || next.Owner != "guest" {
		t.Errorf("the rotated key: %d, the new one %+v", status, next)
	}
}

// TestDenied asks for the named resource before anything else: a caller learns nothing of what it may not see.
func TestDenied(t *testing.T) {
	w := newWorld(t)
	const arn = "arn:aws:muster:us-west-2:111122223333:"
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/v1/users", "", "perform: muster:UserRead on resource: * because"},
		{"GET", "/v1/users/nobody", "", "muster:UserRead on resource: " + arn + "user/nobody because"},
		{"POST", "/v1/users", `{"name":"eve"}`, "muster:UserPut on resource: " + arn + "user/eve because"},
		{"POST", "/v1/users", `{"nickname":"eve"}`, "muster:UserPut on resource: * because"},
		{"POST", "/v1/groups", `{"name":"g"}`, "muster:GroupPut on resource: " + arn + "group/g because"},
		{"POST", "/v1/keys", `{"user":"guest","service":"eve"}`, "muster:KeyCreate on resource: " + arn + "user/eve"},
		{"POST", "/v1/keys", `{"user":"guest","USER":"eve"}`, "muster:KeyCreate on resource: " + arn + "user/eve"},
		{"PUT", "/v1/assignments/r/@g", "", "muster:AssignmentPut on resource: " + arn + "role/r because"},
		{"GET", "/v1/roles/secret", "", arn + "role/secret with an explicit deny"},
		{"POST", "/v1/root-key/rotate", "", "muster:RootKeyRotate"},
		{"POST", "/v1/secret/rotate", "", "muster:SecretRotate"},
		{"GET", "/v1/audit", "", "muster:AuditRead"},
	} {
		status, body := w.send(c.method, c.path, "AKGUEST", c.body)
		if status != 403 || !strings.Contains(body, "AccessDeniedException") || !strings.Contains(body, c.want) {
			t.Errorf("%s %s %s: %d %s; want %s", c.method, c.path, c.body, status, body, c.want)
		}
	}
	if status, body := w.ask("GET", "/v1/roles/none", "AKGUEST"); status != 404 {
		t.Errorf("an allowed call: %d %s", status, body)
	}
	if status, body := w.ask("GET", "/v1/whoami", "AKGUEST"); status != 200 || !strings.Contains(body, ":user/guest") {
		t.Errorf("whoami: %d %s", status, body)
	}
}

// TestActions finds an action of the policies, and a resource, for each route.
func TestActions(t *testing.T) {
	d := &Handler{Config: Config{Legacy: func(context.Context) any { return nil }}}
	for _, r := range d.routes() {
		if r.action != "" && r.notes&unsigned == 0 {
			action(r.action) // panics for an unknown one
		}
		named := strings.Contains(r.pattern, "{") || strings.Contains(r.resource, "{fleet}") ||
			strings.Contains(r.resource, "{queue}")
		if named != (r.resource != "") {
			t.Errorf("%s has the resource %q", r.pattern, r.resource)
		}
		switch r.pattern {
		case "GET /v1/whoami", "GET /v1/watch", "GET /v1/openapi.json":
			continue
		}
		if r.action == "" {
			t.Errorf("%s asks nobody", r.pattern)
		}
	}
}

func TestBodies(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/v1/users", `{"name":"eve","nickname":"e"}`, 400, `Unknown field \"nickname\". Remove it, or`},
		{"POST", "/v1/users", `{"name":7}`, 400, `Field name must not be a JSON number.`},
		{"POST", "/v1/users", `{"name":"eve"}{}`, 400, `The body must be one JSON object.`},
		{"POST", "/v1/users", `["eve"]`, 400, `The body must be one JSON object`},
		{"POST", "/v1/users", `{"name":"` + strings.Repeat("e", maxBody) + `"}`, 400, `it may have 65536 bytes`},
		{"GET", "/v1/users", `{}`, 400, `The request must have no body.`},
		{"PUT", "/v1/assignments/r/u", `{}`, 400, `The request must have no body.`},
	} {
		status, body := w.send(c.method, c.path, "AKID", c.body)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s; want %d with %s", c.method, c.path, status, body, c.status, c.want)
		}
	}
	if status, body := w.send("POST", "/v1/users", "AKOTHER", `{"name":"eve"}`); status != 403 {
		t.Errorf("unknown key: %d %s", status, body)
	}
}

// TestSignatureCoversTheBody changes a body after it was signed.
func TestSignatureCoversTheBody(t *testing.T) {
	w := newWorld(t)
	r := w.newRequest(t.Context(), "POST", "/v1/users", "AKID", `{"name":"eve"}`)
	changed := strings.NewReader(`{"name":"bob"}`)
	r.Body, r.ContentLength = http.NoBody, int64(changed.Len())
	r.Body = readCloser{changed}
	status, body := w.read(w.do(r))
	if status != 403 || !strings.Contains(body, "InvalidSignatureException") {
		t.Errorf("%d %s", status, body)
	}
	r = w.newRequest(t.Context(), "POST", "/v1/users", "AKID", `{"name":"eve"}`)
	r.Header.Set("Content-Type", "text/plain")
	if status, body := w.read(w.do(r)); status != 400 || !strings.Contains(body, "it must be application/json") {
		t.Errorf("text: %d %s", status, body)
	}
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// TestOpen is a service without authentication: it answers reads, and changes nothing.
func TestOpen(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Open = true })
	for _, c := range []struct {
		method, path, key, body string
		status                  int
	}{
		{"GET", "/v1/nodes", "", "", 200},
		{"GET", "/v1/users", "", "", 200},
		{"POST", "/v1/policies/check", "", `{"who":"guest","action":"muster:NodeRead"}`, 200},
		{"GET", "/v1/backup", "", "", 403},
		{"DELETE", "/v1/nodes/n4", "AKOTHER", "", 403},
		{"POST", "/v1/users", "", `{"name":"eve"}`, 403},
		{"POST", "/v1/root-key/rotate", "", "", 403},
		{"GET", "/v1/whoami", "", "", 403},
		{"POST", "/v1/users", "AKID", `{"name":"eve"}`, 200},
		{"POST", "/v1/users", "AKGUEST", `{"name":"eve"}`, 403},
	} {
		if status, body := w.send(c.method, c.path, c.key, c.body); status != c.status {
			t.Errorf("%s %s with key %q: %d %s", c.method, c.path, c.key, status, body)
		}
	}
}

// TestRecovery replaces the root key by a proof of the region's secret.
func TestRecovery(t *testing.T) {
	w := newWorld(t)
	secrets, err := credentials.New(regionSecret)
	if err != nil {
		t.Fatal(err)
	}
	other, err := credentials.New([]byte(strings.Repeat("o", credentials.SecretSize)))
	if err != nil {
		t.Fatal(err)
	}
	good := secrets.Proof(w.clock.Now())
	for _, c := range []struct {
		name, proof string
		status      int
	}{
		{"none", "", 403},
		{"of another region", other.Proof(w.clock.Now()), 403},
		{"old", secrets.Proof(w.clock.Now().Add(-2 * time.Minute)), 403},
		{"good", good, 200},
		{"used again", good, 403},
	} {
		r := w.newRequest(t.Context(), "POST", "/v1/root-key/recover", "", "")
		r.Header.Set(RecoveryHeader, c.proof)
		status, body := w.read(w.do(r))
		if status != c.status || (status == 200) != strings.Contains(body, `"secret":"`) {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
	if status, body := w.ask("GET", "/v1/whoami", "AKID"); status != 403 {
		t.Errorf("the old root key: %d %s", status, body)
	}
	remote := newWorld(t, func(c *Config) { c.Clock = w.clock })
	remote.remote = "192.0.2.1:1234"
	r := remote.newRequest(t.Context(), "POST", "/v1/root-key/recover", "", "")
	r.Header.Set(RecoveryHeader, secrets.Proof(w.clock.Now()))
	if status, body := remote.read(remote.do(r)); status != 403 || !strings.Contains(body, "machine of the service") {
		t.Errorf("from another machine: %d %s", status, body)
	}
}

// TestTrail records changes and denials, and no reads.
func TestTrail(t *testing.T) {
	defer leaktest.Check(t)()
	w := newWorld(t)
	defer w.Close()
	defer w.runTrail()()
	w.taken = func(context.Context, io.Writer, bool) error { return nil }
	w.send("POST", "/v1/users", "AKID", `{"name":"ada","invite":true}`)
	w.send("POST", "/v1/users", "AKID", `{"name":"ada"}`)
	w.ask("GET", "/v1/users", "AKID")
	w.ask("GET", "/v1/users", "AKGUEST")
	w.ask("GET", "/v1/backup", "AKID")
	w.ask("DELETE", "/v1/nodes/n4", "AKID")
	w.send("POST", "/v1/policies/check", "AKID", `{"who":"ada","action":"muster:NodeRead"}`)
	if err := w.access.Trail().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"": "UserPut UserPut:ConflictException UserRead:AccessDeniedException BackupCreate " +
			"NodeRemove",
		"?errors=true":           "UserPut:ConflictException UserRead:AccessDeniedException",
		"?user=guest":            "UserRead:AccessDeniedException",
		"?event=userput&limit=1": "UserPut",
		"?resource=node/n4":      "NodeRemove",
		"?address=192.0.2.0/24":  "",
		"?since=2000-01-01T00:00:00Z&until=2000-01-02T00:00:00Z": "",
	} {
		status, body := w.get("/v1/audit" + query)
		if got := trailOf(t, body); status != 200 || got != want {
			t.Errorf("%s: %d %s, want %s", query, status, got, want)
		}
	}
	_, first := w.get("/v1/audit?limit=1")
	var record struct{ Position string }
	if err := json.Unmarshal([]byte(first), &record); err != nil {
		t.Fatal(err)
	}
	if _, rest := w.get("/v1/audit?after=" + record.Position); strings.Count(rest, "\n") != 4 {
		t.Errorf("after the first: %s", rest)
	}
	for _, query := range []string{"since=x", "errors=x", "limit=0", "limit=1000000", "follow=x", "user=a&user=b",
		"x=1", "address=x", "after=x"} {
		if status, body := w.get("/v1/audit?" + query); status != 400 {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
}

// TestRecords has who did what in the records of changes, and no value of a field.
func TestRecords(t *testing.T) {
	w := newWorld(t)
	defer w.runTrail()()
	key := func(status int, body string) (made access.KeyCreated) {
		t.Helper()
		if err := json.Unmarshal([]byte(body), &made); status != 200 || err != nil {
			t.Fatalf("%d %s, %v", status, body, err)
		}
		return made
	}
	w.send("POST", "/v1/users", "AKID", `{"name":"ada","email":"canary@example.com"}`)
	w.send("PATCH", "/v1/users/ada", "AKID", `{"password":"canary of a password","disabled":false}`)
	w.send("PUT", "/v1/roles/dev", "AKID", `{"policies":["GameLiftBackend","MusterViewer"],"description":"canary"}`)
	w.send("PUT", "/v1/assignments/dev/ada", "AKID", "")
	w.send("PUT", "/v1/users/ada/policies/own", "AKID", `{"document":`+guestPolicy+`}`)
	w.send("POST", "/v1/users", "AKID", `{"canary":1}`)
	made := key(w.send("POST", "/v1/keys", "AKID", `{"user":"ada"}`))
	next := key(w.send("POST", "/v1/keys/"+made.ID+"/rotate", "AKID", ""))
	secrets, err := credentials.New(regionSecret)
	if err != nil {
		t.Fatal(err)
	}
	r := w.newRequest(t.Context(), "POST", "/v1/root-key/recover", "", "")
	r.Header.Set(RecoveryHeader, secrets.Proof(w.clock.Now()))
	root := key(w.read(w.do(r)))
	w.keys["AKID"] = aws.Credentials{AccessKeyID: root.ID, SecretAccessKey: root.Secret}
	r = w.newRequest(t.Context(), "POST", "/v1/root-key/recover", "", "")
	r.Header.Set(RecoveryHeader, "canary")
	w.read(w.do(r))
	if err := w.access.Trail().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, body := w.get("/v1/audit")
	var got []string
	for line := range strings.Lines(body) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(r.Name, " ", r.Identity.Type, " ", r.Details))
	}
	want := []string{
		"UserPut Root map[fields:email,name name:ada]",
		"UserPut Root map[fields:disabled,password name:ada]",
		"RolePut Root map[fields:description,policies name:dev policies:GameLiftBackend,MusterViewer]",
		"AssignmentPut Root map[role:dev subject:ada]",
		"PolicyPut Root map[fields:document name:ada policy:own]",
		"UserPut Root map[]",
		"KeyCreate Root map[accessKeyId:" + made.ID + " fields:user owner:ada]",
		"KeyRotate Root map[accessKeyId:" + next.ID + " id:" + made.ID + " owner:ada]",
		"RootKeyRecover Service map[accessKeyId:" + root.ID + "]",
		"RootKeyRecover Unknown map[]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !strings.Contains(body, `"userName":"root key recovery"`) {
		t.Errorf("the recovery is that of nobody: %s", body)
	}
	for _, secret := range []string{"canary of", "canary@", made.Secret, next.Secret, root.Secret} {
		if strings.Contains(body, secret) {
			t.Errorf("the trail has %s", secret)
		}
	}
}

// TestOwnSignIns lists and ends the sessions of a signed-in person, whom no policy allows it.
func TestOwnSignIns(t *testing.T) {
	w := newWorld(t)
	defer w.runTrail()()
	w.send("POST", "/v1/users", "AKID", `{"name":"ada"}`)
	w.send("PUT", "/v1/roles/dev", "AKID", `{"policies":["GameLiftReadOnly"]}`)
	w.send("PUT", "/v1/assignments/dev/ada", "AKID", "")
	s, err := w.access.StartSignIn(t.Context(), access.Start{User: "ada", Client: "a laptop", Kind: access.KindSSO})
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.access.Bearer(w.access.Tokens(s).Access)
	if err != nil {
		t.Fatal(err)
	}
	k, err := w.access.RoleKeys(t.Context(), p, "dev", 0, access.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	w.keys["AKADA"] = aws.Credentials{AccessKeyID: k.AccessKeyID, SecretAccessKey: k.SecretAccessKey,
		SessionToken: k.SessionToken}
	for _, c := range []struct {
		method, path, key string
		status            int
		want              string
	}{
		{"GET", "/v1/users/ada/sign-ins", "AKADA", 403, "AccessDeniedException"},
		{"GET", "/v1/me/sign-ins", "AKADA", 200, `"client":"a laptop"`},
		{"GET", "/v1/me/sign-ins", "AKID", 400, "The caller is not signed in"},
		{"GET", "/v1/me/sign-ins", "AKGUEST", 400, "The caller is not signed in"},
		{"DELETE", "/v1/me/sign-ins", "AKGUEST", 400, "The caller is not signed in"},
		{"DELETE", "/v1/me/sign-ins", "AKADA", 200, `{"ended":1}`},
		{"GET", "/v1/me/sign-ins", "AKADA", 403, ""},
		{"GET", "/v1/users/ada/sign-ins", "AKID", 200, `{"signIns":null}`},
	} {
		if status, body := w.ask(c.method, c.path, c.key); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s %s by %s: %d %s", c.method, c.path, c.key, status, body)
		}
	}
	if err := w.access.Trail().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, body := w.get("/v1/audit?event=SessionEnd&user=ada"); strings.Count(body, "\n") != 1 {
		t.Errorf("recorded %s", body)
	}
	open := newWorld(t, func(c *Config) { c.Open = true })
	if status, body := open.ask("GET", "/v1/me/sign-ins", ""); status != 403 {
		t.Errorf("without a signature: %d %s", status, body)
	}
}

// TestPolicyTexts describes built-in policies, and names those that decide.
func TestPolicyTexts(t *testing.T) {
	w := newWorld(t)
	for _, name := range policy.Builtins() {
		if policy.Describe(name) == "" {
			t.Errorf("%s has no description", name)
		}
	}
	if _, body := w.get("/v1/policies/GameLiftBackend"); !strings.Contains(body, `"usedBy":["role/backend"]`) ||
		!strings.Contains(body, `"description":"A game's backend: `) {
		t.Errorf("a built-in policy is %s", body)
	}
	const allow = `{"Version":"2012-10-17","Statement":{"Sid":"S","Effect":"%s","Action":"muster:NodeRead",` +
		`"Resource":"*"}}`
	w.send("POST", "/v1/users", "AKID", `{"name":"ada"}`)
	w.send("PUT", "/v1/users/ada/policies/own", "AKID", `{"document":`+fmt.Sprintf(allow, "Allow")+`}`)
	w.send("POST", "/v1/users", "AKID", `{"name":"bob"}`)
	w.send("PUT", "/v1/roles/dev", "AKID", `{"inlinePolicies":[{"name":"inline","document":`+
		fmt.Sprintf(allow, "Allow")+`}]}`)
	w.send("PUT", "/v1/assignments/dev/bob", "AKID", "")
	_, text := w.send("POST", "/v1/keys", "AKID", `{"user":"ada","document":`+fmt.Sprintf(allow, "Deny")+`}`)
	var made access.KeyCreated
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for who, want := range map[string]string{
		"ada":      "statement S of policy own of user ada allows it",
		"bob":      "statement S of policy inline of role dev allows it",
		"role/dev": "statement S of policy inline of role dev allows it",
		made.ID:    "statement S of the own policy of access key " + made.ID + " denies it",
	} {
		_, body := w.send("POST", "/v1/policies/check", "AKID", `{"who":"`+who+`","action":"muster:NodeRead"}`)
		if !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", who, body, want)
		}
	}
}

// trailOf returns the names of events, with errors.
func trailOf(t *testing.T, body string) string {
	t.Helper()
	var names []string
	for line := range strings.Lines(body) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		name := r.Name
		if r.ErrorCode != "" {
			name += ":" + r.ErrorCode
		}
		if r.Address != "127.0.0.1" || r.RequestID == "" {
			t.Errorf("%s: address %q, request %q", name, r.Address, r.RequestID)
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// TestFollowTrail streams records, and ends at Stop.
func TestFollowTrail(t *testing.T) {
	defer leaktest.Check(t)()
	w := newWorld(t)
	defer w.Close()
	defer w.runTrail()()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answer := w.request(ctx, http.MethodGet, "/v1/audit?follow=true&since="+
		w.clock.Now().Add(-time.Hour).UTC().Format(time.RFC3339), "AKID")
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for i := range 3 {
		name := fmt.Sprint("user", i)
		w.send("POST", "/v1/users", "AKID", fmt.Sprintf(`{"name":%q}`, name))
		if !lines.Scan() || !strings.Contains(lines.Text(), "user/"+name) {
			t.Fatalf("got %s, %v", lines.Text(), lines.Err())
		}
	}
	w.door.Stop()
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("after Stop: %s, %v", lines.Text(), lines.Err())
	}
}
