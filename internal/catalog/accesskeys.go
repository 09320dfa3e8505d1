package catalog

import (
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// AccessKey signs API calls. The catalog stores its secret as sealed by the caller.
type AccessKey struct {
	ID           string     `cbor:"1,keyasint,omitempty"`
	SealedSecret []byte     `cbor:"2,keyasint,omitempty"` // read-only
	Name         string     `cbor:"3,keyasint,omitempty"`
	Created      event.Time `cbor:"4,keyasint,omitempty"`
}

// PutAccessKey stores a key, or replaces the one with the same id. Conflict if another one has its name.
type PutAccessKey struct {
	ID           string     `cbor:"1,keyasint,omitzero"`
	SealedSecret []byte     `cbor:"2,keyasint,omitzero"`
	Name         string     `cbor:"3,keyasint,omitzero"`
	Created      event.Time `cbor:"4,keyasint,omitzero"`
}

// DeleteAccessKey deletes a key. NotFound.
type DeleteAccessKey struct {
	ID string `cbor:"1,keyasint,omitzero"`
}

// AccessKeyPut follows PutAccessKey.
type AccessKeyPut struct {
	ID           string     `cbor:"1,keyasint,omitempty"`
	SealedSecret []byte     `cbor:"2,keyasint,omitempty"`
	Name         string     `cbor:"3,keyasint,omitempty"`
	Created      event.Time `cbor:"4,keyasint,omitempty"`
}

// AccessKeyDeleted follows DeleteAccessKey.
type AccessKeyDeleted struct {
	ID string `cbor:"1,keyasint,omitempty"`
}

func (c PutAccessKey) decide(s *State, _ event.Time) ([]Event, error) {
	taken := func(k *AccessKey) bool { return c.Name != "" && k.Name == c.Name && k.ID != c.ID }
	if others, _ := page(&s.accessKeys, "", "", 1, taken); len(others) > 0 {
		return nil, fault.New(fault.Conflict, "An access key with the name %s exists", c.Name)
	}
	return []Event{&AccessKeyPut{ID: c.ID, SealedSecret: slices.Clone(c.SealedSecret), Name: c.Name,
		Created: c.Created}}, nil
}

func (c DeleteAccessKey) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.accessKeys.Get(c.ID); !ok {
		return nil, fault.New(fault.NotFound, "Access key %s not found", c.ID)
	}
	return []Event{&AccessKeyDeleted{ID: c.ID}}, nil
}

func (e *AccessKeyPut) apply(s *State) {
	s.accessKeys.Set(e.ID, &AccessKey{ID: e.ID, SealedSecret: e.SealedSecret, Name: e.Name, Created: e.Created})
}

func (e *AccessKeyDeleted) apply(s *State) { s.accessKeys.Delete(e.ID) }

// AccessKey finds an access key.
func (s *State) AccessKey(id string) (*AccessKey, bool) { return s.accessKeys.Get(id) }

// AccessKeys returns the keys with ids after the given one, in order. A limit below 1 is none; more reports that there
// are further ones.
func (s *State) AccessKeys(after string, limit int) (keys []*AccessKey, more bool) {
	return page(&s.accessKeys, "", after, limit, every)
}
