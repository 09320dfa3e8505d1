package access

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Temporary is a key that ends, with its session token.
type Temporary struct {
	AccessKeyID, SecretAccessKey, SessionToken string

	Expires          time.Time
	Arn, UserID      string // of the session: UserID is AROA…:name
	PackedPolicySize int    // percent of the maximum; 0: no session policy
}

// tokenPurpose is the purpose of the seal of session tokens. That of another purpose does not open them.
const tokenPurpose = "session token"

// issue returns a temporary key.
func (a *Access) issue(s sealed) *Temporary {
	epoch := a.current().epoch()
	keyID := "ASIA" + randomID()
	s.Secret = newSecret()
	token := binary.BigEndian.AppendUint32(nil, epoch.Number)
	token = append(token, epoch.Seal(tokenPurpose, s.encode(), []byte(keyID))...)
	return &Temporary{
		AccessKeyID: keyID, SecretAccessKey: s.Secret, SessionToken: base64.StdEncoding.EncodeToString(token),
		Expires: time.UnixMilli(s.Expires).UTC(), Arn: s.Arn, UserID: s.RoleID + ":" + s.SessionName,
	}
}

// newSecret returns a random secret access key in the form of AWS.
func newSecret() string {
	var random [30]byte
	rand.Read(random[:])
	return base64.RawStdEncoding.EncodeToString(random[:])
}

// randomID returns the 16 random characters of an id in the form of AWS.
func randomID() string {
	var id [10]byte
	rand.Read(id[:])
	return base32.StdEncoding.EncodeToString(id[:])
}

// A tokenEntry is an opened session token.
type tokenEntry struct {
	keyID    string
	epoch    uint32
	sealed   sealed
	version  uint64    // of the catalog that identity is for
	identity *Identity // nil: it may not be used
}

// A tokenCache has opened session tokens, by their texts, which are not secret: the secret is sealed in them. It is
// bounded; any may be forgotten.
type tokenCache struct {
	mu      sync.RWMutex
	entries map[string]*tokenEntry
}

// Of the tokens in a cache: how many, and how long in bytes. Longer ones, of long session policies, are opened each
// time.
const (
	maxTokens      = 8 << 10
	maxCachedToken = 4 << 10
)

func (c *tokenCache) get(token string) (*tokenEntry, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, ok := c.entries[token]
	return e, ok
}

func (c *tokenCache) put(token string, e *tokenEntry) {
	if len(token) > maxCachedToken {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for old := range c.entries {
		if len(c.entries) < maxTokens {
			break
		}
		delete(c.entries, old)
	}
	c.entries[strings.Clone(token)] = e // the request's memory may be large
}

// temporary returns the credential of a temporary key.
func (a *Access) temporary(keyID, token string) (sigv4.Credential, bool) {
	if len(token) > maxToken {
		return sigv4.Credential{}, false
	}
	d, now := a.current(), a.now()
	e, ok := a.tokens.get(token)
	if !ok || e.version != d.version {
		opened, valid := a.openToken(d, keyID, token, e)
		if !valid {
			return sigv4.Credential{}, false
		}
		e = opened
		a.tokens.put(token, e)
	}
	if _, valid := d.epochOf(e.epoch, now); !valid || e.keyID != keyID || e.identity == nil || !a.signedIn(e, now) ||
		!a.hasInstance(e) {
		return sigv4.Credential{}, false
	}
	return sigv4.Credential{Secret: e.sealed.Secret, SessionToken: token, Expires: e.identity.Expires,
		Principal: e.identity.Arn, Identity: e.identity}, true
}

// openToken opens a session token, or takes what was opened before, and derives its identity from the catalog.
func (a *Access) openToken(d *derived, keyID, token string, before *tokenEntry) (*tokenEntry, bool) {
	e := &tokenEntry{keyID: keyID, version: d.version}
	if before != nil {
		e.keyID, e.epoch, e.sealed = before.keyID, before.epoch, before.sealed
	} else if !a.unseal(d, e, token) {
		return nil, false
	}
	e.identity = a.identityOfToken(d, e)
	return e, true
}

// maxToken limits what is decoded for a caller that is not authenticated yet.
const maxToken = 16 << 10

func (a *Access) unseal(d *derived, e *tokenEntry, token string) bool {
	data, err := base64.StdEncoding.DecodeString(token)
	if err != nil || len(data) < 4 {
		return false
	}
	e.epoch = binary.BigEndian.Uint32(data)
	epoch, ok := d.epochOf(e.epoch, a.now())
	if !ok {
		return false
	}
	body, err := epoch.Open(tokenPurpose, data[4:], []byte(e.keyID))
	return err == nil && e.sealed.decode(body) && e.sealed.Secret != ""
}

// identityOfToken returns whom a temporary key authenticates; nil if what it was issued for has ended.
func (a *Access) identityOfToken(d *derived, e *tokenEntry) *Identity {
	s := &e.sealed
	i := &Identity{
		Arn: s.Arn, Account: a.cfg.Account, KeyID: e.keyID, User: s.User, Role: s.Role, SessionName: s.SessionName,
		SignIn: s.SignIn, Temporary: true, key: s.Key, SourceIdentity: s.Source, Tags: s.Tags,
		instance: s.Instance,
		Issued:   time.UnixMilli(s.Issued), Expires: time.UnixMilli(s.Expires),
	}
	if s.User != "" {
		user, ok := d.state.User(s.User)
		if !ok || user.ID != s.UserID || user.Disabled || s.Issued < int64(user.NotBefore) {
			return nil
		}
		i.UserID = user.ID
	}
	if s.Until != 0 {
		i.until = time.UnixMilli(s.Until)
	}
	var behind *Identity
	if s.Key != "" {
		key, err := a.openAccessKey(d, s.Key)
		if err != nil {
			return nil
		}
		behind = key.credential.Identity.(*Identity)
		if ends := behind.Expires; !ends.IsZero() && ends.Before(i.Expires) {
			i.Expires = ends
		}
	}
	switch {
	case s.Role != "":
		role, ok := roleOf(d.state, s.Role)
		if !ok || role.ID != s.RoleID || s.Assigned && !assigned(d.state, s.User, s.Role) {
			return nil
		}
		i.UserID = s.RoleID + ":" + s.SessionName
		i.sets = []policy.Set{a.roleSet(d, role)}
	case behind == nil:
		return nil
	default: // GetSessionToken: as the key that asked
		i.Root, i.UserID, i.sets = behind.Root, behind.UserID, behind.sets
	}
	if set, narrow := a.narrowing(d, "session policy", s.Policies, s.Policy); narrow {
		i.sets, i.Root = append(i.sets[:len(i.sets):len(i.sets)], set), false
	}
	return i.ready()
}

func assigned(state *catalog.State, user, role string) bool {
	for _, name := range state.AssignmentsOf(user) {
		if name == role {
			return true
		}
	}
	return false
}

// signedIn reports whether the sign-in session behind a key, if there is one, has not ended.
func (a *Access) signedIn(e *tokenEntry, now time.Time) bool {
	if e.sealed.SignIn == "" {
		return true
	}
	s, ok := a.state().SignIn(e.sealed.SignIn)
	return ok && inUse(s, now)
}

// hasInstance reports whether the instance behind a key, if there is one, exists. Like sign-in sessions, instances do
// not change the version of what is derived.
func (a *Access) hasInstance(e *tokenEntry) bool {
	if e.sealed.Instance == "" {
		return true
	}
	_, ok := a.state().Instance(e.sealed.Instance)
	return ok
}

// The bounds of durations in seconds. Source: STS API reference.
const (
	minSeconds             = 900
	maxRoleSeconds         = 43200
	standardRoleSeconds    = 3600
	maxSessionTokenSeconds = 129600
	standardTokenSeconds   = 43200
	maxChainedSeconds      = 3600 // of a role that a role session assumes
)

// duration returns a duration within bounds.
func duration(seconds, standard, most int32) (time.Duration, error) {
	if seconds == 0 {
		seconds = min(standard, most)
	}
	if seconds < minSeconds || seconds > most {
		return 0, fault.New(fault.InvalidRequest,
			"DurationSeconds is %d; it must be between %d and %d here", seconds, minSeconds, most)
	}
	return time.Duration(seconds) * time.Second, nil
}
