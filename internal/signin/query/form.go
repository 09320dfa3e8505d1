package query

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/wire/fault"
)

// A form is the parameters of a call. Its methods read them, collect what is wrong with them, and return the zero value
// for what is missing or wrong; err returns what they have collected.
type form struct {
	values   url.Values
	problems []string
}

// A rule is the constraints of a text. Lengths are in characters.
type rule struct {
	least, most int
	pattern     string // of the whole text; "": any
	required    bool
	secret      bool // errors do not show it
}

// The rules of texts. Source: service models sts and iam.
const (
	namePattern = `[\w+=,.@-]*`
	arnPattern  = `[\t\n\r -~\x{85}\x{A0}-\x{D7FF}\x{E000}-\x{FFFD}\x{10000}-\x{10FFFF}]+`
	tagPattern  = `[\p{L}\p{Z}\p{N}_.:/=+\-@]*`
)

var (
	roleArnRule     = rule{least: 20, most: 2048, pattern: arnPattern, required: true}
	policyArnRule   = roleArnRule
	sessionNameRule = rule{least: 2, most: 64, pattern: namePattern, required: true}
	sourceRule      = rule{least: 2, most: 64, pattern: namePattern}
	externalIDRule  = rule{least: 2, most: 1224, pattern: `[\w+=,.@:\/-]*`}
	webTokenRule    = rule{least: 4, most: 20000, required: true, secret: true}
	webProviderRule = rule{least: 4, most: 2048}
	sessionRule     = rule{least: 1, most: maxSigned, secret: true} // package access has the limit of session policies
	tagKeyRule      = rule{least: 1, most: 128, pattern: tagPattern, required: true}
	tagValueRule    = rule{most: 256, pattern: tagPattern}
	keyRule         = rule{least: 16, most: 128, pattern: `[\w]*`, required: true}
	newUserRule     = rule{least: 1, most: 64, pattern: namePattern, required: true}
	userRule        = rule{least: 1, most: 128, pattern: namePattern}
	userNameRule    = rule{least: 1, most: 128, pattern: namePattern, required: true}
	policyNameRule  = userNameRule
	documentRule    = rule{least: 1, most: 131072, required: true, secret: true}
	markerRule      = rule{least: 1, most: 320}
)

// patterns are those of the rules, compiled.
var patterns = map[string]*regexp.Regexp{}

func init() {
	for _, p := range []string{namePattern, arnPattern, tagPattern, externalIDRule.pattern, keyRule.pattern} {
		patterns[p] = regexp.MustCompile(`\A(?:` + p + `)\z`)
	}
}

// text returns a parameter.
func (f *form) text(name string, r rule) string { return f.textAt(name, lowerFirst(name), r) }

// textAt is text for a parameter that errors call member.
func (f *form) textAt(name, member string, r rule) string {
	if !f.values.Has(name) {
		if r.required {
			f.problem("null", member, "not be null")
		}
		return ""
	}
	value := f.values.Get(name)
	shown := fmt.Sprintf("'%.100s'", strings.ToValidUTF8(value, "\uFFFD"))
	if r.secret {
		shown = "of a secret"
	}
	before := len(f.problems)
	if n := utf8.RuneCountInString(value); n < r.least {
		f.problem(shown, member, fmt.Sprintf("have length greater than or equal to %d", r.least))
	} else if n > r.most {
		f.problem(shown, member, fmt.Sprintf("have length less than or equal to %d", r.most))
	}
	if !utf8.ValidString(value) || r.pattern != "" && !patterns[r.pattern].MatchString(value) {
		f.problem(shown, member, "satisfy regular expression pattern: "+r.pattern)
	}
	if len(f.problems) > before {
		return ""
	}
	return value
}

// one returns a parameter that has one of some values.
func (f *form) one(name string, among ...string) string {
	value := f.text(name, rule{most: 64, required: true})
	if value != "" && !slices.Contains(among, value) {
		f.problem("'"+value+"'", lowerFirst(name), "satisfy enum value set: ["+strings.Join(among, ", ")+"]")
		return ""
	}
	return value
}

// number returns a whole number; standard if it is missing.
func (f *form) number(name string, standard, least, most int32) int32 {
	text := f.text(name, rule{most: 32})
	if text == "" && !f.values.Has(name) {
		return standard
	}
	n, err := strconv.ParseInt(text, 10, 32)
	shown, member := "'"+text+"'", lowerFirst(name)
	switch {
	case err != nil:
		f.problem(shown, member, "be a whole number")
	case n < int64(least):
		f.problem(shown, member, fmt.Sprintf("have value greater than or equal to %d", least))
	case n > int64(most):
		f.problem(shown, member, fmt.Sprintf("have value less than or equal to %d", most))
	default:
		return int32(n)
	}
	return standard
}

// texts returns a list of structures with one text: name.member.1.field=…
func (f *form) texts(name, field string, most int, r rule) (list []string) {
	for _, i := range f.members(name, most) {
		list = append(list, f.textAt(i.name+"."+field, i.member+".member."+field, r))
	}
	return list
}

// tags returns a list of tags: name.member.1.Key=…&name.member.1.Value=…
func (f *form) tags(name string, most int) map[string]string {
	var tags map[string]string
	for _, i := range f.members(name, most) {
		if tags == nil {
			tags = map[string]string{}
		}
		key := f.textAt(i.name+".Key", i.member+".member.key", tagKeyRule)
		value := f.textAt(i.name+".Value", i.member+".member.value", tagValueRule)
		if _, twice := tags[key]; twice && key != "" {
			f.problem("'"+key+"'", i.member+".member.key", "be unique")
		}
		tags[key] = value
	}
	return tags
}

// rawTags returns the tags of a list as they are, for policies.
func (f *form) rawTags(name string) map[string]string {
	tags := map[string]string{}
	for _, i := range (&form{values: f.values}).members(name, maxTags) {
		tags[f.values.Get(i.name+".Key")] = f.values.Get(i.name + ".Value")
	}
	return tags
}

// An element is a member of a list.
type element struct {
	name   string // of its parameters: Tags.member.1
	member string // in errors: tags.1
	index  int
}

// members returns the members of a list, by their numbers. A parameter that looks like one of the list and is none is a
// problem: if it were ignored, a list of limits would limit less than the caller meant.
func (f *form) members(name string, most int) (list []element) {
	for parameter := range f.values {
		rest, ok := strings.CutPrefix(parameter, name+".")
		if !ok {
			continue
		}
		rest, ok = strings.CutPrefix(rest, "member.")
		number, _, _ := strings.Cut(rest, ".")
		i, err := strconv.ParseUint(number, 10, 16)
		if !ok || err != nil || i == 0 || strconv.FormatUint(i, 10) != number {
			f.problem("'"+clip(parameter)+"'", lowerFirst(name), "be a list: "+name+".member.1, …")
			return nil
		}
		list = append(list, element{name + ".member." + number, lowerFirst(name) + "." + number, int(i)})
	}
	slices.SortFunc(list, func(a, b element) int { return a.index - b.index })
	list = slices.Compact(list)
	if len(list) > most {
		f.problem("of a list", lowerFirst(name), fmt.Sprintf("have length less than or equal to %d", most))
		return nil
	}
	return list
}

// refuse is for parameters that are not offered and would change what the call does.
func (f *form) refuse(names ...string) {
	for _, name := range names {
		for parameter := range f.values {
			if parameter == name || strings.HasPrefix(parameter, name+".") {
				f.problem("'"+clip(parameter)+"'", lowerFirst(name), "not be given: this service does not offer it")
				break
			}
		}
	}
}

func (f *form) problem(value, member, constraint string) {
	f.problems = append(f.problems,
		fmt.Sprintf("Value %s at '%s' failed to satisfy constraint: Member must %s", value, member, constraint))
}

// err returns a ValidationError with all problems, in AWS's form.
func (f *form) err() error {
	switch n := len(f.problems); n {
	case 0:
		return nil
	case 1:
		return fault.New(validation, "1 validation error detected: %s", f.problems[0])
	default:
		return fault.New(validation, "%d validation errors detected: %s", n, strings.Join(f.problems, "; "))
	}
}

func clip(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), 100)], "\uFFFD")
}

func lowerFirst(name string) string {
	return string(unicode.ToLower(rune(name[0]))) + name[1:]
}
