package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// groupSubject is the beginning of an assignment's Subject if that is a group.
const groupSubject = "@"

// An Assignment gives a role to a user or to the users of a group.
type Assignment struct {
	Role    string     `cbor:"1,keyasint,omitempty"`
	Subject string     `cbor:"2,keyasint,omitempty"` // the name of a user; "@" and the name of a group
	Created event.Time `cbor:"3,keyasint,omitempty"`
	Builtin bool       `cbor:"4,keyasint,omitempty"` // the catalog does not hold the role
}

// PutAssignment gives a role to a user or group. NotFound for each of them, LimitExceeded.
type PutAssignment struct {
	Role    string     `cbor:"1,keyasint,omitzero"`
	Subject string     `cbor:"2,keyasint,omitzero"`
	Created event.Time `cbor:"3,keyasint,omitzero"` // 0: when it is decided
	Builtin bool       `cbor:"4,keyasint,omitzero"`
}

// DeleteAssignment ends an assignment. NotFound.
type DeleteAssignment struct {
	Role    string `cbor:"1,keyasint,omitzero"`
	Subject string `cbor:"2,keyasint,omitzero"`
}

// AssignmentPut follows PutAssignment.
type AssignmentPut struct{ Assignment }

// AssignmentDeleted follows DeleteAssignment.
type AssignmentDeleted struct {
	Role    string `cbor:"1,keyasint,omitempty"`
	Subject string `cbor:"2,keyasint,omitempty"`
}

func (c PutAssignment) decide(s *State, now event.Time) ([]Event, error) {
	a := Assignment(c)
	a.Created = cmp.Or(a.Created, now)
	if err := checkName("role", a.Role, 1, 64); err != nil {
		return nil, err
	}
	if !s.hasRole(a) {
		return nil, roleNotFound(c.Role)
	}
	if !s.hasSubject(c.Subject) {
		return nil, subjectNotFound(c.Subject)
	}
	if _, ok := s.assignments.Get(join(c.Role, c.Subject)); ok {
		return nil, nil
	}
	if err := checkLimit(s.assignments.Len(), s.limits.Assignments, "assignments"); err != nil {
		return nil, err
	}
	return []Event{&AssignmentPut{a}}, nil
}

func (c DeleteAssignment) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.assignments.Get(join(c.Role, c.Subject)); !ok {
		return nil, fault.New(fault.NotFound, "Role %s is not assigned to %s", c.Role, c.Subject)
	}
	return []Event{&AssignmentDeleted{Role: c.Role, Subject: c.Subject}}, nil
}

// hasRole reports whether an assignment's role exists.
func (s *State) hasRole(a Assignment) bool {
	_, ok := s.roles.Get(a.Role)
	return ok || a.Builtin
}

// hasSubject reports whether an assignment's subject exists.
func (s *State) hasSubject(subject string) (ok bool) {
	if name, group := strings.CutPrefix(subject, groupSubject); group {
		_, ok = s.groups.Get(name)
	} else {
		_, ok = s.users.Get(subject)
	}
	return ok
}

func subjectNotFound(subject string) error {
	if name, group := strings.CutPrefix(subject, groupSubject); group {
		return groupNotFound(name)
	}
	return userNotFound(subject)
}

func (e *AssignmentPut) apply(s *State) {
	s.putAssignment(&e.Assignment)
	s.changeVersion(e)
}

func (e *AssignmentDeleted) apply(s *State) {
	if a, ok := s.assignments.Get(join(e.Role, e.Subject)); ok {
		s.deleteAssignment(a)
	}
	s.changeVersion(e)
}

// putAssignment stores an assignment, if its role and subject exist.
func (s *State) putAssignment(a *Assignment) {
	if s.hasRole(*a) && s.hasSubject(a.Subject) {
		s.assignments.Set(join(a.Role, a.Subject), a)
		s.assignmentsBySubject.Set(join(a.Subject, a.Role), a)
	}
}

func (s *State) deleteAssignment(a *Assignment) {
	s.assignments.Delete(join(a.Role, a.Subject))
	s.assignmentsBySubject.Delete(join(a.Subject, a.Role))
}

func (s *State) deleteAssignmentsOf(subject string) {
	for _, a := range entries(&s.assignmentsBySubject, subject) {
		s.deleteAssignment(a)
	}
}

// Assignments returns all assignments, in a constant order.
func (s *State) Assignments() []*Assignment { return s.assignments.Values() }

// SubjectsOf returns the users and groups ("@" and the name) that a role is assigned to, in order.
func (s *State) SubjectsOf(role string) (subjects []string) {
	walk(&s.assignments, role, func(a *Assignment) bool {
		subjects = append(subjects, a.Subject)
		return true
	})
	return subjects
}

// RolesOfSubject returns the names of the roles that are assigned to a user or group itself, in order.
func (s *State) RolesOfSubject(subject string) (roles []string) {
	walk(&s.assignmentsBySubject, subject, func(a *Assignment) bool {
		roles = append(roles, a.Role)
		return true
	})
	return roles
}

// AssignmentsOf returns the sorted names of the roles that a user has, itself or through its groups.
func (s *State) AssignmentsOf(user string) []string {
	u := s.user(user)
	if u == nil {
		return nil
	}
	roles := s.RolesOfSubject(user)
	for _, g := range slices.Concat(u.Groups, u.ExternalGroups) {
		roles = append(roles, s.RolesOfSubject(groupSubject+g)...)
	}
	return sortedSet(roles)
}
