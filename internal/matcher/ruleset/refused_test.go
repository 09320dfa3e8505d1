package ruleset

import (
	"fmt"
	"strings"
	"testing"
)

// Parts of rules, for the tables.
const (
	skills = `"flatten(teams[*].players.attributes[skill])"`
	modes  = `"flatten(teams[*].players.attributes[mode])"`
	tags   = `"flatten(teams[*].players.attributes[tags])"`

	seasoned = `"type":"comparison","operation":">=","referenceValue":5,"measurements":[` + skills + `]`
	batch    = `"type":"batchDistance","batchAttribute":"skill","maxDistance":10`
	sameMode = `"type":"batchDistance","batchAttribute":"mode"`
	healers  = `"type":"collection","operation":"contains","referenceValue":"healer","measurements":[` + tags +
		`],"minCount":1,"maxCount":2`
	ping      = `"type":"latency","maxLatency":90`
	bySkill   = `"type":"absoluteSort","sortDirection":"ascending","sortAttribute":"skill"`
	either2   = `"type":"compound","statement":"or(r0, r1)"`
	red       = `{"name":"red","minPlayers":1,"maxPlayers":5}`
	skillOnly = `"playerAttributes":[{"name":"skill","type":"number"}]`
)

// steps is an expansion.
func steps(target, list string) string { return `{"target":"` + target + `","steps":[` + list + `]}` }

func sprint(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// TestRefused: every check, the place that its error names, and a part of what it says.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, body, path, problem string }{
		// The document.
		{"empty", ``, "", "line 1, column 1: unexpected end of JSON input"},
		{"no JSON", `{"a":1,}`, "", "line 1, column 8: invalid character '}'"},
		{"comment", "{\n  \"name\": \"x\", // why\n}", "",
			"line 2, column 16: invalid character '/' looking for beginning of object key string: JSON has no " +
				"comments, use the key description"},
		{"hash comment", "# why\n{}", "",
			"line 1, column 1: invalid character '#' looking for beginning of value: JSON has no comments"},
		{"two documents", `{} {}`, "", "line 1, column 4: invalid character '{' after top-level value"},
		{"column in characters", `{"é":x}`, "", "line 1, column 6"},
		{"cut", `{"teams":[`, "", "line 1, column 11: unexpected end"},
		{"deep", strings.Repeat("[", 20000), "", "not JSON at line 1, column 10001"},
		{"huge number", `{"teams":1e999}`, "", "the number 1e999 at line 1, column 10 is out of range"},
		{"no object", `[1]`, "", "a rule set is a JSON object, not a list"},
		{"null", `null`, "", "a rule set is a JSON object, not null"},
		{"too long", `{"name":"` + strings.Repeat("x", maxBody) + `"}`, "", "more than 65535 characters"},
		{"name", with(`"name":5`), "name", "must be a string, not 5"},
		{"no version", `{"teams":[` + red + `]}`, "ruleLanguageVersion", "the key is required"},
		{"misspelt version", `{"ruleLanguageVerson":"1.0","teams":[` + red + `]}`, "ruleLanguageVersion",
			`"ruleLanguageVerson" is no key of a rule set`},
		{"other version", `{"ruleLanguageVersion":"2.0"}`, "ruleLanguageVersion", `must be "1.0", not "2.0"`},
		{"number as version", `{"ruleLanguageVersion":1.0}`, "ruleLanguageVersion", "must be a string, not 1"},

		// Attributes.
		{"attributes", with(`"playerAttributes":{}`), "playerAttributes", "must be a list of objects, not an object"},
		{"attribute", with(`"playerAttributes":["skill"]`), "playerAttributes[0]", `must be an object, not "skill"`},
		{"attribute without name", with(`"playerAttributes":[{"type":"number"}]`), "playerAttributes[0].name",
			"required"},
		{"attribute with empty name", with(`"playerAttributes":[{"name":"","type":"number"}]`),
			"playerAttributes[0].name", "must not be empty"},
		{"attribute with a long name", with(`"playerAttributes":[{"name":"` + strings.Repeat("é", 129) +
			`","type":"number"}]`), "playerAttributes[0].name", "has 129 characters, and can have at most 128"},
		{"attribute without type", with(`"playerAttributes":[{"name":"a"}]`), "playerAttributes[0].type", "required"},
		{"attribute of another type", with(`"playerAttributes":[{"name":"a","type":"int"}]`),
			"playerAttributes[0].type", `must be number, string, string_list or string_number_map, not "int"`},
		{"two attributes of one name",
			with(`"playerAttributes":[{"name":"a","type":"number"},{"name":"a","type":"string"}]`),
			"playerAttributes[1].name", `two player attributes of the name "a"`},
		{"default of a number", with(`"playerAttributes":[{"name":"a","type":"number","default":"5"}]`),
			"playerAttributes[0].default", `type number, and is "5"`},
		{"default of a string", with(`"playerAttributes":[{"name":"a","type":"string","default":true}]`),
			"playerAttributes[0].default", "type string, and is true"},
		{"default of a list", with(`"playerAttributes":[{"name":"a","type":"string_list","default":"x"}]`),
			"playerAttributes[0].default", "type string_list"},
		{"default of a list, element", with(`"playerAttributes":[{"name":"a","type":"string_list","default":["x",1]}]`),
			"playerAttributes[0].default[1]", "must be a string, not 1"},
		{"default of a list, too long",
			with(sprint(`"playerAttributes":[{"name":"a","type":"string_list","default":[%s""]}]`,
				strings.Repeat(`"",`, maxList))), "playerAttributes[0].default", "at most 100"},
		{"default of a map", with(`"playerAttributes":[{"name":"a","type":"string_number_map","default":[]}]`),
			"playerAttributes[0].default", "type string_number_map, and is a list"},
		{"default of a map, value",
			with(`"playerAttributes":[{"name":"a","type":"string_number_map","default":{"x":1,"y":"2"}}]`),
			"playerAttributes[0].default.y", `must be a number, not "2"`},
		{"too many attributes", with(sprint(`"playerAttributes":[%s{}]`, strings.Repeat("{},", maxAttributes))),
			"playerAttributes", "has 201 elements, and can have at most 200"},

		// Teams.
		{"no teams", with(), "teams", "the key is required"},
		{"empty teams", with(`"teams":[]`), "teams", "at least one team"},
		{"teams", with(`"teams":"red"`), "teams", "must be a list of objects"},
		{"team without name", with(`"teams":[{"minPlayers":1,"maxPlayers":1}]`), "teams[0].name", "required"},
		{"two teams of one name", with(`"teams":[` + red + "," + red + `]`), "teams[1].name",
			`two teams of the name "red"`},
		{"no minPlayers", with(`"teams":[{"name":"a","maxPlayers":1}]`), "teams[0].minPlayers", "required"},
		{"no maxPlayers", with(`"teams":[{"name":"a","minPlayers":1,"max_players":3}]`), "teams[0].maxPlayers",
			`"max_players" is no key`},
		{"maxPlayers 0", with(`"teams":[{"name":"a","minPlayers":0,"maxPlayers":0}]`), "teams[0].maxPlayers",
			"a whole number from 1 to 200, not 0"},
		{"maxPlayers 2.5", with(`"teams":[{"name":"a","minPlayers":0,"maxPlayers":2.5}]`), "teams[0].maxPlayers",
			"not 2.5"},
		{"maxPlayers in quotes", with(`"teams":[{"name":"a","minPlayers":0,"maxPlayers":"2"}]`), "teams[0].maxPlayers",
			`not "2"`},
		{"minPlayers -1", with(`"teams":[{"name":"a","minPlayers":-1,"maxPlayers":2}]`), "teams[0].minPlayers",
			"from 0 to 200, not -1"},
		{"more than maxPlayers", with(`"teams":[` + red + `,{"name":"a","minPlayers":3,"maxPlayers":2}]`),
			"teams[1].minPlayers", "is 3, more than maxPlayers 2"},
		{"quantity 0", with(`"teams":[{"name":"a","minPlayers":1,"maxPlayers":2,"quantity":0}]`), "teams[0].quantity",
			"from 1 to 200"},
		{"quantity 1e9", with(`"teams":[{"name":"a","minPlayers":1,"maxPlayers":2,"quantity":1e9}]`),
			"teams[0].quantity", "not 1e+09"},
		{"201 players", with(`"teams":[` + red + `,{"name":"a","minPlayers":1,"maxPlayers":49,"quantity":4}]`),
			"teams[1].maxPlayers", "slots for 201 players up to here, and a match can have at most 200"},
		{"name of a copy", with(`"teams":[{"name":"a","minPlayers":1,"maxPlayers":2,"quantity":2},{"name":"a_2",` +
			`"minPlayers":1,"maxPlayers":2}]`), "teams[0].name", `a copy of the team "a" has the name "a_2"`},

		// The algorithm.
		{"algorithm", body(`"algorithm":"balanced"`), "algorithm", "must be an object"},
		{"strategy", body(`"algorithm":{"strategy":"fast"}`), "algorithm.strategy",
			`must be exhaustiveSearch or balanced, not "fast"`},
		{"batching of the other strategy", body(`"algorithm":{"batchingPreference":"fastestRegion"}`),
			"algorithm.batchingPreference", "must be random or sorted"},
		{"batching of exhaustive search",
			body(`"algorithm":{"strategy":"balanced","balancedAttribute":"skill","batchingPreference":"sorted"}`),
			"algorithm.batchingPreference", "must be largestPopulation or fastestRegion"},
		{"expansionAgeSelection", body(`"algorithm":{"expansionAgeSelection":"youngest"}`),
			"algorithm.expansionAgeSelection", "must be newest or oldest"},
		{"backfillPriority", body(`"algorithm":{"backfillPriority":1}`), "algorithm.backfillPriority",
			"must be a string, not 1"},
		{"sorted by nothing", body(`"algorithm":{"batchingPreference":"sorted"}`), "algorithm.sortByAttributes",
			"required"},
		{"sorted by no list", body(`"algorithm":{"batchingPreference":"sorted","sortByAttributes":"skill"}`),
			"algorithm.sortByAttributes", "must be a list of names"},
		{"sorted by an unknown one",
			body(`"algorithm":{"batchingPreference":"sorted","sortByAttributes":["skill","rank"]}`),
			"algorithm.sortByAttributes[1]", `no player attribute "rank"`},
		{"sorted by a list", body(`"algorithm":{"batchingPreference":"sorted","sortByAttributes":["tags"]}`),
			"algorithm.sortByAttributes[0]", "takes a player attribute of type number or string"},
		{"sort attributes without sorted", body(`"algorithm":{"sortByAttributes":["skill"]}`),
			"algorithm.sortByAttributes", "is for batchingPreference sorted"},
		{"sort attributes with balanced",
			body(`"algorithm":{"strategy":"balanced","balancedAttribute":"skill","sortByAttributes":["skill"]}`),
			"algorithm.sortByAttributes", "is for strategy exhaustiveSearch"},
		{"balanced by nothing", body(`"algorithm":{"strategy":"balanced"}`), "algorithm.balancedAttribute", "required"},
		{"balanced by an unknown one", body(`"algorithm":{"strategy":"balanced","balancedAttribute":"rank"}`),
			"algorithm.balancedAttribute", `no player attribute "rank"`},
		{"balanced by a string", body(`"algorithm":{"strategy":"balanced","balancedAttribute":"mode"}`),
			"algorithm.balancedAttribute", `of type number, and "mode" is of type string`},
		{"balancedAttribute without balanced", body(`"algorithm":{"balancedAttribute":"skill"}`),
			"algorithm.balancedAttribute", "is for strategy balanced"},
		{"large and not balanced", with(skillOnly, `"teams":[{"name":"a","minPlayers":1,"maxPlayers":41}]`),
			"algorithm.strategy", "up to 41 players are large matches"},

		// Rules of all types.
		{"rules", body(`"rules":{}`), "rules", "must be a list"},
		{"rule", body(`"rules":[null]`), "rules[0]", "must be an object, not null"},
		{"rule without name", body(`"rules":[{"type":"latency"}]`), "rules[0].name", "required"},
		{"two rules of one name", body(`"rules":[{"name":"a",` + ping + `},{"name":"a",` + ping + `}]`),
			"rules[1].name", `two rules of the name "a"`},
		{"rule without type", rules(`"maxLatency":5`), "rules[0].type", "required"},
		{"type of rule", rules(`"type":"Latency"`), "rules[0].type",
			"must be comparison, distance, batchDistance, collection, compound, latency, absoluteSort or distanceSort"},
		{"fold of numbers", rules(seasoned + `,"partyAggregation":"union"`), "rules[0].partyAggregation",
			"must be avg, min or max"},
		{"fold of lists", rules(healers + `,"partyAggregation":"avg"`), "rules[0].partyAggregation",
			"must be union or intersection"},
		{"no measurements", rules(`"type":"distance","maxDistance":1,"referenceValue":1`), "rules[0].measurements",
			"required"},
		{"no measurement", rules(`"type":"distance","maxDistance":1,"referenceValue":1,"measurements":[]`),
			"rules[0].measurements", "must be 1 to 50 property expressions, not 0"},
		{"number as measurements", rules(`"type":"distance","maxDistance":1,"referenceValue":1,"measurements":5`),
			"rules[0].measurements", "must be a list of property expressions, not 5"},
		{"number as measurement", rules(`"type":"distance","maxDistance":1,"referenceValue":1,"measurements":[5]`),
			"rules[0].measurements[0]", "must be a property expression in quotes, not 5"},
		{"bad measurement", rules(ping, `"type":"distance","maxDistance":1,"referenceValue":1,"measurements":[`+skills+
			`,"avg(x)"]`), "rules[1].measurements[1]",
			"at character 5 of the expression: expected a function or teams"},
		{"bad single measurement",
			rules(`"type":"distance","maxDistance":1,"referenceValue":1,"measurements":"teams[*]x"`),
			"rules[0].measurements", `at character 9 of the expression: expected the end, found "x"`},
		{"too many rules", body(sprint(`"rules":[%s{}]`, strings.Repeat("{},", maxRules))), "rules",
			"can have at most 200"},

		// Comparison.
		{"no operation", rules(`"type":"comparison","referenceValue":5,"measurements":[` + skills + `]`),
			"rules[0].operation", "required"},
		{"operation", rules(`"type":"comparison","operation":"==","referenceValue":5,"measurements":[` + skills + `]`),
			"rules[0].operation", `must be <, <=, =, !=, > or >=, not "=="`},
		{"comparison of lists", rules(`"type":"comparison","operation":"=","measurements":[` + tags + `]`),
			"rules[0].measurements[0]", "must give numbers or strings, and gives a list of lists of strings"},
		{"comparison of players", rules(`"type":"comparison","operation":"=","measurements":["teams[red].players"]`),
			"rules[0].measurements[0]", "gives a list of players"},
		{"comparison of maps", rules(`"type":"comparison","operation":"=",` +
			`"measurements":["teams[red].players.attributes[votes]"]`), "rules[0].measurements[0]", "gives a list " +
			"of maps"},
		{"numbers and strings", rules(`"type":"comparison","operation":"=","measurements":[` + skills + "," + modes +
			`]`), "rules[0].measurements", "numbers and strings"},
		{"order of strings", rules(`"type":"comparison","operation":"<","referenceValue":"a","measurements":[` + modes +
			`]`), "rules[0].operation", "strings are compared with = and != only"},
		{"order without reference", rules(`"type":"comparison","operation":"<","measurements":[` + skills + `]`),
			"rules[0].referenceValue", "required with operation <"},
		{"number for strings", rules(`"type":"comparison","operation":"=","referenceValue":5,"measurements":[` + modes +
			`]`), "rules[0].referenceValue", "must be one string, like the measurements, not 5"},
		{"text for numbers", rules(`"type":"comparison","operation":"=","referenceValue":"avg(teams)",` +
			`"measurements":[` + skills + `]`), "rules[0].referenceValue",
			`"avg(teams)" is none: at character 10 of the expression: expected "[", found ")"`},
		{"list as reference", rules(`"type":"comparison","operation":"=","referenceValue":["a"],"measurements":[` +
			modes + `]`), "rules[0].referenceValue", "not a list"},
		{"boolean as reference", rules(`"type":"comparison","operation":"=","referenceValue":true,"measurements":[` +
			modes + `]`), "rules[0].referenceValue",
			"must be a number, a string, a list of strings or a property expression, not true"},
		{"list of values as reference", rules(`"type":"comparison","operation":"=","referenceValue":` + skills +
			`,"measurements":[` + skills + `]`), "rules[0].referenceValue",
			"must be one number, like the measurements, and gives a list of numbers"},
		{"reference to an unknown team",
			rules(`"type":"comparison","operation":"=","referenceValue":"count(teams[green].players)",` +
				`"measurements":[` + skills + `]`), "rules[0].referenceValue",
			`at character 13 of the expression: there is no team "green"`},

		// Distance.
		{"distance of strings", rules(`"type":"distance","maxDistance":1,"referenceValue":1,"measurements":[` + modes +
			`]`), "rules[0].measurements[0]", "must give numbers, and gives a list of strings"},
		{"distance without reference", rules(`"type":"distance","maxDistance":1,"measurements":[` + skills + `]`),
			"rules[0].referenceValue", "required"},
		{"distance from text", rules(`"type":"distance","maxDistance":1,"referenceValue":"x","measurements":[` +
			skills + `]`), "rules[0].referenceValue", "must be a number or a property expression"},
		{"distance from nothing of type",
			rules(`"type":"distance","maxDistance":1,"referenceValue":{},"measurements":[` + skills + `]`),
			"rules[0].referenceValue", "not an object"},
		{"no distance", rules(`"type":"distance","referenceValue":1,"measurements":[` + skills + `]`),
			"rules[0].maxDistance", "required"},
		{"negative distance", rules(`"type":"distance","maxDistance":-1,"referenceValue":1,"measurements":[` + skills +
			`]`), "rules[0].maxDistance", "must not be negative, and is -1"},
		{"distance in quotes", rules(`"type":"distance","minDistance":"1","referenceValue":1,"measurements":[` +
			skills + `]`), "rules[0].minDistance", `must be a number, not "1"`},
		{"least distance above most",
			rules(`"type":"distance","minDistance":2,"maxDistance":1,"referenceValue":1,"measurements":[` + skills +
				`]`), "rules[0].minDistance", "is 2, more than maxDistance 1"},

		// Batch distance.
		{"no batchAttribute", rules(`"type":"batchDistance","maxDistance":1`), "rules[0].batchAttribute", "required"},
		{"unknown batchAttribute", rules(`"type":"batchDistance","batchAttribute":"rank","maxDistance":1`),
			"rules[0].batchAttribute", `no player attribute "rank"`},
		{"batch of lists", rules(`"type":"batchDistance","batchAttribute":"tags"`), "rules[0].batchAttribute",
			`of type number or string, and "tags" is of type string_list`},
		{"batch of maps", rules(`"type":"batchDistance","batchAttribute":"votes"`), "rules[0].batchAttribute",
			"of type string_number_map"},
		{"batch of numbers without distance", rules(`"type":"batchDistance","batchAttribute":"skill"`),
			"rules[0].maxDistance", "required"},
		{"batch of strings with distance", rules(sameMode + `,"maxDistance":1`), "rules[0].maxDistance",
			"leave this out"},
		{"batch distance in words", rules(`"type":"batchDistance","batchAttribute":"skill","maxDistance":"ten"`),
			"rules[0].maxDistance", `must be a number, not "ten"`},
		{"infinite batch distance", rules(`"type":"batchDistance","batchAttribute":"skill","maxDistance":"Inf"`),
			"rules[0].maxDistance", `not "Inf"`},
		{"negative batch distance", rules(`"type":"batchDistance","batchAttribute":"skill","maxDistance":"-1"`),
			"rules[0].maxDistance", "must not be negative"},

		// Collection.
		{"collection operation",
			rules(`"type":"collection","operation":"not_contains","referenceValue":"x","measurements":[` + tags + `]`),
			"rules[0].operation", "must be contains, intersection or reference_intersection_count"},
		{"no collection operation", rules(`"type":"collection","measurements":[` + tags + `]`), "rules[0].operation",
			"required"},
		{"collection of numbers", rules(`"type":"collection","operation":"intersection","measurements":[` + skills +
			`]`), "rules[0].measurements[0]", "must give string lists, and gives a list of numbers"},
		{"contains nothing", rules(`"type":"collection","operation":"contains","measurements":[` + tags + `]`),
			"rules[0].referenceValue", "required"},
		{"contains a number", rules(`"type":"collection","operation":"contains","referenceValue":5,"measurements":[` +
			tags + `]`), "rules[0].referenceValue", "must be the one string to look for, not 5"},
		{"contains an expression", rules(`"type":"collection","operation":"contains","referenceValue":` + tags +
			`,"measurements":[` + tags + `]`), "rules[0].referenceValue", "must be the one string"},
		{"no list to intersect",
			rules(`"type":"collection","operation":"reference_intersection_count","measurements":[` + tags + `]`),
			"rules[0].referenceValue", "required"},
		{"text to intersect", rules(`"type":"collection","operation":"reference_intersection_count",` +
			`"referenceValue":"x","measurements":[` + tags + `]`), "rules[0].referenceValue",
			`must be a list of strings or a property expression that gives one, not "x"`},
		{"lists to intersect", rules(`"type":"collection","operation":"reference_intersection_count",` +
			`"referenceValue":` + tags + `,"measurements":[` + tags + `]`), "rules[0].referenceValue", "must give " +
			"a list of strings, and gives a list of lists of strings"},
		{"number in the list to intersect",
			rules(`"type":"collection","operation":"reference_intersection_count","referenceValue":["a",1],` +
				`"measurements":[` + tags + `]`), "rules[0].referenceValue[1]", "must be a string, not 1"},
		{"half a count", rules(`"type":"collection","operation":"intersection","minCount":0.5,"measurements":[` + tags +
			`]`), "rules[0].minCount", "a whole number"},
		{"negative count", rules(`"type":"collection","operation":"intersection","maxCount":-1,"measurements":[` +
			tags + `]`), "rules[0].maxCount", "not -1"},
		{"least count above most",
			rules(`"type":"collection","operation":"intersection","minCount":3,"maxCount":2,"measurements":[` + tags +
				`]`), "rules[0].minCount", "is 3, more than maxCount 2"},

		// Compound.
		{"no statement", rules(`"type":"compound"`), "rules[0].statement", "required"},
		{"just a rule", rules(ping, `"type":"compound","statement":"r0"`), "rules[1].statement",
			"at character 1 of the statement: begin with and, or, not or xor"},
		{"operator", rules(ping, ping, `"type":"compound","statement":"nor(r0, r1)"`), "rules[2].statement",
			`there is no operator "nor"`},
		{"later rule", rules(ping, `"type":"compound","statement":"and(r0, r2)"`, ping), "rules[1].statement",
			`at character 9 of the statement: there is no rule "r2" before this one`},
		{"itself", rules(`"type":"compound","statement":"not(r0)"`), "rules[0].statement",
			`there is no rule "r0" before`},
		{"one operand", rules(ping, `"type":"compound","statement":"and(r0)"`), "rules[1].statement",
			"and has two operands or more, not one"},
		{"two operands of not", rules(ping, ping, `"type":"compound","statement":"not(r0,r1)"`), "rules[2].statement",
			"not has one operand, not 2"},
		{"no operand", rules(ping, `"type":"compound","statement":"or(r0,)"`), "rules[1].statement",
			"at character 7 of the statement: expected the name of a rule"},
		{"not closed", rules(ping, `"type":"compound","statement":"or(r0, r0"`), "rules[1].statement",
			`at character 10 of the statement: expected "," or ")"`},
		{"more behind it", rules(ping, `"type":"compound","statement":"not(r0) r0"`), "rules[1].statement",
			`at character 9 of the statement: expected the end, found "r0"`},
		{"batch as operand", rules(batch, ping, either2), "rules[2].statement",
			`the rule "r0" is of type batchDistance`},
		{"sort as operand", rules(ping, bySkill, either2), "rules[2].statement",
			`the rule "r1" is of type absoluteSort`},
		{"nested too deep", rules(ping, `"type":"compound","statement":"`+strings.Repeat("not(", maxNesting+1)+"r0"+
			strings.Repeat(")", maxNesting+1)+`"`), "rules[1].statement", "more than 32 operators are nested"},
		{"too much to look at", rules(ping, `"type":"compound","statement":"and(r0`+strings.Repeat(",r0", 99)+`)"`,
			`"type":"compound","statement":"or(r1`+strings.Repeat(",r1", 10)+`)"`), "rules[2].statement",
			"more than 1000 rules are evaluated"},

		// Latency.
		{"no latency", rules(`"type":"latency"`), "rules[0].maxLatency", "required"},
		{"negative latency", rules(`"type":"latency","maxLatency":-5`), "rules[0].maxLatency", "must not be negative"},
		{"distanceReference", rules(`"type":"latency","maxDistance":5,"distanceReference":"max"`),
			"rules[0].distanceReference", "must be min or avg"},

		// Sort rules.
		{"no sortDirection", rules(`"type":"absoluteSort","sortAttribute":"skill"`), "rules[0].sortDirection",
			"required"},
		{"sortDirection", rules(`"type":"absoluteSort","sortAttribute":"skill","sortDirection":"up"`),
			"rules[0].sortDirection", "must be ascending or descending"},
		{"no sortAttribute", rules(`"type":"absoluteSort","sortDirection":"ascending"`), "rules[0].sortAttribute",
			"required"},
		{"sort by a list", rules(`"type":"absoluteSort","sortDirection":"ascending","sortAttribute":"tags"`),
			"rules[0].sortAttribute", "of type number, string or string_number_map"},
		{"distance of strings sorted",
			rules(`"type":"distanceSort","sortDirection":"ascending","sortAttribute":"mode"`), "rules[0].sortAttribute",
			`of type number or string_number_map, and "mode" is of type string`},
		{"map without key", rules(`"type":"absoluteSort","sortDirection":"ascending","sortAttribute":"votes"`),
			"rules[0].mapKey", "required"},
		{"map with another key",
			rules(`"type":"absoluteSort","sortDirection":"ascending","sortAttribute":"votes","mapKey":"keep"`),
			"rules[0].mapKey", "must be minValue or maxValue"},
		{"key without map", rules(bySkill + `,"mapKey":"minValue"`), "rules[0].mapKey",
			"is for attributes of type string_number_map"},

		// Large matches.
		{"large with a comparison", large(rulesMember([]string{ping, seasoned})), "rules[1].type",
			"have rules of the types latency and batchDistance only, not comparison"},
		{"large with a compound rule", large(rulesMember([]string{ping, `"type":"compound","statement":"not(r0)"`})),
			"rules[1].type", "not compound"},
		{"large with a latency distance", large(rulesMember([]string{ping + `,"maxDistance":5`})),
			"rules[0].maxDistance", "by maxLatency only"},
		{"large without a latency", large(rulesMember([]string{`"type":"latency"`})), "rules[0].maxLatency",
			"required"},

		// Expansions.
		{"expansions", body(`"expansions":5`), "expansions", "must be a list"},
		{"no target", expanded(nil, `{"steps":[]}`), "expansions[0].target", "required"},
		{"target without brackets", expanded(nil, steps("rules.r0", "")), "expansions[0].target",
			"must be like rules[name].maxDistance"},
		{"target without property", expanded(nil, steps("teams[red]", "")), "expansions[0].target",
			"must be like rules[name].maxDistance"},
		{"target of something else", expanded(nil, steps("algorithm[x].strategy", "")), "expansions[0].target",
			`must begin with rules[ or teams[, not with "algorithm"`},
		{"unknown team", expanded(nil, steps("teams[red, green].minPlayers", "")), "expansions[0].target",
			`there is no team "green"`},
		{"property of a team", expanded(nil, steps("teams[red].quantity", "")), "expansions[0].target",
			`sets minPlayers or maxPlayers, not "quantity"`},
		{"unknown rule", expanded([]string{ping}, steps("rules[r1].maxLatency", "")), "expansions[0].target",
			`there is no rule "r1"`},
		{"property of a rule", expanded([]string{ping}, steps("rules[r0].maxCount", "")), "expansions[0].target",
			"of type latency sets maxLatency, maxDistance, distanceReference or partyAggregation"},
		{"type of a rule", expanded([]string{ping}, steps("rules[r0].type", "")), "expansions[0].target", `not "type"`},
		{"compound rule", expanded([]string{ping, ping, either2}, steps("rules[r2].statement", "")),
			"expansions[0].target", "is a compound rule, which expansions cannot change"},
		{"no steps", expanded([]string{ping}, `{"target":"rules[r0].maxLatency"}`), "expansions[0].steps",
			"the key is required"},
		{"empty steps", expanded([]string{ping}, steps("rules[r0].maxLatency", "")), "expansions[0].steps",
			"at least one step"},
		{"step", expanded([]string{ping}, steps("rules[r0].maxLatency", "5")), "expansions[0].steps[0]",
			"must be an object, not 5"},
		{"no wait", expanded([]string{ping}, steps("rules[r0].maxLatency", `{"value":5,"waitTime":5}`)),
			"expansions[0].steps[0].waitTimeSeconds", "required"},
		{"wait in quotes", expanded([]string{ping}, steps("rules[r0].maxLatency", `{"value":5,"waitTimeSeconds":"5"}`)),
			"expansions[0].steps[0].waitTimeSeconds", `not "5"`},
		{"negative wait", expanded([]string{ping}, steps("rules[r0].maxLatency", `{"value":5,"waitTimeSeconds":-5}`)),
			"expansions[0].steps[0].waitTimeSeconds", "not -5"},
		{"equal waits", expanded([]string{ping}, steps("rules[r0].maxLatency",
			`{"value":5,"waitTimeSeconds":5},{"value":6,"waitTimeSeconds":5}`)),
			"expansions[0].steps[1].waitTimeSeconds", "is 5, but must be more than the 5 of the step before"},
		{"no value", expanded([]string{ping}, steps("rules[r0].maxLatency", `{"waitTimeSeconds":5}`)),
			"expansions[0].steps[0].value", "required"},
		{"value of another type", expanded([]string{ping},
			steps("rules[r0].maxLatency", `{"value":5,"waitTimeSeconds":5},{"value":"6","waitTimeSeconds":6}`)),
			"expansions[0].steps[1].value", `must be a number, not "6"`},
		{"value of another choice", expanded([]string{seasoned},
			steps("rules[r0].operation", `{"value":"~","waitTimeSeconds":5}`)), "expansions[0].steps[0].value",
			"must be <"},
		{"distance that is not there", expanded([]string{sameMode},
			steps("rules[r0].maxDistance", `{"value":5,"waitTimeSeconds":5}`)), "expansions[0].steps[0].value",
			"leave this out"},
		{"latency distance in large matches", large(rulesMember([]string{ping}),
			`"expansions":[`+steps("rules[r0].maxDistance", `{"value":5,"waitTimeSeconds":5}`)+"]"),
			"expansions[0].steps[0].value", "by maxLatency only"},
		{"team that becomes impossible", expanded(nil,
			steps("teams[red].minPlayers", `{"value":4,"waitTimeSeconds":5},{"value":6,"waitTimeSeconds":6}`)),
			"expansions[0].steps[1].value", "is 6, more than maxPlayers 5"},
		{"most players below the least", expanded(nil,
			steps("teams[crew].maxPlayers", `{"value":1,"waitTimeSeconds":5}`)), "expansions[0].steps[0]",
			"with this step teams[1].minPlayers: is 2, more than maxPlayers 1"},
		{"two steps that do not fit", expanded(nil, steps("teams[red].minPlayers", `{"value":4,"waitTimeSeconds":20}`),
			steps("teams[red].maxPlayers", `{"value":3,"waitTimeSeconds":10}`)), "expansions[0].steps[0].value",
			"is 4, more than maxPlayers 3"},
		{"two steps at one time that do not fit",
			expanded(nil, steps("teams[red].minPlayers", `{"value":4,"waitTimeSeconds":10}`),
				steps("teams[red].maxPlayers", `{"value":3,"waitTimeSeconds":10}`)), "expansions[1].steps[0]",
			"with this step teams[0].minPlayers: is 4"},
		{"least count above most at last", expanded([]string{healers},
			steps("rules[r0].minCount", `{"value":0,"waitTimeSeconds":10}`),
			steps("rules[r0].maxCount", `{"value":0,"waitTimeSeconds":5}`)), "expansions[1].steps[0]",
			"with this step rules[0].minCount: is 1, more than maxCount 0"},
		{"small matches that become large", expanded(nil,
			steps("teams[crew].maxPlayers", `{"value":18,"waitTimeSeconds":10}`)), "expansions[0].steps[0]",
			"places for 41 players, and these matches can have at most 40"},
		{"large matches that become too large", large(`"expansions":[` +
			steps("teams[red].maxPlayers", `{"value":201,"waitTimeSeconds":10}`) + "]"), "expansions[0].steps[0].value",
			"from 1 to 200"},
		{"reference that is no more of the type",
			expanded([]string{seasoned}, steps("rules[r0].referenceValue", `{"value":["a",1],"waitTimeSeconds":10}`)),
			"expansions[0].steps[0]", "with this step rules[0].referenceValue[1]: must be a string"},
		{"too many steps", expanded([]string{ping},
			steps("rules[r0].maxLatency", strings.Repeat("{},", maxSteps)+"{}")), "expansions[0].steps", "at most 100"},
		{"too many levels", expanded([]string{ping}, steps("rules[r0].maxLatency", manySteps(0, 60)),
			steps("teams[red].minPlayers", manySteps(1000, 60))), "expansions[1].steps[40]",
			"at more than 100 different times"},
		{"too many changes", with(skillOnly, `"algorithm":{"strategy":"balanced","balancedAttribute":"skill"}`,
			`"teams":[{"name":"a","minPlayers":1,"maxPlayers":1,"quantity":200}]`,
			`"expansions":[`+steps("teams[a].minPlayers", manySteps(0, 60))+","+
				steps("teams[a].minPlayers", manySteps(0, 60))+"]"), "expansions[0].steps[25]",
			"10400 times, more than 10000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := refused(t, c.body)
			if e.Path != c.path || !strings.Contains(e.Problem, c.problem) {
				t.Errorf("got %q, %q\nwant %q, …%q…", e.Path, e.Problem, c.path, c.problem)
			}
			if want := strings.TrimPrefix(e.Path+": "+e.Problem, ": "); e.Error() != want {
				t.Errorf("Error() is %q, want %q", e.Error(), want)
			}
		})
	}
}

// manySteps are steps a second apart, each with the value 1.
func manySteps(from, n int) string {
	var list []string
	for i := range n {
		list = append(list, sprint(`{"waitTimeSeconds":%d,"value":1}`, from+i))
	}
	return strings.Join(list, ",")
}

// TestLongTextsAreCut: a message never carries a document along.
func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("ü", 20000)
	for _, body := range []string{
		with(`"teams":"` + long + `"`),
		body(`"rules":[{"name":"a","type":"` + long + `"}]`),
		rules(`"type":"compound","statement":"and(` + long + `)"`),
		rules(`"type":"comparison","operation":"=","measurements":"teams[` + long + `]"`),
		rules(`"type":"comparison","operation":"=","measurements":"avg(teams[` + strings.Repeat("red,", 5000) +
			`red].players)"`),
		with(`"playerAttributes":[{"name":"a","type":"string_number_map","default":{"` + long + `":""}}]`),
	} {
		if e := refused(t, body); len(e.Error()) > 600 {
			t.Errorf("the message has %d bytes: %.200s", len(e.Error()), e.Error())
		}
	}
}
