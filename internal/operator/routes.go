package operator

import (
	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/listen/sse"
)

// routes returns the table of requests.
func (d *Handler) routes() []route {
	table := []route{
		{"GET /v1/placements/{id}", "PlacementRead", "placement/{id}", answering((*Handler).placement), 0},
		{"GET /v1/tickets/{id}/explain", "TicketExplain", "ticket/{id}", answering((*Handler).ticket), 0},
		{"GET /v1/game-sessions", "GameSessionRead", "fleet/{fleet}", answering((*Handler).gameSessions).
			with("fleet", "location", "status", "q", "sort", "since", "after", "limit"), 0},
		{"GET /v1/game-sessions/{id}/timeline", "GameSessionRead", "fleet/{fleet}", answering((*Handler).timeline), 0},
		{"GET /v1/game-sessions/{id}/log", "ProcessLogRead", "fleet/{fleet}", lines[processLine]((*Handler).sessionLog).
			with("follow", "tail"), 0},
		{"GET /v1/processes/{id}/log", "ProcessLogRead", "fleet/{fleet}", lines[processLine]((*Handler).processLog).
			with("follow", "tail"), 0},
		{"GET /v1/gamesessions/ended", "EndedSessionRead", "", answering((*Handler).endedSessions).
			with("from", "to", "fleet", "location", "reason", "creator", "player", "property", "limit", "after"), 0},
		{"GET /v1/overview", "OverviewRead", "", answering((*Handler).overview), 0},
		{"GET /v1/fleets", "OverviewRead", "", answering((*Handler).fleets).with("limit"), 0},
		{"GET /v1/fleets/{fleet}/computes", "GameSessionRead", "fleet/{fleet}", answering((*Handler).computes).
			with("after", "limit"), 0},
		{"GET /v1/fleets/{fleet}/build", "BuildRead", "fleet/{fleet}", answering((*Handler).fleetBuild), 0},
		{"PUT /v1/fleets/{fleet}/build", "FleetBuildPut", "fleet/{fleet}", taking(nil, (*Handler).setFleetBuild), 0},
		{"GET /v1/fleets/{fleet}/builds", "BuildRead", "fleet/{fleet}", answering((*Handler).buildVersions), 0},
		{"PUT /v1/fleets/{fleet}/builds/{version}", "FleetBuildPut", "fleet/{fleet}",
			taking(nil, (*Handler).putBuildVersion), 0},
		{"DELETE /v1/fleets/{fleet}/builds/{version}", "FleetBuildPut", "fleet/{fleet}",
			answering((*Handler).deleteBuildVersion), 0},
		{"GET /v1/aliases/{alias}/weights", "gamelift:DescribeAlias", "alias/{alias}",
			answering((*Handler).aliasWeights), 0},
		{"PUT /v1/aliases/{alias}/weights", "gamelift:UpdateAlias", "alias/{alias}",
			taking(nil, (*Handler).setAliasWeights), 0},
		{"GET /v1/builds", "BuildRead", "", answering((*Handler).builds).with("status", "after", "limit"), 0},
		{"GET /v1/builds/{id}", "BuildRead", "build/{id}", answering((*Handler).build), 0},
		{"POST /v1/builds", "gamelift:CreateBuild", "", receiving("application/json", maxManifest,
			control.BuildPush{}, (*Handler).pushBuild), 0},
		{"POST /v1/build-chunks", "gamelift:CreateBuild", "", receiving("application/octet-stream", maxChunks, nil,
			(*Handler).storeChunks), 0},
		{"GET /v1/metrics/query", "cloudwatch:GetMetricData", "", answering((*Handler).queryMetrics).
			with(metricParameters...), 0},
		{"GET /v1/watch", "", "", streaming(sse.Media, (*Handler).watch).with("topic"), 0},
		{"GET /v1/search", "SearchRead", "", answering((*Handler).search).with("q"), 0},
		{"GET /v1/views", "ConsoleUse", "", answering((*Handler).views), 0},
		{"PUT /v1/views", "ConsoleUse", "", taking(nil, (*Handler).saveView), 0},
		{"DELETE /v1/views", "ConsoleUse", "", answering((*Handler).deleteView).with("title"), 0},
		{"POST /v1/rulesets/check", "RuleSetCheck", "", taking(nil, (*Handler).checkRuleSet).upTo(maxRuleSet),
			harmless},
		{"POST /v1/rulesets/simulate", "RuleSetSimulate", "",
			taking(nil, (*Handler).simulate).upTo(maxSimulation), harmless},
		{"GET /v1/players/{player}", "PlayerRead", "player/{player}",
			answering((*Handler).player).with("after", "limit"), 0},
		{"DELETE /v1/players/{player}/sessions/{session}", "PlayerRelease", "player/{player}",
			answering((*Handler).releasePlayer), 0},
		{"GET /v1/queues/{name}/placements", "PlacementRead", "queue/{name}",
			answering((*Handler).placements).with("status", "after", "limit"), 0},
		{"GET /v1/latency", "PlacementRead", "queue/{queue}", answering((*Handler).latency).with("queue"), 0},
		{"GET /v1/configurations/{name}/tickets", "TicketRead", "configuration/{name}",
			answering((*Handler).tickets).with("status", "after", "limit"), 0},
		{"GET /v1/events", "EventRead", "", lines[eventLine]((*Handler).events).
			with("after", "last", "limit", "follow"), 0},
		{"GET /v1/backup", "BackupCreate", "", streaming("application/octet-stream", (*Handler).backup).
			with("builds"), sensitive},
		{"GET /v1/nodes", "NodeRead", "", answering((*Handler).listNodes), 0},
		{"GET /v1/shards", "NodeRead", "", answering((*Handler).listShards), 0},
		{"GET /v1/machines", "MachineRead", "", answering((*Handler).machines).
			with("location", "status", "after", "limit"), 0},
		{"GET /v1/machines/{name}", "MachineRead", "machine/{name}", answering((*Handler).machine), 0},
		{"POST /v1/machines/{name}/drain", "MachineDrain", "machine/{name}", answering((*Handler).drainMachine), 0},
		{"POST /v1/machines/{name}/undrain", "MachineDrain", "machine/{name}", answering((*Handler).undrainMachine),
			0},
		{"DELETE /v1/machines/{name}", "MachineDelete", "machine/{name}", answering((*Handler).deleteMachine).
			with("force"), 0},
		{"GET /v1/instances", "MachineRead", "", answering((*Handler).instances).
			with("fleet", "location", "machine", "status", "after", "limit"), 0},
		{"GET /v1/machine-tokens", "MachineTokenRead", "", answering((*Handler).machineTokens), 0},
		{"POST /v1/machine-tokens", "MachineTokenCreate", "", taking(tokenLocation, (*Handler).createMachineToken), 0},
		{"DELETE /v1/machine-tokens/{id}", "MachineTokenDelete", "machine-token/{id}",
			answering((*Handler).deleteMachineToken), 0},
		{"DELETE /v1/nodes/{node}", "NodeRemove", "node/{node}", answering((*Handler).removeNode), 0},

		{"GET /v1/openapi.json", "", "", answering((*Handler).openAPI), 0},
		{"GET /v1/whoami", "", "", answering((*Handler).whoAmI), 0},
		{"GET /v1/audit", "AuditRead", "", lines[auditLine]((*Handler).auditTrail).
			with("since", "until", "user", "event", "key",
				"resource", "address", "errors", "after", "limit", "follow"), 0},
		{"GET /v1/logs", "LogRead", "", lines[logLine]((*Handler).logs).
			with("level", "text", "shard", "after", "last", "limit", "follow"), 0},
		{"GET /v1/settings", "SettingsRead", "", answering((*Handler).allSettings), 0},
		{"GET /v1/settings/sign-in", "SettingsRead", "", answering((*Handler).settings), 0},
		{"PATCH /v1/settings/sign-in", "SettingsPut", "", taking(nil, (*Handler).changeSettings), 0},
		{"POST /v1/secret/rotate", "SecretRotate", "", answering((*Handler).rotateSecret), 0},
		{"POST /v1/root-key/rotate", "RootKeyRotate", "", answering((*Handler).rotateRootKey), 0},
		{"POST /v1/root-key/recover", "RootKeyRecover", "", answering((*Handler).recoverRootKey), unsigned},
	}
	table = append(table, peopleRoutes...)
	table = append(table, roleRoutes...)
	table = append(table, policyRoutes...)
	table = append(table, keyRoutes...)
	table = append(table, providerRoutes...)
	if d.Legacy != nil {
		table = append(table, route{"GET /v1/legacy", "LegacyRead", "", answering((*Handler).legacy), 0})
	}
	return table
}

var peopleRoutes = []route{
	{"GET /v1/users", "UserRead", "", answering((*Handler).users).with("after", "limit"), 0},
	{"POST /v1/users", "UserPut", "", taking(newUser, (*Handler).createUser), 0},
	{"GET /v1/users/{name}", "UserRead", "user/{name}", answering((*Handler).user), 0},
	{"PATCH /v1/users/{name}", "UserPut", "user/{name}", taking(nil, (*Handler).changeUser), 0},
	{"DELETE /v1/users/{name}", "UserDelete", "user/{name}", answering((*Handler).deleteUser), 0},
	{"PUT /v1/users/{name}/policies/{policy}", "PolicyPut", "user/{name}", taking(nil, (*Handler).putUserPolicy), 0},
	{"DELETE /v1/users/{name}/policies/{policy}", "PolicyDelete", "user/{name}",
		answering((*Handler).deleteUserPolicy), 0},
	{"GET /v1/users/{name}/sign-ins", "SessionRead", "user/{name}", answering((*Handler).signIns), 0},
	{"DELETE /v1/users/{name}/sign-ins", "SessionEnd", "user/{name}", answering((*Handler).endSignIns), 0},
	{"GET /v1/me/sign-ins", "SessionRead", "", answering((*Handler).ownSignIns), own},
	{"DELETE /v1/me/sign-ins", "SessionEnd", "", answering((*Handler).endOwnSignIns), own},
	{"POST /v1/users/{name}/unlock", "Unlock", "user/{name}", answering((*Handler).unlockUser), 0},
	{"GET /v1/groups", "GroupRead", "", answering((*Handler).groups), 0},
	{"POST /v1/groups", "GroupPut", "", taking(newGroup, (*Handler).createGroup), 0},
	{"DELETE /v1/groups/{name}", "GroupDelete", "group/{name}", answering((*Handler).deleteGroup), 0},
}

var roleRoutes = []route{
	{"GET /v1/roles", "RoleRead", "", answering((*Handler).roles), 0},
	{"GET /v1/roles/{name}", "RoleRead", "role/{name}", answering((*Handler).role), 0},
	{"PUT /v1/roles/{name}", "RolePut", "role/{name}", taking(nil, (*Handler).putRole), 0},
	{"DELETE /v1/roles/{name}", "RoleDelete", "role/{name}", answering((*Handler).deleteRole), 0},
	{"GET /v1/assignments", "RoleRead", "", answering((*Handler).assignments), 0},
	{"PUT /v1/assignments/{role}/{subject}", "AssignmentPut", "role/{role} user/{subject}",
		answering((*Handler).assign), 0},
	{"DELETE /v1/assignments/{role}/{subject}", "AssignmentDelete", "role/{role} user/{subject}",
		answering((*Handler).unassign), 0},
}

var policyRoutes = []route{
	{"GET /v1/policies", "PolicyRead", "", answering((*Handler).policies), 0},
	{"GET /v1/policies/{name}", "PolicyRead", "policy/{name}", answering((*Handler).policy), 0},
	{"PUT /v1/policies/{name}", "PolicyPut", "policy/{name}", taking(nil, (*Handler).putPolicy), 0},
	{"DELETE /v1/policies/{name}", "PolicyDelete", "policy/{name}", answering((*Handler).deletePolicy), 0},
	{"POST /v1/policies/check", "PolicyCheck", "", taking(nil, (*Handler).checkPolicy), harmless},
}

var keyRoutes = []route{
	{"GET /v1/keys", "KeyRead", "", answering((*Handler).keys).with("user"), 0},
	{"POST /v1/keys", "KeyCreate", "", taking(newKey, (*Handler).createKey), 0},
	{"PATCH /v1/keys/{id}", "KeyUpdate", "key/{id}", taking(nil, (*Handler).changeKey), 0},
	{"DELETE /v1/keys/{id}", "KeyDelete", "key/{id}", answering((*Handler).deleteKey), 0},
	{"POST /v1/keys/{id}/rotate", "KeyCreate", "key/{id}", answering((*Handler).rotateKey), 0},
}

var providerRoutes = []route{
	{"GET /v1/providers", "ProviderRead", "", answering((*Handler).providers), 0},
	{"GET /v1/providers/{name}", "ProviderRead", "provider/{name}", answering((*Handler).provider), 0},
	{"PUT /v1/providers/{name}", "ProviderPut", "provider/{name}", taking(nil, (*Handler).putProvider), 0},
	{"DELETE /v1/providers/{name}", "ProviderDelete", "provider/{name}", answering((*Handler).deleteProvider), 0},
}
