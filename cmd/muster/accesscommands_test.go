package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/listen/localca"
	"github.com/muster-gg/muster/mustertest"
)

// rootEnviron is the environment of whoever has the root key.
func rootEnviron(s *mustertest.Service) []string { return keyEnviron(s, s.AccessKey, s.SecretKey) }

func keyEnviron(s *mustertest.Service, id, secret string) []string {
	return []string{"AWS_ENDPOINT_URL=" + s.HTTP, "AWS_ACCESS_KEY_ID=" + id, "AWS_SECRET_ACCESS_KEY=" + secret,
		"AWS_REGION=" + s.Region}
}

// writeFile writes a file of a test, and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestAccessCommands manages people, roles, policies, keys and providers of a service.
func TestAccessCommands(t *testing.T) {
	s := mustertest.Start(t, func(c *muster.Config) { c.Shards = 2 })
	environ := rootEnviron(s)
	ops := writeFile(t, "ops.json", `{"Version":"2012-10-17","Statement":{"Sid":"Ops","Effect":"Allow",`+
		`"Action":"gamelift:*","Resource":"*"}}`)
	foreign := writeFile(t, "foreign.json", `{"Version":"2012-10-17","Statement":{"Effect":"Allow",`+
		`"Action":["gamelift:ListFleets","sqs:SendMessage"],"Resource":"*"}}`)
	secret := writeFile(t, "secret", "s3cret\n")
	for _, test := range []struct {
		line   string
		status int
		want   []string
	}{
		{"group add team --description Developers", exitOK, []string{"Added group team."}},
		{"user add ada --email ada@example.com --group team --invite", exitOK,
			[]string{"Added ada.", "Pass on this link", "/signin/invite?token="}},
		{"user add ada", exitFailure, []string{"add user ada: ConflictException"}},
		{"user add bot --service --invite", exitMisuse, []string{"none of the others can be"}},
		{"user add bot --service", exitOK, []string{"Added bot."}},
		{"user ls", exitOK, []string{"NAME  KIND", "ada   person   invited", "bot   service  active"}},
		{"user show ada", exitOK, []string{"email                   ada@example.com", "user/ada"}},
		{"user show nobody", exitFailure, []string{"NotFoundException"}},
		{"group leave team ada", exitOK, []string{"ada left team."}},
		{"group join team ada", exitOK, []string{"ada joined team."}},
		{"group ls", exitOK, []string{"team  -      ada      Developers"}},
		{"user disable ada", exitOK, []string{"Disabled ada."}},
		{"user ls", exitOK, []string{"ada   person   disabled"}},
		{"user enable ada", exitOK, []string{"Enabled ada."}},
		{"user passwd ada", exitOK, []string{"Invited ada.", "/signin/invite?token="}},
		{"user passwd ada --password-stdin", exitOK, []string{"Set the password of ada."}},
		{"user sessions ada", exitOK, []string{"ID  KIND"}},
		{"user sign-out ada", exitOK, []string{"Ended 0 sessions of ada."}},
		{"user sessions", exitFailure, []string{"list the sessions: ", "The caller is not signed in"}},
		{"user sign-out", exitFailure, []string{"end the sessions: ", "The caller is not signed in"}},
		{"unlock ada", exitOK, []string{"Unlocked ada."}},

		{"policy put ops " + ops, exitOK, []string{"Stored policy ops, version 1."}},
		{"policy put bad " + foreign, exitFailure, []string{"sqs:SendMessage"}},
		{"policy put foreign --allow-unknown " + foreign, exitOK, []string{"Without effect: "}},
		{"policy ls", exitOK, []string{"GameLiftReadOnly", "ops", "yes",
			"role/backend ", " A game's backend: "}},
		{"policy show ops", exitOK, []string{`"Sid": "Ops"`}},
		{"policy show none", exitFailure, []string{"NotFoundException"}},
		{"role put dev --policy ops --max 4h --description d", exitOK, []string{"Stored role dev."}},
		{"role put own --policy-file " + ops, exitOK, []string{"Stored role own."}},
		{"role ls", exitOK, []string{"dev", "ops", " 4h ", "inline (of the role)"}},
		{"role show own", exitOK, []string{"policy inline", `"Sid": "Ops"`}},
		{"policy check ada gamelift:ListFleets", exitFailure, []string{"denied: "}},
		{"policy check role/own gamelift:ListFleets", exitOK, []string{"policy inline of role own allows it"}},
		{"assign @team dev", exitOK, []string{"Assigned role dev to @team."}},
		{"policy check ada gamelift:ListFleets", exitOK, []string{"allowed: statement Ops of policy ops"}},
		{"policy check role/dev muster:UserRead --json", exitFailure, []string{`"allowed":false`}},
		{"policy check ada gamelift:ListFleets --condition x", exitMisuse, []string{"must be KEY=VALUE"}},
		{"policy check ada gamelift:Fly", exitFailure, []string{"gamelift:Fly"}},
		{"unassign @team dev", exitOK, []string{"Role dev is not assigned to @team any more."}},
		{"role rm dev", exitOK, []string{"Deleted role dev."}},
		{"policy rm ops", exitOK, []string{"Deleted policy ops."}},

		{"provider add corp --issuer https://id.example.com --client-id m --sign-in --group-claim groups " +
			"--map devs=team --create --domain example.com --client-secret-file " + secret, exitOK,
			[]string{"Stored provider corp of https://id.example.com."}},
		{"provider add corp --issuer https://id.example.com --map devs", exitMisuse, []string{"must be CLAIM=GROUP"}},
		{"provider ls", exitOK, []string{"corp", "https://id.example.com", "groups"}},
		{"provider ls --json", exitOK, []string{`"groups":[{"claim":"devs","group":"team"}]`, `"hasSecret":true`}},
		{"provider local-passwords off", exitOK, []string{"Passwords are refused."}},
		{"provider local-passwords on", exitOK, []string{"Passwords are accepted."}},
		{"provider local-passwords perhaps", exitMisuse, []string{`"perhaps" must be on or off`}},
		{"provider rm corp", exitOK, []string{"Deleted provider corp."}},
		{"secret rotate", exitOK, []string{"EPOCH", "1"}},
		{"user rm ada", exitOK, []string{"Deleted user ada."}},
		{"group rm team", exitOK, []string{"Deleted group team."}},
	} {
		var out bytes.Buffer
		a := &app{environ: environ, stdin: strings.NewReader("correct horse battery\n"), stdout: &out, stderr: &out}
		if status := a.run(t.Context(), strings.Fields(test.line)); status != test.status {
			t.Errorf("%s: status %d: %s", test.line, status, &out)
		}
		for _, part := range test.want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%s: no %q in %s", test.line, part, &out)
			}
		}
		if strings.Contains(out.String(), "s3cret") {
			t.Errorf("%s prints the client secret", test.line)
		}
	}
}

// TestKeyCommands creates a key, which then works, is refused, is replaced, and is deleted.
func TestKeyCommands(t *testing.T) {
	s := mustertest.Start(t, func(c *muster.Config) { c.Shards = 2 })
	environ := rootEnviron(s)
	create := func(environ []string, args ...string) (k access.KeyCreated) {
		t.Helper()
		got := expect(t, environ, exitOK, append(args, "--json"))
		if err := json.Unmarshal([]byte(got.stdout), &k); err != nil || k.Secret == "" {
			t.Fatalf("%s: %v", got.stdout, err)
		}
		return k
	}
	k := create(environ, "key", "create", "--service", "ci", "--policy", "MusterViewer", "--expires", "90d")
	if left := time.Until(*k.Expires); left < 89*24*time.Hour || left > 90*24*time.Hour {
		t.Errorf("expires %s", k.Expires)
	}
	mine := keyEnviron(s, k.ID, k.Secret)
	expect(t, mine, exitFailure, []string{"cluster", "nodes"}, "InvalidRequestException") // allowed, but no cluster
	expect(t, mine, exitFailure, []string{"user", "ls"}, "AccessDeniedException", "muster:UserRead")
	expect(t, mine, exitFailure, []string{"backup", filepath.Join(t.TempDir(), "b")}, "AccessDeniedException")
	expect(t, environ, exitOK, []string{"key", "ls", "--user", "ci"}, k.ID, "Active", "ci")
	expect(t, environ, exitOK, []string{"key", "disable", k.ID}, "Disabled access key "+k.ID)
	expect(t, mine, exitFailure, []string{"cluster", "nodes"}, "UnrecognizedClientException")
	expect(t, environ, exitOK, []string{"key", "enable", k.ID}, "Enabled access key "+k.ID)
	next := create(environ, "key", "rotate", k.ID)
	expect(t, mine, exitFailure, []string{"cluster", "nodes"}, "UnrecognizedClientException")
	expect(t, environ, exitOK, []string{"key", "rm", next.ID}, "Deleted key "+next.ID)
	expect(t, environ, exitMisuse, []string{"key", "create", "--expires", "soon"}, "must be a duration like 12h or 90d")
	printed := expect(t, environ, exitOK, []string{"key", "create", "--service", "ci"}, "it is not shown again")
	if !strings.HasPrefix(printed.stdout, "export AWS_ACCESS_KEY_ID=AKIA") ||
		!strings.Contains(printed.stdout, "\nexport AWS_SECRET_ACCESS_KEY=") {
		t.Errorf("printed %s", printed.stdout)
	}
}

// TestRootKeyCommands replaces the root key, with it and without it.
func TestRootKeyCommands(t *testing.T) {
	data := t.TempDir()
	s := mustertest.Start(t, func(c *muster.Config) { c.Data, c.Shards = data, 2 })
	environ := rootEnviron(s)
	recovery := []string{"root-key", "recover", "--json", "--data", data, "--endpoint", s.HTTP}
	for _, args := range [][]string{{"root-key", "rotate", "--json"}, recovery} {
		var k access.KeyCreated
		got := expect(t, environ, exitOK, args)
		if err := json.Unmarshal([]byte(got.stdout), &k); err != nil {
			t.Fatal(err)
		}
		expect(t, environ, exitFailure, []string{"user", "ls"}, "UnrecognizedClientException")
		environ = keyEnviron(s, k.ID, k.Secret)
		expect(t, environ, exitOK, []string{"user", "ls"}, "NAME")
	}
	expect(t, nil, exitMisuse, []string{"root-key", "recover"}, "--data is missing")
	elsewhere := []string{"root-key", "recover", "--data", data, "--endpoint", "https://games.example.com"}
	expect(t, nil, exitMisuse, elsewhere, "must be on this machine")
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "region.secret"), []byte(strings.Repeat("o", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, nil, exitFailure, []string{"root-key", "recover", "--data", other, "--endpoint", s.HTTP},
		"AccessDeniedException")
}

// TestRecoverRootKeyWithTLS replaces the root key of a service that accepts only TLS, with a certificate of another CA
// than that of its data directory, as operators have.
func TestRecoverRootKeyWithTLS(t *testing.T) {
	own, err := localca.Load(t.TempDir(), nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	s := mustertest.Start(t, func(c *muster.Config) {
		c.Data, c.Shards, c.Plaintext = data, 2, "refuse"
		c.TLSCert, c.TLSKey = own.CertificateFile, own.KeyFile
	})
	recovery := []string{"root-key", "recover", "--data", data, "--endpoint"}
	expect(t, nil, exitFailure, append(recovery, strings.Replace(s.HTTP, "https:", "http:", 1)),
		"accepts only TLS: use https")
	expect(t, nil, exitOK, append(recovery, s.HTTP), "it is not shown again")
}

// TestAuditCommand prints records as a table, and as they are.
func TestAuditCommand(t *testing.T) {
	record := audit.Record{Time: time.Date(2026, 11, 23, 6, 4, 8, 0, time.UTC), Name: "CreateFleet",
		Address: "192.0.2.7", ErrorCode: "AccessDeniedException", Count: 3, Resources: audit.ARNs{"arn:aws:x"}}
	record.Identity.SourceIdentity, record.Identity.Role = "ada\x1b[2J", "dev"
	line, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	var asked, agent string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, agent = r.URL.RawQuery, r.UserAgent()
		_, _ = w.Write(append(line, '\n'))
	}))
	defer service.Close()
	environ := []string{"AWS_ENDPOINT_URL=" + service.URL, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_REGION=us-west-2"}
	table := expect(t, environ, exitOK, []string{"audit", "--since", "2026-11-01T00:00:00Z", "--user", "ada",
		"--errors", "--key", "k", "--event", "e", "--resource", "r", "--address", "a", "--limit", "1", "--follow"},
		"TIME",
		"2026-11-23T06:04:08Z", "ada [2J as dev", "CreateFleet (3 times)", "192.0.2.7", "AccessDeniedException",
		"arn:aws:x")
	if strings.Contains(table.stdout, "\x1b") {
		t.Error("a control character reaches the terminal")
	}
	if want := "address=a&errors=true&event=e&follow=true&key=k&limit=1&resource=r&since=2026-11-01T00%3A00%3A00Z&" +
		"user=ada"; asked != want {
		t.Errorf("asked %s, want %s", asked, want)
	}
	if got := expect(t, environ, exitOK, []string{"audit", "--json"}); got.stdout != string(line)+"\n" ||
		!strings.HasPrefix(asked, "limit=100000&since=") {
		t.Errorf("printed %s, asked %s", got.stdout, asked)
	}
	if !strings.HasPrefix(agent, "muster/") || !strings.HasSuffix(agent, " audit") || strings.ContainsAny(agent, "()") {
		t.Errorf("the commands are %q", agent)
	}
	expect(t, environ, exitMisuse, []string{"audit", "--since", "yesterday"}, "must be a duration like 24h or 7d")
	expect(t, environ, exitMisuse, []string{"audit", "--limit", "-1"}, "must be a number from 1")
}

// TestAuditShowsTheNewest reads all pages, and says what is left out.
func TestAuditShowsTheNewest(t *testing.T) {
	const records = trailPage + 2500
	asked := 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first := 0
		if after := r.FormValue("after"); after != "" {
			if _, err := fmt.Sscanf(after, "%d-1", &first); err != nil {
				t.Error(err)
			}
		}
		asked++
		out := bufio.NewWriter(w)
		for i := first + 1; i <= min(first+trailPage, records); i++ {
			fmt.Fprintf(out, `{"position":"%d-1","eventName":"E%d"}`+"\n", i, i)
		}
		if err := out.Flush(); err != nil {
			t.Error(err)
		}
	}))
	defer service.Close()
	environ := []string{"AWS_ENDPOINT_URL=" + service.URL, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_REGION=us-west-2"}
	for _, test := range []struct {
		args               []string
		lines, first, left int
	}{
		{[]string{"audit"}, 1000, records - 999, records - 1000},
		{[]string{"audit", "--limit", "2"}, 2, records - 1, records - 2},
		{[]string{"audit", "--json", "--limit", "200000"}, records, 1, 0},
		{[]string{"audit", "--json"}, records, 1, 0},
	} {
		asked = 0
		got := expect(t, environ, exitOK, test.args)
		text := got.stdout
		if len(test.args) < 2 || test.args[1] != "--json" {
			_, text, _ = strings.Cut(text, "\n")
		}
		first, _, _ := strings.Cut(text, "\n")
		if n := strings.Count(text, "\n"); n != test.lines || asked != 2 ||
			!strings.Contains(first, fmt.Sprintf("E%d", test.first)) ||
			!strings.HasSuffix(strings.TrimRight(text, "- ok\n\"}"), fmt.Sprintf("E%d", records)) {
			t.Errorf("%v: %d lines from %s, %d calls", test.args, n, first, asked)
		}
		want := ""
		if test.left > 0 {
			want = fmt.Sprintf("%d older records left out; give --limit or --since.\n", test.left)
		}
		if got.stderr != want {
			t.Errorf("%v: says %q, want %q", test.args, got.stderr, want)
		}
	}
}

// TestAuditFollowEnds at Ctrl-C without an error.
func TestAuditFollowEnds(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		interrupt()
		<-r.Context().Done()
	}))
	defer service.Close()
	var out, messages bytes.Buffer
	environ := []string{"AWS_ENDPOINT_URL=" + service.URL, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_REGION=us-west-2"}
	a := &app{environ: environ, stdin: strings.NewReader(""), stdout: &out, stderr: &messages}
	if status := a.run(ctx, []string{"audit", "--follow"}); status != exitOK || messages.Len() > 0 {
		t.Errorf("status %d: %s", status, &messages)
	}
}

// TestDeniedCheckIsOneLine has no second one on standard error.
func TestDeniedCheckIsOneLine(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"allowed":false,"reason":"because"}`)
	}))
	defer service.Close()
	environ := []string{"AWS_ENDPOINT_URL=" + service.URL, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_REGION=us-west-2"}
	got := expect(t, environ, exitFailure, []string{"policy", "check", "ada", "gamelift:ListFleets"})
	if got.stdout != "denied: because\n" || got.stderr != "" {
		t.Errorf("printed %q, %q", got.stdout, got.stderr)
	}
}

func TestLongestOf(t *testing.T) {
	for seconds, want := range map[int32]string{43200: "12h", 3600: "1h", 5400: "1h30m", 900: "15m", 910: "15m10s"} {
		if got := longestOf(&access.RoleView{MaxDuration: seconds}); got != want {
			t.Errorf("%d is %s, want %s", seconds, got, want)
		}
	}
}

func TestDays(t *testing.T) {
	for text, want := range map[string]time.Duration{"90d": 90 * 24 * time.Hour, "1h30m": 90 * time.Minute} {
		var d days
		if err := d.Set(text); err != nil || time.Duration(d) != want {
			t.Errorf("%s: %s, %v", text, d.String(), err)
		}
	}
	for _, text := range []string{"", "d", "-1d", "0s", "1.5", "99999999d", "x"} {
		var d days
		if err := d.Set(text); err == nil {
			t.Errorf("%s is %s", text, d.String())
		}
	}
}

// TestHelpOfAllCommands holds every subcommand to a description and an example.
func TestHelpOfAllCommands(t *testing.T) {
	commands := new(app).rootCommand().Commands()
	for len(commands) > 0 {
		c := commands[0]
		commands = append(commands[1:], c.Commands()...)
		if c.Name() == "help" || c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion" {
			continue
		}
		if c.Short == "" || !strings.Contains(c.Example, "muster ") {
			t.Errorf("%s has no description or no example", c.CommandPath())
		}
		if c.Parent() == c.Root() && c.GroupID == "" {
			t.Errorf("%s is in no group of the help", c.CommandPath())
		}
	}
}
