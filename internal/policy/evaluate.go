package policy

// A Source is a policy with the name that decisions report.
type Source struct {
	Name     string
	Document *Document
}

// Set is policies that are evaluated together, such as those of a role. A session policy is a Set of its own: what both
// allow is allowed.
type Set []Source

// A Request is an action on a resource.
type Request struct {
	Action   Action
	Resource string // an ARN, or "*" if the request names no resource
	// Values returns the values of a condition key, which has its canonical spelling: aws:SourceIp, aws:PrincipalTag/k.
	// ok is false if the request lacks the key. A nil Values lacks all.
	Values func(key string) (values []string, ok bool)
}

// A Decision is the outcome of an evaluation. If several statements lead to it, the first one without conditions that
// applies to every resource is reported, otherwise the first one.
type Decision struct {
	Allowed   bool
	Explicit  bool   // a Deny statement matched
	Policy    string // the name of the policy that decided; "" if no statement matched
	Statement string // its Sid, or "statement 2", counted from 1
}

// A rank orders the statements that match: the one with the highest rank decides.
type rank int

const (
	unmatched rank = iota
	allowing
	allowingAlways // for every resource and all values of keys
	denying
	denyingAlways
)

func (s *statement) rank() rank {
	r := allowing
	if s.deny {
		r = denying
	}
	if s.unconditional() {
		r++
	}
	return r
}

func (r rank) decision(policy string, s *statement) Decision {
	if r == unmatched {
		return Decision{}
	}
	return Decision{Allowed: r < denying, Explicit: r >= denying, Policy: policy, Statement: s.label}
}

// Evaluate decides a request. It allocates nothing unless variables or conditions do.
func (s Set) Evaluate(r *Request) Decision {
	t := newTarget(r.Resource)
	best, policy, by := unmatched, "", (*statement)(nil)
	for i := range s {
		statements := s[i].Document.statements
		for j := range statements {
			st := &statements[j]
			if !st.actions.has(r.Action) {
				continue
			}
			rank := st.rank()
			if rank <= best || !st.resources.match(&t, r.Values) || !st.conditionsHold(r.Values) {
				continue
			}
			if best, policy, by = rank, s[i].Name, st; best == denyingAlways {
				return best.decision(policy, by)
			}
		}
	}
	return best.decision(policy, by)
}

// Always returns the decision for an action if it is the same for every resource and all values of keys; Evaluate then
// returns the same one. ok is false if it depends on them, also if only the statement that denies does.
func (s Set) Always(a Action) (d Decision, ok bool) {
	best, depending := unmatched, unmatched
	for i := range s {
		statements := s[i].Document.statements
		for j := range statements {
			st := &statements[j]
			if !st.actions.has(a) {
				continue
			}
			switch rank := st.rank(); {
			case !st.unconditional():
				depending = max(depending, rank)
			case rank > best:
				best, d = rank, rank.decision(s[i].Name, st)
			}
		}
	}
	return d, depending == unmatched || depending < best
}

// Mentions reports whether a statement that allows, or that denies, may match an action, whatever else is said about
// it: for who must know what a policy may come to allow, or what is lost with it.
func (s Set) Mentions(a Action, deny bool) bool {
	for i := range s {
		statements := s[i].Document.statements
		for j := range statements {
			if statements[j].deny == deny && statements[j].actions.has(a) {
				return true
			}
		}
	}
	return false
}
