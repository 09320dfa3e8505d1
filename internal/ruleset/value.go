package ruleset

import (
	"fmt"
	"slices"
)

// typeNames are the types as a rule set names them.
var typeNames = [...]string{Number: "number", String: "string", StringList: "string_list", NumberMap: "string_number_map"}

// fieldNames are the fields of an AttributeValue that hold them.
// Source: API reference, AttributeValue.
var fieldNames = [...]string{Number: "N", String: "S", StringList: "SL", NumberMap: "SDM"}

// String is the type as a rule set names it; "" for one that is none.
func (t Type) String() string { return nameOf(typeNames[:], t) }

func nameOf(names []string, t Type) string {
	if int(t) >= len(names) {
		return ""
	}
	return names[t]
}

// List is a string list as a Value: without the strings that stand in it before.
// It keeps items when there are none, and never changes it.
// Source: API reference, AttributeValue (SL: duplicates are ignored).
func List(items []string) Value {
	seen := make(map[string]struct{}, len(items))
	for _, item := range items {
		seen[item] = struct{}{}
	}
	if len(seen) == len(items) {
		return Value{Type: StringList, SL: items}
	}
	unique := make([]string, 0, len(seen))
	for _, item := range items {
		if _, ok := seen[item]; ok {
			unique = append(unique, item)
			delete(seen, item)
		}
	}
	return Value{Type: StringList, SL: unique}
}

// Check says why a player cannot have the value for the attribute; nil when it is of
// the attribute's type. The error is a sentence for the player's request.
func (a Attribute) Check(v Value) error {
	if v.Type == a.Type {
		return nil
	}
	return fmt.Errorf("player attribute %s is declared as %s in the rule set: give %s, not %s", quoteless(a.Name), a.Type, nameOf(fieldNames[:], a.Type), nameOf(fieldNames[:], v.Type))
}

// Slot is the index of an attribute in Attributes; ok is false when the rule set does
// not declare it.
func (s *Set) Slot(name string) (slot int, ok bool) {
	slot = slices.IndexFunc(s.Attributes, func(a Attribute) bool { return a.Name == name })
	return slot, slot >= 0
}
