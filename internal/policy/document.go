package policy

import (
	"errors"
	"slices"
	"strconv"
)

// The versions of the language. Only the newer one has variables. A document without a version has the older one.
const (
	versionOld = "2008-10-17"
	versionNew = "2012-10-17"
)

// Document is a compiled policy. It does not change, and may be used by several goroutines at a time.
type Document struct {
	text       string
	statements []statement
}

// Normalized is the document's text without the blanks between its JSON tokens.
func (d *Document) Normalized() string { return d.text }

// Parse compiles an identity policy: what a user, a key or a role may do. The error is a *SyntaxError.
func Parse(text string) (*Document, error) {
	return (&parser{}).document(text)
}

// ParseTrust compiles the trust policy of a role: who may assume it. Its statements have a Principal instead of a
// Resource, and the actions sts:AssumeRole, sts:AssumeRoleWithWebIdentity, sts:TagSession and sts:SetSourceIdentity.
// The error is a *SyntaxError.
func ParseTrust(text string) (*Document, error) {
	return (&parser{trust: true}).document(text)
}

// ParseLenient compiles an identity policy that may have parts that Parse does not know, and lists these, one line
// each. Unknown actions match nothing. An Allow statement with another unknown part is dropped. A Deny statement is
// kept without the part, so that it denies more. A document that Parse accepts is read alike. Syntax and values that
// are wrong are errors as in Parse.
func ParseLenient(text string) (d *Document, ignored []string, err error) {
	p := &parser{lenient: true}
	d, err = p.document(text)
	return d, p.ignored, err
}

// A parser reads one document.
type parser struct {
	trust   bool
	lenient bool
	ignored []string

	variables bool // the version has them

	// Of the statement that is being read:
	number  int
	sid     string
	issuers []string // of the web identity providers in its Principal
	partial bool     // a part was ignored, other than an action
}

func decimal(n int) string { return strconv.Itoa(n) }

// tolerate reports whether the parser goes on without the part that the error is about.
func (p *parser) tolerate(err error) bool {
	if !p.note(err) {
		return false
	}
	p.partial = true
	return true
}

// note lists an unknown part, if the parser is lenient.
func (p *parser) note(err error) bool {
	e, ok := errors.AsType[*SyntaxError](err)
	if !p.lenient || !ok || !e.unknown {
		return false
	}
	p.ignored = append(p.ignored, e.Error())
	return true
}

// object returns the members of an object, which must have different names.
func (p *parser) object(element string, v any) (object, error) {
	o, ok := v.(object)
	if !ok {
		return nil, p.fail(element, "expected an object, found %s", typeName(v))
	}
	seen := make(map[string]bool, len(o))
	for _, m := range o {
		if seen[m.name] {
			return nil, p.fail(element, "%q is there twice", m.name)
		}
		seen[m.name] = true
	}
	return o, nil
}

func (p *parser) document(text string) (*Document, error) {
	checked, syntax := compact(text)
	if syntax != nil {
		return nil, syntax
	}
	members, err := p.object("", readJSON(checked))
	if err != nil {
		return nil, err
	}
	var statements any
	for _, m := range members {
		switch m.name {
		case "Version":
			if m.value != versionOld && m.value != versionNew {
				return nil, p.fail(m.name, "the version must be %q or %q", versionNew, versionOld)
			}
			p.variables = m.value == versionNew
		case "Id":
			if _, ok := m.value.(string); !ok {
				return nil, p.fail(m.name, "expected a string, found %s", typeName(m.value))
			}
		case "Statement":
			statements = m.value
		default:
			if err := p.unknown(m.name, "there is no such element"); !p.note(err) {
				return nil, err
			}
		}
	}
	if statements == nil {
		return nil, p.fail("Statement", "the element is missing")
	}
	all, err := p.statements(statements)
	if err != nil {
		return nil, err
	}
	return &Document{checked, all}, nil
}

// statements reads one statement, or a list of them.
func (p *parser) statements(v any) ([]statement, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) == 0 {
		return nil, p.fail("Statement", "the list is empty")
	}
	var all []statement
	var sids []string
	for i, v := range list {
		p.number, p.sid, p.issuers, p.partial = i+1, "", nil, false
		s, err := p.statement(v)
		if err != nil {
			return nil, err
		}
		if p.sid != "" && slices.Contains(sids, p.sid) {
			return nil, p.fail("Sid", "another statement has the same Sid")
		}
		sids = append(sids, p.sid)
		if s.deny || !p.partial {
			all = append(all, *s)
		}
	}
	return all, nil
}
