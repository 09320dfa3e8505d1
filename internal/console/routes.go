package console

// A route is a row of the table of pages.
type route struct {
	pattern string // of http.ServeMux
	serve   func(*visit) error
}

// table has all pages. A POST changes something and answers with a redirect, so that reloading repeats nothing.
var table = []route{
	{"GET /console/{$}", overviewPage},
	{"GET /console/live", live},
	{"POST /console/look", chooseLook},

	{"GET /console/locations", locationsPage},
	{"POST /console/locations", createLocation},
	{"POST /console/locations/{name}/delete", deleteLocation},

	{"GET /console/fleets", fleetsPage},
	{"GET /console/fleets.csv", fleetsFile},
	{"GET /console/game-sessions.csv", gameSessionsFile},
	{"GET /console/players.csv", playersFile},
	{"GET /console/fleets/create", wizardPage},
	{"POST /console/fleets/create", wizardSubmit},
	{"GET /console/fleets/{fleet}", fleetPage},
	{"GET /console/fleets/{fleet}/metrics.csv", fleetMetricsFile},
	{"POST /console/fleets/{fleet}/delete", deleteFleet},
	{"POST /console/fleets/{fleet}/computes", addCompute},
	{"POST /console/fleets/{fleet}/computes/deregister", deregisterCompute},
	{"POST /console/fleets/{fleet}/game-sessions", createGameSession},

	{"GET /console/game-sessions", gameSessionsPage},
	{"GET /console/game-sessions/{id}", gameSessionPage},
	{"GET /console/game-session", gameSessionByID},
	{"POST /console/game-session/terminate", terminateGameSession},

	{"GET /console/players", playersPage},
	{"GET /console/players/{id}", playerPage},
	{"POST /console/players/{id}/release", releasePlayer},

	{"GET /console/queues", queuesPage},
	{"POST /console/queues", createQueue},
	{"GET /console/queues/{name}", queuePage},
	{"GET /console/queues/{name}/placements.csv", placementsFile},
	{"POST /console/queues/{name}/delete", deleteQueue},
	{"POST /console/queues/{name}/placements", startPlacement},
	{"GET /console/placements", findPlacement},
	{"GET /console/placements/{id}", placementPage},
	{"POST /console/placements/{id}/stop", stopPlacement},

	{"GET /console/matchmaking", matchmakingPage},
	{"GET /console/matchmaking/create", newConfigurationPage},
	{"POST /console/matchmaking/create", createConfiguration},
	{"GET /console/matchmaking/{name}", configurationPage},
	{"GET /console/matchmaking/{name}/tickets.csv", ticketsFile},
	{"POST /console/matchmaking/{name}/delete", deleteConfiguration},
	{"GET /console/tickets", findTicket},
	{"GET /console/tickets/{id}", ticketPage},
	{"POST /console/tickets/{id}/stop", stopTicket},
	{"GET /console/rule-sets", ruleSetsPage},
	{"GET /console/rule-sets/create", editorPage},
	{"POST /console/rule-sets/create", saveRuleSet},
	{"POST /console/rule-sets/check", checkRuleSet},
	{"GET /console/rule-sets/{name}", ruleSetPage},
	{"POST /console/rule-sets/{name}/simulate", simulate},
	{"POST /console/rule-sets/{name}/delete", deleteRuleSet},

	{"GET /console/search", searchPage},

	{"GET /console/events", eventsPage},
	{"GET /console/cluster", clusterPage},
	{"POST /console/cluster/backup", backUp},
	{"POST /console/cluster/remove", removeNode},
	{"GET /console/settings", settingsPage},
	{"GET /console/audit", auditPage},
	{"GET /console/log", logPage},

	{"GET /console/api", explorerPage},
	{"GET /console/api/{operation}", operationPage},
	{"POST /console/api/{operation}", runOperation},

	{"GET /console/users", usersPage},
	{"POST /console/users", createUser},
	{"GET /console/users/{name}", userPage},
	{"POST /console/users/{name}", changeUser},
	{"GET /console/groups", groupsPage},
	{"POST /console/groups", changeGroup},
	{"GET /console/roles", rolesPage},
	{"GET /console/roles/create", newRolePage},
	{"POST /console/roles/create", putRole},
	{"GET /console/roles/{name}", rolePage},
	{"POST /console/roles/{name}", changeRole},
	{"POST /console/roles/{name}/put", putRole},
	{"GET /console/policies", policiesPage},
	{"POST /console/policies/check", checkPolicy},
	{"GET /console/policies/create", newPolicyPage},
	{"POST /console/policies/create", putPolicy},
	{"GET /console/policies/{name}", policyPage},
	{"POST /console/policies/{name}/put", putPolicy},
	{"POST /console/policies/{name}/delete", deletePolicy},
	{"GET /console/providers", providersPage},
	{"GET /console/providers/create", newProviderPage},
	{"POST /console/providers/create", putProvider},
	{"GET /console/providers/{name}", providerPage},
	{"POST /console/providers/{name}/put", putProvider},
	{"POST /console/providers/{name}/delete", deleteProvider},
	{"GET /console/keys", keysPage},
	{"POST /console/keys", createKey},
	{"POST /console/keys/{id}", changeKey},

	{"GET /console/", unknownPage},
}
