package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/control/access"
)

func (v *visit) allRoles() ([]access.RoleView, error) {
	var answer struct {
		Roles []access.RoleView `json:"roles"`
	}
	err := v.request("GET", in("roles"), nil, &answer)
	return answer.Roles, err
}

type rolesBody struct{ Roles []access.RoleView }

func rolesPage(v *visit) error {
	roles, err := v.allRoles()
	if err != nil {
		return err
	}
	return v.show("roles", page{Title: "Roles", Nav: "/console/roles", Live: true, Body: rolesBody{roles}})
}

func rolePath(name string) string { return "/console/roles/" + url.PathEscape(name) }

// A roleBody is the page of a role, or the form of a new one.
type roleBody struct {
	access.RoleView
	Trust    string
	Policies []policyChoice
	New      bool
	Subject  string // that was typed

	stored []field
}

// A policyChoice is a policy that a role has, or can have.
type policyChoice struct {
	Name, Description string
	On                bool
}

func rolePage(v *visit) error { return v.role(nil) }

func (v *visit) role(refused error) error {
	b := roleBody{Subject: v.form("subject")}
	if err := v.request("GET", in("roles", v.r.PathValue("name")), nil, &b.RoleView); err != nil {
		return err
	}
	b.stored = b.fields()
	return v.showRole(&b, refused)
}

// fields are the settings of the form.
func (b *roleBody) fields() []field {
	policies := slices.Sorted(slices.Values(b.RoleView.Policies))
	return []field{{"Description", b.Description}, {"Longest life of its keys in seconds", fmt.Sprint(b.MaxDuration)},
		{"Policies", strings.Join(policies, "\n")}, {"Trust policy", formatted(string(b.RoleView.Trust))}}
}

func newRolePage(v *visit) error {
	return v.showRole(&roleBody{New: true, RoleView: access.RoleView{MaxDuration: 3600}}, nil)
}

func (v *visit) showRole(b *roleBody, refused error) error {
	b.Trust = formatted(string(b.RoleView.Trust))
	if !b.Builtin && v.sees("muster:PolicyRead") {
		policies, err := v.policies()
		if err != nil {
			return err
		}
		for _, p := range policies {
			b.Policies = append(b.Policies, policyChoice{p.Name, p.Description,
				slices.Contains(b.RoleView.Policies, p.Name)})
		}
	}
	title := b.Name
	if b.New {
		title = "Create role"
	}
	return v.refused("role", page{Title: title, Nav: "/console/roles", Live: refused == nil && !b.New, Body: b,
		Basis: v.basis(b.stored, refused), Crumbs: []link{{"Roles", "/console/roles"}}}, refused)
}

// putRole creates or replaces a role. What the form does not have stays.
func putRole(v *visit) error {
	b := roleBody{New: v.r.PathValue("name") == ""}
	b.Name = v.form("role-name")
	if !b.New {
		if err := v.request("GET", in("roles", v.r.PathValue("name")), nil, &b.RoleView); err != nil {
			return err
		}
		b.stored = b.fields()
	}
	b.Description, b.RoleView.Policies = v.form("description"), v.r.Form["policy"]
	seconds, err := strconv.ParseInt(v.form("duration"), 10, 32)
	if err != nil {
		return v.showRole(&b, invalid("maxDuration: type a number of seconds."))
	}
	b.MaxDuration = int32(seconds)
	trust := strings.TrimSpace(v.form("trust"))
	if b.RoleView.Trust = nil; trust != "" {
		if !json.Valid([]byte(trust)) {
			return v.showRole(&b, invalid("trust: it must be a policy as JSON."))
		}
		b.RoleView.Trust = json.RawMessage(trust)
	}
	if err := v.mayStoreRole(&b); err != nil {
		return v.showRole(&b, err)
	}
	input := map[string]any{"description": b.Description, "policies": b.RoleView.Policies, "inlinePolicies": b.Inline,
		"maxDuration": b.MaxDuration}
	if trust != "" {
		input["trust"] = b.RoleView.Trust
	}
	return v.perform("PUT", in("roles", b.Name), input, rolePath(b.Name)+"?done=role-stored",
		func(err error) error { return v.showRole(&b, err) })
}

// mayStoreRole refuses to replace what the form was not made from.
func (v *visit) mayStoreRole(b *roleBody) error {
	if b.New {
		return v.absent("Role", "roles", b.Name)
	}
	return v.edited("Role "+b.Name, b.stored, b.fields())
}

// changeRole assigns the role, or deletes it.
func changeRole(v *visit) error {
	name := v.r.PathValue("name")
	next := rolePath(name) + "?done=role-changed"
	switch v.form("to") {
	case "assign":
		return v.perform("PUT", in("assignments", name, strings.TrimSpace(v.form("subject"))), nil, next, v.role)
	case "unassign":
		return v.perform("DELETE", in("assignments", name, v.form("subject")), nil, next, v.role)
	case "delete":
		return v.perform("DELETE", in("roles", name), nil, "/console/roles?done=role-deleted", v.role)
	}
	return errNoPage
}

func (v *visit) policies() ([]access.PolicyView, error) {
	var answer struct {
		Policies []access.PolicyView `json:"policies"`
	}
	err := v.request("GET", in("policies"), nil, &answer)
	return answer.Policies, err
}

// A policiesBody is all policies, and the answer to whether a call would be allowed.
type policiesBody struct {
	Policies              []access.PolicyView
	Who, Action, Resource string // that were typed
	Result                *access.CheckResult
}

func policiesPage(v *visit) error { return v.policyList(policiesBody{}, nil) }

func (v *visit) policyList(b policiesBody, refused error) error {
	var err error
	if b.Policies, err = v.policies(); err != nil {
		return err
	}
	return v.refused("policies", page{Title: "Policies", Nav: "/console/policies", Body: &b}, refused)
}

func checkPolicy(v *visit) error {
	b := policiesBody{Who: strings.TrimSpace(v.form("who")), Action: strings.TrimSpace(v.form("action")),
		Resource: strings.TrimSpace(v.form("resource"))}
	var result access.CheckResult
	err := v.request("POST", in("policies", "check"), access.Check{Who: b.Who, Action: b.Action, Resource: b.Resource},
		&result)
	if err == nil {
		b.Result = &result
	}
	return v.policyList(b, err)
}

func policyPath(name string) string { return "/console/policies/" + url.PathEscape(name) }

// A policyBody is the page of a policy, or the form of a new one.
type policyBody struct {
	access.PolicyView
	Text string
	New  bool

	stored []field
}

// fields are the settings of the form.
func (b *policyBody) fields() []field {
	return []field{{"Description", b.Description}, {"Document", formatted(lined(b.Text))}}
}

func policyPage(v *visit) error { return v.policy(nil) }

func (v *visit) policy(refused error) error {
	b, err := v.storedPolicy()
	if err != nil {
		return err
	}
	return v.showPolicy(b, refused)
}

func (v *visit) storedPolicy() (*policyBody, error) {
	var b policyBody
	if err := v.request("GET", in("policies", v.r.PathValue("name")), nil, &b.PolicyView); err != nil {
		return nil, err
	}
	b.Text = formatted(string(b.Document))
	b.stored = b.fields()
	return &b, nil
}

// examplePolicy is a policy to begin with.
const examplePolicy = `{
  "Version": "2012-10-17",
  "Statement": [
    {
      "Effect": "Allow",
      "Action": ["gamelift:Describe*", "gamelift:List*"],
      "Resource": "*"
    }
  ]
}`

func newPolicyPage(v *visit) error {
	return v.showPolicy(&policyBody{New: true, Text: examplePolicy}, nil)
}

func (v *visit) showPolicy(b *policyBody, refused error) error {
	title := b.Name
	if b.New {
		title = "Create policy"
	}
	return v.refused("policy", page{Title: title, Nav: "/console/policies", Body: b,
		Live: refused == nil && !b.New, Basis: v.basis(b.stored, refused),
		Crumbs: []link{{"Policies", "/console/policies"}}}, refused)
}

func putPolicy(v *visit) error {
	b := &policyBody{New: v.r.PathValue("name") == ""}
	if !b.New {
		stored, err := v.storedPolicy()
		if err != nil {
			return err
		}
		b = stored
	} else {
		b.Name = v.form("policy-name")
	}
	b.Description, b.Text = v.form("description"), strings.ReplaceAll(v.form("document"), "\r\n", "\n")
	if err := v.mayStorePolicy(b); err != nil {
		return v.showPolicy(b, err)
	}
	body := map[string]any{"description": b.Description, "document": b.Text}
	return v.perform("PUT", in("policies", b.Name), body, policyPath(b.Name)+"?done=policy-stored",
		func(err error) error { return v.showPolicy(b, err) })
}

// mayStorePolicy refuses to replace what the form was not made from.
func (v *visit) mayStorePolicy(b *policyBody) error {
	if b.New {
		return v.absent("Policy", "policies", b.Name)
	}
	return v.edited("Policy "+b.Name, b.stored, b.fields())
}

func deletePolicy(v *visit) error {
	return v.perform("DELETE", in("policies", v.r.PathValue("name")), nil, "/console/policies?done=policy-deleted",
		v.policy)
}
