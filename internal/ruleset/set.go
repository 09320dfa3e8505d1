package ruleset

// A Set is a rule set that was checked. All of it is read only.
type Set struct {
	Name       string
	Attributes []Attribute // in the order of declaration; the index is an attribute's slot
	Algorithm  Algorithm
	Teams      []Team // with copies: a team with quantity 2 stands twice
	Rules      []Rule // in the order of the document

	levels []level // see expansion.go
	base   *Set    // of a set that At gave: the set that was parsed
}

// A Type is the type of a player attribute. The numbers are written in events.
type Type uint8

// The types of player attributes. The zero Type is that of a value that is not there.
const (
	Number Type = iota + 1
	String
	StringList
	NumberMap // string_number_map
)

// A Value is the value of an attribute: the field of its type is set. The tags are
// for the events of package matchmaking, which keep values.
type Value struct {
	Type Type               `cbor:"1,keyasint,omitempty"`
	N    float64            `cbor:"2,keyasint,omitempty"`
	S    string             `cbor:"3,keyasint,omitempty"`
	SL   []string           `cbor:"4,keyasint,omitempty"` // without duplicates
	SDM  map[string]float64 `cbor:"5,keyasint,omitempty"`
}

// An Attribute is one that players can have.
type Attribute struct {
	Name    string
	Type    Type
	Default Value // zero: a player without a value can never be matched
}

// Algorithm says in which order tickets are tried.
type Algorithm struct {
	Balanced         bool  // strategy
	Sorted           bool  // batchingPreference of exhaustiveSearch; else random
	FastestRegion    bool  // batchingPreference of balanced; else largestPopulation
	SortBy           []int // slots of sortByAttributes
	BalancedBy       int   // slot of balancedAttribute, with Balanced
	OldestAge        bool  // expansionAgeSelection; else newest
	BackfillPriority Priority
}

// Priority is where backfill tickets stand in a batch.
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
	Base string // as the document names it
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

// A Fold is how the players of one ticket become one value. The value stands in
// place of each of them, so the number of values stays.
type Fold string

// The folds: of numbers, and of string lists.
const (
	FoldAvg          Fold = "avg"
	FoldMin          Fold = "min"
	FoldMax          Fold = "max"
	FoldUnion        Fold = "union"
	FoldIntersection Fold = "intersection"
)

// A Rule is one rule; which fields count depends on its type.
type Rule struct {
	Name    string
	Type    RuleType
	Operand bool // stands in a compound rule, and counts only there
	Fold    Fold // never empty where the type has one

	Measurements []*Expr    // comparison, distance, collection
	Operation    string     // comparison: < <= = != > >=; collection: contains, intersection, reference_intersection_count
	Reference    *Reference // nil: none
	MinDistance  *float64   // distance
	MaxDistance  *float64   // distance, batchDistance, latency
	MinCount     *int       // collection; neither bound in the document: MinCount is 1
	MaxCount     *int       // collection
	MaxLatency   *float64   // latency, milliseconds
	FromAverage  bool       // latency: distanceReference avg; else min
	Attribute    int        // batchDistance, sort rules: the slot
	Descending   bool       // sort rules
	MapKey       MapKey     // sort rules by a map
	Statement    *Statement // compound
}

// MapKey says which key of the anchor's map a sort rule goes by.
type MapKey uint8

// The map keys.
const (
	NoMapKey MapKey = iota
	MinValue        // the key with the smallest number
	MaxValue
)

// A Reference is what measurements are compared with: one of the four is set.
type Reference struct {
	Number *float64
	Text   *string
	List   []string
	Expr   *Expr
}

// A Statement is a compound rule: an operator over operands, or, with Op "", a rule.
type Statement struct {
	Op   string // and, or, not, xor, or ""
	Rule int    // index in Set.Rules, with Op ""
	Args []*Statement
}

// An Expr is a property expression: a function of another one, or, with Func "",
// a path.
type Expr struct {
	Func string // min max avg median sum count stddev flatten set_intersection, or ""
	Arg  *Expr  // of Func
	Path *Path  // without Func
	Type ExprType
	Text string // as the document has it, for messages
}

// An ExprType is the type of an expression: a kind of element, in so many lists.
type ExprType struct {
	Depth int // 0: one element
	Of    Kind
}

// A Kind is what an expression gives.
type Kind uint8

// The kinds. A string_list attribute is one more list of KindString.
const (
	KindTeam Kind = iota + 1
	KindPlayer
	KindNumber
	KindString
	KindMap
)

// A Path selects something of the teams.
type Path struct {
	Teams   []int // indexes in Set.Teams, in their order there
	Grouped bool  // a list of teams was selected, so what follows is a list for each of them
	Of      PathOf
	Slot    int // with OfAttribute
}

// PathOf is what a path takes of the teams.
type PathOf uint8

// What a path can take.
const (
	OfTeams PathOf = iota + 1
	OfPlayers
	OfPlayerIDs
	OfAttribute
)

// Large reports whether matches have more than 40 players, to which other rules
// apply. It looks at the teams before any expansion.
func (s *Set) Large() bool {
	if s.base != nil {
		s = s.base
	}
	return s.MaxPlayers() > maxSmall
}

// MaxPlayers is the number of players that all teams can have.
func (s *Set) MaxPlayers() int {
	n := 0
	for _, t := range s.Teams {
		n += t.Max
	}
	return n
}
