package policy

import "strings"

// arnFields are the fields of an ARN behind "arn:", as substrings: partition, service, region, account, resource.
type arnFields [5]string

const (
	fieldRegion  = 2
	fieldAccount = 3
)

// splitARN cuts an ARN into its fields. The last one keeps its colons.
func splitARN(s string) (a arnFields, ok bool) {
	s, ok = strings.CutPrefix(s, "arn:")
	for i := 0; ok && i < len(a)-1; i++ {
		a[i], s, ok = strings.Cut(s, ":")
	}
	a[len(a)-1] = s
	return a, ok
}

// An arnPattern matches ARNs field by field: a wildcard does not match beyond its field.
type arnPattern [5]pattern

// arnPattern reads an ARN with wildcards and variables. The colons within a variable separate no fields.
func (p *parser) arnPattern(element, text string) (*arnPattern, error) {
	rest, ok := strings.CutPrefix(text, "arn:")
	out := new(arnPattern)
	for i := 0; ok && i < len(out); i++ {
		field := rest
		if i < len(out)-1 {
			field, rest, ok = p.cutField(rest)
		}
		var err error
		if out[i], err = p.pattern(element, field, true); err != nil {
			return nil, err
		}
	}
	if !ok {
		return nil, p.fail(element, "%q is not an ARN with six fields, arn:partition:service:region:account:resource",
			text)
	}
	return out, nil
}

// cutField is strings.Cut at the first colon that is not within a variable.
func (p *parser) cutField(s string) (field, rest string, ok bool) {
	for i := 0; i < len(s); i++ {
		if s[i] == ':' {
			return s[:i], s[i+1:], true
		}
		if p.variables && strings.HasPrefix(s[i:], "${") {
			if end := strings.IndexByte(s[i:], '}'); end > 0 {
				i += end
			}
		}
	}
	return s, "", false
}

// matches compares each field. If emptyIsAny, an empty region or account in the ARN matches any, but not a variable
// without a value.
func (p *arnPattern) matches(a *arnFields, emptyIsAny bool, keys lookup) bool {
	for i := range p {
		if emptyIsAny && a[i] == "" && (i == fieldRegion || i == fieldAccount) {
			if _, ok := p[i].expand(keys); !ok {
				return false
			}
			continue
		}
		if !p[i].matches(a[i], keys) {
			return false
		}
	}
	return true
}

// resources is the element Resource or NotResource.
type resources struct {
	not  bool
	all  bool // "*" is in the list
	arns []*arnPattern
}

// A target is the resource of a request.
type target struct {
	arn   arnFields
	isARN bool
}

func newTarget(resource string) (t target) {
	t.arn, t.isARN = splitARN(resource)
	return t
}

func (r *resources) match(t *target, keys lookup) bool {
	if r.all {
		return !r.not
	}
	if t.isARN {
		for _, a := range r.arns {
			if a.matches(&t.arn, true, keys) {
				return !r.not
			}
		}
	}
	return r.not
}

// resources reads Resource or NotResource.
func (p *parser) resources(element string, v any, deny bool) (r resources, err error) {
	texts, err := p.texts(element, v)
	if err != nil {
		return r, err
	}
	r.not = element == "NotResource"
	for _, text := range texts {
		if text == "*" {
			r.all = true
			continue
		}
		a, err := p.arnPattern(element, text)
		if err == nil {
			r.arns = append(r.arns, a)
		} else if !p.tolerate(err) {
			return r, err
		} else if deny && !r.not {
			r.all = true // stricter than the unknown pattern
		}
	}
	if r.not && !r.all && r.arns == nil { // all patterns were unknown, and exempt nothing
		r.not, r.all = false, true
	}
	return r, nil
}
