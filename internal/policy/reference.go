package policy

import (
	"maps"
	"slices"
)

// ConditionKeys returns the condition keys of all policies, sorted. Those that end with "/" are followed by the key of
// a tag.
func ConditionKeys() []string { return slices.Sorted(maps.Values(identityKeys)) }

// TrustKeys returns the further condition keys of trust policies, sorted.
func TrustKeys() []string { return slices.Sorted(maps.Values(trustKeys)) }

// Operators returns the condition operators, sorted.
func Operators() []string { return slices.Sorted(maps.Keys(operators)) }
