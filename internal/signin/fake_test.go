package signin

import (
	"bytes"
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/control/idp"
	"github.com/muster-gg/muster/internal/wire/fault"
)

var (
	_ Access = (*access.Access)(nil)
	_ IdP    = (*idp.Verifier)(nil)
)

// A fakeAccess is an Access in memory, which all nodes of a test share.
type fakeAccess struct {
	clock clockwork.Clock
	aead  cipher.AEAD

	mu        sync.Mutex
	consents  []string // recorded
	users     map[string]*fakeUser
	signIns   map[string]*fakeSignIn
	providers []*catalog.Provider
	invites   map[string]string // token → user
	passwords bool
	failures  int   // of passwords in a row
	broken    error // that StartSignIn returns
	started   int   // sign-in sessions
	touched   int
}

type fakeUser struct {
	catalog.User
	secret string
	roles  []*catalog.Role
}

type fakeSignIn struct {
	catalog.SignIn
	thumbprint []byte
	generation int
	rotated    time.Time
}

func newFakeAccess(clock clockwork.Clock) *fakeAccess {
	key := make([]byte, 32)
	rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return &fakeAccess{clock: clock, aead: aead, users: map[string]*fakeUser{}, signIns: map[string]*fakeSignIn{},
		invites: map[string]string{}, passwords: true}
}

const goodPassword = "correct horse battery"

func (f *fakeAccess) addUser(name string, roles ...string) *fakeUser {
	f.mu.Lock()
	defer f.mu.Unlock()
	u := &fakeUser{
		User:   catalog.User{Name: name, ID: "AIDA" + name, Email: name + "@example.com"},
		secret: goodPassword,
	}
	for _, r := range roles {
		u.roles = append(u.roles, &catalog.Role{Name: r, Description: "For " + r})
	}
	f.users[name] = u
	return u
}

func (f *fakeAccess) disable(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users[name].Disabled = true
}

func (f *fakeAccess) CheckPassword(_ context.Context, name, password string, _ access.Origin) (*catalog.User, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failures >= 5 {
		return nil, &access.WaitError{After: 1500 * time.Millisecond}
	}
	u, ok := f.users[name]
	if !ok || u.Disabled || u.secret != password || !f.passwords {
		f.failures++
		return nil, access.ErrWrong
	}
	f.failures = 0
	return &u.User, nil
}

func (f *fakeAccess) Invited(token string) (*catalog.User, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u, ok := f.users[f.invites[token]]
	if !ok {
		return nil, fault.New(fault.NotFound, "no such invitation")
	}
	return &u.User, nil
}

func (f *fakeAccess) AcceptInvite(_ context.Context, token, password string, _ access.Origin) (*catalog.User, error) {
	u, err := f.Invited(token)
	if err != nil {
		return nil, err
	}
	if len(password) < 12 {
		return nil, fault.New(fault.InvalidRequest, "The password must have at least 12 characters")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users[u.Name].secret = password
	delete(f.invites, token)
	return u, nil
}

func (f *fakeAccess) External(_ context.Context, p *catalog.Provider, c *idp.Claims, _ access.Origin) (*catalog.User,
	error,
) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u, ok := f.users[c.Subject]
	switch {
	case !ok:
		return nil, fault.New(fault.AccessDenied, "Your account has no access here.")
	case u.Disabled:
		return nil, access.ErrDisabled
	}
	return &u.User, nil
}

func (f *fakeAccess) StartSignIn(_ context.Context, s access.Start) (*catalog.SignIn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u, ok := f.users[s.User]
	switch {
	case f.broken != nil:
		return nil, f.broken
	case !ok:
		return nil, fault.New(fault.NotFound, "no such user")
	case u.Disabled:
		return nil, fault.New(fault.AccessDenied, "disabled")
	}
	f.started++
	id := fmt.Sprintf("session-%d", f.started)
	f.signIns[id] = &fakeSignIn{
		SignIn:     catalog.SignIn{ID: id, User: s.User, Client: s.Client, Kind: s.Kind, Role: s.Role},
		thumbprint: s.Thumbprint,
		rotated:    f.clock.Now(),
	}
	return &f.signIns[id].SignIn, nil
}

func (f *fakeAccess) Consented(event string, p *access.Person, client string, allowed bool, _ access.Origin) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.consents = append(f.consents, fmt.Sprint(event, " ", p.User.Name, " ", client, " ", allowed))
}

func (f *fakeAccess) EndSignIn(_ context.Context, id, _ string, _ access.Origin) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.signIns, id)
	return nil
}

func (f *fakeAccess) tokens(s *fakeSignIn) access.Tokens {
	return access.Tokens{SignIn: s.ID, Access: "mua_" + s.ID, Refresh: fmt.Sprintf("mur_%s_%d", s.ID, s.generation),
		Expires: s.rotated.Add(time.Hour)}
}

func (f *fakeAccess) Tokens(s *catalog.SignIn) access.Tokens {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tokens(f.signIns[s.ID])
}

func (f *fakeAccess) Refresh(_ context.Context, token string, thumbprint []byte, _ access.Origin) (*access.Tokens,
	*catalog.SignIn, error,
) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.signIns {
		if f.tokens(s).Refresh != token || !bytes.Equal(s.thumbprint, thumbprint) {
			continue
		}
		if f.users[s.User].Disabled {
			return nil, nil, access.ErrDisabled
		}
		s.generation++
		s.rotated = f.clock.Now()
		t := f.tokens(s)
		return &t, &s.SignIn, nil
	}
	return nil, nil, access.ErrInvalidGrant
}

func (f *fakeAccess) person(prefix, value string) (*access.Person, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id, ok := strings.CutPrefix(value, prefix)
	s, found := f.signIns[id]
	if !ok || !found {
		return nil, access.ErrInvalidToken
	}
	if f.users[s.User].Disabled {
		return nil, access.ErrDisabled
	}
	return &access.Person{User: &f.users[s.User].User, SignIn: &s.SignIn}, nil
}

func (f *fakeAccess) Bearer(token string) (*access.Person, error) { return f.person("mua_", token) }

func (f *fakeAccess) Cookie(s *catalog.SignIn) string { return "muc_" + s.ID }

func (f *fakeAccess) FromCookie(value string) (*access.Person, error) { return f.person("muc_", value) }

func (f *fakeAccess) Touch(context.Context, *catalog.SignIn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.touched++
	return nil
}

func (f *fakeAccess) RolesOf(user string) []*catalog.Role {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.users[user].roles
}

func (f *fakeAccess) RoleKeys(_ context.Context, p *access.Person, role string, seconds int32, _ access.Origin) (
	*access.Temporary, error,
) {
	if !slices.ContainsFunc(f.RolesOf(p.User.Name), func(r *catalog.Role) bool { return r.Name == role }) {
		return nil, access.ErrNotAssigned
	}
	return &access.Temporary{
		AccessKeyID:     "ASIAEXAMPLE",
		SecretAccessKey: "secret",
		SessionToken:    "token",
		Expires:         f.clock.Now().Add(time.Duration(cmp.Or(seconds, 3600)) * time.Second),
		Arn:             "arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_" + role + "_0123456789abcdef/ada",
	}, nil
}

func (f *fakeAccess) SealClient(c access.Client) (id, secret string) {
	body, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	id = base64.RawURLEncoding.EncodeToString(f.Seal("client", body, nil))
	return id, "mus_" + base64.RawURLEncoding.EncodeToString(f.Seal("client secret", nil, []byte(id)))
}

func (f *fakeAccess) OpenClient(id, secret string) (*access.Client, error) {
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(secret, "mus_"))
	if err == nil {
		_, err = f.Open("client secret", data, []byte(id))
	}
	if err != nil {
		return nil, access.ErrUnknownClient
	}
	return f.ClientOf(id)
}

func (f *fakeAccess) ClientOf(id string) (*access.Client, error) {
	c := new(access.Client)
	data, err := base64.RawURLEncoding.DecodeString(id)
	if err == nil {
		data, err = f.Open("client", data, nil)
	}
	if err != nil || json.Unmarshal(data, c) != nil || !f.clock.Now().Before(c.Expires) {
		return nil, access.ErrUnknownClient
	}
	return c, nil
}

func bound(purpose string, b []byte) []byte { return append([]byte(purpose+"\x00"), b...) }

func (f *fakeAccess) Seal(purpose string, plain, with []byte) []byte {
	nonce := make([]byte, f.aead.NonceSize())
	rand.Read(nonce)
	return f.aead.Seal(nonce, nonce, plain, bound(purpose, with))
}

func (f *fakeAccess) Open(purpose string, sealed, with []byte) ([]byte, error) {
	n := f.aead.NonceSize()
	if len(sealed) < n {
		return nil, access.ErrInvalidToken
	}
	return f.aead.Open(nil, sealed[:n], sealed[n:], bound(purpose, with))
}

func (f *fakeAccess) Users(string, int) (users []access.UserView, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.users {
		users = append(users, access.UserView{Name: name})
	}
	return users, false
}

func (f *fakeAccess) Settings() access.SettingsView {
	return access.SettingsView{LocalPasswords: f.passwords}
}

func (f *fakeAccess) SignInProviders() []*catalog.Provider { return f.providers }

func (f *fakeAccess) Provider(name string) (*catalog.Provider, error) {
	for _, p := range f.providers {
		if p.Name == name {
			return p, nil
		}
	}
	return nil, fault.New(fault.NotFound, "Provider %s not found", name)
}

func (f *fakeAccess) Login(p *catalog.Provider, redirectURL string) (idp.Login, error) {
	return idp.Login{Provider: idp.Provider{Name: p.Name, Issuer: p.Issuer}, ClientID: "muster",
		RedirectURL: redirectURL}, nil
}

// A fakeIdP signs in whoever has a code for the sign-in: the code is "code-for-" and the subject.
type fakeIdP struct {
	broken                 error
	state, nonce, verifier string
	login                  idp.Login
}

func (i *fakeIdP) AuthorizeURL(_ context.Context, l idp.Login, state, nonce, verifier string) (string, error) {
	i.state, i.nonce, i.verifier, i.login = state, nonce, verifier, l
	return "https://idp.example/authorize?state=" + state, i.broken
}

func (i *fakeIdP) Exchange(_ context.Context, l idp.Login, code, nonce, verifier string) (*idp.Claims, error) {
	subject, ok := strings.CutPrefix(code, "code-for-")
	if !ok || nonce != i.nonce || verifier != i.verifier || l.RedirectURL != i.login.RedirectURL {
		return nil, idp.ErrRejected
	}
	return &idp.Claims{Issuer: l.Provider.Issuer, Subject: subject}, i.broken
}
