package event

import "reflect"

// Level returns the first feature level at which values of v's type may be written, whether v is a pointer or not. It
// is 1 for a type outside the Set.
func (s *Set) Level(v any) int {
	if m := s.types[reflect.TypeOf(v)]; m != nil {
		return m.level
	}
	return 1
}

// MaxLevel returns the highest level of the Set's types: a program with this Set reads facts up to it.
func (s *Set) MaxLevel() int {
	highest := 1
	for _, m := range s.numbers {
		highest = max(highest, m.level)
	}
	return highest
}

// A Gate limits which types of facts a state writes. States embed it and check it before they decide a fact of a newer
// type; below that type's level they behave as before the type existed. The zero Gate has no limit.
type Gate struct{ level int }

// Allows reports whether facts of a feature level may be written.
func (g Gate) Allows(level int) bool { return g.level == 0 || level <= g.level }

// Raise sets the highest level that may be written.
func (g *Gate) Raise(level int) { g.level = level }
