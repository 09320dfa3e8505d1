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
	{"GET /console/fleets/create", wizardPage},
	{"POST /console/fleets/create", wizardSubmit},
	{"GET /console/fleets/{fleet}", fleetPage},
	{"POST /console/fleets/{fleet}/delete", deleteFleet},
	{"POST /console/fleets/{fleet}/computes", addCompute},
	{"POST /console/fleets/{fleet}/computes/deregister", deregisterCompute},
	{"POST /console/fleets/{fleet}/game-sessions", createGameSession},

	{"GET /console/game-sessions", gameSessionsPage},
	{"GET /console/game-session", gameSessionPage},
	{"POST /console/game-session/terminate", terminateGameSession},

	{"GET /console/players", playersPage},
	{"GET /console/queues", queuesPage},
	{"GET /console/matchmaking", matchmakingPage},
	{"GET /console/search", searchPage},

	{"GET /console/", unknownPage},
}
