package catalog

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/muster-gg/muster/internal/event"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The kinds of resources that have tags. A resource key is the kind and the resource's id or name: the last part of its
// ARN.
const (
	aliasKind         = "alias/"
	buildKind         = "build/"
	configurationKind = "matchmakingconfiguration/"
	fleetKind         = "fleet/"
	locationKind      = "location/"
	queueKind         = "gamesessionqueue/"
	ruleSetKind       = "matchmakingruleset/"
)

// The maximum sizes of a tag in characters. Source: API model, TagKey and TagValue.
const (
	maxTagKey   = 128
	maxTagValue = 256
)

// A Tag is a label of a resource.
type Tag struct {
	Key   string `cbor:"1,keyasint,omitempty"`
	Value string `cbor:"2,keyasint,omitempty"`
}

// ResourceTags are the tags of one resource, sorted by key.
type ResourceTags struct {
	Resource string `cbor:"1,keyasint,omitempty"` // a resource key, such as "fleet/fleet-…"
	Tags     []Tag  `cbor:"2,keyasint,omitempty"`
}

// TagResource adds or replaces tags. NotFound for the resource; TaggingFailed for invalid or repeated keys and too many
// tags.
type TagResource struct {
	Resource string `cbor:"1,keyasint,omitzero"` // a resource key, such as "fleet/fleet-…"
	Tags     []Tag  `cbor:"2,keyasint,omitzero"`
}

// UntagResource removes tags; missing keys are ignored. NotFound for the resource.
type UntagResource struct {
	Resource string   `cbor:"1,keyasint,omitzero"` // a resource key, such as "fleet/fleet-…"
	Keys     []string `cbor:"2,keyasint,omitzero"`
}

// ResourceTagged follows TagResource and the creation of a resource with tags.
type ResourceTagged struct {
	Resource string `cbor:"1,keyasint,omitempty"`
	Tags     []Tag  `cbor:"2,keyasint,omitempty"`
}

// ResourceUntagged follows UntagResource.
type ResourceUntagged struct {
	Resource string   `cbor:"1,keyasint,omitempty"`
	Keys     []string `cbor:"2,keyasint,omitempty"`
}

func (c TagResource) decide(s *State, _ event.Time) ([]Event, error) {
	if !s.Taggable(c.Resource) {
		return nil, resourceNotFound(c.Resource)
	}
	return s.tagNew(c.Resource, c.Tags)
}

// tagNew returns the event that tags a resource, which need not exist yet; none without tags.
func (s *State) tagNew(resource string, tags []Tag) ([]Event, error) {
	if len(tags) == 0 {
		return nil, nil
	}
	if err := checkTags(tags); err != nil {
		return nil, err
	}
	if len(merge(s.Tags(resource), tags)) > s.limits.TagsPerResource {
		return nil, fault.New(fault.TaggingFailed, "A resource can have at most %d tags", s.limits.TagsPerResource)
	}
	return []Event{&ResourceTagged{Resource: resource, Tags: slices.Clone(tags)}}, nil
}

func checkTags(tags []Tag) error {
	keys := make([]string, len(tags))
	for i, t := range tags {
		keys[i] = t.Key
		switch n := utf8.RuneCountInString(t.Key); {
		case n == 0 || n > maxTagKey:
			return fault.New(fault.TaggingFailed, "A tag key must have 1 to %d characters", maxTagKey)
		case utf8.RuneCountInString(t.Value) > maxTagValue:
			return fault.New(fault.TaggingFailed, "A tag value must have at most %d characters", maxTagValue)
		case len(t.Key) >= 4 && strings.EqualFold(t.Key[:4], "aws:"):
			return fault.New(fault.TaggingFailed, "Tag key %s begins with aws:, which is reserved", t.Key)
		}
	}
	if key, ok := repeated(keys); ok {
		return fault.New(fault.TaggingFailed, "Tag key %s is given twice", key)
	}
	return nil
}

// merge returns old with more added or replaced, sorted by key.
func merge(old, more []Tag) []Tag {
	merged := slices.Clone(old)
	for _, t := range more {
		i, found := slices.BinarySearchFunc(merged, t, compareKeys)
		if found {
			merged[i] = t
		} else {
			merged = slices.Insert(merged, i, t)
		}
	}
	return merged
}

func compareKeys(a, b Tag) int { return strings.Compare(a.Key, b.Key) }

func (c UntagResource) decide(s *State, _ event.Time) ([]Event, error) {
	if !s.Taggable(c.Resource) {
		return nil, resourceNotFound(c.Resource)
	}
	var present []string
	for _, t := range s.Tags(c.Resource) {
		if slices.Contains(c.Keys, t.Key) {
			present = append(present, t.Key)
		}
	}
	if len(present) == 0 {
		return nil, nil
	}
	return []Event{&ResourceUntagged{Resource: c.Resource, Keys: present}}, nil
}

func (e *ResourceTagged) apply(s *State) { s.putTags(e.Resource, merge(s.Tags(e.Resource), e.Tags)) }

func (e *ResourceUntagged) apply(s *State) {
	s.putTags(e.Resource, slices.DeleteFunc(slices.Clone(s.Tags(e.Resource)), func(t Tag) bool {
		return slices.Contains(e.Keys, t.Key)
	}))
}

// putTags stores tags that are sorted by key.
func (s *State) putTags(resource string, tags []Tag) {
	if len(tags) == 0 {
		s.tags.Delete(resource)
		return
	}
	s.tags.Set(resource, &ResourceTags{Resource: resource, Tags: tags})
}

func resourceNotFound(key string) error {
	return fault.New(fault.NotFound, "Resource %s not found", key)
}

// Taggable reports whether the resource with this key exists and can have tags.
func (s *State) Taggable(resource string) bool {
	kind, id, _ := strings.Cut(resource, "/")
	var ok bool
	switch kind + "/" {
	case fleetKind:
		_, err := s.LiveFleet(id)
		ok = err == nil
	case locationKind:
		_, ok = s.locations.Get(id)
	case aliasKind:
		_, ok = s.aliases.Get(id)
	case buildKind:
		_, ok = s.builds.Get(id)
	case queueKind:
		_, ok = s.queues.Get(id)
	case configurationKind:
		_, ok = s.configurations.Get(id)
	case ruleSetKind:
		_, ok = s.ruleSets.Get(id)
	}
	return ok
}

// Tags returns the tags of a resource sorted by key, read-only; nil if there are none or it does not exist.
func (s *State) Tags(resource string) []Tag {
	if r, ok := s.tags.Get(resource); ok {
		return r.Tags
	}
	return nil
}
