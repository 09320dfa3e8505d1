package signin

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"

	"github.com/muster-gg/muster"

	"github.com/muster-gg/muster/e2e/people"
)

// A syncBuffer is a log that the service writes and the test reads.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// bytes returns what was written until now.
func (b *syncBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.text.Bytes())
}

// secrets are values that must be stored nowhere, by what they are.
type secrets map[string]string

// TestCanary: secrets are sent to all endpoints, to wrong ones too. They are then neither in the data
// directory nor in the log, the metrics or the audit trail.
func TestCanary(t *testing.T) {
	t.Parallel()
	log, data, s := new(syncBuffer), t.TempDir(), secrets{}
	places := map[string][]byte{}
	t.Run("service", func(t *testing.T) { // the search begins when it has stopped
		w := start(t, fakeTime, logTo(log), func(c *muster.Config) { c.Data = data })
		b := w.collect(s)
		o := w.oidc()
		for _, value := range s {
			w.clock.Advance(10 * time.Second) // for the budget of unauthenticated requests
			w.misplace(b, o, value)
		}
		w.audited("RootKeyRecover")
		places["metrics"] = w.send("GET", "/metrics", nil).body
		places["audit trail"] = w.v1(w.Root, "GET", "audit?limit=100000", nil).body
	})
	places["log"] = log.bytes()
	for file, content := range filesOf(t, data) {
		places["file "+file] = content
	}
	for what, value := range s {
		for place := range find(places, value) {
			t.Errorf("%s is in the %s", what, place)
		}
	}
	if found := find(places, "canary-user"); !found["audit trail"] || len(found) < 2 {
		t.Errorf("a name that is no secret is only in %v", found)
	}
}

// collect gets secrets of all kinds, and uses each in its place. It returns the browser of a person.
func (w *world) collect(s secrets) *browser {
	w.Helper()
	t := w.TB.(*testing.T)
	idp := newIssuer(t)
	for _, what := range []string{"first password", "invited password", "changed password"} {
		s[what] = "canary " + strings.ToLower(what) + " of a test"
	}
	s["client secret of the provider"] = clientSecret
	w.Manage("POST", "users", object{"name": "canary-user", "password": s["first password"]})
	w.Manage("PUT", "assignments/developer/canary-user", nil)
	w.Manage("PUT", "users/canary-user/policies/sts", object{"document": allow("*", "sts:*")})
	b := w.collectBrowser(s)
	w.collectKeys(s, idp)
	w.collectProvider(s, idp)
	s["root key"] = w.SecretKey
	return b
}

// collectBrowser is a person who is invited, and signs programs in.
func (w *world) collectBrowser(s secrets) *browser {
	w.Helper()
	link := w.Manage("PATCH", "users/canary-user", object{"invite": true})["invite"].(string)
	b := w.browser()
	b.submit(b.get(link), "password", s["invited password"], "again", s["invited password"]).has(200, "Your roles")
	w.Manage("PATCH", "users/canary-user", object{"password": s["changed password"]})
	b.signIn("canary-user", "a wrong password").has(403, "wrong")
	b.signIn("canary-user", s["changed password"]).has(200, "Your roles")
	o, d := w.oidc(people.CodeGrant, people.RefreshGrant), w.oidc()
	device := d.Device()
	b.decide(*device.VerificationUriComplete, "allow")
	code := o.code(b)
	out, err := o.byCode(code)
	if err != nil {
		w.Fatal(err)
	}
	next, err := o.refresh(*out.RefreshToken)
	if err != nil {
		w.Fatal(err)
	}
	byDevice, err := d.Poll(*device.DeviceCode)
	if err != nil {
		w.Fatal(err)
	}
	keys := (&session{o, *next.AccessToken, ""}).mustKeys(w, "developer")
	_, s["token of the invitation"], _ = strings.Cut(link, "token=")
	for what, value := range map[string]string{"client secret": o.Secret, "code": code, "verifier": people.Verifier,
		"access token": *next.AccessToken, "refresh token": *out.RefreshToken, "next refresh token": *next.RefreshToken,
		"device code": *device.DeviceCode, "user code": strings.ReplaceAll(*device.UserCode, "-", ""),
		"access token of the device": *byDevice.AccessToken, "secret of the role": keys.SecretAccessKey,
		"session token of the role": keys.SessionToken} {
		s[what] = value
	}
	home, _ := url.Parse(w.HTTP)
	for _, c := range b.Jar.Cookies(home) {
		s["cookie "+c.Name] = c.Value
	}
	return b
}

// collectKeys is a service that gets keys in all ways.
func (w *world) collectKeys(s secrets, idp *issuer) {
	w.Helper()
	key := keyOf(w.Manage("POST", "keys", object{"user": "canary-user"}))
	s["rotated key"] = key.SecretAccessKey
	key = keyOf(w.Manage("POST", "keys/"+key.AccessKeyID+"/rotate", nil))
	s["key"] = key.SecretAccessKey
	w.Manage("PUT", "providers/ci", object{"issuer": idp.URL, "audiences": []string{"muster"}})
	w.Manage("PUT", "roles/ci", object{"policies": []string{"GameLiftReadOnly"}, "trust": idp.trust("ada")})
	s["web identity"] = idp.sign(nil)
	c := w.sts(key)
	temporary := func(what string, k *types.Credentials, err error) {
		if err != nil {
			w.Fatalf("%s: %v", what, err)
		}
		s["secret of "+what], s["session token of "+what] = *k.SecretAccessKey, *k.SessionToken
	}
	token, err := c.GetSessionToken(w.Context(), &sts.GetSessionTokenInput{})
	temporary("GetSessionToken", token.Credentials, err)
	assumed, err := c.AssumeRole(w.Context(), &sts.AssumeRoleInput{RoleSessionName: new("session"),
		RoleArn: new("arn:aws:iam::" + account + ":role/developer")})
	temporary("AssumeRole", assumed.Credentials, err)
	web, err := c.AssumeRoleWithWebIdentity(w.Context(), &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: new("arn:aws:iam::" + account + ":role/ci"), RoleSessionName: new("session"),
		WebIdentityToken: new(s["web identity"])})
	temporary("AssumeRoleWithWebIdentity", web.Credentials, err)
}

// collectProvider signs a person in by a provider.
func (w *world) collectProvider(s secrets, idp *issuer) {
	w.Helper()
	w.Manage("PUT", "providers/ci", object{"issuer": idp.URL, "clientId": clientID, "clientSecret": clientSecret,
		"audiences": []string{"muster"}, "signIn": true, "create": true, "domains": []string{"example.com"}})
	idp.become(object{"sub": "canary", "email": "eve@example.com", "email_verified": true})
	_, p := w.externalSignIn(idp, "ci")
	p.has(200, "Signed in as eve")
	s["ID token"] = idp.issued[0]
}

// misplace sends a secret to each endpoint, as what it is and as what it is not.
func (w *world) misplace(b *browser, o *oidc, value string) {
	w.Helper()
	q := url.QueryEscape(value)
	for _, path := range []string{"/start?token=", "/device?user_code=", "/signin/invite?token=", "/signin/keys?role=",
		"/signin/oidc/", "/signin/oidc/ci/callback?state=x&code=", "/authorize?state=x&client_id=",
		"/v1/authorize?state=x&client_id=", "/v1/sessions/confirmation?state=x&code=",
		"/?pID=p&sdkVersion=5.1.0&sdkLanguage=Go&ComputeId=c&FleetId=f&Authorization=", "/unknown/"} {
		b.get(path + q)
	}
	w.browser().signIn(value, value)
	b.post("/signin/keys", url.Values{"role": {value}})
	b.post("/signin/invite", url.Values{"token": {value}, "password": {value}, "again": {value}})
	for _, member := range []string{"clientId", "clientSecret", "deviceCode", "code", "codeVerifier", "refreshToken"} {
		for _, grant := range []string{people.DeviceGrant, people.CodeGrant, people.RefreshGrant} {
			body := object{"grantType": grant, "clientId": o.ID, "clientSecret": o.Secret, "deviceCode": "d",
				"code": "c", "codeVerifier": people.Verifier, "redirectUri": callback, "refreshToken": "r"}
			body[member] = value
			w.send("POST", "/token", body)
		}
		w.clock.Advance(2 * time.Second)
	}
	w.send("POST", "/device_authorization", object{"clientId": value, "clientSecret": value, "startUrl": value})
	w.send("POST", "/client/register", object{"clientName": value, "clientType": "public"})
	w.send("POST", "/v1/token", object{"clientId": value, "refreshToken": value, "code": value}, header("DPoP", value))
	for _, name := range []string{"X-Amz-Sso_bearer_token", "Authorization", "Cookie", "Muster-Recovery"} {
		put := header(name, map[string]string{"Authorization": "Bearer ", "Cookie": "muster="}[name]+value)
		w.send("GET", "/federation/credentials?account_id="+account+"&role_name=developer", nil, put)
		w.send("POST", "/logout", nil, put)
		w.send("GET", "/start", nil, put)
		w.send("GET", "/v1/users", nil, put)
		w.send("POST", "/v1/root-key/recover", nil, put)
	}
	for _, keys := range []aws.Credentials{{AccessKeyID: value, SecretAccessKey: value},
		{AccessKeyID: w.AccessKey, SecretAccessKey: value}, {AccessKeyID: w.AccessKey, SecretAccessKey: w.SecretKey,
			SessionToken: value}, {AccessKeyID: "ASIAABCDEFGHIJKLMNOP", SecretAccessKey: "s", SessionToken: value}} {
		for _, protocol := range protocols {
			w.call(keys, protocol, "DescribeFleetAttributes", object{"FleetIds": []string{value}})
		}
		w.v1(keys, "GET", "users", nil)
		w.form(url.Values{"Action": {"GetCallerIdentity"}, "Version": {"2011-06-15"}}, w.Signed(keys, "sts"))
	}
	w.call(w.Root, jsonProtocol, "DescribeFleetAttributes", object{"FleetIds": []string{value}, value: value})
	w.v1(w.Root, "POST", "users", object{"name": "x", "passwort": value})
	w.form(url.Values{"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "WebIdentityToken": {value},
		"RoleSessionName": {"session"}, "RoleArn": {"arn:aws:iam::" + account + ":role/ci"}})
}

// form sends a call of the query protocol.
func (w *world) form(values url.Values, change ...func(*http.Request)) answer {
	w.Helper()
	kind := header("Content-Type", "application/x-www-form-urlencoded")
	return w.send("POST", "/", values.Encode(), append([]func(*http.Request){kind}, change...)...)
}

// filesOf reads all files in a directory.
func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files[strings.TrimPrefix(path, dir)], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// find returns where parts of a value are, also in base64 and in hexadecimal digits.
func find(places map[string][]byte, value string) map[string]bool {
	found := map[string]bool{}
	for _, part := range parts(value) {
		for _, form := range forms(part) {
			for place, content := range places {
				if bytes.Contains(content, []byte(form)) {
					found[place] = true
				}
			}
		}
	}
	return found
}

// parts returns parts of a value by which it is recognised: a record may have only its beginning.
func parts(value string) (all []string) {
	const size = 24
	if len(value) <= 64 {
		return []string{value}
	}
	for from := 40; from+size <= len(value); from *= 2 {
		all = append(all, value[from:from+size])
	}
	return all
}

// forms returns a text, and what is the same of all texts in base64 that contain it, at each position.
func forms(text string) []string {
	all := []string{text, hex.EncodeToString([]byte(text)), url.QueryEscape(text)}
	for shift := range 3 {
		padded := append(make([]byte, shift), text...)
		encoded := base64.RawStdEncoding.EncodeToString(padded)
		first := (shift*8 + 5) / 6
		last := len(padded) * 8 / 6
		all = append(all, encoded[first:last], strings.NewReplacer("+", "-", "/", "_").Replace(encoded[first:last]))
	}
	return all
}

// TestWrongPasswords: two hundred wrong passwords from many addresses delay the right one, and no more.
func TestWrongPasswords(t *testing.T) {
	t.Parallel()
	w := start(t, fakeTime)
	w.AddUser("ada", "developer")
	session := w.signedIn("ada")
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 50 {
				b := w.browser(fmt.Sprintf("127.0.%d.%d", worker+1, i+1))
				if p := b.signIn("ada", "a wrong password"); p.status != 403 && p.status != 429 {
					t.Errorf("a wrong password: %d", p.status)
				}
			}
		})
	}
	all.Wait()
	b := w.browser()
	if p := b.signIn("ada", people.Password).has(429, "Too many failed attempts"); p.header.Get("Retry-After") == "" {
		t.Error("no time to wait is given")
	}
	session.get("/start").has(200, "developer")
	w.clock.Advance(15 * time.Minute)
	b.signIn("ada", people.Password).has(200, "Your roles")
}
