package policy

import (
	"fmt"
	"slices"
	"strings"
)

// principals is the element Principal of a trust policy.
type principals struct {
	everyone  bool // "*"
	anyAWS    bool // {"AWS": "*"}
	aws       []string
	federated []string
}

// A TrustRequest is a call that assumes a role.
type TrustRequest struct {
	Action Action
	// Principals are the names of the caller: its ARN, its role's ARN, the ARN of its account
	// (arn:aws:iam::111122223333:root) and the number of its account; of a web identity the provider's name and ARN.
	Principals []string
	Federated  bool // a web identity
	// Values is as in Request. The claims of a web identity are <issuer>:sub and <issuer>:aud, with the issuer as in
	// the Principal of the policy.
	Values func(key string) (values []string, ok bool)
}

// Trusts decides whether a trust policy lets the caller assume its role. Decision.Policy is "".
//
// The principal "*" is everyone, but in an Allow statement no web identity: a policy trusts only the providers that it
// names.
func (d *Document) Trusts(r *TrustRequest) Decision {
	best, by := unmatched, (*statement)(nil)
	for i := range d.statements {
		s := &d.statements[i]
		if rank := s.rank(); rank > best && s.actions.has(r.Action) && s.principals.match(r, s.deny) &&
			s.conditionsHold(r.Values) {
			best, by = rank, s
		}
	}
	return best.decision("", by)
}

func (p *principals) match(r *TrustRequest, deny bool) bool {
	switch {
	case p == nil: // an identity policy
		return false
	case r.Federated:
		return p.everyone && deny || intersect(p.federated, r.Principals)
	}
	return p.everyone || p.anyAWS || intersect(p.aws, r.Principals)
}

// Names reports whether a statement of a trust policy that allows names one of the principals, whatever its conditions.
func (d *Document) Names(principals ...string) bool {
	for i := range d.statements {
		if s := &d.statements[i]; !s.deny && s.principals != nil && intersect(s.principals.aws, principals) {
			return true
		}
	}
	return false
}

func intersect(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// principals reads the element Principal: "*", or an object with AWS and Federated.
func (p *parser) principals(v any) (*principals, error) {
	const element = "Principal"
	out := new(principals)
	if v == nil {
		return nil, p.fail(element, "the element is missing")
	}
	if v == "*" {
		out.everyone = true
		return out, nil
	}
	kinds, err := p.object(element, v)
	if err != nil {
		return nil, err
	}
	if len(kinds) == 0 {
		return nil, p.fail(element, "the object is empty")
	}
	for _, kind := range kinds {
		at := element + " " + kind.name
		if kind.name != "AWS" && kind.name != "Federated" {
			return nil, p.unknown(at, "there is no such kind of principal: use AWS or Federated")
		}
		names, err := p.texts(at, kind.value)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if err := p.principal(out, kind.name, name); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (p *parser) principal(out *principals, kind, name string) error {
	at := "Principal " + kind
	if kind == "Federated" {
		issuer, ok := issuerOf(name)
		if !ok {
			return p.fail(at,
				"%q is neither the name nor the ARN of a web identity provider: use the issuer without https://",
				name)
		}
		out.federated = append(out.federated, name)
		p.issuers = append(p.issuers, issuer)
		return nil
	}
	switch {
	case name == "*":
		out.anyAWS = true
	case isPrincipal(name):
		out.aws = append(out.aws, name)
	default:
		return p.fail(at, `%q is neither "*", an account nor the ARN of a user or role; wildcards match nothing here`,
			name)
	}
	return nil
}

// isPrincipal reports whether a text is an account's number or the ARN of a principal.
func isPrincipal(name string) bool {
	if strings.ContainsAny(name, "*?$") {
		return false
	}
	if a, ok := splitARN(name); ok {
		return (a[1] == "iam" || a[1] == "sts") && a[4] != ""
	}
	return len(name) == 12 && strings.Trim(name, "0123456789") == ""
}

// issuerOf returns the issuer of a provider, without https://, from the provider's ARN or name.
func issuerOf(name string) (string, bool) {
	issuer := name
	if a, ok := splitARN(name); ok {
		if issuer, ok = strings.CutPrefix(a[4], "oidc-provider/"); !ok || a[1] != "iam" {
			return "", false
		}
	}
	return issuer, issuer != "" && !strings.ContainsAny(issuer, "*?$ ") && !strings.Contains(issuer, "://") &&
		!strings.HasPrefix(issuer, "arn:")
}

// TrustedIssuers returns the issuers of the web identity providers that the document's statements name, without
// https://, sorted.
func (d *Document) TrustedIssuers() []string {
	var all []string
	for i := range d.statements {
		all = append(all, d.statements[i].issuers()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *statement) issuers() []string {
	if s.principals == nil {
		return nil
	}
	var all []string
	for _, name := range s.principals.federated {
		if issuer, ok := issuerOf(name); ok {
			all = append(all, issuer)
		}
	}
	return all
}

// publicIssuers sign tokens for everyone who registers with them: only the subject tells whose token it is.
// Source: IAM User Guide, "Identity-provider controls for shared OIDC providers".
var publicIssuers = []string{
	"accounts.google.com", "agent.buildkite.com", "app.terraform.io", "gitlab.com",
	"token.actions.githubusercontent.com",
}

// CheckIssuers returns an error if the document lets anyone with a token of a public issuer assume the role. Each Allow
// statement for such an issuer needs a condition on <issuer>:sub with StringEquals, StringEqualsIgnoreCase or
// StringLike whose values name a subject: before the first wildcard there must be more than the kind of the subject,
// as "repo:" is. Beside the well-known public issuers, public may name others; it may be nil. The error is a
// *SyntaxError.
func (d *Document) CheckIssuers(public func(issuer string) bool) error {
	a, _ := ActionOf("sts:AssumeRoleWithWebIdentity")
	for i := range d.statements {
		s := &d.statements[i]
		if s.deny || !s.actions.has(a) {
			continue
		}
		for _, issuer := range s.issuers() {
			known := slices.Contains(publicIssuers, lower(issuer)) || public != nil && public(issuer)
			if known && !s.namesSubject(issuer) {
				return &SyntaxError{Statement: i + 1, Sid: s.sid, Element: "Condition", Reason: fmt.Sprintf(
					"everyone can get a token of the public issuer %s: add StringEquals or StringLike on %s:sub with a"+
						" value that names, before any wildcard, whose tokens are trusted", issuer, issuer)}
			}
		}
	}
	return nil
}

func (s *statement) namesSubject(issuer string) bool {
	return slices.ContainsFunc(s.conditions, func(c condition) bool { return c.narrow && c.key == issuer+":sub" })
}

// isBroad reports whether a value of a condition on a subject may match the subjects of many owners.
func isBroad(text string) bool {
	wild := strings.IndexAny(text, "*?")
	if variable := strings.Index(text, "${"); variable >= 0 && (wild < 0 || variable < wild) {
		wild = variable
	}
	if wild < 0 {
		return text == ""
	}
	prefix := text[:wild]
	return prefix[strings.IndexByte(prefix, ':')+1:] == ""
}
