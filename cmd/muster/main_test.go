package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
	"github.com/muster-gg/muster/internal/release"
)

// The test binary also plays the programs that a keeper runs: those of
// keeper_test.go, the sample game server of muster dev and the service of muster bench.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "sample-server" || os.Args[1] == "serve") {
		main()
	}
	if mode := os.Getenv(childMode); mode != "" {
		os.Exit(child(mode))
	}
	leaktest.Main(m)
}

type result struct {
	status         int
	stdout, stderr string
}

// execute runs a command line against a service that fails the test when it is
// started.
func execute(t *testing.T, environ []string, args ...string) result {
	t.Helper()
	return executeWith(t, func(context.Context, muster.Config) error {
		t.Error("the service was started")
		return nil
	}, environ, args...)
}

func executeWith(
	t *testing.T, serve func(context.Context, muster.Config) error, environ []string, args ...string,
) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{environ: environ, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, serve: serve}
	status := a.run(t.Context(), args)
	return result{status, stdout.String(), stderr.String()}
}

func TestMisuse(t *testing.T) {
	table := filepath.Join(t.TempDir(), "muster.toml")
	if err := os.WriteFile(table, []byte("[server]\nlisten = \":1\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		environ []string
		args    []string
		want    []string // parts of what standard error says
	}{
		{"unknown subcommand", nil, []string{"serv"}, []string{`unknown command "serv"`, "serve", "muster --help"}},
		{"unknown flag", nil, []string{"serve", "--shrads", "3"},
			[]string{"unknown flag: --shrads", "muster serve --help"}},
		{"argument where none is taken", nil, []string{"version", "now"}, []string{`"now"`, "muster version --help"}},
		{"flag without its value", nil, []string{"dev", "--listen"}, []string{"--listen"}},
		{"malformed value", nil, []string{"serve", "--shards", "many"},
			[]string{"setting shards (flag --shards)", "whole number"}},
		{"unknown variable", []string{"MUSTER_LISSTEN=:1"}, []string{"serve"},
			[]string{"MUSTER_LISSTEN", "nearest is MUSTER_LISTEN"}},
		{"invalid settings for config too", []string{"MUSTER_SHARDS=257"}, []string{"config"},
			[]string{"setting shards (environment MUSTER_SHARDS)"}},
		{"file that is not there", nil, []string{"serve", "--config", "none.toml"}, []string{"none.toml"}},
		{"table in a file", nil, []string{"serve", "--config", table},
			[]string{"file " + table + ": [server] is a table", "remove that line"}},
		{"arguments too many", nil, []string{"get", "placements", "q", "more", "yet"},
			[]string{`unexpected argument "more": the usage is muster get placements`}},
		{"argument too few", nil, []string{"push"}, []string{"an argument is missing: the usage is muster push DIR"}},
		{"no endpoint", nil, []string{"get", "fleets"},
			[]string{"no endpoint: set AWS_ENDPOINT_URL_GAMELIFT", "--endpoint", "muster.env"}},
		{"file named by the environment", []string{"MUSTER_CONFIG=absent.toml"}, []string{"serve"},
			[]string{"absent.toml"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := execute(t, test.environ, test.args...)
			if got.status != exitMisuse || got.stdout != "" {
				t.Errorf("status %d, standard output %q", got.status, got.stdout)
			}
			for _, part := range test.want {
				if !strings.Contains(got.stderr, part) {
					t.Errorf("standard error %q lacks %q", got.stderr, part)
				}
			}
		})
	}
}

func TestHelpEndsWithAnExample(t *testing.T) {
	a := &app{}
	for _, command := range a.rootCommand().Commands() {
		if command.Short == "" || command.Example == "" {
			t.Errorf("muster %s has no description or no example", command.Name())
		}
	}
	got := execute(t, nil, "serve", "--help-all")
	if got.status != exitOK || !strings.Contains(got.stdout, "--auth-token-lifetime duration") ||
		!strings.Contains(got.stdout, "(default 3h)") {
		t.Errorf("got %+v", got)
	}
}

// flagLine matches the line of a flag in a help.
var flagLine = regexp.MustCompile("^(  -[a-z], |      )--")

// TestShortHelp: no help has more than 20 lines of flags, and each such help names the one that has all.
func TestShortHelp(t *testing.T) {
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		for _, child := range c.Commands() {
			check(child)
		}
		arguments := append(strings.Fields(c.CommandPath())[1:], "--help")
		help := execute(t, nil, arguments...).stdout
		flags := 0
		for line := range strings.Lines(help) {
			if flagLine.MatchString(line) {
				flags++
			}
		}
		_, short := shortHelp[c.Name()]
		if flags > maxHelpFlags || short != strings.Contains(help, "--help-all' for all ") {
			t.Errorf("%s shows %d flags, with the way to all: %v", c.CommandPath(), flags, short)
		}
	}
	check((&app{}).rootCommand())
}

// TestValueCompletion completes the values of enumerated flags and regions, and fleets of the service that the
// environment names.
func TestValueCompletion(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"fleets":[{"fleetId":"fleet-1","name":"Arena"}]}`)
	}))
	defer service.Close()
	environ := []string{"AWS_ENDPOINT_URL_GAMELIFT=" + service.URL, "AWS_ACCESS_KEY_ID=id",
		"AWS_SECRET_ACCESS_KEY=secret", "AWS_REGION=us-west-2"}
	for _, c := range []struct {
		words   string
		environ []string
		want    string
	}{
		{"serve --log-level", nil, "debug\ninfo\nwarn\nerror\n"},
		{"serve --plaintext", nil, "allow\nrefuse\n"},
		{"dev --region", nil, "eu-west-1\n"},
		{"get fleets --output", nil, "table\nwide\njson\n"},
		{"run --fleet", environ, "fleet-1\tArena\n"},
		{"get processes", environ, "fleet-1\tArena\n"},
		{"get processes fleet-1", environ, ":4\n"},
		{"run --fleet", nil, ":4\n"}, // no service, no error
	} {
		words := append([]string{"__complete"}, append(strings.Fields(c.words), "")...)
		if got := execute(t, c.environ, words...); got.status != exitOK || !strings.Contains(got.stdout, c.want) {
			t.Errorf("%s: %+v", c.words, got)
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := execute(t, nil, "completion", shell); got.status != exitOK ||
			!strings.Contains(got.stdout, "muster") {
			t.Errorf("%s: status %d, %d bytes", shell, got.status, len(got.stdout))
		}
	}
	if got := execute(t, nil, "__complete", "ser"); !strings.Contains(got.stdout, "serve\t") {
		t.Errorf("completing ser gave %q", got.stdout)
	}
}

func TestVersion(t *testing.T) {
	line := "muster " + release.Current().String() + "\n"
	for _, form := range []string{"version", "--version"} {
		if got := execute(t, nil, form); got.status != exitOK || got.stdout != line {
			t.Errorf("%s: got %+v", form, got)
		}
	}
	got := execute(t, nil, "version", "--json")
	var b release.Build
	if err := json.Unmarshal([]byte(got.stdout), &b); err != nil || b != release.Current() {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestConfigPrintsAFileWithOrigins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "muster.toml")
	if err := os.WriteFile(file, []byte("shards = 8\ntls-names = [\"a.example.com\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := execute(t, []string{"MUSTER_LOG_LEVEL=debug"}, "config", "--config", file,
		"--history-retention", "60d", "--tls-names", "b", "--tls-names", "c")
	if got.status != exitOK {
		t.Fatalf("got %+v", got)
	}
	for setting, origin := range map[string]string{
		`shards = 8`:                "file " + file,
		`log-level = "debug"`:       "environment MUSTER_LOG_LEVEL",
		`history-retention = "60d"`: "flag --history-retention",
		`tls-names = ["b", "c"]`:    "flag --tls-names",
		`listen = ":9080"`:          "default",
	} {
		if !containsLine(got.stdout, setting, "# "+origin) {
			t.Errorf("no line with %s from %s in\n%s", setting, origin, got.stdout)
		}
	}
	again := filepath.Join(t.TempDir(), "printed.toml")
	if err := os.WriteFile(again, []byte(got.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	printed := execute(t, nil, "config", "--config", again)
	if !containsLine(printed.stdout, `tls-names = ["b", "c"]`, "# file "+again) {
		t.Errorf("the printed file was read as\n%+v", printed)
	}
}

// TestConfigFormerNames: a former flag is accepted with a warning, is not in the help, and muster gateway ignores the
// former names of the service's settings.
func TestConfigFormerNames(t *testing.T) {
	got := execute(t, nil, "config", "--session-memory", "20s")
	if !containsLine(got.stdout, `session-retention = "20s"`, "# flag --session-memory") ||
		got.stderr != "muster: setting session-memory (flag --session-memory) is now called session-retention: "+
			"rename it; the next release rejects the former name\n" {
		t.Errorf("got %+v", got)
	}
	expect(t, nil, exitMisuse, []string{"config", "--session-memory", "20s", "--session-retention", "20s"},
		"is set twice, as session-retention and by its former name session-memory: remove session-memory")
	if help := execute(t, nil, "config", "--help-all").stdout; strings.Contains(help, "session-memory") {
		t.Errorf("the help has the former flag: %s", help)
	}
	expect(t, []string{"MUSTER_SESSION_MEMORY=20s"}, exitMisuse, []string{"gateway", "--gateway-find-limit", "0"},
		"setting gateway-find-limit (flag --gateway-find-limit)")
}

// TestFilesOfSettings: a file that a setting names is checked before the start, with the status of invalid settings.
func TestFilesOfSettings(t *testing.T) {
	bad := write(t, t.TempDir(), "bad", "nonsense")
	for setting, flags := range map[string][]string{
		"tls-cert":            {"--tls-cert", bad, "--tls-key", bad},
		"gateway-keys-file":   {"--gateway-keys-file", bad},
		"gateway-secret-file": {"--gateway-secret-file", bad},
		"webhook-secret-file": {"--webhooks", "http://127.0.0.1:1/", "--webhook-secret-file", bad},
		"gateway-alias":       {"--gateway-alias", "alias-…"},
		"gateway-builds":      {"--gateway-builds", "1=alias-…"},
		"cluster-ca":          {"--node", "a", "--nats", "nats://127.0.0.1:1", "--cluster-ca", bad},
	} {
		for _, command := range []string{"config", "serve"} {
			args := append([]string{command, "--data", t.TempDir()}, flags...)
			got := executeWith(t, runService, nil, args...)
			want := "muster: setting " + setting + " (flag --" + setting
			if got.status != exitMisuse || !strings.Contains(got.stderr, want) {
				t.Errorf("%s %s: %+v", command, setting, got)
			}
		}
	}
	off := execute(t, nil, "config", "--gateway-listen", "", "--gateway-keys-file", bad)
	if off.status != exitOK {
		t.Errorf("a file that is not read: %+v", off)
	}
}

func TestConfigChanged(t *testing.T) {
	got := execute(t, nil, "config", "--changed", "--shards", "8", "--region", "us-west-2", "--log-level", "debug")
	const want = "# Storage\nshards = 8 # flag --shards\n\n# Running\nlog-level = \"debug\" # flag --log-level\n"
	if got.stdout != want {
		t.Errorf("got %+v", got)
	}
}

func containsLine(text, start, end string) bool {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, start) && strings.HasSuffix(line, end+"\n") {
			return true
		}
	}
	return false
}

func TestConfigJSON(t *testing.T) {
	got := execute(t, nil, "config", "--json", "--shards", "2")
	var entries []struct {
		Name, Origin string
		Value        any
	}
	if err := json.Unmarshal([]byte(got.stdout), &entries); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name == "shards" && e.Origin == "flag --shards" && e.Value == 2.0 {
			return
		}
	}
	t.Errorf("no shards in %s", got.stdout)
}

func TestServe(t *testing.T) {
	data := t.TempDir()
	e := testEndpoints()
	serve := func(_ context.Context, config muster.Config) error {
		if config.Data != data || config.Shards != 2 {
			t.Errorf("started with %+v", config)
		}
		config.Ready(e)
		return nil
	}
	args := []string{"serve", "--data", data, "--shards", "2"}
	first := executeWith(t, serve, nil, args...)
	if want := "export AWS_ACCESS_KEY_ID=AKIDEXAMPLE\n"; first.status != exitOK || first.stdout != want {
		t.Errorf("the first start gave %+v", first)
	}
	if strings.Contains(first.stderr, e.SecretKey) ||
		!strings.Contains(first.stderr, "AWS profile with the first access key written") {
		t.Errorf("log: %s", first.stderr)
	}
	profile, err := os.ReadFile(filepath.Join(data, profileFile))
	if err != nil || !strings.Contains(string(profile), e.SecretKey) {
		t.Errorf("the profile is %q, %v", profile, err)
	}
	if second := executeWith(t, serve, nil, args...); second.status != exitOK || second.stdout != "" {
		t.Errorf("the second start gave %+v", second)
	}
}

// TestServeLogsJSON: no line of standard error is anything else, and commands for an administrator run as the user of
// the service.
func TestServeLogsJSON(t *testing.T) {
	serve := func(_ context.Context, config muster.Config) error {
		config.Ready(testEndpoints())
		return nil
	}
	got := executeWith(t, serve, nil, "serve", "--data", t.TempDir(), "--log-format", "json")
	for line := range strings.Lines(got.stderr) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	if !strings.Contains(got.stderr, "muster user add NAME --profile muster --invite") {
		t.Errorf("got %+v", got)
	}
}

// TestProfileHasPublicURL if AWS tools cannot verify the certificate by another name.
func TestProfileHasPublicURL(t *testing.T) {
	own := muster.Config{PublicURL: "wss://games.example.com:9080"}
	given := own
	given.TLSCert = "cert.pem"
	for _, c := range []struct {
		config     muster.Config
		http, want string
	}{
		{given, "https://host:9080", "https://games.example.com:9080"},
		{given, "http://host:9080", "http://host:9080"},
		{own, "https://host:9080", "https://host:9080"},
	} {
		if got := reached(&c.config, muster.Endpoints{HTTP: c.http}).HTTP; got != c.want {
			t.Errorf("%s: got %s, want %s", c.http, got, c.want)
		}
	}
}

// TestConnectionsAreExplained by the reason of the failure.
func TestConnectionsAreExplained(t *testing.T) {
	leaf := &x509.Certificate{DNSNames: []string{"games.example.com"}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{x509.HostnameError{Certificate: leaf, Host: "127.0.0.1"}, "a name of its certificate (games.example.com)"},
		{x509.UnknownAuthorityError{}, "--ca-file"},
		{x509.CertificateInvalidError{Cert: leaf, Reason: x509.Expired}, "renew the certificate"},
		{syscall.ECONNREFUSED, "start the service"},
	} {
		got := explainConnection(&url.Error{Op: "Get", URL: "/", Err: c.err}).Error()
		if !strings.Contains(got, c.want) ||
			strings.Contains(got, "start the service") != errors.Is(c.err, syscall.ECONNREFUSED) {
			t.Errorf("got %s", got)
		}
	}
}

// TestUnreadableProfile names the reason, not a missing profile.
func TestUnreadableProfile(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ file, want string }{
		{filepath.Join(dir, "none"), "no such file or directory: correct AWS_CONFIG_FILE"},
		{write(t, dir, "denied", ""), "permission denied: if it is that of a service"},
	} {
		if strings.HasSuffix(c.file, "denied") {
			if os.Getuid() == 0 || runtime.GOOS == "windows" {
				continue
			}
			if err := os.Chmod(c.file, 0); err != nil {
				t.Fatal(err)
			}
		}
		a := &app{environ: []string{"AWS_CONFIG_FILE=" + c.file, "HOME=" + dir}}
		if _, err := a.loadProfile(t.Context(), "muster"); err == nil || !strings.Contains(err.Error(), c.want) &&
			runtime.GOOS != "windows" {
			t.Errorf("%s: %v", c.file, err)
		}
	}
}

// TestServePrintsTheSecret does so only if it is told to where standard output is no
// terminal.
func TestServePrintsTheSecret(t *testing.T) {
	serve := func(_ context.Context, config muster.Config) error {
		config.Ready(testEndpoints())
		return nil
	}
	got := executeWith(t, serve, nil, "serve", "--data", t.TempDir(), "--print-secret")
	want := "export AWS_ACCESS_KEY_ID=AKIDEXAMPLE\nexport AWS_SECRET_ACCESS_KEY='top secret'\n"
	if got.status != exitOK || got.stdout != want {
		t.Errorf("got %+v", got)
	}
}

func TestServeFailure(t *testing.T) {
	got := executeWith(t, func(context.Context, muster.Config) error { return errors.New("the disk is gone") }, nil,
		"serve")
	if got.status != exitFailure || got.stderr != "muster: the disk is gone\n" {
		t.Errorf("got %+v", got)
	}
}
