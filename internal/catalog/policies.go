package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// maxPolicyName is the maximum length of a policy's name. Source: IAM API reference, CreatePolicy PolicyName.
const maxPolicyName = 128

// A Policy is a managed policy. The catalog does not know the built-in ones.
type Policy struct {
	Name        string     `cbor:"1,keyasint,omitempty"`
	Description string     `cbor:"2,keyasint,omitempty"`
	Document    string     `cbor:"3,keyasint,omitempty"` // JSON, checked by the caller
	Version     int32      `cbor:"4,keyasint,omitempty"` // from 1; how often it was put
	Created     event.Time `cbor:"5,keyasint,omitempty"`
	Updated     event.Time `cbor:"6,keyasint,omitempty"`
}

// An InlinePolicy belongs to one user or role.
type InlinePolicy struct {
	Name     string `cbor:"1,keyasint,omitempty"`
	Document string `cbor:"2,keyasint,omitempty"` // JSON, checked by the caller
}

func (p InlinePolicy) compare(q InlinePolicy) int { return strings.Compare(p.Name, q.Name) }

// PutPolicy stores a managed policy or its next version. InvalidRequest, LimitExceeded; Conflict with Create if it
// exists.
type PutPolicy struct {
	Name        string     `cbor:"1,keyasint,omitzero"`
	Description string     `cbor:"2,keyasint,omitzero"`
	Document    string     `cbor:"3,keyasint,omitzero"`
	Create      bool       `cbor:"4,keyasint,omitzero"`
	At          event.Time `cbor:"5,keyasint,omitzero"` // of the change; 0: when it is decided
}

// DeletePolicy deletes a managed policy. NotFound; Conflict while a user, role or access key has it.
type DeletePolicy struct {
	Name string `cbor:"1,keyasint,omitzero"`
}

// PolicyPut follows PutPolicy; it holds the whole policy.
type PolicyPut struct{ Policy }

// PolicyDeleted follows DeletePolicy.
type PolicyDeleted struct {
	Name string `cbor:"1,keyasint,omitempty"`
}

func (c PutPolicy) decide(s *State, now event.Time) ([]Event, error) {
	old, exists := s.policies.Get(c.Name)
	if err := checkPut(c.Create, exists, "Policy", c.Name, s.policies.Len(), s.limits.Policies); err != nil {
		return nil, err
	}
	at := cmp.Or(c.At, now)
	p := Policy{Name: c.Name, Description: c.Description, Document: c.Document, Version: 1, Created: at, Updated: at}
	if exists {
		p.Version, p.Created = old.Version+1, old.Created
		if old.Description == p.Description && old.Document == p.Document {
			return nil, nil
		}
	}
	if err := checkTexts("Description", p.Description); err != nil {
		return nil, err
	}
	if err := s.checkNamed(p.Name, p.Document); err != nil {
		return nil, err
	}
	return []Event{&PolicyPut{p}}, nil
}

// checkNamed rejects an invalid name or document of a policy.
func (s *State) checkNamed(name, document string) error {
	if err := checkName("policy", name, 1, maxPolicyName); err != nil {
		return err
	}
	if document == "" {
		return fault.New(fault.InvalidRequest, "Policy %s needs a Document", name)
	}
	return s.checkDocument(document)
}

// checkInline rejects invalid inline policies, which are sorted.
func (s *State) checkInline(policies []InlinePolicy) error {
	if err := checkListed("Inline policies", len(policies)); err != nil {
		return err
	}
	for i, p := range policies {
		if i > 0 && policies[i-1].Name == p.Name {
			return fault.New(fault.InvalidRequest, "There are two inline policies with the name %s", p.Name)
		}
		if err := s.checkNamed(p.Name, p.Document); err != nil {
			return err
		}
	}
	return nil
}

func (c DeletePolicy) decide(s *State, _ event.Time) ([]Event, error) {
	if _, ok := s.policies.Get(c.Name); !ok {
		return nil, policyNotFound(c.Name)
	}
	if users := s.PolicyUsers(c.Name); len(users) > 0 {
		return nil, fault.New(fault.Conflict, "Policy %s is used by %s. Remove it there first.", c.Name, users[0])
	}
	return []Event{&PolicyDeleted{Name: c.Name}}, nil
}

func (e *PolicyPut) apply(s *State) {
	s.policies.Set(e.Name, &e.Policy)
	s.changeVersion(e)
}

func (e *PolicyDeleted) apply(s *State) {
	s.policies.Delete(e.Name)
	s.changeVersion(e)
}

func policyNotFound(name string) error { return fault.New(fault.NotFound, "Policy %s not found", name) }

// Policy finds a managed policy.
func (s *State) Policy(name string) (*Policy, bool) { return s.policies.Get(name) }

// Policies returns the managed policies with names after the given one, in order. A limit below 1 is none; more reports
// that there are further ones.
func (s *State) Policies(after string, limit int) (policies []*Policy, more bool) {
	return page(&s.policies, "", after, limit, every)
}

// PolicyUsers returns what has a managed policy, also a built-in one: "role/" or "user/" and a name, "key/" and an id.
func (s *State) PolicyUsers(name string) (users []string) {
	s.roles.Scan(func(role string, r *Role) bool {
		if slices.Contains(r.Policies, name) {
			users = append(users, "role/"+role)
		}
		return true
	})
	s.users.Scan(func(user string, u *User) bool {
		if slices.Contains(u.Attached, name) {
			users = append(users, "user/"+user)
		}
		return true
	})
	s.accessKeys.Scan(func(id string, k *AccessKey) bool {
		if slices.Contains(k.Policies, name) {
			users = append(users, "key/"+id)
		}
		return true
	})
	return users
}
