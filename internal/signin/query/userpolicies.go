package query

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire/fault"
)

func putUserPolicy(ctx context.Context, h *Handler, c *call) (any, error) {
	f := &c.form
	name, policy := f.text("UserName", userNameRule), f.text("PolicyName", policyNameRule)
	document := f.text("PolicyDocument", documentRule)
	if err := f.err(); err != nil {
		return nil, err
	}
	c.details = map[string]string{"policyName": policy}
	return nil, h.Access.PutUserPolicy(ctx, c.id, name, policy, document)
}

type userPolicy struct {
	UserName       string
	PolicyName     string
	PolicyDocument string // percent-encoded. Source: IAM API reference, GetUserPolicy
}

func getUserPolicy(_ context.Context, h *Handler, c *call) (any, error) {
	name, policy := c.form.text("UserName", userNameRule), c.form.text("PolicyName", policyNameRule)
	if err := c.form.err(); err != nil {
		return nil, err
	}
	view, err := h.Access.User(name)
	if err != nil {
		return nil, err
	}
	for _, p := range view.Policies {
		if p.Name == policy {
			text := strings.ReplaceAll(url.QueryEscape(string(p.Document)), "+", "%20")
			return userPolicy{name, policy, text}, nil
		}
	}
	return nil, fault.New(fault.NotFound, "The user policy with name %s cannot be found.", policy)
}

type policyNames struct {
	PolicyNames list[string]
	page
}

func listUserPolicies(_ context.Context, h *Handler, c *call) (any, error) {
	name := c.form.text("UserName", userNameRule)
	after, most := c.form.paging()
	if err := c.form.err(); err != nil {
		return nil, err
	}
	view, err := h.Access.User(name)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range view.Policies {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	some, end := pageOf(names, func(s string) string { return s }, after, most)
	return policyNames{list[string]{some}, end}, nil
}

func deleteUserPolicy(ctx context.Context, h *Handler, c *call) (any, error) {
	name, policy := c.form.text("UserName", userNameRule), c.form.text("PolicyName", policyNameRule)
	if err := c.form.err(); err != nil {
		return nil, err
	}
	c.details = map[string]string{"policyName": policy}
	view, err := h.Access.User(name)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(view.Policies, func(p access.InlineView) bool { return p.Name == policy }) {
		return nil, fault.New(fault.NotFound, "The user policy with name %s cannot be found.", policy)
	}
	return nil, h.Access.DeleteUserPolicy(ctx, c.id, name, policy)
}
