package operator

import (
	"strings"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// RoleList is the answer of GET /v1/roles.
type RoleList struct {
	Roles []access.RoleView `json:"roles"`
}

func (d *Handler) roles(*call) (RoleList, error) { return RoleList{d.Access.Roles()}, nil }

func (d *Handler) role(c *call) (*access.RoleView, error) { return d.Access.Role(c.PathValue("name")) }

func (d *Handler) putRole(c *call, in *access.RoleInput) (*access.RoleView, error) {
	if err := named(c, &in.Name); err != nil {
		return nil, err
	}
	c.note("policies", strings.Join(in.Policies, ","))
	return d.Access.PutRole(c.Context(), c.id, *in)
}

// named fills in the name of the path. The caller is authorised for that one, so the body must have no other.
func named(c *call, name *string) error {
	path := c.PathValue("name")
	if *name != "" && *name != path {
		return fault.New(fault.InvalidRequest, "Field name is %.100q, but the path names %.100q. Leave the field out.",
			*name, path)
	}
	*name = path
	return nil
}

func (d *Handler) deleteRole(c *call) (Deleted, error) {
	name := c.PathValue("name")
	return deletedUnless(d.Access.DeleteRole(c.Context(), c.id, name), name)
}

// AssignmentList is the answer of GET /v1/assignments.
type AssignmentList struct {
	Assignments []access.AssignmentView `json:"assignments"`
}

func (d *Handler) assignments(*call) (AssignmentList, error) {
	return AssignmentList{d.Access.Assignments()}, nil
}

// Assigned is the answer of PUT /v1/assignments/{role}/{subject}.
type Assigned struct {
	Role    string `json:"role"`
	Subject string `json:"subject"`
}

func (d *Handler) assign(c *call) (Assigned, error) {
	role, subject := c.PathValue("role"), c.PathValue("subject")
	return Assigned{role, subject}, d.Access.Assign(c.Context(), c.id, subject, role)
}

func (d *Handler) unassign(c *call) (Deleted, error) {
	role, subject := c.PathValue("role"), c.PathValue("subject")
	return deletedUnless(d.Access.Unassign(c.Context(), c.id, subject, role), role+"/"+subject)
}
