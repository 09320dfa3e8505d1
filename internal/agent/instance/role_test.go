package instance

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/agent/machine/protocol"
)

// A keyIssuer answers for a service with roles.
type keyIssuer struct {
	issuer
	clock *clockwork.FakeClock
	asked chan string // has the instance of each request
	fails int         // so many requests first
	n     byte        // number of keys issued
}

func (s *keyIssuer) RoleKeys(_ context.Context, instance string) (k protocol.RoleKeys, err error) {
	defer func() { s.asked <- instance }()
	if s.fails--; s.fails >= 0 {
		return k, errNever
	}
	s.n++
	return protocol.RoleKeys{AccessKeyID: "ASIA" + string('0'+s.n), SecretAccessKey: "secret of " + instance,
		SessionToken: "token", Expires: s.clock.Now().Add(time.Hour).UnixMilli()}, nil
}

// newKeyIssuer returns a service, and instances with a role in a data directory.
func newKeyIssuer(t *testing.T, data string, ids ...string) (*keyIssuer, *Instances) {
	t.Helper()
	s := &keyIssuer{clock: clockwork.NewFakeClockAt(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		asked: make(chan string, 10)}
	m := &Instances{cfg: Config{Data: data, Clock: s.clock, Log: slog.New(slog.DiscardHandler),
		Environ: []string{"PATH=/bin", "AWS_PROFILE=mine", "AWS_ACCESS_KEY_ID=AKIA1", "AWS_REGION=us-west-2",
			"AWS_CONFIG_FILE=/c", "MUSTER_GATEWAY_API_KEYS=k", "MUSTER_CA_FILE=/ca.pem"}},
		tokens: s, all: map[string]*instance{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	t.Cleanup(func() {
		m.cancel()
		for _, i := range m.all {
			i.forgetKeys()
		}
		m.keys.serving.Wait()
	})
	for _, id := range ids {
		m.all[id] = newInstance(m, id)
		m.all[id].want.Role = "arn:aws:iam::111122223333:role/game"
	}
	return s, m
}

// valueOf returns the value of a variable.
func valueOf(environ []string, name string) string {
	for _, variable := range environ {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}

// roleOf returns the variables of the game servers of an instance, which have keys or have waited for them in vain.
func roleOf(t *testing.T, m *Instances, id string, keyed bool) []string {
	t.Helper()
	environ, has := m.all[id].role(t.Context(), m.all[id].wanted(), "game servers")
	if has != keyed {
		t.Errorf("instance %s has keys: %v", id, has)
	}
	return environ
}

// TestRoleFile: the file has the keys, for the owner alone, and others when three quarters of their life have passed.
func TestRoleFile(t *testing.T) {
	s, m := newKeyIssuer(t, t.TempDir(), "i-1")
	i := m.all["i-1"]
	i.want.RoleFile = true
	environ := roleOf(t, m, "i-1", true)
	<-s.asked
	path := valueOf(environ, "AWS_SHARED_CREDENTIALS_FILE")
	if path != i.keysPath() || slices.Contains(environ, "AWS_PROFILE=mine") ||
		slices.Contains(environ, "AWS_ACCESS_KEY_ID=AKIA1") || !slices.Contains(environ, "AWS_REGION=us-west-2") {
		t.Errorf("game servers get %q", environ)
	}
	text, err := os.ReadFile(path)
	const want = "[default]\naws_access_key_id = ASIA1\naws_secret_access_key = secret of i-1\n" +
		"aws_session_token = token\n[FleetRoleCredentials]\naws_access_key_id = ASIA1\n"
	if err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("the file is %s, %v", text, err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("the file has %v, %v", info.Mode(), err)
	}
	advance := func(by time.Duration) {
		t.Helper()
		if err := s.clock.BlockUntilContext(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		s.clock.Advance(by)
	}
	advance(44 * time.Minute)
	if len(s.asked) != 0 {
		t.Error("keys were replaced too early")
	}
	advance(time.Minute)
	<-s.asked
	advance(time.Minute) // the goroutine waits again, after it has written the file
	if text, err = os.ReadFile(path); err != nil || !strings.Contains(string(text), "aws_access_key_id = ASIA2\n") {
		t.Errorf("after three quarters of an hour: %s, %v", text, err)
	}
}

// TestNoRole: programs of an instance without a role have no keys of the agent, and trust its CA.
func TestNoRole(t *testing.T) {
	_, m := newKeyIssuer(t, t.TempDir(), "i-1")
	m.all["i-1"].want.Role = ""
	want := []string{"PATH=/bin", "AWS_REGION=us-west-2", "MUSTER_CA_FILE=/ca.pem"}
	if environ := roleOf(t, m, "i-1", true); !slices.Equal(environ, want) {
		t.Errorf("game servers get %q", environ)
	}
}

// fetch returns what a game server gets with a token.
func fetch(t *testing.T, url, token string) (status int, answer struct{ AccessKeyId, Expiration, Code string }) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return got.StatusCode, answer
}

// TestServedKeys: the token of an instance gets its keys, and no others, as long as they are valid. Port and tokens
// stay the same when the agent is started again.
func TestServedKeys(t *testing.T) {
	data := t.TempDir()
	s, m := newKeyIssuer(t, data, "i-1", "i-2")
	environ := roleOf(t, m, "i-1", true)
	<-s.asked
	url, token := valueOf(environ, "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
		valueOf(environ, "AWS_CONTAINER_AUTHORIZATION_TOKEN")
	other, otherToken, err := m.servedKeys("i-2")
	if err != nil {
		t.Fatal(err)
	}
	if status, k := fetch(t, url, token); status != http.StatusOK || k.AccessKeyId != "ASIA1" ||
		k.Expiration != "2026-01-02T04:04:05Z" {
		t.Errorf("%d %+v", status, k)
	}
	for name, c := range map[string]struct {
		url, token string
		status     int
	}{
		"no token":                {url, "", http.StatusForbidden},
		"another token":           {url, otherToken, http.StatusForbidden},
		"the keys of another":     {other, token, http.StatusForbidden},
		"an instance without any": {other, otherToken, http.StatusServiceUnavailable},
		"another path":            {strings.Replace(url, keysPrefix, "/", 1), token, http.StatusForbidden},
	} {
		if status, k := fetch(t, c.url, c.token); status != c.status || k.AccessKeyId != "" || k.Code == "" {
			t.Errorf("%s: %d %+v", name, status, k)
		}
	}
	m.all["i-1"].forgetKeys()
	s.clock.Advance(time.Hour)
	if status, k := fetch(t, url, token); status != http.StatusServiceUnavailable || k.AccessKeyId != "" {
		t.Errorf("expired keys: %d %+v", status, k)
	}
	m.cancel()
	m.keys.serving.Wait()
	_, again := newKeyIssuer(t, data)
	if u, tok, err := again.servedKeys("i-1"); u != url || tok != token || err != nil {
		t.Errorf("the next run serves at %s with %s, %v", u, tok, err)
	}
	if info, err := os.Stat(filepath.Join(data, keyServerFile)); err != nil ||
		runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("the state has %v, %v", info, err)
	}
}

// TestNoKeys: game servers start without keys after a while, and get them later.
func TestNoKeys(t *testing.T) {
	s, m := newKeyIssuer(t, t.TempDir(), "i-1", "i-2")
	s.fails = 2
	started := make(chan []string)
	go func() { started <- roleOf(t, m, "i-1", false) }()
	advance := func(waiters int, by time.Duration) {
		t.Helper()
		<-s.asked
		if err := s.clock.BlockUntilContext(t.Context(), waiters); err != nil {
			t.Fatal(err)
		}
		s.clock.Advance(by)
	}
	advance(2, keysLimit)
	environ := <-started
	url, token := valueOf(environ, "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
		valueOf(environ, "AWS_CONTAINER_AUTHORIZATION_TOKEN")
	if status, k := fetch(t, url, token); status != http.StatusServiceUnavailable {
		t.Errorf("before there are keys: %d %+v", status, k)
	}
	advance(1, 2*firstKeys)
	advance(1, 0)
	if status, k := fetch(t, url, token); status != http.StatusOK || k.AccessKeyId != "ASIA1" {
		t.Errorf("%d %+v", status, k)
	}
}
