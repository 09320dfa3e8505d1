package policy

import (
	"slices"
	"strings"
	"testing"
)

// actionsOf returns what a built-in policy allows.
func actionsOf(t *testing.T, name string) []string {
	t.Helper()
	text, ok := Builtin(name)
	if !ok {
		t.Fatalf("no policy %s", name)
	}
	s := Set{{name, mustParse(t, text)}}
	var all []string
	for i, action := range Actions() {
		d, ok := s.Always(Action(i))
		if !ok {
			t.Errorf("%s: %s depends on the resource", name, action)
		}
		if d.Allowed {
			all = append(all, action)
		}
	}
	return all
}

func filter(keep func(service, name string) bool) []string {
	return slices.DeleteFunc(Actions(), func(action string) bool {
		service, name, _ := strings.Cut(action, ":")
		return !keep(service, name)
	})
}

func gamelift(names string) []string {
	all := strings.Fields(names)
	for i := range all {
		all[i] = "gamelift:" + all[i]
	}
	return all
}

// metricReads are in every policy of people and backends that may read fleets.
var metricReads = filter(func(service, _ string) bool { return service == "cloudwatch" })

// TestBuiltins holds what the built-in policies allow, by rules.
func TestBuiltins(t *testing.T) {
	prefixed := func(name string, prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	}
	want := map[string][]string{
		"MusterAdministrator": Actions(),
		"MusterOperator": filter(func(service, name string) bool {
			return service == "gamelift" || service == "cloudwatch" || service == "s3" ||
				service == "muster" && (!prefixed(name,
					"User", "Group", "Role", "Assignment", "Policy", "Key", "Provider", "Settings", "RootKey", "Secret",
					"Backup") || strings.HasSuffix(name,
					"Read") ||
					name == "PolicyCheck")
		}),
		"MusterDeveloper": filter(func(service, name string) bool {
			switch name {
			case "DeleteFleet", "DeleteFleetLocations", "DeleteContainerFleet", "DeleteLocation",
				"DeleteGameServerGroup":
				return false
			case "PolicyCheck", "TicketExplain", "ConsoleUse", "FleetBuildPut", "PlayerRelease", "RuleSetCheck",
				"RuleSetSimulate":
				return true
			}
			return service == "gamelift" || service == "cloudwatch" || service == "s3" ||
				service == "muster" && name != "AuditRead" && strings.HasSuffix(name, "Read")
		}),
		"GameLiftAdmin": filter(func(service, _ string) bool {
			return service == "gamelift" || service == "cloudwatch" || service == "s3"
		}),
		"GameLiftReadOnly": filter(func(service, name string) bool {
			return service == "gamelift" && prefixed(name, "List", "Describe", "Search") || service == "cloudwatch" ||
				service == "s3" && prefixed(name, "List", "Get")
		}),
		"MusterAuditor": filter(func(service, name string) bool {
			return service == "muster" && (strings.HasSuffix(name, "Read") || name == "PolicyCheck" ||
				name == "ConsoleUse") ||
				service == "iam" && prefixed(name, "Get", "List") || name == "GetAccessKeyInfo"
		}),
		"MusterViewer": slices.Concat(metricReads, []string{"muster:BuildRead", "muster:ConsoleUse",
			"muster:EndedSessionRead", "muster:EventRead", "muster:GameSessionRead", "muster:LegacyRead",
			"muster:MachineRead", "muster:NodeRead",
			"muster:OverviewRead", "muster:PlacementRead", "muster:PlayerRead", "muster:RuleSetCheck",
			"muster:SearchRead", "muster:TicketExplain", "muster:TicketRead"}),
		"GameLiftFleetHost": gamelift(`DeregisterCompute DescribeCompute DescribeFleetAttributes
			DescribeFleetLocationAttributes DescribeRuntimeConfiguration GetComputeAuthToken ListCompute
			RegisterCompute`),
		// Source: interface api of internal/gateway/remote.
		"GatewayService": gamelift(`AcceptMatch CreateGameSession CreatePlayerSessions DescribeFleetAttributes
			DescribeFleetLocationAttributes DescribeFleetLocationUtilization DescribeFleetUtilization
			DescribeGameSessionPlacement DescribeGameSessions DescribeMatchmaking DescribePlayerSessions ListFleets
			ResolveAlias SearchGameSessions StartGameSessionPlacement StartMatchmaking StopGameSessionPlacement
			StopMatchmaking TerminateGameSession UpdateGameSession`),
		"GameLiftBackend": slices.Concat(metricReads,
			gamelift(`AcceptMatch CreateGameSession CreatePlayerSession CreatePlayerSessions DescribeAlias
			DescribeFleetAttributes DescribeFleetCapacity DescribeFleetLocationAttributes DescribeFleetLocationCapacity
			DescribeFleetLocationUtilization DescribeFleetUtilization DescribeGameSessionDetails
			DescribeGameSessionPlacement DescribeGameSessionQueues DescribeGameSessions DescribeMatchmaking
			DescribeMatchmakingConfigurations DescribeMatchmakingRuleSets DescribePlayerSessions GetGameSessionLogUrl
			GetPlayerConnectionDetails ListAliases ListFleets ListLocations ResolveAlias SearchGameSessions
			StartGameSessionPlacement StartMatchBackfill StartMatchmaking StopGameSessionPlacement StopMatchmaking
			TerminateGameSession UpdateGameSession`),
			[]string{"muster:EventRead", "muster:PlacementRead", "muster:TicketExplain", "muster:TicketRead"}),
	}
	for _, name := range Builtins() {
		if got := actionsOf(t, name); !slices.Equal(got, want[name]) {
			t.Errorf("%s allows\n%v\nwant\n%v", name, got, want[name])
		}
	}
	if len(Builtins()) != len(want) || !slices.IsSorted(Builtins()) {
		t.Errorf("%v", Builtins())
	}
	if _, ok := Builtin("Nobody"); ok {
		t.Error("there is a policy Nobody")
	}
}

func TestBuiltinRoles(t *testing.T) {
	var names []string
	for _, r := range BuiltinRoles() {
		names = append(names, r.Name)
		if r.Description == "" || len(r.Policies) == 0 {
			t.Errorf("%+v", r)
		}
		for _, p := range r.Policies {
			if _, ok := Builtin(p); !ok {
				t.Errorf("%s has the policy %s, which does not exist", r.Name, p)
			}
		}
	}
	want := "administrator operator developer backend agent gateway read-only"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
