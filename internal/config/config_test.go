package config

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDefaultsAreValid(t *testing.T) {
	service, alone := Default(), DefaultStandaloneGateway()
	if err := service.Validate(); err != nil {
		t.Error(err)
	}
	if err := alone.Validate(); err != nil {
		t.Error(err)
	}
	for _, s := range slices.Concat(service.Settings(), alone.Settings()) {
		if s.String() != s.Default {
			t.Errorf("%s has the default %q, which is printed as %q", s.Name, s.Default, s)
		}
	}
}

// ofPrograms are the fields that programs set.
var ofPrograms = []string{"Clock", "Environ", "Keys", "Log", "Ready", "PasswordHasher", "SettingOrigins",
	"Test"}

// fields counts the fields of a struct that operators set.
func fields(of reflect.Type) (n int) {
	for f := range of.Fields() {
		switch {
		case slices.Contains(ofPrograms, f.Name):
		case f.Type.Kind() == reflect.Struct:
			n += fields(f.Type)
		default:
			n++
		}
	}
	return n
}

func TestEverySettingHasAFieldAndANameOfItsOwn(t *testing.T) {
	config := Default()
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[string]bool{}
	for _, s := range config.Settings() {
		if !name.MatchString(s.Name) || seen[s.Name] {
			t.Errorf("setting %q: malformed or twice", s.Name)
		}
		seen[s.Name] = true
		if injected(s.Env()) {
			t.Errorf("setting %s: %s would be ignored as a variable of Kubernetes", s.Name, s.Env())
		}
		if s.Usage == "" || s.Group == "" {
			t.Errorf("setting %s is not documented", s.Name)
		}
	}
	for _, s := range config.Settings() {
		if seen[s.Former()] {
			t.Errorf("setting %s: its former name %s is the name of a setting", s.Name, s.Former())
		}
	}
	if want := fields(reflect.TypeFor[Config]()); len(seen) != want {
		t.Errorf("%d settings for %d fields", len(seen), want)
	}
}

func TestEverySettingReadsWhatItPrints(t *testing.T) {
	config := Default()
	config.TLSNames = []string{"a.example.com", "10.0.0.1"}
	before := config
	for _, s := range config.Settings() {
		if err := s.Set(s.String()); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	if !reflect.DeepEqual(before, config) {
		t.Errorf("settings changed:\n%+v\n%+v", before, config)
	}
}

func TestLoadPrecedence(t *testing.T) {
	const fileOrigin, envOrigin, flagOrigin = "file FILE", "environment MUSTER_SHARDS", "flag --shards"
	tests := []struct {
		name       string
		file       string
		environ    []string
		flags      map[string]string
		want       int
		wantOrigin string
	}{
		{"default", "", nil, nil, 0, "default"},
		{"file over default", "shards = 5", nil, nil, 5, fileOrigin},
		{"environment over file", "shards = 5", []string{"MUSTER_SHARDS=6"}, nil, 6, envOrigin},
		{"flag over environment", "shards = 5", []string{"MUSTER_SHARDS=6"}, map[string]string{"shards": "7"}, 7,
			flagOrigin},
		{"flag over file", "shards = 5", nil, map[string]string{"shards": "7"}, 7, flagOrigin},
		{"empty variable counts as not set", "shards = 5", []string{"MUSTER_SHARDS="}, nil, 5, fileOrigin},
		{"a flag with the default's value is still a flag", "shards = 5", nil, map[string]string{"shards": "4"}, 4,
			flagOrigin},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := writeFile(t, test.file)
			config, origins, err := Load(Default(), Sources{File: path, Environ: test.environ, Flags: test.flags})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Replace(origins["shards"], path, "FILE", 1); config.Shards != test.want ||
				got != test.wantOrigin {
				t.Errorf("got %d from %q, want %d from %q", config.Shards, got, test.want, test.wantOrigin)
			}
		})
	}
}

func TestLoadReadsEveryForm(t *testing.T) {
	path := writeFile(t, `
data = "/var/lib/muster"
shards = 8
history-retention = "50d"
tls-names = ["games.example.com", "10.0.0.7"]
`)
	environ := []string{
		"MUSTER_HEALTH_INTERVAL=1m30s", "muster_log_level=debug", "PATH=/bin", "MUSTER_HTTP_URL=http://127.0.0.1:9080",
		"MUSTER_SERVICE_HOST=10.1.2.3", "MUSTER_PORT=tcp://10.1.2.3:9080", "MUSTER_PORT_9080_TCP_ADDR=10.1.2.3",
	}
	config, _, err := Load(Default(), Sources{File: path, Environ: environ,
		Flags: map[string]string{"history-retention": "60d12h"}})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Data, want.Shards, want.HistoryRetention = "/var/lib/muster", 8, 60*day+12*time.Hour
	want.TLSNames = []string{"games.example.com", "10.0.0.7"}
	want.HealthInterval, want.LogLevel = 90*time.Second, "debug"
	if !reflect.DeepEqual(config, want) {
		t.Errorf("got  %+v\nwant %+v", config, want)
	}
}

func TestLoadRefuses(t *testing.T) {
	tests := []struct {
		name    string
		file    string
		environ string
		flags   map[string]string
		want    []string // parts of the error
	}{
		{"unknown key", "shrads = 3", "", nil, []string{"FILE", "unknown setting shrads", "nearest is shards"}},
		{"unknown table", "[server]\nlisten = ':1'", "", nil,
			[]string{"[server] is a table, and a settings file has none"}},
		{"unknown variable", "", "MUSTER_HEALTH_INTERVALL=3s", nil,
			[]string{"unknown setting MUSTER_HEALTH_INTERVALL", "nearest is MUSTER_HEALTH_INTERVAL"}},
		{"unknown flag", "", "", map[string]string{"lissten": ":1"},
			[]string{"unknown setting lissten", "nearest is listen"}},
		{"malformed file", "shards = ", "", nil, []string{"FILE", "line 1"}},
		{"number in quotes", `shards = "3"`, "", nil, []string{"setting shards (file FILE)", "without quotes"}},
		{"text without quotes", `account = 111122223333`, "", nil,
			[]string{"setting account (file FILE)", "in quotes"}},
		{"text for a number", "", "MUSTER_SHARDS=many", nil,
			[]string{"setting shards (environment MUSTER_SHARDS)", "whole number"}},
		{"list of numbers", `tls-names = [1]`, "", nil, []string{"setting tls-names", "must be a list of strings"}},
		{"duration without a unit", "", "MUSTER_HISTORY_RETENTION=30", nil,
			[]string{"setting history-retention", "30d"}},
		{"out of range", "", "", map[string]string{"shards": "257"},
			[]string{"setting shards (flag --shards)", "between 0 and 256"}},
		{"duration out of range", "", "", map[string]string{"clock-skew": "2d"},
			[]string{"setting clock-skew", "between 1s and 1d"}},
		{"choice", "", "MUSTER_PLAINTEXT=maybe", nil, []string{"setting plaintext", "allow, refuse"}},
		{"region", "", "MUSTER_REGION=Seoul", nil, []string{"setting region", "us-west-2"}},
		{"account", "", "MUSTER_ACCOUNT=12", nil, []string{"setting account", "12 digits"}},
		{"listen", "", "MUSTER_LISTEN=9080", nil, []string{"setting listen", "127.0.0.1:9080"}},
		{"port", "", "MUSTER_LISTEN=:99999", nil, []string{"setting listen", "65535"}},
		{"a history smaller than a batch", "", "MUSTER_MAX_HISTORY_SIZE=8", nil,
			[]string{"setting max-history-size", "at least 64"}},
		{"certificate without key", "", "MUSTER_TLS_CERT=c.pem", nil, []string{"setting tls-key", "both or neither"}},
		{"key without certificate", "", "MUSTER_TLS_KEY=k.pem", nil, []string{"setting tls-cert", "both or neither"}},
		{"public URL of HTTP", "", "MUSTER_PUBLIC_URL=http://x", nil, []string{"setting public-url", "wss://"}},
		{"public URL with a query", "", "MUSTER_PUBLIC_URL=wss://x?a=b", nil, []string{"setting public-url", "query"}},
		{"public URL too long", "", "MUSTER_PUBLIC_URL=wss://" + strings.Repeat("x", 130), nil,
			[]string{"setting public-url", "122"}},
		{"plain public URL where plain text is refused", `plaintext = "refuse"`, "MUSTER_PUBLIC_URL=ws://x", nil,
			[]string{"setting public-url", "refuse"}},
		{"name for the certificate", "", "MUSTER_TLS_NAMES=a b", nil, []string{"setting tls-names", "host name"}},
		{"peers without a name", "", "MUSTER_PEER=a:1,b:2", nil, []string{"setting node", "peer is set"}},
		{"NATS without a name", "", "MUSTER_NATS=nats://a:4222", nil, []string{"setting node", "nats is set"}},
		{"a node without peers", "", "MUSTER_NODE=n1", nil, []string{"setting peer", "node is set"}},
		{"a node's name with a dot", `peer = ["a:1"]`, "MUSTER_NODE=n.1", nil, []string{"setting node", "letters"}},
		{"a peer without a port", `node = "n1"`, "MUSTER_PEER=a", nil, []string{"setting peer", "host:port"}},
		{"a cluster's port that nobody knows", "", "MUSTER_CLUSTER_LISTEN=:0", nil,
			[]string{"setting cluster-listen", "port 0"}},
		{"peers and NATS", "node = 'n1'\npeer = ['a:1']", "MUSTER_NATS=nats://a:4222", nil,
			[]string{"setting peer", "nats"}},
		{"half a certificate for nodes", "", "MUSTER_CLUSTER_CERT=c.pem", nil,
			[]string{"setting cluster-cert", "or none"}},
		{"half a certificate for NATS", "", "MUSTER_CLUSTER_CERT=c.pem",
			map[string]string{"node": "n1", "nats": "tls://127.0.0.1:4222"},
			[]string{"setting cluster-cert", "cluster-cert and cluster-key, or neither"}},
		{"an even number of replicas", "", "MUSTER_CLUSTER_REPLICAS=2", nil,
			[]string{"setting cluster-replicas", "1, 3 or 5"}},
		{"no URL of a NATS", `node = "n1"`, "MUSTER_NATS=a:4222", nil, []string{"setting nats", "nats://"}},
		{"credentials for no NATS", "", "MUSTER_NATS_CREDS=f", nil, []string{"setting nats", "nats-creds"}},
		{"a lease too short", "", "MUSTER_CLUSTER_LEASE=10ms", nil, []string{"setting cluster-lease", "1s"}},
		{"a former name with a bad value", "session-memory = 5", "", nil,
			[]string{"setting session-memory (file FILE)", "in quotes"}},
		{"both names in a file", "session-memory = '5s'\nsession-retention = '5s'", "", nil,
			[]string{"setting session-retention (file FILE)", "is set twice", "remove session-memory"}},
		{"both names as flags", "", "", map[string]string{"process-memory": "1m", "process-retention": "1m"},
			[]string{"setting process-retention (flag --process-retention)", "is set twice", "remove process-memory"}},
		{"all at once", "shrads = 3", "MUSTER_SHARDS=many", map[string]string{"history-retention": "x"},
			[]string{"shrads", "setting shards", "setting history"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := writeFile(t, test.file)
			_, _, err := Load(Default(), Sources{File: path, Environ: []string{test.environ}, Flags: test.flags})
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range test.want {
				if part = strings.ReplaceAll(part, "FILE", path); !strings.Contains(err.Error(), part) {
					t.Errorf("error %q lacks %q", err, part)
				}
			}
		})
	}
}

// TestFormerNames: each source accepts the former name of a setting, and one warning names the present one.
func TestFormerNames(t *testing.T) {
	const file, variable = `session-memory = "20s"`, "MUSTER_SESSION_MEMORY=30s"
	flag := map[string]string{"session-memory": "40s"}
	for name, test := range map[string]struct {
		from    Sources
		file    string
		want    time.Duration
		origin  string // of the value and of the warning
		warning string // origin in the warning, if it is another; "none": no warning
	}{
		"present name": {from: Sources{Flags: map[string]string{"session-retention": "40s"}}, want: 40 * time.Second,
			origin: "flag --session-retention", warning: "none"},
		"file": {file: file, want: 20 * time.Second, origin: "file FILE"},
		"environment": {from: Sources{Environ: []string{variable}}, want: 30 * time.Second,
			origin: "environment MUSTER_SESSION_MEMORY"},
		"flag": {from: Sources{Flags: flag}, want: 40 * time.Second, origin: "flag --session-memory"},
		"every source": {file: file, from: Sources{Environ: []string{variable}, Flags: flag}, want: 40 * time.Second,
			origin: "flag --session-memory", warning: "file FILE"},
		"former name in the file, present one in the environment": {file: file,
			from: Sources{Environ: []string{"MUSTER_SESSION_RETENTION=50s"}}, want: 50 * time.Second,
			origin: "environment MUSTER_SESSION_RETENTION", warning: "file FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, test.file)
			var warnings []string
			test.from.File = path
			test.from.Warn = func(text string) { warnings = append(warnings, text) }
			config, origins, err := Load(Default(), test.from)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Replace(origins["session-retention"], path, "FILE", 1); got != test.origin ||
				config.SessionRetention != test.want {
				t.Errorf("%s from %s, want %s from %s", config.SessionRetention, got, test.want, test.origin)
			}
			want := []string{"setting session-memory (" + cmp.Or(test.warning, test.origin) +
				") is now called session-retention: rename it; the next release rejects the former name"}
			if test.warning == "none" {
				want = nil
			}
			for i := range warnings {
				warnings[i] = strings.Replace(warnings[i], path, "FILE", 1)
			}
			if !slices.Equal(warnings, want) {
				t.Errorf("warned %q, want %q", warnings, want)
			}
		})
	}
}

func TestLoadMissingFile(t *testing.T) {
	_, _, err := Load(Default(), Sources{File: filepath.Join(t.TempDir(), "none.toml")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestTOMLLinesLoadAgain(t *testing.T) {
	config := Default()
	config.Data = `C:\Program Files\"Muster"`
	config.TLSNames = []string{"a", "b"}
	var file strings.Builder
	for _, s := range config.Settings() {
		line, err := s.TOML()
		if err != nil {
			t.Fatal(err)
		}
		file.WriteString(line + "\n")
	}
	got, _, err := Load(Default(), Sources{File: writeFile(t, file.String())})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, config) {
		t.Errorf("got  %+v\nwant %+v", got, config)
	}
}

func TestDurations(t *testing.T) {
	tests := []struct {
		in   string
		want time.Duration
		out  string
	}{
		{"90s", 90 * time.Second, "1m30s"},
		{"0", 0, "0s"},
		{"30d", 30 * day, "30d"},
		{"1d12h", 36 * time.Hour, "1d12h"},
		{"24h", day, "1d"},
		{"3h", 3 * time.Hour, "3h"},
		{"200s", 200 * time.Second, "3m20s"},
		{"1h0m5s", time.Hour + 5*time.Second, "1h0m5s"},
		{"20m", 20 * time.Minute, "20m"},
		{"250ms", 250 * time.Millisecond, "250ms"},
	}
	for _, test := range tests {
		got, err := parseDuration(test.in)
		if err != nil || got != test.want {
			t.Errorf("parseDuration(%q) = %v, %v; want %v", test.in, got, err, test.want)
		}
		if out := formatDuration(test.want); out != test.out {
			t.Errorf("formatDuration(%v) = %q, want %q", test.want, out, test.out)
		}
	}
	for _, malformed := range []string{"", "d", "5", "1d-2h", "1dd", "99999999999d", "1.5d", "one"} {
		if got, err := parseDuration(malformed); err == nil {
			t.Errorf("parseDuration(%q) = %v, want an error", malformed, got)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"90s", "30d", "1d12h", "-1d", "0", "2562047h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := parseDuration(s)
		if err != nil || d < 0 {
			return
		}
		again, err := parseDuration(formatDuration(d))
		if err != nil || again != d {
			t.Errorf("%q is %v, is written %q and read as %v, %v", s, d, formatDuration(d), again, err)
		}
	})
}

func TestLogger(t *testing.T) {
	tests := []struct{ level, format, want string }{
		{"info", "text", "msg=seen"},
		{"info", "json", `"msg":"seen"`},
		{"warn", "text", ""},
	}
	for _, test := range tests {
		var out strings.Builder
		config := Default()
		config.LogLevel, config.LogFormat = test.level, test.format
		config.Logger(&out).Info("seen")
		if got := out.String(); !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s %s: got %q", test.level, test.format, got)
		}
	}
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "muster.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSummaryFitsOnALine(t *testing.T) {
	service, gateway := Default(), DefaultStandaloneGateway()
	for _, s := range append(service.Settings(), gateway.Settings()...) {
		if n := len(s.Summary()); n == 0 || n > summaryWidth {
			t.Errorf("%s: the summary has %d characters, want 1 to %d", s.Name, n, summaryWidth)
		}
	}
}

func TestParseInstanceType(t *testing.T) {
	for text, want := range map[string]InstanceType{
		"c5.large=1.5:2048":             {"c5.large", 1500, 2048},
		"p3.2xlarge=8:1":                {"p3.2xlarge", 8000, 1},
		"u-6tb1.metal=0.001:1073741824": {"u-6tb1.metal", 1, 1 << 30},
	} {
		if got, err := ParseInstanceType(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "c5.large", "c5.large=2", "c5.large=2:", "large=2:1", "=2:1", "c5.large=0:1",
		"c5.large=NaN:1", "c5.large=1e9:1", "c5.large=-1:1", "c5.large=2:0", "c5.large=2:1.5", "C5.large=2:1",
		"c5.large=2:1:1"} {
		if instanceType(text) == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
