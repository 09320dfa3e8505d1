// Package ruleset reads FlexMatch rule sets, the JSON documents that define matches. Parse checks a document completely
// and returns a Set, in which names are resolved and expressions are typed trees, so that evaluating it cannot fail.
//
// A Set is immutable. Each step of an expansion makes one more Set: At returns the one in force at an age, Levels the
// ages at which it changes. An evaluator (package matcher) does not need to know expansions.
//
// # What is accepted
//
// Keys with * are required. A null key counts as missing. Of equal keys the last one counts. Unknown keys, and keys
// that the type of a rule does not use, are ignored; if a required key is missing and an unknown key is similar, the
// error names that one.
//
//	name                            string
//	ruleLanguageVersion *           "1.0"
//	playerAttributes[]              at most 200
//	  name *                        string of at most 128 characters, unique
//	  type *                        number, string, string_list, string_number_map
//	  default                       a value of the type; lists of at most 100 strings
//	algorithm
//	  strategy                      exhaustiveSearch (default), balanced (required with more than 40 players)
//	  batchingPreference            exhaustiveSearch: random (default), sorted
//	                                balanced: largestPopulation (default), fastestRegion
//	  sortByAttributes[]            attributes of type number or string; required with sorted, refused without
//	  balancedAttribute             an attribute of type number; required with balanced, refused without
//	  expansionAgeSelection         newest (default), oldest
//	  backfillPriority              normal (default), high, low
//	teams[] *                       at least 1; 200 players in all
//	  name *                        string of at most 128 characters, unique; the copies <name>_1 … as well
//	  minPlayers *                  0 to maxPlayers
//	  maxPlayers *                  1 to 200
//	  quantity                      1 (default) to 200
//	rules[]                         at most 200
//	  name *, type *                string, unique; one of the types below
//	  description                   ignored
//	  partyAggregation              avg (default), min, max; collection: union (default), intersection; compound: none
//	  comparison
//	    measurements *              1 to 50 expressions of numbers or strings; a single one needs no list
//	    operation *                 < <= = != > >=; strings and rules without a reference: = !=
//	    referenceValue              a number, a string, or an expression of one number
//	  distance
//	    measurements *              expressions of numbers
//	    referenceValue *            a number, or an expression of one
//	    minDistance, maxDistance    one of them *, from 0, in order
//	  batchDistance
//	    batchAttribute *            an attribute of type number or string
//	    maxDistance                 a number or digits in quotes, from 0; required for numbers, refused for strings
//	  collection
//	    measurements *              expressions of strings, in lists
//	    operation *                 contains, intersection, reference_intersection_count
//	    referenceValue              contains *: a string
//	                                reference_intersection_count *: a list of strings, or an expression of one
//	    minCount, maxCount          whole numbers from 0, in order; neither: minCount 1
//	  compound                      not with more than 40 players
//	    statement *                 and, or, xor of two operands or more, not of one, nested at most 32 deep; operands
//	                                are rules before it except batchDistance and sort rules
//	  latency
//	    maxLatency, maxDistance     one of them *, from 0; with more than 40 players maxLatency * alone
//	    distanceReference           min (default), avg
//	  absoluteSort, distanceSort
//	    sortDirection *             ascending, descending
//	    sortAttribute *             an attribute of type number, string_number_map or, for absoluteSort, string
//	    mapKey                      minValue, maxValue; required for maps, refused for others
//	expansions[]                    at most 200
//	  target *                      teams[name, …].property or rules[name, …].property
//	  steps[] *                     1 to 100; at most 100 different times, and 10,000 changes of a team or rule
//	    waitTimeSeconds *           a whole number from 0, more than that of the step before
//	    value *                     a value of the property
//
// With more than 40 players, only the rule types latency and batchDistance are allowed. Expansions can set minPlayers
// and maxPlayers of teams, and all listed properties of rules except measurements, batchAttribute, sortAttribute and
// statement. The set must be valid at every age: a step that makes minPlayers exceed maxPlayers is refused, and so is
// one that makes large matches of small ones.
//
// Source: FlexMatch guide, rule set schema, rule types, property expressions, expansions, large matches. The limits 50,
// 100, 1000 (rules that a statement evaluates) and 200 (except of players) are ours.
package ruleset
