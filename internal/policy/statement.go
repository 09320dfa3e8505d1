package policy

import (
	"regexp"
	"slices"
	"strings"
)

// A statement is compiled.
type statement struct {
	sid        string
	label      string // the Sid, or "statement 2"
	deny       bool
	actions    actionSet
	resources  resources
	principals *principals // of trust policies
	conditions []condition
}

// unconditional reports whether the statement matches its actions for every resource and all values of keys.
func (s *statement) unconditional() bool {
	return len(s.conditions) == 0 && s.principals == nil && s.resources.all && !s.resources.not
}

func (s *statement) conditionsHold(keys lookup) bool {
	for i := range s.conditions {
		if !s.conditions[i].holds(keys) {
			return false
		}
	}
	return true
}

// sidCharacters are those of a Sid. Source: IAM User Guide, "IAM JSON policy elements: Sid".
var sidCharacters = regexp.MustCompile(`^[A-Za-z0-9]*$`)

func (p *parser) statement(v any) (*statement, error) {
	members, err := p.object("", v)
	if err != nil {
		return nil, err
	}
	elements := map[string]any{}
	for _, m := range members {
		elements[m.name] = m.value
	}
	if err := p.label(elements); err != nil {
		return nil, err
	}
	s := &statement{sid: p.sid, label: p.sid}
	if s.label == "" {
		s.label = "statement " + decimal(p.number)
	}
	switch effect := elements["Effect"]; effect {
	case "Allow", "Deny":
		s.deny = effect == "Deny"
	default:
		return nil, p.fail("Effect", `the effect must be "Allow" or "Deny"`)
	}
	for _, m := range members {
		if !p.hasElement(m.name) {
			if err := p.unknown(m.name, "there is no such element in %s", p.kind()); !p.tolerate(err) {
				return nil, err
			}
		}
	}
	return s, p.elements(s, elements)
}

func (p *parser) kind() string {
	if p.trust {
		return "a trust policy"
	}
	return "an identity policy"
}

func (p *parser) hasElement(name string) bool {
	switch name {
	case "Sid", "Effect", "Action", "NotAction", "Condition":
		return true
	case "Principal":
		return p.trust
	case "Resource", "NotResource":
		return !p.trust
	}
	return false
}

// label reads the Sid first, because errors name it.
func (p *parser) label(elements map[string]any) error {
	v, ok := elements["Sid"]
	if !ok {
		return nil
	}
	sid, ok := v.(string)
	if !ok || !sidCharacters.MatchString(sid) {
		return p.fail("Sid", "a Sid is a string of letters and digits")
	}
	p.sid = sid
	return nil
}

// elements reads what the statement applies to.
func (p *parser) elements(s *statement, elements map[string]any) error {
	name, err := p.either(elements, "Action", "NotAction")
	if err != nil {
		return err
	}
	if s.actions, err = p.actions(name, elements[name]); err != nil {
		return err
	}
	if p.trust {
		s.principals, err = p.principals(elements["Principal"])
	} else if name, err = p.either(elements, "Resource", "NotResource"); err == nil {
		s.resources, err = p.resources(name, elements[name], s.deny)
	}
	if v, ok := elements["Condition"]; ok && err == nil {
		s.conditions, err = p.conditions(v)
	}
	return err
}

// either returns the one of two elements that is there.
func (p *parser) either(elements map[string]any, name, negated string) (string, error) {
	_, plain := elements[name]
	_, not := elements[negated]
	switch {
	case plain && not:
		return "", p.fail(name, "the statement also has %s: use one of them", negated)
	case !plain && !not:
		return "", p.fail(name, "the element is missing")
	case not:
		return negated, nil
	}
	return name, nil
}

// actions reads Action or NotAction.
func (p *parser) actions(element string, v any) (set actionSet, err error) {
	texts, err := p.texts(element, v)
	if err != nil {
		return set, err
	}
	for _, text := range texts {
		matched, err := p.action(element, text)
		if err != nil && !p.note(err) {
			return set, err
		}
		for i := range set {
			set[i] |= matched[i]
		}
	}
	if element == "Action" {
		return set, nil
	}
	var others actionSet
	for i := range actionNames {
		if a := Action(i); p.hasAction(a) && !set.has(a) {
			others.add(a)
		}
	}
	return others, nil
}

// action reads one pattern: "*", or a service and a name that may have wildcards.
func (p *parser) action(element, text string) (set actionSet, err error) {
	service, _, ok := strings.Cut(text, ":")
	if !ok && text != "*" {
		return set, p.fail(element, `%q has no service, as in "gamelift:%s"`, text, text)
	}
	set, count := actionsMatching(text, p.hasAction)
	switch {
	case count > 0:
		return set, nil
	case p.trust:
		return set, p.unknown(element, "%q is no action of a trust policy, which has %s", text,
			strings.Join(trustActions, ", "))
	case slices.Contains(services, lower(service)):
		return set, p.unknown(element, "no action matches %q", text)
	}
	return set, p.unknown(element, "%q is an action of another service; known are %s", text, strings.Join(services,
		", "))
}

// trustActions are the actions of trust policies.
var trustActions = []string{
	"sts:AssumeRole", "sts:AssumeRoleWithWebIdentity", "sts:SetSourceIdentity", "sts:TagSession",
}

// hasAction reports whether an action can be in a document of this kind.
func (p *parser) hasAction(a Action) bool {
	return !p.trust || slices.Contains(trustActions, a.String())
}
