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
	services  []string
}

// GameLift is the principal that a trust policy names as Service so that the instances of fleets get keys of its role.
const GameLift = "gamelift.amazonaws.com"

// A TrustRequest is a call that assumes a role.
type TrustRequest struct {
	Action Action
	// Principals are the names of the caller: its ARN, its role's ARN, the ARN of its account
	// (arn:aws:iam::111122223333:root) and the number of its account; of a web identity the provider's name and ARN; of
	// a service its name.
	Principals []string
	Federated  bool // a web identity
	Service    bool // a service, such as GameLift
	// Values is as in Request. The claims of a web identity are <issuer>:sub and <issuer>:aud, with the issuer as in
	// the Principal of the policy.
	Values func(key string) (values []string, ok bool)
}

// Trusts decides whether a trust policy lets the caller assume its role. Decision.Policy is "".
//
// The principal "*" is everyone, but in an Allow statement neither a web identity nor a service: a policy trusts only
// the providers and services that it names.
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
	case r.Service:
		return p.everyone && deny || intersect(p.services, r.Principals)
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

// principals reads the element Principal: "*", or an object with AWS, Federated and Service.
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
		if kind.name != "AWS" && kind.name != "Federated" && kind.name != "Service" {
			return nil, p.unknown(at, "there is no such kind of principal: use AWS, Federated or Service")
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
	if kind == "Service" {
		if name != GameLift {
			return p.unknown(at, "%q is no service of this region: use %s", name, GameLift)
		}
		out.services = append(out.services, name)
		return nil
	}
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

// CheckIssuers returns an error if the document lets anyone with a token of a public issuer assume the role. Each Allow
// statement for such an issuer needs a condition on <issuer>:sub with StringEquals, StringEqualsIgnoreCase or
// StringLike, and each of its values must name the whole owner of the subject before its first wildcard, as
// "repo:studio/*" does: see namesOwner. Beside the well-known public issuers, public may name others; it may be nil.
// The error is a *SyntaxError.
func (d *Document) CheckIssuers(public func(issuer string) bool) error {
	a, _ := ActionOf("sts:AssumeRoleWithWebIdentity")
	for i := range d.statements {
		s := &d.statements[i]
		if s.deny || !s.actions.has(a) {
			continue
		}
		for _, issuer := range s.issuers() {
			if formOf(issuer) == nil && (public == nil || !public(issuer)) {
				continue
			}
			if element, reason := s.missingSubject(issuer); reason != "" {
				return &SyntaxError{Statement: i + 1, Sid: s.sid, Element: element, Reason: reason}
			}
		}
	}
	return nil
}

// missingSubject returns why a statement does not name whose tokens of a public issuer it trusts, and which element is
// wrong; "" if it does. Conditions narrow one another, so one that names the owner is enough.
func (s *statement) missingSubject(issuer string) (element, reason string) {
	key := issuer + ":sub"
	form := formOf(issuer)
	element, reason = "Condition", fmt.Sprintf(
		"everyone can get a token of the public issuer %s: add StringEquals or StringLike on %s with a value that %s",
		issuer, key, form.fix())
	for _, c := range s.conditions {
		if c.key != key || len(c.subjects) == 0 {
			continue
		}
		broad := slices.IndexFunc(c.subjects, func(text string) bool { return !form.namesOwner(text) })
		if broad < 0 {
			return "", ""
		}
		element, reason = "Condition "+key, fmt.Sprintf(
			"the value %.200q matches tokens of more than one owner at the public issuer %s: use one that %s",
			c.subjects[broad], issuer, form.fix())
	}
	return element, reason
}

// A subjectForm is how a public issuer writes its subjects: one of some beginnings, then the owner, then a slash or a
// colon. Without beginnings a subject is an id without parts.
type subjectForm struct {
	beginnings []string
	example    string
}

// subjectForms are those of the issuers that sign tokens for everyone who registers with them, by host: only the
// subject tells whose token it is.
// Source: IAM User Guide, "Identity-provider controls for shared OIDC providers".
// Source: GitHub, "OpenID Connect reference"; GitLab, "OpenID Connect authentication using ID tokens"; HashiCorp,
// "Workload identity tokens"; Buildkite, "OIDC with Buildkite"; CircleCI, "Using OpenID Connect tokens in jobs".
var subjectForms = map[string]*subjectForm{
	"token.actions.githubusercontent.com": {[]string{"repo:", "repository:", "repository_owner:", "job_workflow_ref:"},
		"repo:OWNER/*"},
	"gitlab.com":                {[]string{"project_path:"}, "project_path:GROUP/*"},
	"app.terraform.io":          {[]string{"organization:"}, "organization:ORGANIZATION:*"},
	"agent.buildkite.com":       {[]string{"organization:"}, "organization:ORGANIZATION:*"},
	"oidc.circleci.com":         {[]string{"org/"}, "org/ORGANIZATION/*"},
	"accounts.google.com":       {},
	"login.microsoftonline.com": {},
	"www.facebook.com":          {},
	"graph.facebook.com":        {},
	"www.amazon.com":            {},
	"appleid.apple.com":         {},
}

// formOf returns the form of an issuer's subjects; nil if it is not known.
func formOf(issuer string) *subjectForm {
	host, _, _ := strings.Cut(lower(issuer), "/")
	return subjectForms[host]
}

// fix returns which values a condition on a subject may have.
func (f *subjectForm) fix() string {
	switch {
	case f == nil:
		return "names, before any wildcard, whose tokens are trusted"
	case len(f.beginnings) == 0:
		return "has no wildcard"
	}
	return fmt.Sprintf("names the complete owner before any wildcard, such as %q", f.example)
}

// namesOwner reports whether a value of a condition on a subject matches the subjects of one owner only. A value
// without wildcards names one subject. Before a wildcard the owner must be complete: "repo:studio*" also matches the
// repositories of studio2. If the form of the subjects is not known, more than their kind must be fixed.
func (f *subjectForm) namesOwner(text string) bool {
	wild := strings.IndexAny(text, "*?")
	if variable := strings.Index(text, "${"); variable >= 0 && (wild < 0 || variable < wild) {
		wild = variable
	}
	if wild < 0 {
		return text != ""
	}
	prefix := text[:wild]
	if f == nil {
		return prefix[strings.IndexByte(prefix, ':')+1:] != ""
	}
	return slices.ContainsFunc(f.beginnings, func(beginning string) bool {
		rest, ok := strings.CutPrefix(prefix, beginning)
		return ok && strings.IndexAny(rest, "/:") > 0
	})
}
