package ruleset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxBody is the longest rule set, in characters.
// Source: API reference, CreateMatchmakingRuleSet (RuleSetBody).
const maxBody = 65535

// maxList is the longest list of strings that a rule set can hold as a value. Source: API reference, AttributeValue
// (SL).
const maxList = 100

// An object is a JSON object and its path in the document.
type object struct {
	path    string
	members map[string]any
	changed map[string]any // values that expansions set
}

// at returns the path of a member.
func (o object) at(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

// get returns a member; nil if it is missing or null.
func (o object) get(key string) any {
	if v, ok := o.changed[key]; ok {
		return v
	}
	return o.members[key]
}

// element returns the path of an element of a list.
func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func decode(body string) (object, *Error) {
	if len(body) > maxBody && utf8.RuneCountInString(body) > maxBody {
		return object{}, &Error{Problem: fmt.Sprintf("the rule set has more than %d characters: shorten it", maxBody)}
	}
	var root any
	if err := json.Unmarshal([]byte(body), &root); err != nil {
		return object{}, &Error{Problem: syntaxProblem(body, err)}
	}
	members, ok := root.(map[string]any)
	if !ok {
		return object{}, &Error{Problem: "a rule set is a JSON object, not " + describe(root)}
	}
	return object{members: members}, nil
}

// syntaxProblem describes where the document is not JSON.
func syntaxProblem(body string, err error) string {
	var syntax *json.SyntaxError
	var number *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		// The offset is behind a wrong character, and at the end of a short document.
		at := int(syntax.Offset)
		hint := ""
		if !strings.HasPrefix(syntax.Error(), "unexpected end") {
			at = max(at-1, 0)
			if at < len(body) && (body[at] == '/' || body[at] == '#') {
				hint = ": JSON has no comments, use the key description"
			}
		}
		return "not JSON at " + position(body, at) + ": " + syntax.Error() + hint
	case errors.As(err, &number): // out of the range of float64
		literal := strings.TrimPrefix(number.Value, "number ")
		at := strings.LastIndex(body[:min(int(number.Offset), len(body))], literal)
		return "the number " + quoteless(literal) + " at " + position(body, max(at, 0)) + " is out of range"
	default:
		return "not JSON: " + err.Error()
	}
}

// position formats an offset as editors show it.
func position(body string, offset int) string {
	before := body[:min(offset, len(body))]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("line %d, column %d", strings.Count(before, "\n")+1, utf8.RuneCountInString(line)+1)
}

// describe formats a JSON value for a message.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return quote(v)
	case []any:
		return "a list"
	default:
		return "an object"
	}
}

// quote quotes a text of the document, shortened to be readable.
func quote(text string) string { return strconv.Quote(quoteless(text)) }

func quoteless(text string) string {
	const longest = 80
	if utf8.RuneCountInString(text) <= longest {
		return text
	}
	return string([]rune(text)[:longest]) + "…"
}

// either joins alternatives: a, b or c.
func either(of []string) string {
	if len(of) == 1 {
		return of[0]
	}
	return strings.Join(of[:len(of)-1], ", ") + " or " + of[len(of)-1]
}

// fail records the first error. Afterwards all readers continue with zero values, which are not used.
func (p *parser) fail(path, format string, args ...any) {
	if p.err == nil {
		p.err = &Error{Path: path, Problem: fmt.Sprintf(format, args...)}
	}
}

// missing fails for a required key, and names a similar unknown key if there is one.
func (p *parser) missing(o object, key string) {
	for _, other := range sortedKeys(o.members) {
		if !knownKeys[other] && near(other, key) {
			p.fail(o.at(key), "the key is required; %s is no key of a rule set: rename it", quote(other))
		}
	}
	p.fail(o.at(key), "the key is required")
}

// knownKeys are all keys of a rule set.
var knownKeys = func() map[string]bool {
	known := map[string]bool{}
	for _, key := range strings.Fields(`
		name ruleLanguageVersion playerAttributes algorithm teams rules expansions type default strategy
		batchingPreference sortByAttributes balancedAttribute expansionAgeSelection backfillPriority
		minPlayers maxPlayers quantity description measurements operation referenceValue minDistance maxDistance
		minCount maxCount maxLatency distanceReference partyAggregation batchAttribute statement
		sortDirection sortAttribute mapKey target steps waitTimeSeconds value`) {
		known[key] = true
	}
	return known
}()

// near reports whether a is similar to the key b: equal but for case, underscores and, by its length, one or two
// letters.
func near(a, b string) bool {
	a = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(a))
	b = strings.ToLower(b)
	if len(a) > len(b)+2 || len(b) > len(a)+2 {
		return false
	}
	row := make([]int, len(b)+1) // of the edit distances between prefixes
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)] <= min(2, len(b)/3)
}

// object returns a value that must be an object.
func (p *parser) object(path string, v any) object {
	members, ok := v.(map[string]any)
	if !ok {
		p.fail(path, "must be an object, not %s", describe(v))
	}
	return object{path: path, members: members}
}

// objects returns the elements of a list of at most most objects.
func (p *parser) objects(o object, key string, most int) []object {
	v := o.get(key)
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		p.fail(o.at(key), "must be a list of objects, not %s", describe(v))
		return nil
	}
	if len(list) > most {
		p.fail(o.at(key), "has %d elements, and can have at most %d", len(list), most)
		return nil
	}
	of := make([]object, len(list))
	for i, v := range list {
		of[i] = p.object(element(o.at(key), i), v)
	}
	return of
}

// text returns a member that is a string; ok is false if it is missing.
func (p *parser) text(o object, key string) (text string, ok bool) {
	v := o.get(key)
	if v == nil {
		return "", false
	}
	text, ok = v.(string)
	if !ok {
		p.fail(o.at(key), "must be a string, not %s", describe(v))
	}
	return text, ok
}

// required returns a member that must be a string and not empty.
func (p *parser) required(o object, key string) string {
	text, ok := p.text(o, key)
	switch {
	case !ok:
		p.missing(o, key)
	case text == "":
		p.fail(o.at(key), "must not be empty")
	}
	return text
}

// name returns the name of a part of the rule set. It is limited because events repeat team names for every player.
func (p *parser) name(o object) string {
	name := p.required(o, "name")
	if n := utf8.RuneCountInString(name); n > maxName {
		p.fail(o.at("name"), "has %d characters, and can have at most %d", n, maxName)
	}
	return name
}

// choice returns a member that is one of several words; the first one if it is missing.
func (p *parser) choice(o object, key string, words ...string) string {
	text, ok := p.text(o, key)
	if !ok {
		return words[0]
	}
	if !slices.Contains(words, text) {
		p.fail(o.at(key), "must be %s, not %s", either(words), quote(text))
	}
	return text
}

func (p *parser) requiredChoice(o object, key string, words ...string) string {
	if o.get(key) == nil {
		p.missing(o, key)
	}
	return p.choice(o, key, words...)
}

// amount returns a member that is a number from 0; nil if it is missing.
func (p *parser) amount(o object, key string) *float64 {
	v := o.get(key)
	if v == nil {
		return nil
	}
	n, ok := v.(float64)
	switch {
	case !ok:
		p.fail(o.at(key), "must be a number, not %s", describe(v))
	case n < 0:
		p.fail(o.at(key), "must not be negative, and is %s", describe(v))
	}
	return &n
}

// whole returns a member that is a whole number within bounds; nil if it is missing.
func (p *parser) whole(o object, key string, least, most int) *int {
	v := o.get(key)
	if v == nil {
		return nil
	}
	n, ok := v.(float64)
	if !ok || n != math.Trunc(n) || n < float64(least) || n > float64(most) {
		p.fail(o.at(key), "must be a whole number from %d to %d, not %s", least, most, describe(v))
		return nil
	}
	i := int(n)
	return &i
}

func (p *parser) requiredWhole(o object, key string, least, most int) int {
	n := p.whole(o, key, least, most)
	if n == nil {
		p.missing(o, key)
		return 0
	}
	return *n
}

// texts returns a list of strings without duplicates.
func (p *parser) texts(path string, list []any) []string {
	if len(list) > maxList {
		p.fail(path, "has %d strings, and can have at most %d", len(list), maxList)
		return nil
	}
	of := make([]string, 0, len(list))
	for i, v := range list {
		text, ok := v.(string)
		if !ok {
			p.fail(element(path, i), "must be a string, not %s", describe(v))
		}
		of = append(of, text)
	}
	return List(of).SL
}
