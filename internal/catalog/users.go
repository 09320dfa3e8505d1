package catalog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A User is a person, or a service that owns access keys. Its name is also its role session name.
type User struct {
	Name        string `cbor:"1,keyasint,omitempty"`
	ID          string `cbor:"2,keyasint,omitempty"` // AIDA…, which distinguishes it from a later user of that name
	DisplayName string `cbor:"3,keyasint,omitempty"`
	Email       string `cbor:"4,keyasint,omitempty"`
	Service     bool   `cbor:"5,keyasint,omitempty"` // owns keys and never signs in; it never changes
	Password    string `cbor:"6,keyasint,omitempty"` // argon2id hash in PHC form; "": none
	// The user's identity at a provider: both or none, and of no other user.
	Issuer   string `cbor:"7,keyasint,omitempty"`
	Subject  string `cbor:"8,keyasint,omitempty"`
	Disabled bool   `cbor:"9,keyasint,omitempty"`
	// Sign-ins and temporary keys that were issued earlier are void. It only rises.
	NotBefore      event.Time     `cbor:"10,keyasint,omitempty"`
	Created        event.Time     `cbor:"11,keyasint,omitempty"`
	Groups         []string       `cbor:"12,keyasint,omitempty"` // assigned here; sorted
	ExternalGroups []string       `cbor:"13,keyasint,omitempty"` // by the provider at the last sign-in; sorted
	Policies       []InlinePolicy `cbor:"14,keyasint,omitempty"` // sorted by name
	// The invitation to set a password: the SHA-256 of its token, and when it ends. Both or none.
	Invite     []byte     `cbor:"15,keyasint,omitempty"`
	InviteEnds event.Time `cbor:"16,keyasint,omitempty"`
	Attached   []string   `cbor:"17,keyasint,omitempty"` // managed policies, also built-in ones; sorted
}

// PutUser stores a user. A replaced one keeps its ID, Created and the later NotBefore; groups that do not exist are
// left out of ExternalGroups. InvalidRequest for an invalid record, NotFound for the user, a group or a policy,
// LimitExceeded; Conflict if the user exists, is not the one of Was, or another one has its external identity. Creating
// a user with the same ID again succeeds.
type PutUser struct {
	User
	Create bool     `cbor:"101,keyasint,omitzero"` // Conflict if the user exists, instead of NotFound if it does not
	Stored []string `cbor:"102,keyasint,omitzero"` // those of Attached that the catalog must hold: all but built-in ones
	Was    []byte   `cbor:"103,keyasint,omitzero"` // nil, or the Sum of the user that is replaced
}

// SetUserDisabled disables or enables a user. NotFound.
type SetUserDisabled struct {
	Name      string     `cbor:"1,keyasint,omitzero"`
	Disabled  bool       `cbor:"2,keyasint,omitzero"`
	NotBefore event.Time `cbor:"3,keyasint,omitzero"` // if it is later than the user's
}

// SetPassword sets or removes a user's password, and ends its invitation. NotFound; InvalidRequest for a service user
// and for a text that is not an argon2id hash; AccessDenied for another invitation than the user's. The caller
// checks its end.
type SetPassword struct {
	Name      string     `cbor:"1,keyasint,omitzero"`
	Password  string     `cbor:"2,keyasint,omitzero"`
	NotBefore event.Time `cbor:"3,keyasint,omitzero"` // if it is later than the user's
	Invite    []byte     `cbor:"4,keyasint,omitzero"` // nil, or only if this is still the user's invitation
}

// SetExternalGroups replaces the groups that a user has from its provider; those that do not exist are left out.
// NotFound.
type SetExternalGroups struct {
	Name   string   `cbor:"1,keyasint,omitzero"`
	Groups []string `cbor:"2,keyasint,omitzero"`
}

// DeleteUser deletes a user. NotFound.
type DeleteUser struct {
	Name string `cbor:"1,keyasint,omitzero"`
}

// UserPut follows PutUser; it holds the whole user. It ends sign-ins before NotBefore, as do UserDisabledSet and
// PasswordSet.
type UserPut struct{ User }

// UserDisabledSet follows SetUserDisabled.
type UserDisabledSet struct {
	Name      string     `cbor:"1,keyasint,omitempty"`
	Disabled  bool       `cbor:"2,keyasint,omitempty"`
	NotBefore event.Time `cbor:"3,keyasint,omitempty"`
}

// PasswordSet follows SetPassword.
type PasswordSet struct {
	Name      string     `cbor:"1,keyasint,omitempty"`
	Password  string     `cbor:"2,keyasint,omitempty"`
	NotBefore event.Time `cbor:"3,keyasint,omitempty"`
}

// ExternalGroupsSet follows SetExternalGroups.
type ExternalGroupsSet struct {
	Name   string   `cbor:"1,keyasint,omitempty"`
	Groups []string `cbor:"2,keyasint,omitempty"`
}

// UserDeleted follows DeleteUser. It also deletes the user's assignments, access keys, sign-ins and saved views.
type UserDeleted struct {
	Name string `cbor:"1,keyasint,omitempty"`
}

func (c PutUser) decide(s *State, now event.Time) ([]Event, error) {
	u, old := c.User.normal(s), s.user(c.Name)
	switch {
	case c.Create && old != nil && old.ID == u.ID: // the id is random per request: this is a repetition
		return nil, nil
	case c.Create && old != nil:
		return nil, fault.New(fault.Conflict, "User %s exists", u.Name)
	case !c.Create && old == nil:
		return nil, userNotFound(u.Name)
	case len(c.Was) > 0 && (old == nil || !bytes.Equal(c.Was, old.Sum())):
		return nil, fault.New(fault.Conflict, "User %s has changed meanwhile. Try again.", u.Name)
	case old != nil:
		u.ID, u.Created, u.NotBefore = old.ID, old.Created, max(old.NotBefore, u.NotBefore)
	default:
		u.Created = cmp.Or(u.Created, now)
		if err := checkLimit(s.users.Len(), s.limits.Users, "users"); err != nil {
			return nil, err
		}
	}
	if err := u.check(s, old, c.Stored); err != nil || same(old, u) {
		return nil, err
	}
	return []Event{&UserPut{u}}, nil
}

// Sum returns the SHA-256 of all that u holds.
func (u *User) Sum() []byte {
	data, err := facts.AppendValue(nil, u)
	if err != nil {
		panic(err) // the type is in Events
	}
	sum := sha256.Sum256(data)
	return sum[:]
}

// normal returns a copy that shares nothing with u.
func (u User) normal(s *State) User {
	u.Groups = sortedSet(u.Groups)
	u.ExternalGroups = s.knownGroups(u.ExternalGroups)
	u.Attached = sortedSet(u.Attached)
	u.Policies = sorted(u.Policies, InlinePolicy.compare)
	u.Invite = listOf(u.Invite)
	return u
}

// knownGroups returns the groups that exist, sorted. A provider may name a group that was deleted, and nobody is to be
// a member of a group that is created later.
func (s *State) knownGroups(names []string) []string {
	return listOf(slices.DeleteFunc(sortedSet(names), func(name string) bool {
		_, ok := s.groups.Get(name)
		return !ok
	}))
}

func (u User) check(s *State, old *User, stored []string) error {
	if err := checkName("user", u.Name, 2, 64); err != nil {
		return err
	}
	if err := checkTexts("ID", u.ID, "DisplayName", u.DisplayName, "Email", u.Email, "Password", u.Password,
		"Issuer", u.Issuer, "Subject", u.Subject); err != nil {
		return err
	}
	if err := u.checkSignIn(old); err != nil {
		return err
	}
	if err := u.checkGroups(s); err != nil {
		return err
	}
	if err := s.checkInline(u.Policies); err != nil {
		return err
	}
	if err := s.checkStored(u.Attached, stored); err != nil {
		return err
	}
	if other, ok := s.UserByExternal(u.Issuer, u.Subject); ok && other.Name != u.Name {
		return fault.New(fault.Conflict, "User %s has this external identity", other.Name)
	}
	return nil
}

// checkSignIn rejects invalid ways to sign in.
func (u User) checkSignIn(old *User) error {
	switch {
	case u.ID == "":
		return fault.New(fault.InvalidRequest, "ID is required")
	case old != nil && u.Service != old.Service:
		return fault.New(fault.InvalidRequest, "Service cannot change. Create another user.")
	case u.Service && (u.Password != "" || u.Issuer != "" || u.Subject != "" || u.Invite != nil):
		return errServiceUser
	case (u.Issuer == "") != (u.Subject == ""):
		return fault.New(fault.InvalidRequest, "Issuer and Subject belong together: set both or none")
	case u.Invite != nil && len(u.Invite) != hashLength || (u.Invite == nil) != (u.InviteEnds == 0):
		return fault.New(fault.InvalidRequest, "Invite must be a SHA-256, and InviteEnds its end: set both or none")
	}
	return checkPassword(u.Password)
}

var errServiceUser = fault.New(fault.InvalidRequest, "A service user does not sign in: it can have access keys, but "+
	"no password, external identity or invitation")

// checkPassword keeps passwords out of the journal that are not hashed.
func checkPassword(password string) error {
	if password != "" && !strings.HasPrefix(password, "$argon2id$") {
		return fault.New(fault.InvalidRequest, "Password must be an argon2id hash in PHC form")
	}
	return checkTexts("Password", password)
}

func (u User) checkGroups(s *State) error {
	for _, name := range u.Groups {
		if _, ok := s.groups.Get(name); !ok {
			return groupNotFound(name)
		}
	}
	return checkListed("Groups", max(len(u.Groups), len(u.ExternalGroups)))
}

func (c SetUserDisabled) decide(s *State, _ event.Time) ([]Event, error) {
	u := s.user(c.Name)
	if u == nil {
		return nil, userNotFound(c.Name)
	}
	if u.Disabled == c.Disabled && u.NotBefore >= c.NotBefore {
		return nil, nil
	}
	return []Event{&UserDisabledSet{Name: c.Name, Disabled: c.Disabled, NotBefore: max(u.NotBefore, c.NotBefore)}}, nil
}

func (c SetPassword) decide(s *State, _ event.Time) ([]Event, error) {
	u := s.user(c.Name)
	switch {
	case u == nil:
		return nil, userNotFound(c.Name)
	case u.Service:
		return nil, errServiceUser
	case len(c.Invite) > 0 && !bytes.Equal(c.Invite, u.Invite):
		return nil, fault.New(fault.AccessDenied, "The invitation was used. Ask for another one.")
	}
	if err := checkPassword(c.Password); err != nil {
		return nil, err
	}
	return []Event{&PasswordSet{Name: c.Name, Password: c.Password, NotBefore: max(u.NotBefore, c.NotBefore)}}, nil
}

func (c SetExternalGroups) decide(s *State, _ event.Time) ([]Event, error) {
	u, groups := s.user(c.Name), s.knownGroups(c.Groups)
	if u == nil {
		return nil, userNotFound(c.Name)
	}
	if slices.Equal(groups, u.ExternalGroups) {
		return nil, nil
	}
	if err := checkListed("Groups", len(groups)); err != nil {
		return nil, err
	}
	return []Event{&ExternalGroupsSet{Name: c.Name, Groups: groups}}, nil
}

func (c DeleteUser) decide(s *State, _ event.Time) ([]Event, error) {
	if s.user(c.Name) == nil {
		return nil, userNotFound(c.Name)
	}
	return []Event{&UserDeleted{Name: c.Name}}, nil
}

func (e *UserPut) apply(s *State) {
	s.putUser(&e.User)
	s.changeVersion(e)
}

func (e *UserDisabledSet) apply(s *State) {
	s.changeUser(e.Name, func(u *User) { u.Disabled, u.NotBefore = e.Disabled, e.NotBefore })
	s.changeVersion(e)
}

func (e *PasswordSet) apply(s *State) {
	s.changeUser(e.Name, func(u *User) {
		u.Password, u.NotBefore = e.Password, e.NotBefore
		u.Invite, u.InviteEnds = nil, 0
	})
	s.changeVersion(e)
}

func (e *ExternalGroupsSet) apply(s *State) {
	s.changeUser(e.Name, func(u *User) { u.ExternalGroups = e.Groups })
	s.changeVersion(e)
}

func (e *UserDeleted) apply(s *State) {
	if u, ok := s.users.Delete(e.Name); ok {
		s.usersByIdentity.Delete(join(identity(u.Issuer, u.Subject), u.Name))
	}
	s.deleteAssignmentsOf(e.Name)
	for _, k := range s.KeysOf(e.Name) {
		s.deleteAccessKey(k.ID)
	}
	for _, si := range s.SignInsOf(e.Name) {
		s.deleteSignIn(si.ID)
	}
	drop(&s.views, e.Name)
	s.changeVersion(e)
}

func (s *State) changeUser(name string, change func(*User)) {
	if old := s.user(name); old != nil {
		u := *old
		change(&u)
		s.putUser(&u)
	}
}

// putUser stores a user and ends its sign-ins before NotBefore.
func (s *State) putUser(u *User) {
	if old, ok := s.users.Set(u.Name, u); ok {
		s.usersByIdentity.Delete(join(identity(old.Issuer, old.Subject), old.Name))
	}
	if u.Issuer != "" {
		s.usersByIdentity.Set(join(identity(u.Issuer, u.Subject), u.Name), u)
	}
	for _, si := range s.SignInsOf(u.Name) {
		if si.Created < u.NotBefore {
			s.deleteSignIn(si.ID)
		}
	}
}

// identity is the key of an external identity.
func identity(issuer, subject string) string { return join(issuer, subject) }

func userNotFound(name string) error { return fault.New(fault.NotFound, "User %s not found", name) }

// user finds a user, or returns nil.
func (s *State) user(name string) *User {
	u, _ := s.users.Get(name)
	return u
}

// User finds a user.
func (s *State) User(name string) (*User, bool) { return s.users.Get(name) }

// UserByExternal finds the user with an external identity.
func (s *State) UserByExternal(issuer, subject string) (*User, bool) {
	return first(&s.usersByIdentity, identity(issuer, subject))
}

// Users returns the users with names after the given one, in order. A limit below 1 is none; more reports that there
// are further ones.
func (s *State) Users(after string, limit int) (users []*User, more bool) {
	return page(&s.users, "", after, limit, every)
}

// UserByInvite finds the user with an invitation, which may have ended.
func (s *State) UserByInvite(invite []byte) (*User, bool) {
	found, _ := page(&s.users, "", "", 1, func(u *User) bool {
		return u.Invite != nil && bytes.Equal(u.Invite,
			invite)
	})
	if len(found) == 0 {
		return nil, false
	}
	return found[0], true
}
