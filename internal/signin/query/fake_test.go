package query

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/audit"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/wire/fault"
)

var created = time.Date(2026, 11, 23, 6, 4, 8, 123e6, time.UTC)

const (
	rootKey = "AKIAROOTROOTROOTROOT"
	adaKey  = "AKIAADAADAADAADAADA1"
	roleKey = "ASIAROLEROLEROLEROLE"
)

// A fake is an Access with some users in memory. It does what is asked, and remembers it.
type fake struct {
	identities map[string]*access.Identity // by key id
	users      map[string]*access.UserView
	keys       map[string]*access.KeyView
	denied     map[string]bool // actions
	fails      error           // of changing calls and of those for credentials
	asked      []string        // decisions
	rejected   []string        // signatures
	recorded   []string        // audit records
	did        []string        // calls
}

func newFake() *fake {
	user := func(name string) *access.UserView {
		return &access.UserView{Name: name, ID: "AIDA" + strings.ToUpper(name), Created: created,
			Arn: "arn:aws:iam::111122223333:user/" + name}
	}
	f := &fake{denied: map[string]bool{}, users: map[string]*access.UserView{"ada": user("ada"), "bob": user("bob")}}
	f.users["ada"].Policies = []access.InlineView{
		{Name: "own", Document: []byte(`{"Version": "2012-10-17"}`)}, {Name: "more", Document: []byte(`{}`)},
	}
	f.keys = map[string]*access.KeyView{
		rootKey: {ID: rootKey, Status: access.Active, Created: created},
		adaKey: {ID: adaKey, Owner: "ada", Status: access.Active, Created: created, LastUsed: &created,
			LastService: "gamelift", LastRegion: "us-west-2"},
	}
	f.identities = map[string]*access.Identity{
		rootKey: {Arn: "arn:aws:iam::111122223333:root", UserID: "111122223333", Root: true},
		adaKey:  {Arn: "arn:aws:iam::111122223333:user/ada", UserID: "AIDAADA", User: "ada"},
		roleKey: {Arn: "arn:aws:sts::111122223333:assumed-role/dev/ada", UserID: "AROADEV:ada", User: "ada",
			Role:      "dev",
			Temporary: true},
	}
	for id, i := range f.identities {
		i.Account, i.KeyID = "111122223333", id
	}
	return f
}

func (f *fake) Secret(id, token string) (sigv4.Credential, bool) {
	i, ok := f.identities[id]
	if id == "AKIANOBODYNOBODYNOBO" {
		return sigv4.Credential{Secret: "secret"}, true
	}
	if !ok || i.Temporary != (token != "") {
		return sigv4.Credential{}, false
	}
	return sigv4.Credential{Secret: "secret", SessionToken: token, Expires: i.Expires, Identity: i}, true
}

func (f *fake) IdentityOf(c sigv4.Caller) *access.Identity {
	i, _ := c.Identity.(*access.Identity)
	return i
}

func (f *fake) Decide(id *access.Identity, from access.Origin, c access.Call) error {
	f.asked = append(f.asked, strings.TrimSpace(fmt.Sprint(c.Action, " ", strings.Join(c.Resources, " "))))
	if f.denied[c.Action.String()] {
		return fault.New(fault.AccessDenied, "User: %s is not authorized to perform: %s", id.Arn, c.Action)
	}
	return nil
}

func (f *fake) Recorded(
	_ *access.Identity, from access.Origin, name string, resources []string, err error,
) audit.Record {
	code := "ok"
	if err != nil {
		code = string(fault.Of(err).Kind)
	}
	f.recorded = append(f.recorded, fmt.Sprint(name, " ", strings.Join(resources, " "), " ", code))
	return audit.Record{Name: name, RequestID: from.RequestID}
}

func (f *fake) Trail() *audit.Trail { return nil }

func (f *fake) do(format string, args ...any) error {
	f.did = append(f.did, fmt.Sprintf(format, args...))
	return f.fails
}

func (f *fake) AssumeRole(_ context.Context, _ *access.Identity, _ access.Origin, in access.AssumeRole) (
	*access.Temporary, error,
) {
	t := temporary("dev", in.SessionName)
	if in.Policy != "" {
		t.PackedPolicySize = 7
	}
	return t, f.do("AssumeRole %+v", in)
}

func temporary(role, session string) *access.Temporary {
	return &access.Temporary{AccessKeyID: "ASIA1", SecretAccessKey: "s/+", SessionToken: "t=", Expires: created,
		Arn: "arn:aws:sts::111122223333:assumed-role/" + role + "/" + session, UserID: "AROADEV:" + session}
}

func (f *fake) RoleARN(sent string) string { return sent }

func (f *fake) Refused(keyID string, _ access.Origin, name string, _ error) {
	f.rejected = append(f.rejected, name+" "+keyID)
}

func (f *fake) SessionToken(_ context.Context, _ *access.Identity, _ access.Origin, seconds int32) (
	*access.Temporary, error,
) {
	return temporary("", ""), f.do("SessionToken %d", seconds)
}

func (f *fake) AssumeRoleWithWebIdentity(_ context.Context, _ access.Origin, in access.WebIdentity) (
	*access.Temporary, *idp.Claims, error,
) {
	return temporary("dev", in.SessionName), &idp.Claims{Issuer: "https://issuer", Subject: "s&p", Audience: "aud"},
		f.do("AssumeRoleWithWebIdentity %+v", in)
}

func (f *fake) KeyAccount(id string) (string, error) {
	return "111122223333", f.do("KeyAccount %s", id)
}

func (f *fake) Users(after string, limit int) (views []access.UserView, more bool) {
	for _, name := range slices.Sorted(maps.Keys(f.users)) {
		if name > after && len(views) < limit {
			views = append(views, *f.users[name])
			more = name != "bob"
		}
	}
	return views, more
}

func (f *fake) User(name string) (*access.UserView, error) {
	if u, ok := f.users[name]; ok {
		return u, nil
	}
	return nil, fault.New(fault.NotFound, "The user with name %s cannot be found.", name)
}

func (f *fake) CreateUser(_ context.Context, _ *access.Identity, in access.UserInput) (*access.UserCreated, error) {
	if _, ok := f.users[in.Name]; ok {
		return nil, fault.New(fault.Conflict, "User %s exists", in.Name)
	}
	return &access.UserCreated{UserView: access.UserView{Name: in.Name, ID: "AIDANEW", Created: created,
		Arn: "arn:aws:iam::111122223333:user/" + in.Name}}, f.do("CreateUser %s", in.Name)
}

func (f *fake) DeleteUser(_ context.Context, name string) error { return f.do("DeleteUser %s", name) }

func (f *fake) PutUserPolicy(_ context.Context, _ *access.Identity, user, name, document string) error {
	return f.do("PutUserPolicy %s %s %s", user, name, document)
}

func (f *fake) DeleteUserPolicy(_ context.Context, _ *access.Identity, user, name string) error {
	return f.do("DeleteUserPolicy %s %s", user, name)
}

func (f *fake) Keys(_ context.Context, user string) []access.KeyView { return f.keysOf(user) }

func (f *fake) RootKeys(context.Context) []access.KeyView { return f.keysOf("") }

func (f *fake) keysOf(user string) (views []access.KeyView) {
	for _, k := range f.keys {
		if k.Owner == user {
			views = append(views, *k)
		}
	}
	return views
}

func (f *fake) Key(_ context.Context, id string) (*access.KeyView, error) {
	if k, ok := f.keys[id]; ok {
		return k, nil
	}
	return nil, noKey(id)
}

func (f *fake) CreateKey(_ context.Context, _ *access.Identity, in access.KeyInput) (*access.KeyCreated, error) {
	return &access.KeyCreated{KeyView: access.KeyView{ID: "AKIANEW", Owner: in.User, Status: access.Active,
		Created: created}, Secret: "new secret"}, f.do("CreateKey %s", in.User)
}

func (f *fake) UpdateKey(_ context.Context, _ *access.Identity, id string, patch access.KeyPatch) (
	*access.KeyView, error,
) {
	return nil, f.do("UpdateKey %s %s", id, *patch.Status)
}

func (f *fake) DeleteKey(_ context.Context, id string) error { return f.do("DeleteKey %s", id) }

var _ Access = (*access.Access)(nil)

// A world is a handler with a fake.
type world struct {
	*testing.T
	*fake
	clock    *clockwork.FakeClock
	ready    bool
	admits   bool
	observed []string
	url      string
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, fake: newFake(), clock: clockwork.NewFakeClockAt(created), ready: true, admits: true}
	server := httptest.NewServer(New(w.config()))
	t.Cleanup(server.Close)
	w.url = server.URL + "/"
	return w
}

func (w *world) config() Config {
	return Config{
		Access: w.fake, Clock: w.clock, Log: slog.New(slog.DiscardHandler),
		Ready: func(context.Context) bool { return w.ready }, Admit: func(netip.Addr) bool { return w.admits },
		Observe: func(operation, code string, _ float64, in, out int) {
			if out <= 0 {
				w.Errorf("%s: %d bytes", operation, out)
			}
			w.observed = append(w.observed, strings.TrimSpace(operation+" "+code))
		},
	}
}

// formText converts "Action a=b c=d" to a form of the service with the version.
func formText(service, call string) string {
	words := strings.Split(call, " ")
	values := url.Values{"Action": {words[0]}, "Version": {"2010-05-08"}}
	if service == "sts" {
		values.Set("Version", "2011-06-15")
	}
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		values.Add(name, value)
	}
	return values.Encode()
}

func (w *world) request(body string) *http.Request {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.url, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	return r
}

// sign signs a request with a key for a service.
func (w *world) sign(r *http.Request, service, key, body string) {
	w.Helper()
	c := aws.Credentials{AccessKeyID: key, SecretAccessKey: "secret"}
	if strings.HasPrefix(key, "ASIA") {
		c.SessionToken = "token"
	}
	sum := sha256.Sum256([]byte(body))
	err := v4.NewSigner().SignHTTP(w.Context(), c, r, hex.EncodeToString(sum[:]), service, "eu-west-1", w.clock.Now())
	if err != nil {
		w.Fatal(err)
	}
}

// call makes a signed call, unsigned without a key, and returns status and body with R for the request id.
func (w *world) call(service, key, call string) (status int, body string) {
	w.Helper()
	text := formText(service, call)
	r := w.request(text)
	if key != "" {
		w.sign(r, service, key, text)
	}
	return w.send(r)
}

func (w *world) send(r *http.Request) (status int, body string) {
	w.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		w.Fatal(err)
	}
	id := answer.Header.Get("x-amzn-RequestId")
	if id == "" || answer.Header.Get("Content-Type") != "text/xml" ||
		answer.Header.Get("Cache-Control") != "no-store" ||
		!bytes.Contains(b, []byte("<RequestId>"+id+"</RequestId>")) {
		w.Errorf("headers %v with %s", answer.Header, b)
	}
	return answer.StatusCode, strings.ReplaceAll(string(b), id, "R")
}

// failsWith checks status, code and a part of the message of an error.
func (w *world) failsWith(name string, gotStatus int, body string, status int, code, message string) {
	w.Helper()
	kind := "Sender"
	if status >= 500 {
		kind = "Receiver"
	}
	if want := "<Error><Type>" + kind + "</Type><Code>" + code + "</Code><Message>"; gotStatus != status ||
		!strings.HasPrefix(body, "<ErrorResponse xmlns=") || !strings.Contains(body, want) ||
		!strings.Contains(unescaped(body), message) {
		w.Errorf("%s: got %d %s\nwant %d %s %s", name, gotStatus, unescaped(body), status, code, message)
	}
}

func unescaped(body string) string {
	return strings.NewReplacer("&#39;", "'", "&#34;", `"`, "&amp;", "&").Replace(body)
}

func kindOr(kind fault.Kind) error {
	if kind == "" {
		return errors.New("a secret cause")
	}
	return fault.New(cmp.Or(kind, fault.InternalService), "because")
}
