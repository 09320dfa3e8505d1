package access

import (
	"errors"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/policy"
)

// An Identity is whom a key authenticates. It is immutable.
type Identity struct {
	Arn, UserID, Account string

	Root           bool
	KeyID          string            // the access key
	User           string            // behind it; "" for the root key, and for roles of web identities
	Role           string            // of a role session; "" for others
	SessionName    string            // of a role session
	SignIn         string            // the sign-in session that it was issued in; "" for others
	Temporary      bool              // the key ends
	Issued         time.Time         // zero for long-lived keys
	Expires        time.Time         // zero: never
	SourceIdentity string            // that a role session was given
	Tags           map[string]string // of the principal

	key   string    // long-lived, behind a temporary one; "" for those of signed-in people and of web identities
	until time.Time // when sessions of roles end that begin with this one; zero: never

	instance string // behind a temporary key; "": none

	// sets are the policies that must all allow a call; none for the root key.
	sets   []policy.Set
	always verdicts
}

// A keyEntry is an opened long-lived key.
type keyEntry struct {
	credential sigv4.Credential
	record     *catalog.AccessKey
}

// Secret finds an access key, for the verifier of signatures.
func (a *Access) Secret(keyID, sessionToken string) (sigv4.Credential, bool) {
	if sessionToken != "" {
		return a.temporary(keyID, sessionToken)
	}
	d := a.current()
	entry, ok := d.keys.Load(keyID)
	if !ok {
		opened, err := a.openAccessKey(d, keyID)
		if err != nil {
			return sigv4.Credential{}, false
		}
		entry, _ = d.keys.LoadOrStore(keyID, opened)
	}
	key := entry.(*keyEntry)
	if ends := key.record.Expires; ends != 0 && a.cfg.Catalog.Now() >= ends {
		return sigv4.Credential{}, false
	}
	return key.credential, true
}

var errNoKey = errors.New("no such access key")

// openAccessKey returns a key that may be used.
func (a *Access) openAccessKey(d *derived, id string) (*keyEntry, error) {
	record, ok := d.state.AccessKey(id)
	if !ok || record.Inactive {
		return nil, errNoKey
	}
	secret, err := d.openKey(id, record.SealedSecret)
	if err != nil {
		if suppressed, ok := a.lines.Allow("access key"); ok {
			a.cfg.Log.Error("access key cannot be opened", "access_key", id, "err", err, "suppressed", suppressed)
		}
		return nil, err
	}
	identity, err := a.identityOfKey(d, record)
	if err != nil {
		return nil, err
	}
	return &keyEntry{sigv4.Credential{Secret: secret, Principal: id, Identity: identity}, record}, nil
}

// identityOfKey returns whom a long-lived key authenticates.
func (a *Access) identityOfKey(d *derived, k *catalog.AccessKey) (*Identity, error) {
	i := &Identity{KeyID: k.ID, key: k.ID, Account: a.cfg.Account, Expires: k.Expires.Time()}
	if k.Owner == "" {
		i.Root, i.Arn, i.UserID = true, a.rootArn(), a.cfg.Account
	} else {
		user, ok := d.state.User(k.Owner)
		if !ok || user.Disabled {
			return nil, errNoKey
		}
		i.User, i.Arn, i.UserID = user.Name, a.userArn(user.Name), user.ID
		i.sets = []policy.Set{a.userSet(d, user)}
	}
	if set, narrow := a.narrowing(d, k.ID, k.Policies, k.Document); narrow {
		i.sets, i.Root = append(i.sets, set), false
	}
	return i.ready(), nil
}

// PersonIdentity returns whom a signed-in person is in the console: the user, with the policies of all its roles.
func (a *Access) PersonIdentity(p *Person) *Identity {
	d := a.current()
	i := &Identity{User: p.User.Name, Arn: a.userArn(p.User.Name), UserID: p.User.ID, Account: a.cfg.Account,
		SignIn: p.SignIn.ID, sets: []policy.Set{a.userSet(d, p.User)}}
	return i.ready()
}

// LocalIdentity returns whom people are in a console that needs no sign-in: as the root key.
func (a *Access) LocalIdentity() *Identity {
	return (&Identity{Root: true, Arn: a.rootArn(), UserID: a.cfg.Account, Account: a.cfg.Account}).ready()
}

// narrowing returns the policies that limit a key further.
func (a *Access) narrowing(d *derived, name string, managed []string, document string) (set policy.Set, narrow bool) {
	if len(managed) == 0 && document == "" {
		return nil, false
	}
	set = a.managed(d, managed)
	if document != "" {
		// Not among the compiled ones of the region, which have no limit: a caller can send any number of them.
		set = append(set, policy.Source{Name: name, Document: compile(document)})
	}
	return set, true
}

// ready prepares the memory of decisions.
func (i *Identity) ready() *Identity {
	i.always = make(verdicts, (actionCount+perWord-1)/perWord)
	return i
}

// IdentityOf returns whom a caller is; nil for an unverified caller of an open service. It notes the use of the key.
func (a *Access) IdentityOf(c sigv4.Caller) *Identity {
	i, _ := c.Identity.(*Identity)
	if i != nil && !i.Temporary {
		a.uses.note(a.now(), i.KeyID)
	}
	return i
}

func (a *Access) rootArn() string { return "arn:aws:iam::" + a.cfg.Account + ":root" }

func (a *Access) userArn(name string) string {
	return "arn:aws:iam::" + a.cfg.Account + ":user/" + name
}

func (a *Access) roleArn(name string) string {
	return "arn:aws:iam::" + a.cfg.Account + ":role/" + name
}

func (a *Access) sessionArn(role, session string) string {
	return "arn:aws:sts::" + a.cfg.Account + ":assumed-role/" + role + "/" + session
}

// source compiles a policy. One that cannot be compiled, which no stored one is, denies everything.
func (d *derived) source(name, text string) policy.Source {
	document, ok := d.parsed.Load(text)
	if !ok {
		document, _ = d.parsed.LoadOrStore(text, compile(text))
	}
	return policy.Source{Name: name, Document: document.(*policy.Document)}
}

func compile(text string) *policy.Document {
	parsed, err := policy.Parse(text)
	if err != nil {
		parsed, _, err = policy.ParseLenient(text)
	}
	if err != nil {
		return denyAll()
	}
	return parsed
}

var (
	denyAll  = sync.OnceValue(func() *policy.Document { return allActions("Deny") })
	allowAll = sync.OnceValue(func() *policy.Document { return allActions("Allow") })
)

func allActions(effect string) *policy.Document {
	d, err := policy.Parse(`{"Version":"2012-10-17","Statement":{"Effect":"` + effect +
		`","Action":"*","Resource":"*"}}`)
	if err != nil {
		panic(err)
	}
	return d
}

// managed returns the policies with these names, built-in ones included.
func (a *Access) managed(d *derived, names []string) policy.Set {
	var set policy.Set
	for _, name := range names {
		if text, ok := policyText(d.state, name); ok {
			set = append(set, d.source(name, text))
		}
	}
	return set
}

// policyText returns the text of a built-in or stored policy.
func policyText(state *catalog.State, name string) (text string, ok bool) {
	if text, ok := policy.Builtin(name); ok {
		return text, true
	}
	if p, ok := state.Policy(name); ok {
		return p.Document, true
	}
	return "", false
}

// roleSet returns the policies of a role.
func (a *Access) roleSet(d *derived, r *catalog.Role) policy.Set {
	key := "role/" + r.Name
	if set, ok := d.sets.Load(key); ok {
		return set.(policy.Set)
	}
	set := a.managed(d, r.Policies)
	for _, p := range r.Inline {
		set = append(set, d.source(p.Name, p.Document))
	}
	d.sets.Store(key, set)
	return set
}

// userSet returns the policies of a user: its own, and those of its roles.
func (a *Access) userSet(d *derived, u *catalog.User) policy.Set {
	key := "user/" + u.Name
	if set, ok := d.sets.Load(key); ok {
		return set.(policy.Set)
	}
	set := a.managed(d, u.Attached)
	for _, p := range u.Policies {
		set = append(set, d.source(p.Name, p.Document))
	}
	for _, role := range rolesOf(d.state, u.Name) {
		set = append(set, a.roleSet(d, role)...)
	}
	d.sets.Store(key, set)
	return set
}

// rolesOf returns the roles that are assigned to a user or its groups, by name.
func rolesOf(state *catalog.State, user string) (roles []*catalog.Role) {
	for _, name := range state.AssignmentsOf(user) {
		if r, ok := roleOf(state, name); ok {
			roles = append(roles, r)
		}
	}
	return roles
}

// RolesOf returns the roles that are assigned to a user or its groups, by name.
func (a *Access) RolesOf(user string) []*catalog.Role { return rolesOf(a.state(), user) }
