package policy

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/wire"
)

// inputs returns the members of the input of each operation, from the generated types.
func inputs(t *testing.T) map[string][]string {
	t.Helper()
	file, err := goparser.ParseFile(token.NewFileSet(), "../wire/zz_types.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		shape, ok := spec.Type.(*ast.StructType)
		name, isInput := strings.CutSuffix(spec.Name.Name, "Input")
		name, isRequest := strings.CutSuffix(name, "Request")
		if !ok || !isInput && !isRequest {
			return false
		}
		all[name] = []string{}
		for _, field := range shape.Fields.List {
			for _, id := range field.Names {
				all[name] = append(all[name], id.Name)
			}
		}
		return false
	})
	return all
}

// TestMembersFitTheModel holds the table to the operations and their inputs: each operation is there once, each member
// exists, and no member that names a resource is missing.
func TestMembersFitTheModel(t *testing.T) {
	members, rows := inputs(t), map[string]int{}
	for _, row := range memberRows {
		for name := range strings.FieldsSeq(row.operations) {
			rows[name]++
		}
	}
	// These name resources wherever they are, but for the exceptions.
	naming := []string{"FleetId", "FleetIds", "AliasId", "GameSessionQueueName", "ConfigurationName", "GameSessionId",
		"GameSessionArn", "PlacementId", "TicketId", "TicketIds", "BuildId", "ScriptId", "LocationName",
		"GameServerGroupName", "ResourceARN", "Names", "PlayerSessionId"}
	notNaming := []string{
		"CreateFleet.BuildId", "CreateFleet.ScriptId", // parts of the definition
		"ListFleets.BuildId", "ListFleets.ScriptId", // filters
		"CreateGameSession.GameSessionId",                          // an id for the new game session
		"StartGameSessionPlacement.PlacementId",                    // an id for the new placement
		"StartMatchmaking.TicketId", "StartMatchBackfill.TicketId", // ids for new tickets
	}
	kinds := []string{"fleet", "alias", "gamesessionqueue", "matchmakingconfiguration", "matchmakingruleset",
		"location",
		"build", "script", "gameservergroup", "containergroupdefinition", "gamesession", "playersession", "arn",
		"placement", "ticket"}
	for _, op := range wire.Operations {
		if rows[op.Name] != 1 {
			t.Errorf("%s is in %d rows", op.Name, rows[op.Name])
		}
		delete(rows, op.Name)
		input, ok := members[op.Name]
		if !ok {
			t.Errorf("%s has no input", op.Name)
		}
		a, _ := ActionOf("gamelift:" + op.Name)
		var named []string
		for _, m := range Members(a) {
			named = append(named, m.Name)
			if !slices.Contains(input, m.Name) || !slices.Contains(kinds, m.Kind) {
				t.Errorf("%s has no member %+v", op.Name, m)
			}
		}
		for _, name := range input {
			if slices.Contains(naming, name) != slices.Contains(named, name) &&
				!slices.Contains(notNaming, op.Name+"."+name) && name != "Name" {
				t.Errorf("%s.%s is in the table: %v", op.Name, name, slices.Contains(named, name))
			}
		}
	}
	if len(rows) > 0 {
		t.Errorf("operations that do not exist: %v", rows)
	}
}

func TestMembers(t *testing.T) {
	for name, want := range map[string][]Member{
		"gamelift:DeleteFleet":                    {{"FleetId", "fleet"}},
		"gamelift:DescribeFleetAttributes":        {{"FleetIds", "fleet"}},
		"gamelift:UpdateGameSessionQueue":         {{"Name", "gamesessionqueue"}},
		"gamelift:UpdateMatchmakingConfiguration": {{"Name", "matchmakingconfiguration"}},
		"gamelift:DeleteMatchmakingRuleSet":       {{"Name", "matchmakingruleset"}},
		"gamelift:PutScalingPolicy":               {{"FleetId", "fleet"}},
		"gamelift:UpdateAlias":                    {{"AliasId", "alias"}},
		"gamelift:CreatePlayerSession":            {{"GameSessionId", "gamesession"}},
		"gamelift:TagResource":                    {{"ResourceARN", "arn"}},
		"gamelift:ListFleets":                     nil,
		"gamelift:CreateFleet":                    nil,
		"muster:UserPut":                          nil,
		"sts:AssumeRole":                          nil,
	} {
		if a, ok := ActionOf(name); !ok || !slices.Equal(Members(a), want) {
			t.Errorf("%s: %v, want %v", name, Members(a), want)
		}
	}
}
