package catalog

import (
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// AccessKey signs API calls. The catalog stores its secret as sealed by the caller. The fields from Owner on are of
// AccessLevel.
type AccessKey struct {
	ID           string     `cbor:"1,keyasint,omitempty"`
	SealedSecret []byte     `cbor:"2,keyasint,omitempty"` // read-only
	Name         string     `cbor:"3,keyasint,omitempty"`
	Created      event.Time `cbor:"4,keyasint,omitempty"`
	Owner        string     `cbor:"5,keyasint,omitempty"` // name of a user; "": the root of the region
	Inactive     bool       `cbor:"6,keyasint,omitempty"`
	Expires      event.Time `cbor:"7,keyasint,omitempty"` // refused from then on by readers, but kept; 0: never
	// Managed policies (sorted) and a document that the key's rights are limited to; none: those of its owner.
	Policies []string `cbor:"8,keyasint,omitempty"`
	Document string   `cbor:"9,keyasint,omitempty"` // JSON, checked by the caller
}

// PutAccessKey stores a key, or replaces the one with the same id. Conflict if another one of the owner or of the root
// has its name, or if the replaced one has another owner. With fields of AccessLevel also ServiceUnavailable below it,
// InvalidRequest, LimitExceeded, and NotFound for the owner, a policy or the key of Replaces: of two commands that
// replace the same key, one fails.
type PutAccessKey struct {
	ID           string     `cbor:"1,keyasint,omitzero"`
	SealedSecret []byte     `cbor:"2,keyasint,omitzero"`
	Name         string     `cbor:"3,keyasint,omitzero"`
	Created      event.Time `cbor:"4,keyasint,omitzero"`
	Owner        string     `cbor:"5,keyasint,omitzero"`
	Inactive     bool       `cbor:"6,keyasint,omitzero"`
	Expires      event.Time `cbor:"7,keyasint,omitzero"`
	Policies     []string   `cbor:"8,keyasint,omitzero"`
	Document     string     `cbor:"9,keyasint,omitzero"`
	Stored       []string   `cbor:"10,keyasint,omitzero"` // as in PutRole
	Replaces     string     `cbor:"11,keyasint,omitzero"` // id of the key of the same owner that is deleted; "": none
}

// UpdateAccessKey changes the state and the end of a key. NotFound.
type UpdateAccessKey struct {
	ID       string     `cbor:"1,keyasint,omitzero"`
	Inactive bool       `cbor:"2,keyasint,omitzero"`
	Expires  event.Time `cbor:"3,keyasint,omitzero"`

	KeepState   bool `cbor:"4,keyasint,omitzero"` // ignore Inactive
	KeepExpires bool `cbor:"5,keyasint,omitzero"` // ignore Expires
}

// DeleteAccessKey deletes a key. NotFound.
type DeleteAccessKey struct {
	ID string `cbor:"1,keyasint,omitzero"`
}

// AccessKeyPut follows PutAccessKey.
type AccessKeyPut AccessKey

// AccessKeyUpdated follows UpdateAccessKey.
type AccessKeyUpdated struct {
	ID       string     `cbor:"1,keyasint,omitempty"`
	Inactive bool       `cbor:"2,keyasint,omitempty"`
	Expires  event.Time `cbor:"3,keyasint,omitempty"`
}

// AccessKeyDeleted follows DeleteAccessKey.
type AccessKeyDeleted struct {
	ID string `cbor:"1,keyasint,omitempty"`
}

// Put returns the command that stores k. stored is as in PutRole.
func (k AccessKey) Put(stored []string) PutAccessKey {
	return PutAccessKey{ID: k.ID, SealedSecret: k.SealedSecret, Name: k.Name, Created: k.Created, Owner: k.Owner,
		Inactive: k.Inactive, Expires: k.Expires, Policies: k.Policies, Document: k.Document, Stored: stored}
}

func (c PutAccessKey) key() AccessKey {
	return AccessKey{ID: c.ID, SealedSecret: slices.Clone(c.SealedSecret), Name: c.Name, Created: c.Created,
		Owner: c.Owner, Inactive: c.Inactive, Expires: c.Expires, Policies: sortedSet(c.Policies), Document: c.Document}
}

// FeatureLevel returns the level from which the command may be sent: owners of earlier releases ignore the fields of
// AccessLevel, and would give the root a key without limits.
func (c PutAccessKey) FeatureLevel() int {
	if c.Owner != "" || c.Inactive || c.Expires != 0 || len(c.Policies) > 0 || c.Document != "" || c.Replaces != "" {
		return AccessLevel
	}
	return 1
}

func (c PutAccessKey) decide(s *State, _ event.Time) ([]Event, error) {
	if !s.Allows(c.FeatureLevel()) {
		return nil, errUpgradeFirst
	}
	k := c.key()
	if err := s.checkReplaced(k, c.Replaces); err != nil {
		return nil, err
	}
	if err := k.check(s, c.Stored, c.Replaces); err != nil {
		return nil, err
	}
	if err := s.checkOwner(k, c.Replaces); err != nil {
		return nil, err
	}
	put := AccessKeyPut(k)
	if c.Replaces != "" {
		return []Event{&AccessKeyDeleted{ID: c.Replaces}, &put}, nil
	}
	return []Event{&put}, nil
}

// checkReplaced rejects a key that cannot take the place of another one.
func (s *State) checkReplaced(k AccessKey, replaces string) error {
	old, ok := s.accessKeys.Get(replaces)
	switch {
	case replaces == "":
		return nil
	case !ok:
		return keyNotFound(replaces)
	case replaces == k.ID:
		return fault.New(fault.InvalidRequest, "Replaces must be another key than ID")
	case old.Owner != k.Owner:
		return fault.New(fault.Conflict, "Access key %s has another owner", replaces)
	}
	return nil
}

// checkOwner rejects a key whose owner does not exist, differs from that of the replaced one, or has too many.
func (s *State) checkOwner(k AccessKey, replaces string) error {
	old, exists := s.accessKeys.Get(k.ID)
	switch {
	case exists && old.Owner != k.Owner:
		return fault.New(fault.Conflict, "Access key %s has another owner", k.ID)
	case k.Owner == "" || exists || replaces != "":
		return nil
	case s.user(k.Owner) == nil:
		return userNotFound(k.Owner)
	}
	return checkLimit(len(s.KeysOf(k.Owner)), s.limits.KeysPerUser, "access keys of a user")
}

func (k AccessKey) check(s *State, stored []string, replaces string) error {
	// The root's keys are known by their names: no user may have a key of the same name.
	taken := func(o *AccessKey) bool {
		return k.Name != "" && o.Name == k.Name && o.ID != k.ID && o.ID != replaces &&
			(o.Owner == k.Owner || o.Owner == "" || k.Owner == "")
	}
	if others, _ := page(&s.accessKeys, "", "", 1, taken); len(others) > 0 {
		return fault.New(fault.Conflict, "An access key with the name %s exists", k.Name)
	}
	if err := checkTexts("ID", k.ID, "Name", k.Name); err != nil {
		return err
	}
	if err := s.checkDocument(k.Document); err != nil {
		return err
	}
	return s.checkStored(k.Policies, stored)
}

func (c UpdateAccessKey) decide(s *State, _ event.Time) ([]Event, error) {
	k, ok := s.accessKeys.Get(c.ID)
	if !ok {
		return nil, keyNotFound(c.ID)
	}
	if c.KeepState {
		c.Inactive = k.Inactive
	}
	if c.KeepExpires {
		c.Expires = k.Expires
	}
	if k.Inactive == c.Inactive && k.Expires == c.Expires {
		return nil, nil
	}
	return []Event{&AccessKeyUpdated{ID: c.ID, Inactive: c.Inactive, Expires: c.Expires}}, nil
}

func (c DeleteAccessKey) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.accessKeys.Get(c.ID); !ok {
		return nil, keyNotFound(c.ID)
	}
	return []Event{&AccessKeyDeleted{ID: c.ID}}, nil
}

func (e *AccessKeyPut) apply(s *State) {
	k := AccessKey(*e)
	s.putAccessKey(&k)
	s.changeVersion(e)
}

func (e *AccessKeyUpdated) apply(s *State) {
	if old, ok := s.accessKeys.Get(e.ID); ok {
		k := *old
		k.Inactive, k.Expires = e.Inactive, e.Expires
		s.putAccessKey(&k)
	}
	s.changeVersion(e)
}

func (e *AccessKeyDeleted) apply(s *State) {
	s.deleteAccessKey(e.ID)
	s.changeVersion(e)
}

func (s *State) putAccessKey(k *AccessKey) {
	s.deleteAccessKey(k.ID)
	s.accessKeys.Set(k.ID, k)
	s.keysByOwner.Set(join(k.Owner, k.ID), k)
}

func (s *State) deleteAccessKey(id string) {
	if k, ok := s.accessKeys.Delete(id); ok {
		s.keysByOwner.Delete(join(k.Owner, k.ID))
	}
}

func keyNotFound(id string) error { return fault.New(fault.NotFound, "Access key %s not found", id) }

// AccessKey finds an access key, also an inactive or expired one.
func (s *State) AccessKey(id string) (*AccessKey, bool) { return s.accessKeys.Get(id) }

// AccessKeys returns the keys with ids after the given one, in order. A limit below 1 is none; more reports that there
// are further ones.
func (s *State) AccessKeys(after string, limit int) (keys []*AccessKey, more bool) {
	return page(&s.accessKeys, "", after, limit, every)
}

// KeysOf returns the access keys of a user by id, or those of the root for "".
func (s *State) KeysOf(owner string) []*AccessKey { return entries(&s.keysByOwner, owner) }
