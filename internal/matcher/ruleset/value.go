package ruleset

import (
	"fmt"
	"slices"
)

// typeNames are the types in a rule set.
var typeNames = [...]string{
	Number: "number", String: "string", StringList: "string_list", NumberMap: "string_number_map",
}

// fieldNames are their fields of an AttributeValue. Source: API reference, AttributeValue.
var fieldNames = [...]string{Number: "N", String: "S", StringList: "SL", NumberMap: "SDM"}

// String returns the name of the type in a rule set; "" for an unknown one.
func (t Type) String() string { return nameOf(typeNames[:], t) }

func nameOf(names []string, t Type) string {
	if int(t) >= len(names) {
		return ""
	}
	return names[t]
}

// List returns a string list as a Value, without duplicates. It keeps items if there are none, and never changes it.
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

// Check returns an error for the API client if the value is not of the attribute's type.
func (a Attribute) Check(v Value) error {
	if v.Type == a.Type {
		return nil
	}
	return fmt.Errorf("player attribute %s is declared as %s in the rule set: give %s, not %s",
		quoteless(a.Name), a.Type,
		nameOf(fieldNames[:], a.Type), nameOf(fieldNames[:], v.Type))
}

// Slot returns the index of an attribute in Attributes; ok is false if the rule set does not declare it.
func (s *Set) Slot(name string) (slot int, ok bool) {
	slot = slices.IndexFunc(s.Attributes, func(a Attribute) bool { return a.Name == name })
	return slot, slot >= 0
}
