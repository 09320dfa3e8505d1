package ruleset

// A Set is a checked rule set. It is read only.
type Set struct {
	Name       string
	Attributes []Attribute // in the order of declaration; the index is the attribute's slot
	Algorithm  Algorithm
	Teams      []Team // with copies: a team with quantity 2 appears twice
	Rules      []Rule // in the order of the document

	levels []level // see expansion.go
	base   *Set    // of a result of At: the parsed set
}

// A Type is the type of a player attribute. Events store the number.
type Type uint8

// The types of player attributes. The zero Type is that of a missing value.
const (
	Number Type = iota + 1
	String
	StringList
	NumberMap // string_number_map
)

// A Value is the value of an attribute: the field of its type is set. The events of package matchmaking store it.
type Value struct {
	Type Type               `cbor:"1,keyasint,omitempty"`
	N    float64            `cbor:"2,keyasint,omitempty"`
	S    string             `cbor:"3,keyasint,omitempty"`
	SL   []string           `cbor:"4,keyasint,omitempty"` // without duplicates
	SDM  map[string]float64 `cbor:"5,keyasint,omitempty"`
}

// An Attribute is a player attribute.
type Attribute struct {
	Name    string
	Type    Type
	Default Value // zero: a player without a value can never be matched
}

// Algorithm decides in which order tickets are tried.
type Algorithm struct {
	Balanced         bool  // strategy
	Sorted           bool  // batchingPreference of exhaustiveSearch; else random
	FastestRegion    bool  // batchingPreference of balanced; else largestPopulation
	SortBy           []int // slots of sortByAttributes
	BalancedBy       int   // slot of balancedAttribute, with Balanced
	OldestAge        bool  // expansionAgeSelection; else newest
	BackfillPriority Priority
}

// Priority is the position of backfill tickets in a batch.
type Priority int8

// The priorities.
const (
	LowPriority    Priority = -1
	NormalPriority Priority = 0
	HighPriority   Priority = 1
)

// A Team is one team of a match, or one copy of it.
type Team struct {
	Name string // crew_2 for the second copy of crew
	Base string // name in the document
	Min  int    // players
	Max  int
}

// A RuleType is the type of a rule.
type RuleType string

// The rule types, as the document names them.
const (
	Comparison    RuleType = "comparison"
	Distance      RuleType = "distance"
	BatchDistance RuleType = "batchDistance"
	Collection    RuleType = "collection"
	Compound      RuleType = "compound"
	Latency       RuleType = "latency"
	AbsoluteSort  RuleType = "absoluteSort"
	DistanceSort  RuleType = "distanceSort"
)

// A Fold combines the values of the players of one ticket. The result replaces each of them, so the number of values
// does not change.
type Fold string

// The folds: of numbers, and of string lists.
const (
	FoldAvg          Fold = "avg"
	FoldMin          Fold = "min"
	FoldMax          Fold = "max"
	FoldUnion        Fold = "union"
	FoldIntersection Fold = "intersection"
)

// A Rule is one rule; its type decides which fields are used.
type Rule struct {
	Name    string
	Type    RuleType
	Operand bool // in a compound rule, and evaluated only there
	Fold    Fold // not empty if the type has one

	Measurements []*Expr // comparison, distance, collection
	// comparison: < <= = != > >=; collection: contains, intersection, reference_intersection_count
	Operation   string
	Reference   *Reference // nil: none
	MinDistance *float64   // distance
	MaxDistance *float64   // distance, batchDistance, latency
	MinCount    *int       // collection; 1 if the document has no bound
	MaxCount    *int       // collection
	MaxLatency  *float64   // latency, milliseconds
	FromAverage bool       // latency: distanceReference avg; else min
	Attribute   int        // batchDistance, sort rules: the slot
	Descending  bool       // sort rules
	MapKey      MapKey     // sort rules by a map
	Statement   *Statement // compound
}

// MapKey selects the key of the anchor's map for a sort rule.
type MapKey uint8

// The map keys.
const (
	NoMapKey MapKey = iota
	MinValue        // the key with the smallest number
	MaxValue
)

// A Reference is compared with measurements: one field is set.
type Reference struct {
	Number *float64
	Text   *string
	List   []string
	Expr   *Expr
}

// A Statement is an operator over operands or, with Op "", a rule.
type Statement struct {
	Op   string // and, or, not, xor, or ""
	Rule int    // index in Set.Rules, with Op ""
	Args []*Statement
}

// An Expr is a property expression: a function of another one or, with Func "", a path.
type Expr struct {
	Func string // min max avg median sum count stddev flatten set_intersection, or ""
	Arg  *Expr  // of Func
	Path *Path  // without Func
	Type ExprType
	Text string // for messages
}

// An ExprType is a kind of element, nested in Depth lists.
type ExprType struct {
	Depth int // 0: one element
	Of    Kind
}

// A Kind is the kind of an expression's elements.
type Kind uint8

// The kinds. A string_list attribute is a list of KindString.
const (
	KindTeam Kind = iota + 1
	KindPlayer
	KindNumber
	KindString
	KindMap
)

// A Path selects a part of the teams.
type Path struct {
	Teams   []int // indexes in Set.Teams, in their order there
	Grouped bool  // several teams were selected: the result has a list for each
	Of      PathOf
	Slot    int // with OfAttribute
}

// PathOf is the part that a path selects.
type PathOf uint8

// The parts that a path can select.
const (
	OfTeams PathOf = iota + 1
	OfPlayers
	OfPlayerIDs
	OfAttribute
)

// Large reports whether matches have more than 40 players, for which other rules apply. Expansions cannot change it.
func (s *Set) Large() bool {
	if s.base != nil {
		s = s.base
	}
	return s.MaxPlayers() > maxSmall
}

// MaxPlayers returns the maximum number of players of a match.
func (s *Set) MaxPlayers() int {
	n := 0
	for _, t := range s.Teams {
		n += t.Max
	}
	return n
}
