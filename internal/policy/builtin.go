package policy

import (
	"embed"
	"strings"
)

//go:embed builtin
var builtinFiles embed.FS

// Builtin returns the text of a built-in policy.
func Builtin(name string) (text string, ok bool) {
	b, err := builtinFiles.ReadFile("builtin/" + name + ".json")
	return string(b), err == nil
}

// Builtins returns the names of the built-in policies, sorted.
func Builtins() []string {
	files, _ := builtinFiles.ReadDir("builtin") // embedded: cannot fail
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(f.Name(), ".json")
	}
	return names
}

// Describe returns in a few words what a built-in policy allows; "" for others.
func Describe(name string) string { return descriptions[name] }

// descriptions are of the built-in policies. A test has all of them.
var descriptions = map[string]string{
	"GameLiftAdmin":       "All of GameLift, and all objects",
	"GameLiftBackend":     "A game's backend: game and player sessions, placements, matchmaking, events",
	"GameLiftFleetHost":   "A machine that hosts game servers: registers itself, gets auth tokens",
	"GameLiftReadOnly":    "Describe, List and Search calls of GameLift; reads objects",
	"GatewayService":      "What the session gateway calls",
	"MusterAdministrator": "Everything, with users, roles, keys and policies",
	"MusterAuditor":       "Reads users, roles, keys and the audit trail",
	"MusterDeveloper":     "All of GameLift without deleting fleets, locations and game server groups",
	"MusterOperator":      "All of GameLift, nodes and sign-in sessions; reads everything else",
	"MusterViewer":        "The console, nodes, events and placements, without changes",
}

// BuiltinRole is a role that a region has from the start.
type BuiltinRole struct {
	Name, Description string
	Policies          []string // names of built-in policies
}

// BuiltinRoles returns the roles that a region has from the start, the most powerful first.
func BuiltinRoles() []BuiltinRole {
	return []BuiltinRole{
		{"administrator", "Everything, with users, roles, keys and policies.", []string{"MusterAdministrator"}},
		{"operator", "Runs the service: all of GameLift, nodes and sign-in sessions. Reads users, roles and the audit" +
			" trail, and changes neither them nor secrets.", []string{"MusterOperator"}},
		{"developer", "Develops games: all of GameLift, but deletes no fleets, locations or game server groups.",
			[]string{"MusterDeveloper"}},
		{"backend", "A game's backend: game sessions, player sessions, placements and matchmaking.",
			[]string{"GameLiftBackend"}},
		{"agent", "A machine that hosts game servers: registers itself and gets their auth tokens.",
			[]string{"GameLiftFleetHost"}},
		{"gateway", "The session gateway: the operations that it calls.", []string{"GatewayService"}},
		{"read-only", "Sees GameLift's resources and the console. Changes nothing.",
			[]string{"GameLiftReadOnly", "MusterViewer"}},
	}
}
