package catalog

import (
	"cmp"
	"slices"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A Group has the users that name it in Groups or ExternalGroups.
type Group struct {
	Name        string     `cbor:"1,keyasint,omitempty"`
	Description string     `cbor:"2,keyasint,omitempty"`
	Created     event.Time `cbor:"3,keyasint,omitempty"`
}

// PutGroup stores a group; a replaced one keeps Created. InvalidRequest, LimitExceeded; Conflict with Create if it
// exists.
type PutGroup struct {
	Group
	Create bool `cbor:"101,keyasint,omitzero"`
}

// DeleteGroup deletes a group; users lose it as an external group. NotFound; Conflict while an assignment or the Groups
// of a user name it.
type DeleteGroup struct {
	Name string `cbor:"1,keyasint,omitzero"`
}

// GroupPut follows PutGroup; it holds the whole group.
type GroupPut struct{ Group }

// GroupDeleted follows DeleteGroup.
type GroupDeleted struct {
	Name string `cbor:"1,keyasint,omitempty"`
}

func (c PutGroup) decide(s *State, now event.Time) ([]Event, error) {
	g := c.Group
	old, exists := s.groups.Get(g.Name)
	if err := checkPut(c.Create, exists, "Group", g.Name, s.groups.Len(), s.limits.Groups); err != nil {
		return nil, err
	}
	g.Created = cmp.Or(g.Created, now)
	if exists {
		g.Created = old.Created
	}
	if err := checkName("group", g.Name, 1, 64); err != nil {
		return nil, err
	}
	if err := checkTexts("Description", g.Description); err != nil || same(old, g) {
		return nil, err
	}
	return []Event{&GroupPut{g}}, nil
}

func (c DeleteGroup) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.groups.Get(c.Name); !ok {
		return nil, groupNotFound(c.Name)
	}
	if a, ok := first(&s.assignmentsBySubject, groupSubject+c.Name); ok {
		return nil, fault.New(fault.Conflict, "Group %s is assigned to role %s. Delete the assignment first.", c.Name,
			a.Role)
	}
	member := func(u *User) bool { return slices.Contains(u.Groups, c.Name) }
	if members, _ := page(&s.users, "", "", 1, member); len(members) > 0 {
		return nil, fault.New(fault.Conflict, "User %s is in group %s. Remove its users first.", members[0].Name,
			c.Name)
	}
	return []Event{&GroupDeleted{Name: c.Name}}, nil
}

func (e *GroupPut) apply(s *State) {
	s.groups.Set(e.Name, &e.Group)
	s.changeVersion(e)
}

func (e *GroupDeleted) apply(s *State) {
	s.groups.Delete(e.Name)
	s.deleteAssignmentsOf(groupSubject + e.Name)
	members, _ := page(&s.users, "", "", 0, func(u *User) bool { return slices.Contains(u.ExternalGroups, e.Name) })
	for _, u := range members {
		s.changeUser(u.Name, func(u *User) {
			u.ExternalGroups = slices.DeleteFunc(slices.Clone(u.ExternalGroups), func(g string) bool {
				return g == e.Name
			})
			u.ExternalGroups = listOf(u.ExternalGroups)
		})
	}
	s.changeVersion(e)
}

// checkPut rejects a record that exists although it should be created, and a new one above a limit.
func checkPut(create, exists bool, kind, name string, n, limit int) error {
	switch {
	case exists && create:
		return fault.New(fault.Conflict, "%s %s exists", kind, name)
	case !exists && n >= limit:
		return fault.New(fault.LimitExceeded, "%s %s cannot be created: the limit is %d", kind, name, limit)
	}
	return nil
}

func groupNotFound(name string) error { return fault.New(fault.NotFound, "Group %s not found", name) }

// Group finds a group.
func (s *State) Group(name string) (*Group, bool) { return s.groups.Get(name) }

// Groups returns the groups with names after the given one, in order. A limit below 1 is none; more reports that there
// are further ones.
func (s *State) Groups(after string, limit int) (groups []*Group, more bool) {
	return page(&s.groups, "", after, limit, every)
}

// Members returns the names of the users in a group, in order.
func (s *State) Members(group string) (names []string) {
	s.users.Scan(func(name string, u *User) bool {
		if slices.Contains(u.Groups, group) || slices.Contains(u.ExternalGroups, group) {
			names = append(names, name)
		}
		return true
	})
	return names
}
