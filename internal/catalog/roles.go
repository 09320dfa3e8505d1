package catalog

import (
	"cmp"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The bounds and the default of a role's MaxDuration in seconds. Source: IAM API reference, CreateRole
// MaxSessionDuration; STS API reference, AssumeRole DurationSeconds.
const (
	minRoleDuration     = 900
	maxRoleDuration     = 43_200
	DefaultRoleDuration = 3600
)

// A Role has policies. Users act in it by an assignment, others by its trust policy.
type Role struct {
	Name        string         `cbor:"1,keyasint,omitempty"`
	ID          string         `cbor:"2,keyasint,omitempty"` // AROA…, which distinguishes it from a later role
	Description string         `cbor:"3,keyasint,omitempty"`
	Policies    []string       `cbor:"4,keyasint,omitempty"` // managed ones, also built-in ones; sorted
	Inline      []InlinePolicy `cbor:"5,keyasint,omitempty"` // sorted by name
	MaxDuration int32          `cbor:"6,keyasint,omitempty"` // of its temporary keys, seconds
	Trust       string         `cbor:"7,keyasint,omitempty"` // JSON, checked by the caller; "": by assignments alone
	Created     event.Time     `cbor:"8,keyasint,omitempty"`
	Updated     event.Time     `cbor:"9,keyasint,omitempty"`
}

// PutRole stores a role; a replaced one keeps ID and Created. A MaxDuration of 0 is DefaultRoleDuration.
// InvalidRequest, NotFound for a policy, LimitExceeded; Conflict with Create if the role exists with another ID.
type PutRole struct {
	Role
	Stored []string `cbor:"101,keyasint,omitzero"` // those of Policies that the catalog must hold: all but built-in ones
	Create bool     `cbor:"102,keyasint,omitzero"`
}

// DeleteRole deletes a role. NotFound.
type DeleteRole struct {
	Name string `cbor:"1,keyasint,omitzero"`
}

// RolePut follows PutRole; it holds the whole role.
type RolePut struct{ Role }

// RoleDeleted follows DeleteRole. It also deletes the role's assignments.
type RoleDeleted struct {
	Name string `cbor:"1,keyasint,omitempty"`
}

func (c PutRole) decide(s *State, now event.Time) ([]Event, error) {
	r := c.Role.normal()
	old, exists := s.roles.Get(r.Name)
	if c.Create && exists && old.ID == r.ID { // a repetition
		return nil, nil
	}
	if err := checkPut(c.Create, exists, "Role", r.Name, s.roles.Len(), s.limits.Roles); err != nil {
		return nil, err
	}
	r.Created = cmp.Or(r.Created, now)
	if exists {
		r.ID, r.Created, r.Updated = old.ID, old.Created, old.Updated
	}
	if err := r.check(s, c.Stored); err != nil || same(old, r) {
		return nil, err
	}
	r.Updated = now
	return []Event{&RolePut{r}}, nil
}

// normal returns a copy with defaults that shares nothing with r.
func (r Role) normal() Role {
	r.Policies = sortedSet(r.Policies)
	r.Inline = sorted(r.Inline, InlinePolicy.compare)
	if r.MaxDuration == 0 {
		r.MaxDuration = DefaultRoleDuration
	}
	return r
}

func (r Role) check(s *State, stored []string) error {
	if err := checkName("role", r.Name, 1, 64); err != nil {
		return err
	}
	if r.ID == "" {
		return fault.New(fault.InvalidRequest, "ID is required")
	}
	if r.MaxDuration < minRoleDuration || r.MaxDuration > maxRoleDuration {
		return fault.New(fault.InvalidRequest, "MaxDuration must be from %d to %d seconds", minRoleDuration,
			maxRoleDuration)
	}
	if err := checkTexts("ID", r.ID, "Description", r.Description); err != nil {
		return err
	}
	if err := s.checkDocument(r.Trust); err != nil {
		return err
	}
	if err := s.checkInline(r.Inline); err != nil {
		return err
	}
	return s.checkStored(r.Policies, stored)
}

func (c DeleteRole) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.roles.Get(c.Name); !ok {
		return nil, roleNotFound(c.Name)
	}
	return []Event{&RoleDeleted{Name: c.Name}}, nil
}

func (e *RolePut) apply(s *State) {
	s.putRole(&e.Role)
	s.changeVersion(e)
}

func (e *RoleDeleted) apply(s *State) {
	if old, ok := s.roles.Delete(e.Name); ok {
		s.rolesByID.Delete(join(old.ID, old.Name))
	}
	for _, a := range entries(&s.assignments, e.Name) {
		s.deleteAssignment(a)
	}
	s.changeVersion(e)
}

func (s *State) putRole(r *Role) {
	if old, ok := s.roles.Set(r.Name, r); ok {
		s.rolesByID.Delete(join(old.ID, old.Name))
	}
	s.rolesByID.Set(join(r.ID, r.Name), r)
}

func roleNotFound(name string) error { return fault.New(fault.NotFound, "Role %s not found", name) }

// Role finds a role.
func (s *State) Role(name string) (*Role, bool) { return s.roles.Get(name) }

// RoleByID finds a role by its id.
func (s *State) RoleByID(id string) (*Role, bool) { return first(&s.rolesByID, id) }

// Roles returns the roles with names after the given one, in order. A limit below 1 is none; more reports that there
// are further ones.
func (s *State) Roles(after string, limit int) (roles []*Role, more bool) {
	return page(&s.roles, "", after, limit, every)
}
