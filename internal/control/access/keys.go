package access

import (
	"context"
	"encoding/json"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A KeyView describes an access key.
type KeyView struct {
	ID          string          `json:"id"`
	Owner       string          `json:"owner,omitempty"` // a user; "": the region itself
	Name        string          `json:"name,omitempty"`
	Status      string          `json:"status"` // Active or Inactive
	Expires     *time.Time      `json:"expires,omitempty"`
	Policies    []string        `json:"policies,omitempty"` // that narrow it
	Document    json.RawMessage `json:"document,omitempty"` // that narrows it
	Created     time.Time       `json:"created"`
	LastUsed    *time.Time      `json:"lastUsed,omitempty"` // to the hour
	LastService string          `json:"lastService,omitempty"`
	LastRegion  string          `json:"lastRegion,omitempty"`
}

// The statuses of access keys. Source: IAM API reference, AccessKey.
const (
	Active   = "Active"
	Inactive = "Inactive"
)

// A KeyInput is an access key to be created.
type KeyInput struct {
	User     string          `json:"user"`    // its owner; "" with Service "": the caller
	Service  string          `json:"service"` // a service user, which is created if there is none
	Name     string          `json:"name"`
	Policies []string        `json:"policies"`
	Document json.RawMessage `json:"document"`
	Expires  *time.Time      `json:"expires"`
}

// A KeyPatch changes an access key; nil leaves a field as it is.
type KeyPatch struct {
	Status  *string    `json:"status"`
	Expires *time.Time `json:"expires"` // the zero time: never
}

// revives reports whether the change can make a key valid, or valid for longer.
func (p *KeyPatch) revives() bool { return p.Status != nil && *p.Status == Active || p.Expires != nil }

// A KeyCreated is a new access key. Its secret is shown once.
type KeyCreated struct {
	KeyView
	Secret string `json:"secret"`
}

// Keys returns the access keys of a user; of all, the region's included, for "".
func (a *Access) Keys(ctx context.Context, user string) (views []KeyView) {
	state := a.state()
	keys := state.KeysOf(user)
	if user == "" {
		keys, _ = state.AccessKeys("", 0)
	}
	for _, k := range keys {
		views = append(views, a.keyView(ctx, k))
	}
	return views
}

// RootKeys returns the access keys of the region itself.
func (a *Access) RootKeys(ctx context.Context) (views []KeyView) {
	for _, k := range a.state().KeysOf("") {
		views = append(views, a.keyView(ctx, k))
	}
	return views
}

// Key returns an access key. NotFound.
func (a *Access) Key(ctx context.Context, id string) (*KeyView, error) {
	k, ok := a.state().AccessKey(id)
	if !ok {
		return nil, noKey(id)
	}
	view := a.keyView(ctx, k)
	return &view, nil
}

func noKey(id string) error {
	return fault.New(fault.NotFound, "The Access Key with id %s cannot be found.", clip(id, 128))
}

func (a *Access) keyView(ctx context.Context, k *catalog.AccessKey) KeyView {
	v := KeyView{ID: k.ID, Owner: k.Owner, Name: k.Name, Status: Active, Expires: moment(k.Expires),
		Policies: k.Policies, Created: k.Created.Time()}
	if k.Inactive {
		v.Status = Inactive
	}
	if k.Document != "" {
		v.Document = json.RawMessage(k.Document)
	}
	if used, ok := a.lastUse(ctx, k.ID); ok {
		v.LastUsed, v.LastService, v.LastRegion = &used.At, "gamelift", a.cfg.Region
	}
	return v
}

// CreateKey creates an access key. A service user that does not exist is created, with the policies as its own.
func (a *Access) CreateKey(ctx context.Context, by *Identity, in KeyInput) (*KeyCreated, error) {
	k := catalog.AccessKey{Name: in.Name, Created: a.cfg.Catalog.Now()}
	if in.Expires != nil {
		k.Expires = event.At(*in.Expires)
		if k.Expires <= k.Created {
			return nil, fault.New(fault.InvalidRequest, "expires is in the past")
		}
	}
	if string(in.Document) == "null" {
		in.Document = nil
	}
	if err := a.checkNarrowing(&in); err != nil {
		return nil, err
	}
	owner, err := a.keyOwner(ctx, by, &in)
	if err != nil {
		return nil, err
	}
	if err := a.mayOwn(by, owner); err != nil {
		return nil, err
	}
	k.Owner, k.Policies, k.Document = owner, sorted(in.Policies), string(in.Document)
	return a.putNewKey(ctx, k, "")
}

// keyOwner returns the owner of a new key.
func (a *Access) keyOwner(ctx context.Context, by *Identity, in *KeyInput) (string, error) {
	switch {
	case in.User != "" && in.Service != "":
		return "", fault.New(fault.InvalidRequest, "Give one of user and service")
	case in.User != "":
		if _, ok := a.state().User(in.User); !ok {
			return "", noUser(in.User)
		}
		return in.User, nil
	case in.Service != "":
		return in.Service, a.serviceUser(ctx, by, in)
	case by != nil && by.User != "":
		return by.User, nil
	}
	return "", fault.New(fault.InvalidRequest, "Give user or service: whose key is it?")
}

// serviceUser creates a service user for a new key, with the key's policies, unless it exists.
func (a *Access) serviceUser(ctx context.Context, by *Identity, in *KeyInput) error {
	if u, ok := a.state().User(in.Service); ok {
		if !u.Service {
			return fault.New(fault.Conflict, "User %s is a person; use user for a key of it", in.Service)
		}
		return nil
	}
	var own []InlineView
	if len(in.Document) > 0 {
		own = []InlineView{{"key", in.Document}}
	}
	_, err := a.CreateUser(ctx, by, UserInput{Name: in.Service, Service: true, Attached: in.Policies, Policies: own})
	if err != nil {
		return err
	}
	in.Policies, in.Document = nil, nil // they are the user's
	return nil
}

// checkNarrowing checks the policies that narrow a key.
func (a *Access) checkNarrowing(in *KeyInput) error {
	for _, name := range in.Policies {
		if _, ok := policyText(a.state(), name); !ok {
			return fault.New(fault.NotFound, "Policy %s not found", name)
		}
	}
	if len(in.Document) == 0 {
		return nil
	}
	if _, err := policy.Parse(string(in.Document)); err != nil {
		return malformed("document", err)
	}
	return nil
}

// mayOwn returns an error if an identity may not have a key of a user, or of the region itself.
func (a *Access) mayOwn(by *Identity, owner string) error {
	u, ok := a.state().User(owner)
	switch {
	case by == nil || by.Root:
		return nil
	case owner == "":
		return fault.New(fault.AccessDenied, "User: %s cannot have a key of the root", by.Arn)
	case !ok:
		return noUser(owner)
	}
	return a.mayBe(by, u)
}

// putNewKey stores a key with a new id and secret. It replaces another one in the same change; "": none.
func (a *Access) putNewKey(ctx context.Context, k catalog.AccessKey, replaces string) (*KeyCreated, error) {
	id, secret := newKey()
	k.ID, k.SealedSecret = id, a.current().epoch().SealKey(id, secret)
	put := k.Put(storedPolicies(k.Policies))
	put.Replaces = replaces
	if err := a.cfg.Catalog.Change(ctx, put); err != nil {
		return nil, err
	}
	return &KeyCreated{a.keyView(ctx, &k), secret}, nil
}

// newKey returns a random key in the form of AWS.
func newKey() (id, secret string) { return "AKIA" + randomID(), newSecret() }

// UpdateKey changes an access key. NotFound.
func (a *Access) UpdateKey(ctx context.Context, by *Identity, id string, patch KeyPatch) (*KeyView, error) {
	k, ok := a.state().AccessKey(id)
	if !ok {
		return nil, noKey(id)
	}
	if patch.revives() {
		if err := a.mayOwn(by, k.Owner); err != nil {
			return nil, err
		}
	}
	update := catalog.UpdateAccessKey{ID: id, KeepState: patch.Status == nil, KeepExpires: patch.Expires == nil}
	if patch.Status != nil {
		if *patch.Status != Active && *patch.Status != Inactive {
			return nil, fault.New(fault.InvalidRequest, "status must be Active or Inactive")
		}
		update.Inactive = *patch.Status == Inactive
	}
	if patch.Expires != nil && !patch.Expires.IsZero() {
		update.Expires = event.At(*patch.Expires)
	}
	if isRootKey(k) && (update.Inactive || update.Expires != 0) {
		return nil, fault.New(fault.InvalidRequest, "Access key %s is the root key; rotate it instead", id)
	}
	if err := a.cfg.Catalog.Change(ctx, update); err != nil {
		return nil, err
	}
	return a.Key(ctx, id)
}

// RotateKey replaces an access key by an active one with the same owner and limits. The old one stops at once. Of two
// rotations at once, one fails: NotFound.
func (a *Access) RotateKey(ctx context.Context, by *Identity, id string) (*KeyCreated, error) {
	k, ok := a.state().AccessKey(id)
	if !ok {
		return nil, noKey(id)
	}
	if err := a.mayOwn(by, k.Owner); err != nil {
		return nil, err
	}
	again := *k
	again.Created, again.Inactive = a.cfg.Catalog.Now(), false
	if again.Expires != 0 && again.Expires <= again.Created {
		return nil, fault.New(fault.InvalidRequest, "Access key %s has expired; give it another end first", id)
	}
	return a.putNewKey(ctx, again, id)
}

// DeleteKey deletes an access key. NotFound.
func (a *Access) DeleteKey(ctx context.Context, id string) error {
	if a.IsRootKey(id) {
		return fault.New(fault.InvalidRequest, "Access key %s is the root key; rotate it instead", id)
	}
	err := a.cfg.Catalog.Change(ctx, catalog.DeleteAccessKey{ID: id})
	if fault.Is(err, fault.NotFound) {
		return noKey(id)
	}
	return err
}
