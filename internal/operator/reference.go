package operator

import "context"

// A Request describes a row of the table of requests, for the reference.
type Request struct {
	Pattern  string // method and path
	Action   string // of policies; "": none is asked
	Resource string // KIND/NAME, with {wildcards} of the path; "": what the body names, or "*"
	Body     bool   // the body names resources
	Recorded bool   // in the audit trail
	Note     string // what it answers or does, in Markdown, with links in the reference
}

// Requests returns the requests that a service serves, with all settings on.
func Requests() (all []Request) {
	for _, r := range everything().routes() {
		all = append(all, r.request())
	}
	return all
}

// everything returns a handler with all settings on, for its table of requests alone.
func everything() *Handler {
	return &Handler{Config: Config{Legacy: func(context.Context) any { return nil }}}
}

func (r *route) request() Request {
	q := Request{Pattern: r.pattern, Resource: r.resource, Body: r.names != nil, Recorded: r.changes(),
		Note: notes[r.pattern]}
	if r.action != "" && r.notes&(unsigned|own) == 0 {
		q.Action = actionName(r.action)
	}
	return q
}

// notes has what each request answers or does, in Markdown for the page of the reference.
var notes = map[string]string{
	"GET /v1/placements/{id}":      "[a placement](#a-placement) with its trail: candidates and reasons",
	"GET /v1/tickets/{id}/explain": "[why a ticket waits](#a-ticket)",
	"GET /v1/game-sessions":        "[game sessions](#game-sessions) of the region",
	"GET /v1/overview":             "[the state of the region](#an-overview) in a few numbers",
	"GET /v1/fleets":               "[the busiest fleets](#fleets), with their numbers",
	"GET /v1/watch":                "[one of these answers as it changes](#watch): `topic`, whose permission it needs",
	"GET /v1/builds":               "[the builds](#builds) of the region",
	"GET /v1/builds/{id}":          "[a build](#builds), with the reason of its failure",
	"POST /v1/builds":              "[create a build of chunks](#a-build-in-chunks); answers those that are missing",
	"POST /v1/build-chunks":        "[store chunks](#a-build-in-chunks) of a build that will be created",
	"GET /v1/metrics/query":        "[values of metrics](#metrics) over time, in columns",
	"GET /v1/search":               "[what a text may mean](#a-search): `q`",
	"GET /v1/views":                "[the saved views](#saved-views) of the caller",
	"PUT /v1/views":                "save a page of the console: `title`, `path`",
	"DELETE /v1/views":             "delete a saved view: `title`",
	"POST /v1/rulesets/check":      "[whether a rule set is valid](#rule-sets)",
	"POST /v1/rulesets/simulate":   "[match tickets](#rule-sets) with a rule set",
	"GET /v1/players/{player}":     "[a player](#a-player): player sessions and tickets",

	"DELETE /v1/players/{player}/sessions/{session}": "release the slot of a player session that is RESERVED",

	"GET /v1/fleets/{fleet}/computes":            "[computes](#computes), with their server processes",
	"GET /v1/fleets/{fleet}/builds":              "[the builds](#several-builds-of-a-fleet) of a fleet, by version",
	"PUT /v1/fleets/{fleet}/builds/{version}":    "attach [another build](#several-builds-of-a-fleet) to a fleet",
	"DELETE /v1/fleets/{fleet}/builds/{version}": "detach a build from a fleet; its game sessions go on",
	"GET /v1/fleets/{fleet}/build":               "[the build of a fleet](#the-build-of-a-fleet), and its instances",
	"PUT /v1/fleets/{fleet}/build":               "change [the build of a fleet](#the-build-of-a-fleet) in place",
	"GET /v1/aliases/{alias}/weights":            "[the weights of an alias](#weights-of-an-alias)",
	"PUT /v1/aliases/{alias}/weights":            "share new game sessions [by weights](#weights-of-an-alias)",
	"GET /v1/queues/{name}/placements":           "[placements](#lists-of-placements-and-tickets) of a queue",
	"GET /v1/configurations/{name}/tickets":      "[tickets](#lists-of-placements-and-tickets) of a configuration",
	"GET /v1/latency":                            "[latencies that players report](#latencies), by location",
	"GET /v1/game-sessions/{id}/timeline":        "[what happened](#a-timeline) to a game session and its players",
	"GET /v1/game-sessions/{id}/log":             "the output of the process of a game session",
	"GET /v1/processes/{id}/log":                 "the output of a server process",
	"GET /v1/gamesessions/ended":                 "[ended game sessions](#ended-game-sessions), by time and filters",
	"GET /v1/events":                             "[the event feed](#events)",
	"GET /v1/backup":                             "[a backup](#a-backup) of the whole region",
	"GET /v1/nodes":                              "[the nodes](#nodes) of a cluster",
	"DELETE /v1/nodes/{node}":                    "remove a node that is down for good",
	"GET /v1/machines":                           "[machines](#machines) that have joined a location",
	"GET /v1/machines/{name}":                    "a machine",
	"POST /v1/machines/{name}/drain":             "drain a machine: nothing new begins there; answers the machine",
	"POST /v1/machines/{name}/undrain":           "end the draining of a machine; answers the machine",
	"DELETE /v1/machines/{name}":                 "delete a machine that is [drained or LOST](#machines)",
	"GET /v1/instances":                          "instances of EC2-type fleets, with how far machines have come",
	"GET /v1/machine-tokens":                     "join tokens that were not used, without their texts",
	"POST /v1/machine-tokens":                    "create a join token: `location`, `ttlSeconds`; shown this once",
	"DELETE /v1/machine-tokens/{id}":             "revoke a join token that was not used",
	"GET /v1/shards":                             "[the shards](#shards), and disks and versions of the nodes",
	"GET /v1/legacy":                             "[old game servers](../how-to/keep-your-old-servers.md)",
	"GET /v1/openapi.json":                       "these requests, as OpenAPI 3.1",
	"GET /v1/whoami":                             "[the caller](#the-caller)",
	"GET /v1/audit":                              "[the audit trail](#the-audit-trail)",
	"GET /v1/logs":                               "[the log](#the-log) of the node that answers",
	"GET /v1/settings":                           "the settings of this node: `settings`, with values and sources",
	"GET /v1/settings/sign-in":                   "[settings](#settings-of-sign-in) of sign-in",
	"PATCH /v1/settings/sign-in":                 "change the settings of sign-in: `localPasswords`",
	"POST /v1/secret/rotate":                     "begin a new epoch of the secrets of sign-in; answers the settings",
	"POST /v1/root-key/rotate":                   "replace the root key; answers [an access key](#access-keys)",
	"POST /v1/root-key/recover":                  "replace the root key, with a proof of `region.secret`, locally",
	"GET /v1/users":                              "[users](#users): `limit` (100, at most 1000), `after`",
	"POST /v1/users":                             "create a user",
	"GET /v1/users/{name}":                       "a user",
	"PATCH /v1/users/{name}":                     "change a user",
	"DELETE /v1/users/{name}":                    "delete a user with its keys, assignments and sessions",
	"PUT /v1/users/{name}/policies/{policy}":     "store an own policy of a user: `document`",
	"DELETE /v1/users/{name}/policies/{policy}":  "delete an own policy of a user",
	"GET /v1/users/{name}/sign-ins":              "[sign-in sessions](#sign-in-sessions) that have not ended",
	"DELETE /v1/users/{name}/sign-ins":           "end the sign-in sessions of a user; answers `ended`, their number",
	"GET /v1/me/sign-ins":                        "sign-in sessions of the caller, a person; no permission is needed",
	"DELETE /v1/me/sign-ins":                     "end the sign-in sessions of the caller, with the keys of this call",
	"POST /v1/users/{name}/unlock":               "forget the wrong passwords of a user, on this node",
	"GET /v1/groups":                             "groups with `members` and `roles`",
	"POST /v1/groups":                            "create a group, or change its `description`",
	"DELETE /v1/groups/{name}":                   "delete a group without members and roles",
	"GET /v1/roles":                              "[roles](#roles)",
	"GET /v1/roles/{name}":                       "a role",
	"PUT /v1/roles/{name}":                       "create or replace a role",
	"DELETE /v1/roles/{name}":                    "delete a role with its assignments",
	"GET /v1/assignments":                        "who has which role: `role`, `subject`, `created`",
	"PUT /v1/assignments/{role}/{subject}":       "assign a role to a user, or to a group as `@NAME`",
	"DELETE /v1/assignments/{role}/{subject}":    "remove an assignment",
	"GET /v1/policies":                           "[policies](#policies), built-in and stored",
	"GET /v1/policies/{name}":                    "a policy",
	"PUT /v1/policies/{name}":                    "create or replace one: `document`, `description`, `allowUnknown`",
	"DELETE /v1/policies/{name}":                 "delete a policy that nothing uses",
	"POST /v1/policies/check":                    "[whether a call would be allowed](#policies)",
	"GET /v1/keys":                               "[access keys](#access-keys): `user`",
	"POST /v1/keys":                              "create an access key; its secret is in this answer only",
	"PATCH /v1/keys/{id}":                        "change `status` (`Active`, `Inactive`) or `expires`",
	"DELETE /v1/keys/{id}":                       "delete an access key",
	"POST /v1/keys/{id}/rotate":                  "replace an access key; the old one stops at once",
	"GET /v1/providers":                          "[identity providers](#identity-providers)",
	"GET /v1/providers/{name}":                   "an identity provider",
	"PUT /v1/providers/{name}":                   "create or replace an identity provider",
	"DELETE /v1/providers/{name}":                "delete an identity provider; its users stay",
}
