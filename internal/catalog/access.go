package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/btree"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// AccessLevel is the feature level from which the catalog holds people, roles, policies and sign-ins, and access keys
// have owners, ends and policies.
const AccessLevel = 5

// Bounds of texts that have no meaning for the catalog. Source: IAM API reference, Description of a role (1,000); JWKS
// are our choice.
const (
	maxText    = 1000
	maxKeySet  = 64 << 10 // bytes of a provider's JWKS
	hashLength = sha256.Size
)

// accessState is the part of the State that defines who may call what, apart from the access keys.
type accessState struct {
	users       btree.Map[string, *User]
	groups      btree.Map[string, *Group]
	roles       btree.Map[string, *Role]
	assignments btree.Map[string, *Assignment] // by role, subject
	policies    btree.Map[string, *Policy]
	providers   btree.Map[string, *Provider]
	signIns     btree.Map[string, *SignIn]
	settings    *AccessSettings // nil: none stored

	// Derived from the records above and the access keys, not stored.
	usersByIdentity      btree.Map[string, *User]       // by external identity, name
	rolesByID            btree.Map[string, *Role]       // by id, name
	assignmentsBySubject btree.Map[string, *Assignment] // by subject, role
	keysByOwner          btree.Map[string, *AccessKey]  // by owner, id
	signInsByUser        btree.Map[string, *SignIn]     // by user, id
	version              uint64
}

func (a *accessState) copy() accessState {
	c := *a
	c.users = *a.users.Copy()
	c.groups = *a.groups.Copy()
	c.roles = *a.roles.Copy()
	c.assignments = *a.assignments.Copy()
	c.policies = *a.policies.Copy()
	c.providers = *a.providers.Copy()
	c.signIns = *a.signIns.Copy()
	c.usersByIdentity = *a.usersByIdentity.Copy()
	c.rolesByID = *a.rolesByID.Copy()
	c.assignmentsBySubject = *a.assignmentsBySubject.Copy()
	c.keysByOwner = *a.keysByOwner.Copy()
	c.signInsByUser = *a.signInsByUser.Copy()
	return c
}

// restoreAccess adds a record of this family; ok is false for other types.
func (s *State) restoreAccess(body any) (ok bool) {
	switch r := body.(type) {
	case *AccessSettings:
		s.settings = r
	case *User:
		s.putUser(r)
	case *Group:
		s.groups.Set(r.Name, r)
	case *Role:
		s.putRole(r)
	case *Assignment:
		s.putAssignment(r)
	case *Policy:
		s.policies.Set(r.Name, r)
	case *Provider:
		s.providers.Set(r.Name, r)
	case *AccessKey:
		s.putAccessKey(r)
	case *SignIn:
		s.putSignIn(r)
		return true
	default:
		return false
	}
	s.changeVersion(body)
	return true
}

// recordSettings writes the access settings, if there are any.
func (a *accessState) recordSettings(write func(any) error) error {
	if a.settings == nil {
		return nil
	}
	return write(a.settings)
}

// AccessVersion changes whenever a user, group, role, assignment, policy, provider, access key or the access settings
// change, but not with sign-ins. It is a hash of all changes, to be compared for equality only: two catalogs of a
// region with the same version have the same records, also if one was restored from a snapshot. An empty catalog has
// zero.
func (s *State) AccessVersion() uint64 { return s.version }

// formats of the events, records and commands.
var (
	facts    = event.NewSet(Events)
	commands = event.NewSet(Commands)
)

// changeVersion adds an event or a record to the version.
func (s *State) changeVersion(body any) {
	data, err := facts.AppendValue(binary.BigEndian.AppendUint64(nil, s.version), body)
	if err != nil {
		panic(err) // the type is not in Events
	}
	sum := sha256.Sum256(data)
	s.version = binary.BigEndian.Uint64(sum[:])
}

// errUpgradeFirst rejects what replicas of earlier releases could not read.
var errUpgradeFirst = fault.New(fault.ServiceUnavailable, "The nodes of this region must all be upgraded first")

// checkName rejects a name that is too short, too long or has other characters than [\w+=,.@-]; a first "@" marks the
// group of an assignment. Source: API reference of IAM and STS, patterns of RoleSessionName, UserName and RoleName.
func checkName(kind, name string, shortest, longest int) error {
	if len(name) < shortest || len(name) > longest || name[0] == '@' || strings.ContainsFunc(name, notInName) {
		return fault.New(fault.InvalidRequest, "The name of a %s must have %d to %d letters, digits or characters of "+
			"_+=,.@- and must not begin with @", kind, shortest, longest)
	}
	return nil
}

func notInName(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_+=,.@-", r)
}

// checkTexts rejects values that are too long, given as names and values in turn.
func checkTexts(membersAndValues ...string) error {
	for pair := range slices.Chunk(membersAndValues, 2) {
		if len(pair[1]) > maxText {
			return fault.New(fault.InvalidRequest, "%s has %d bytes; the maximum is %d", pair[0], len(pair[1]), maxText)
		}
	}
	return nil
}

// checkDocument rejects a policy document that is too long. As on AWS, white space does not count. The caller checks
// the syntax.
func (s *State) checkDocument(document string) error {
	n := 0
	for _, r := range document {
		if !unicode.IsSpace(r) {
			n++
		}
	}
	if n > s.limits.PolicyCharacters {
		return fault.New(fault.LimitExceeded, "The policy document has %d characters; the limit is %d", n,
			s.limits.PolicyCharacters)
	}
	return nil
}

// checkStored rejects policies that the catalog should hold and does not. stored is the subset of names that the caller
// does not know as built in.
func (s *State) checkStored(names, stored []string) error {
	if err := checkListed("Policies", len(names)); err != nil {
		return err
	}
	for _, name := range names {
		if err := checkName("policy", name, 1, maxPolicyName); err != nil {
			return err
		}
	}
	for _, name := range stored {
		if _, ok := s.policies.Get(name); !ok {
			return policyNotFound(name)
		}
		if !slices.Contains(names, name) {
			return fault.New(fault.InvalidRequest, "Policy %s must be among the policies", name)
		}
	}
	return nil
}

// checkLimit rejects one record more than a limit.
func checkLimit(n, limit int, kind string) error {
	if n >= limit {
		return fault.New(fault.LimitExceeded, "The limit of %d %s is reached", limit, kind)
	}
	return nil
}

// sortedSet returns a sorted copy without duplicates; an empty list becomes nil, as after decoding.
func sortedSet(list []string) []string { return slices.Compact(sorted(list, strings.Compare)) }

// sorted returns a sorted copy; an empty list becomes nil.
func sorted[T any](list []T, compare func(a, b T) int) []T {
	list = listOf(list)
	slices.SortFunc(list, compare)
	return list
}

// same reports whether a record is stored as it would be put.
func same[T any](old *T, r T) bool { return old != nil && reflect.DeepEqual(*old, r) }

// entries returns the entries of owner, in order.
func entries[V any](m *btree.Map[string, V], owner string) (list []V) {
	walk(m, owner, func(v V) bool {
		list = append(list, v)
		return true
	})
	return list
}

// first returns the first entry of owner.
func first[V any](m *btree.Map[string, V], owner string) (v V, ok bool) {
	walk(m, owner, func(entry V) bool {
		v, ok = entry, true
		return false
	})
	return v, ok
}
