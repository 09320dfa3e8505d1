package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
)

// A signInService is the sign-in of a service: SSO-OIDC and the portal.
type signInService struct {
	*httptest.Server
	t *testing.T

	mu        sync.Mutex
	answers   []string // to polls of a device, before the token
	roles     []string
	challenge string
	redirect  string
	refreshed int
	ended     bool // the session
	signed    string
	lifetime  int // of tokens, in seconds
}

func newSignInService(t *testing.T) *signInService {
	s := &signInService{t: t, roles: []string{"dev"}, lifetime: 3600}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /signin/configuration", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"region":"eu-west-1","account":"111122223333","startUrl":%q}`, s.URL+"/start")
	})
	mux.HandleFunc("POST /client/register", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"clientId":"c","clientSecret":"cs","clientSecretExpiresAt":4102444800}`)
	})
	mux.HandleFunc("POST /device_authorization", func(w http.ResponseWriter, r *http.Request) {
		if in := body(t, r); in["startUrl"] != s.URL+"/start" {
			t.Errorf("start URL %s", in["startUrl"])
		}
		fmt.Fprintf(w, `{"deviceCode":"dc","userCode":"BCDF-GHJK","verificationUri":"%[1]s/device",`+
			`"verificationUriComplete":"%[1]s/device?user_code=BCDF-GHJK","expiresIn":600,"interval":1}`, s.URL)
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		s.challenge, s.redirect = q.Get("code_challenge"), q.Get("redirect_uri")
		to := s.redirect + "?" + url.Values{"code": {"the-code"}, "state": {q.Get("state")}}.Encode()
		http.Redirect(w, r, to, http.StatusFound)
	})
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("GET /federation/credentials", s.portal(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"roleCredentials":{"accessKeyId":"ASIA%s","secretAccessKey":"sk","sessionToken":"st",`+
			`"expiration":1795413848277}}`, r.FormValue("role_name"))
	}))
	mux.HandleFunc("GET /assignment/roles", s.portal(func(w http.ResponseWriter, _ *http.Request) {
		for i, name := range s.roles {
			s.roles[i] = fmt.Sprintf(`{"roleName":%q,"accountId":"111122223333"}`, name)
		}
		fmt.Fprintf(w, `{"roleList":[%s]}`, strings.Join(s.roles, ","))
	}))
	mux.HandleFunc("POST /logout", s.portal(func(http.ResponseWriter, *http.Request) { s.ended = true }))
	mux.HandleFunc("GET /v1/users", func(w http.ResponseWriter, r *http.Request) {
		s.signed = r.Header.Get("Authorization") + " " + r.Header.Get("X-Amz-Security-Token")
		fmt.Fprint(w, `{"users":[]}`)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func body(t *testing.T, r *http.Request) map[string]string {
	var in map[string]any
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		t.Error(err)
	}
	texts := map[string]string{}
	for name, value := range in {
		texts[name] = fmt.Sprint(value)
	}
	return texts
}

// portal serves a call with an access token, unless the session has ended.
func (s *signInService) portal(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if token := r.Header.Get("x-amz-sso_bearer_token"); !strings.HasPrefix(token, "at") || s.ended {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"message":"Session token not found or invalid"}`)
			return
		}
		serve(w, r)
	}
}

func (s *signInService) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := body(s.t, r)
	refuse := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":%q,"error_description":"Because of %s."}`, code, code)
	}
	switch in["grantType"] {
	case deviceGrant:
		if len(s.answers) > 0 {
			code := s.answers[0]
			s.answers = s.answers[1:]
			refuse(code)
			return
		}
	case codeGrant:
		sum := sha256.Sum256([]byte(in["codeVerifier"]))
		if in["code"] != "the-code" || base64.RawURLEncoding.EncodeToString(sum[:]) != s.challenge ||
			in["redirectUri"] != s.redirect {
			refuse("invalid_grant")
			return
		}
	case refreshGrant:
		if s.ended {
			refuse("invalid_grant")
			return
		}
		s.refreshed++
	}
	fmt.Fprintf(w, `{"accessToken":"at%d","tokenType":"Bearer","expiresIn":%d,"refreshToken":"rt%d"}`, s.refreshed,
		s.lifetime, s.refreshed)
}

// A person has a home directory with the profile muster.
type person struct {
	t       *testing.T
	home    string
	environ []string
	clock   *clockwork.FakeClock
	out     io.Writer // in addition to the result
}

func newPerson(t *testing.T, s *signInService, configure ...string) *person {
	t.Helper()
	now := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
	p := &person{t: t, home: t.TempDir(), clock: clockwork.NewFakeClockAt(now)}
	p.environ = []string{"HOME=" + p.home}
	p.run(exitOK, append([]string{"configure", "--endpoint", s.URL}, configure...), "region eu-west-1")
	return p
}

func (p *person) run(status int, args []string, parts ...string) result {
	p.t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{environ: p.environ, stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, clock: p.clock}
	if p.out != nil {
		a.stderr = io.MultiWriter(&stderr, p.out)
	}
	got := result{a.run(p.t.Context(), args), stdout.String(), stderr.String()}
	if got.status != status {
		p.t.Errorf("%v: status %d: %s", args, got.status, got.stderr)
	}
	for _, part := range parts {
		if !strings.Contains(got.stdout+got.stderr, part) {
			p.t.Errorf("%v: no %q in %s%s", args, part, got.stdout, got.stderr)
		}
	}
	return got
}

// cache is the file of the token. Source of its name: the AWS CLI, sha1("muster").
func (p *person) cache() string {
	return filepath.Join(p.home, ".aws", "sso", "cache", "35be2368d129d585ed95aec72ad3d47e2a00d100.json")
}

// await advances the clock for whoever waits, until ctx ends.
func (p *person) await(ctx context.Context) {
	for p.clock.BlockUntilContext(ctx, 1) == nil {
		p.clock.Advance(time.Second)
	}
}

// TestConfigure writes three sections, again without a change, and leaves others alone.
func TestConfigure(t *testing.T) {
	s := newSignInService(t)
	p := newPerson(t, s, "--role", "dev")
	file := filepath.Join(p.home, ".aws", "config")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	services := "[services muster]\n"
	for _, name := range signInServices {
		services += name + " =\n  endpoint_url = " + s.URL + "\n"
	}
	want := "[sso-session muster]\nsso_start_url = " + s.URL + "/start\nsso_region = eu-west-1\n" +
		"sso_registration_scopes = sso:account:access\n\n[profile muster]\nsso_session = muster\n" +
		"sso_account_id = 111122223333\nsso_role_name = dev\nregion = eu-west-1\nservices = muster\n\n" + services
	if string(text) != want {
		t.Errorf("wrote\n%s\nwant\n%s", text, want)
	}
	p.run(exitOK, []string{"configure", "--endpoint", s.URL}, "is up to date", "Sign in: muster login")
	for start, hint := range map[string]bool{s.URL + "/start": false, "https://other.example.com/start": true} {
		token := fmt.Sprintf(`{"startUrl":%q,"accessToken":"at","expiresAt":"2026-11-23T07:00:00Z"}`, start)
		if err := os.MkdirAll(filepath.Dir(p.cache()), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.cache(), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := p.run(exitOK, []string{"configure"}); strings.Contains(got.stderr, "Sign in:") != hint {
			t.Errorf("signed in at %s: %s", start, got.stderr)
		}
	}
	p.run(exitOK, []string{"configure"}, "is up to date") // the endpoint is that of the profile
	mine := "# mine\n" + strings.Replace(want, "region = eu-west-1\nservices", "output = json\nregion = x\nservices", 1)
	if err := os.WriteFile(file, []byte(mine), 0o644); err != nil {
		t.Fatal(err)
	}
	p.run(exitOK, []string{"configure", "--profile", "muster", "--endpoint", s.URL}, "is written", "role dev")
	text, err = os.ReadFile(file)
	if err != nil || string(text) != strings.Replace(mine, "region = x", "region = eu-west-1", 1) {
		t.Errorf("changed to\n%s, %v", text, err)
	}
	p.run(exitMisuse, []string{"configure", "--endpoint", "games"}, "must be a URL")
	p.run(exitMisuse, []string{"configure", "--profile", "a]\n[b"}, "brackets and line ends")
	s.Close()
	p.run(exitFailure, []string{"configure"}, "Give --region, --account and --start-url")
	p.run(exitOK, []string{"configure", "--profile", "default", "--endpoint", s.URL, "--region", "r", "--account", "1",
		"--start-url", "https://x/start", "--ca-bundle", "/ca.pem"}, "no role yet")
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "\n[default]\n"+
		"sso_session = default\nsso_account_id = 1\nregion = r\nca_bundle = /ca.pem\nservices = default\n") {
		t.Errorf("the default profile: %s, %v", text, err)
	}
}

// TestConfigureKeepsTheCA of a service on this machine, and asks for that of another CA.
func TestConfigureKeepsTheCA(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"region":"r","account":"1","startUrl":"https://127.0.0.1:1/start","caPem":"a certificate"}`)
	}))
	defer service.Close()
	p := &person{t: t, home: t.TempDir()}
	p.environ = []string{"HOME=" + p.home}
	p.run(exitOK, []string{"configure", "--endpoint", service.URL})
	ca := filepath.Join(p.home, ".aws", "muster-ca.pem")
	if text, err := os.ReadFile(ca); err != nil || string(text) != "a certificate" {
		t.Errorf("the CA is %s, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(p.home, ".aws", "config")); err != nil ||
		!strings.Contains(string(text), "ca_bundle = "+ca+"\n") {
		t.Errorf("the configuration is %s, %v", text, err)
	}
	encrypted := httptest.NewTLSServer(http.NotFoundHandler())
	encrypted.Config.ErrorLog = nil
	defer encrypted.Close()
	other := &person{t: t, environ: []string{"HOME=" + t.TempDir()}}
	other.run(exitFailure, []string{"configure", "--endpoint", encrypted.URL}, "--ca-file FILE")
}

// TestConfigureBehindProxy holds that the profile gets the service's local CA only if that CA has issued the
// certificate, and not if a proxy has another one.
func TestConfigureBehindProxy(t *testing.T) {
	var ca string
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(signInConfiguration{Region: "r", Account: "1", CA: ca,
			StartURL: "https://" + r.Host + "/start"})
	}))
	defer service.Close()
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: service.Certificate().Raw}))
	trusted := filepath.Join(t.TempDir(), "trusted.pem")
	if err := os.WriteFile(trusted, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ca   string
		want bool
	}{{own, true}, {"of the service behind the proxy", false}} {
		ca = tt.ca
		p := &person{t: t, home: t.TempDir()}
		p.environ = []string{"HOME=" + p.home, "AWS_CA_BUNDLE=" + trusted}
		p.run(exitOK, []string{"configure", "--endpoint", service.URL})
		text, err := os.ReadFile(filepath.Join(p.home, ".aws", "config"))
		if got := strings.Contains(string(text), "ca_bundle = "); err != nil || got != tt.want {
			t.Errorf("%s: %v\n%s", tt.ca, err, text)
		}
	}
}

// TestLoginByDevice polls as the service wants it, and stores the token as the AWS tools do.
func TestLoginByDevice(t *testing.T) {
	s := newSignInService(t)
	s.answers = []string{"authorization_pending", "slow_down", "authorization_pending"}
	p := newPerson(t, s)
	p.cacheKeys()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go p.await(ctx)
	begun := p.clock.Now()
	p.run(exitOK, []string{"login", "--device"}, "BCDF-GHJK", s.URL+"/device?user_code=BCDF-GHJK",
		"Profile muster has your role dev.", "Signed in to "+s.URL+". ")
	if waited := p.clock.Since(begun); waited < 14*time.Second { // 1, 1, 6 and 6
		t.Errorf("waited for %s", waited)
	}
	p.expectNoKeys()
	text, err := os.ReadFile(p.cache())
	if err != nil {
		t.Fatal(err)
	}
	var token map[string]string
	if err := json.Unmarshal(text, &token); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"startUrl": s.URL + "/start", "region": "eu-west-1", "accessToken": "at0",
		"refreshToken": "rt0", "clientId": "c", "clientSecret": "cs", "registrationExpiresAt": "2100-01-01T00:00:00Z"} {
		if token[name] != want {
			t.Errorf("%s is %q, want %q", name, token[name], want)
		}
	}
	if ends, err := time.Parse("2006-01-02T15:04:05Z", token["expiresAt"]); err != nil ||
		ends.Sub(p.clock.Now()).Round(10*time.Second) != time.Hour {
		t.Errorf("expires at %s, %v", token["expiresAt"], err)
	}
	if about, err := os.Stat(p.cache()); err != nil || runtime.GOOS != "windows" && about.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", about.Mode(), err)
	}
}

func TestLoginFails(t *testing.T) {
	s := newSignInService(t)
	p := newPerson(t, s, "--role", "dev")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go p.await(ctx)
	s.answers = []string{"access_denied"}
	p.run(exitFailure, []string{"login", "--device"}, "sign in: Because of access_denied")
	s.answers = strings.Fields(strings.Repeat("authorization_pending ", 700))
	p.run(exitFailure, []string{"login", "--device"}, "the code has expired")
	if _, err := os.Stat(p.cache()); err == nil {
		t.Error("a token was stored")
	}
	p.run(exitMisuse, []string{"login", "--profile", "none"}, "has no profile none", "muster configure")
	p.run(exitFailure, []string{"credentials"}, "you are not signed in: run 'muster login --profile muster'")
	p.run(exitOK, []string{"logout"}, "has no session")
}

// A browser opens the address that is printed.
type browser struct {
	t    *testing.T
	text bytes.Buffer
	once sync.Once
	done chan string // the page at the end
	edit func(address string) string
}

func (b *browser) Write(p []byte) (int, error) {
	b.text.Write(p)
	for line := range strings.Lines(b.text.String()) {
		address := strings.TrimSpace(line)
		if !strings.HasPrefix(address, "http") || !strings.HasSuffix(line, "\n") {
			continue
		}
		b.once.Do(func() {
			go func() {
				answer, err := http.Get(b.edit(address))
				if err != nil {
					b.done <- err.Error()
					return
				}
				defer answer.Body.Close()
				page, _ := io.ReadAll(answer.Body)
				b.done <- string(page)
			}()
		})
	}
	return len(p), nil
}

// TestLoginByBrowser gets the code at a loopback address.
func TestLoginByBrowser(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	s := newSignInService(t)
	s.roles = []string{"dev", "ops"}
	p := newPerson(t, s)
	b := &browser{t: t, done: make(chan string, 1), edit: func(address string) string { return address }}
	p.out = b
	p.run(exitOK, []string{"login", "--no-browser"},
		"Choose one of your roles: muster configure --profile muster --role", "  dev\n  ops\n")
	if page := <-b.done; !strings.Contains(page, "You may close this tab") {
		t.Errorf("the browser shows %s", page)
	}
	if _, err := os.Stat(p.cache()); err != nil {
		t.Error(err)
	}
}

// TestLoginRefusedInBrowser also ignores a request that is not of this sign-in.
func TestLoginRefusedInBrowser(t *testing.T) {
	defer http.DefaultClient.CloseIdleConnections()
	s := newSignInService(t)
	p := newPerson(t, s)
	b := &browser{t: t, done: make(chan string, 1), edit: func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Error(err)
		}
		to := u.Query().Get("redirect_uri")
		for _, query := range []string{"/../other", "?code=the-code&state=foreign"} {
			answer, err := http.Get(to + query)
			if err != nil {
				t.Error(err)
				continue
			}
			answer.Body.Close()
		}
		return to + "?error=access_denied&state=" + url.QueryEscape(u.Query().Get("state"))
	}}
	p.out = b
	p.run(exitFailure, []string{"login", "--no-browser"}, "it was refused in the browser")
	<-b.done
}

// signedIn stores a token that ends after a time.
func (p *person) signedIn(left time.Duration) {
	p.t.Helper()
	text := fmt.Sprintf(`{"startUrl":"x","region":"eu-west-1","accessToken":"at","expiresAt":%q,"clientId":"c",`+
		`"clientSecret":"cs","registrationExpiresAt":"2100-01-01T00:00:00Z","refreshToken":"rt"}`,
		p.clock.Now().Add(left).UTC().Format(time.RFC3339))
	if err := os.MkdirAll(filepath.Dir(p.cache()), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.cache(), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// TestCredentials prints keys, refreshes a token that ends soon, once for all processes, and uses an old one while it
// can.
func TestCredentials(t *testing.T) {
	s := newSignInService(t)
	p := newPerson(t, s, "--role", "dev")
	p.signedIn(time.Hour)
	const want = `{"Version":1,"AccessKeyId":"ASIAdev","SecretAccessKey":"sk","SessionToken":"st",` +
		`"Expiration":"2026-11-23T06:04:08.277Z"}` + "\n"
	if got := p.run(exitOK, []string{"credentials"}); got.stdout != want || s.refreshed != 0 {
		t.Errorf("printed %s, refreshed %d times", got.stdout, s.refreshed)
	}
	p.signedIn(10 * time.Minute)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got := p.run(exitOK, []string{"credentials"}); got.stdout != want {
				t.Errorf("printed %s", got.stdout)
			}
		})
	}
	all.Wait()
	if s.refreshed != 1 {
		t.Errorf("refreshed %d times", s.refreshed)
	}
	if text, err := os.ReadFile(p.cache()); err != nil || !strings.Contains(string(text), `"refreshToken":"rt1"`) {
		t.Errorf("the cache has %s, %v", text, err)
	}
	s.ended = true
	p.run(exitFailure, []string{"credentials"}, "Session token not found or invalid: run 'muster login")
	p.signedIn(-time.Minute)
	p.run(exitFailure, []string{"credentials"}, "the session has ended: Because of invalid_grant: run 'muster login")
	p.signedIn(time.Minute)
	p.run(exitFailure, []string{"credentials"}, "token not refreshed, and used until")
}

// TestProfileOfCalls signs calls with the keys of a role, or of a profile.
func TestProfileOfCalls(t *testing.T) {
	s := newSignInService(t)
	p := newPerson(t, s, "--role", "dev")
	p.signedIn(time.Hour)
	expectSigned := func(want string, args ...string) {
		t.Helper()
		s.signed = ""
		p.run(exitOK, append([]string{"user", "ls"}, args...), "NAME")
		if !strings.Contains(s.signed, want) {
			t.Errorf("%v: signed with %s, want %s", args, s.signed, want)
		}
	}
	expectSigned("Credential=ASIAdev/", "--profile", "muster")
	expectSigned("/eu-west-1/gamelift/", "--profile", "muster")
	expectSigned(" st", "--profile", "muster")
	expectSigned("Credential=ASIAdev/") // the default, as nothing names a service
	home := p.environ
	p.environ = append(home, "AWS_ACCESS_KEY_ID=AKIAENV", "AWS_SECRET_ACCESS_KEY=s", "AWS_REGION=r")
	p.run(exitMisuse, []string{"user", "ls"}, "no endpoint: ")
	p.environ = append(home, "AWS_PROFILE=muster")
	expectSigned("Credential=ASIAdev/")
	p.environ = append(home, "AWS_PROFILE=muster", "AWS_ACCESS_KEY_ID=AKIAENV", "AWS_SECRET_ACCESS_KEY=s")
	expectSigned("Credential=AKIAENV/")
	expectSigned("Credential=ASIAdev/", "--profile", "muster")
	expectSigned("Credential=AKIAFLAG/", "--access-key", "AKIAFLAG", "--secret-key", "s")
	p.environ = append(home, "AWS_PROFILE=none", "AWS_ACCESS_KEY_ID=AKIAENV", "AWS_SECRET_ACCESS_KEY=s",
		"AWS_REGION=r", "AWS_ENDPOINT_URL="+s.URL)
	expectSigned("Credential=AKIAENV/")
	p.run(exitMisuse, []string{"user", "ls", "--profile", "none"}, "has no profile none")

	static := fmt.Sprintf("[profile static]\nregion = r\nendpoint_url = %s\naws_access_key_id = AKIAFILE\n"+
		"aws_secret_access_key = s\n[profile process]\nregion = r\nendpoint_url = %s\ncredential_process = echo "+
		`{"Version":1,"AccessKeyId":"AKIAPROCESS","SecretAccessKey":"s"}`+"\n", s.URL, s.URL)
	p.environ = append(home, "AWS_CONFIG_FILE="+writeFile(t, "config", static))
	expectSigned("Credential=AKIAFILE/", "--profile", "static")
	p.run(exitMisuse, []string{"login", "--profile", "static"}, "has no sso_session: run 'muster configure")
}

// keysCache is the file of keys of role dev. Source of its name: AWS CLI 2, sha1 of
// {"accountId":"111122223333","roleName":"dev","sessionName":"muster"}.
func (p *person) keysCache() string {
	return filepath.Join(p.home, ".aws", "cli", "cache", "d65513cdeb58db3b6f4d4a055278f52879eb0563.json")
}

// cacheKeys stores keys as AWS CLI 2 does, of role dev and of another one.
func (p *person) cacheKeys() {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.keysCache()), 0o700); err != nil {
		p.t.Fatal(err)
	}
	for _, file := range []string{p.keysCache(), p.otherKeys()} {
		if err := os.WriteFile(file, []byte(`{"ProviderType":"sso"}`), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *person) otherKeys() string { return filepath.Join(filepath.Dir(p.keysCache()), "other.json") }

func (p *person) expectNoKeys() {
	p.t.Helper()
	if _, err := os.Stat(p.keysCache()); err == nil {
		p.t.Error("the keys of the role are there")
	}
	if _, err := os.Stat(p.otherKeys()); err != nil {
		p.t.Error("keys of others are gone")
	}
}

// TestLogout ends the session and deletes the token.
func TestLogout(t *testing.T) {
	s := newSignInService(t)
	p := newPerson(t, s, "--role", "dev")
	for range 2 { // the second time it has ended
		p.signedIn(time.Hour)
		p.cacheKeys()
		p.run(exitOK, []string{"logout"}, "Signed out of "+s.URL+".")
		if _, err := os.Stat(p.cache()); err == nil || !s.ended {
			t.Errorf("the token is there, or the session: %v, %t", err, s.ended)
		}
		p.expectNoKeys()
	}
	p.cacheKeys()
	p.run(exitOK, []string{"logout"}, "has no session")
	p.expectNoKeys()
	s.Close()
	p.signedIn(time.Hour)
	p.run(exitFailure, []string{"logout"}, "the token is deleted, but the session was not ended on the service")
	if _, err := os.Stat(p.cache()); err == nil {
		t.Error("the token is there")
	}
}
