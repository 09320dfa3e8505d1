package access

import (
	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A caller can grant no more than it has, in whatever way: with policies, roles, groups, keys, passwords, trust, or the
// keys of an issuer. The rule is simple, so that it has no holes: who grants must be allowed each action of an Allow
// statement, on all resources and under all conditions. Deny statements of what is granted do not count, because they
// can be removed later; and to remove one takes the same right to what it denies.

// covers returns an AccessDeniedException unless an identity may grant policies.
func (a *Access) covers(by *Identity, granted policy.Set) error {
	return a.mentions(by, granted, false, "grant")
}

// mayLose returns an AccessDeniedException unless an identity may take policies away, which may deny something.
func (a *Access) mayLose(by *Identity, lost policy.Set) error {
	return a.mentions(by, lost, true, "lift a denial of")
}

func (a *Access) mentions(by *Identity, set policy.Set, deny bool, what string) error {
	if by == nil || by.Root {
		return nil
	}
	for i := range actionCount {
		if action := policy.Action(i); set.Mentions(action, deny) && !a.AllowsAll(by, action) {
			return fault.New(fault.AccessDenied,
				"User: %s cannot %s %s, which it may not call itself for all resources", by.Arn, what, action)
		}
	}
	return nil
}

// mayReplace returns an AccessDeniedException unless an identity may put policies in the place of others.
func (a *Access) mayReplace(by *Identity, old, granted policy.Set) error {
	if err := a.covers(by, granted); err != nil {
		return err
	}
	return a.mayLose(by, old)
}

// mayBe returns an AccessDeniedException unless an identity may have a key or a password of a user: its own, or one
// whose rights it has, those of the roles that trust the user included.
func (a *Access) mayBe(by *Identity, u *catalog.User) error {
	if by == nil || by.Root || by.isAll(u.Name) {
		return nil
	}
	if err := a.covers(by, a.userSet(a.current(), u)); err != nil {
		return err
	}
	return a.mayBeNamed(by, u.Name)
}

// mayBeNamed returns an AccessDeniedException unless an identity has the rights of the roles that trust a user of this
// name, which need not exist yet.
func (a *Access) mayBeNamed(by *Identity, name string) error {
	if by == nil || by.Root {
		return nil
	}
	for _, r := range a.trusting(name) {
		if err := a.covers(by, a.roleSet(a.current(), r)); err != nil {
			return err
		}
	}
	return nil
}

// trusting returns the roles whose trust policy names a user.
func (a *Access) trusting(user string) (roles []*catalog.Role) {
	stored, _ := a.state().Roles("", 0)
	for _, r := range stored {
		if r.Trust == "" {
			continue
		}
		if trust, err := policy.ParseTrust(r.Trust); err == nil && trust.Names(a.userArn(user)) {
			roles = append(roles, r)
		}
	}
	return roles
}

// isAll reports whether an identity is a user with all its rights. A narrowed key and a session of a role are not: they
// may be in the hands of somebody else, who would get the rest of the user's rights with a key or a password of it.
func (i *Identity) isAll(user string) bool {
	return i.User == user && i.Role == "" && len(i.sets) == 1
}

// groupSet returns the policies of the roles of groups.
func (a *Access) groupSet(groups []string) (set policy.Set) {
	state, d := a.state(), a.current()
	for _, group := range groups {
		for _, name := range state.RolesOfSubject("@" + group) {
			if r, ok := roleOf(state, name); ok {
				set = append(set, a.roleSet(d, r)...)
			}
		}
	}
	return set
}

// stored returns a managed policy as a set; an empty one if there is none.
func (a *Access) stored(name string) policy.Set { return a.managed(a.current(), []string{name}) }

// inline returns the policy of a user with a name.
func (a *Access) inline(u *catalog.User, name string) policy.Set {
	for _, p := range u.Policies {
		if p.Name == name {
			return policy.Set{a.current().source(name, p.Document)}
		}
	}
	return nil
}
