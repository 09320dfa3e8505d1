package refdoc

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/operator"
)

// requestNotes says what each request of operators is for.
var requestNotes = map[string]string{
	"GET /v1/placements/{id}":      "[a placement](#a-placement) with its trail: candidates and reasons",
	"GET /v1/tickets/{id}/explain": "[why a ticket waits](#a-ticket)",
	"GET /v1/game-sessions":        "[game sessions](#game-sessions) of the region",
	"GET /v1/overview":             "[the state of the region](#an-overview) in a few numbers",
	"GET /v1/fleets":               "[the busiest fleets](#fleets), with their numbers",
	"GET /v1/watch":                "[one of these answers as it changes](#watch): `topic`. The permission is that of its request",
	"GET /v1/search":               "[what a text may mean](#a-search): `q`",
	"POST /v1/rulesets/check":      "[whether a rule set is valid](#rule-sets)",
	"POST /v1/rulesets/simulate":   "[match tickets](#rule-sets) with a rule set",
	"GET /v1/players/{player}":     "[a player](#a-player): player sessions and tickets",

	"DELETE /v1/players/{player}/sessions/{session}": "release the slot of a player session that is RESERVED",

	"GET /v1/queues/{name}/placements":          "[placements](#lists-of-placements-and-tickets) of a queue",
	"GET /v1/configurations/{name}/tickets":     "[tickets](#lists-of-placements-and-tickets) of a configuration",
	"GET /v1/game-sessions/{id}/timeline":       "[what happened](#a-timeline) to a game session and its players",
	"GET /v1/gamesessions/ended":                "[ended game sessions](#ended-game-sessions), by time and filters",
	"GET /v1/events":                            "[the event feed](#events)",
	"GET /v1/backup":                            "[a backup](#a-backup) of the whole region",
	"GET /v1/nodes":                             "[the nodes](#nodes) of a cluster",
	"DELETE /v1/nodes/{node}":                   "remove a node that is gone for good",
	"GET /v1/legacy":                            "[old game servers](../how-to/keep-your-old-servers.md)",
	"GET /v1/whoami":                            "[the caller](#the-caller)",
	"GET /v1/audit":                             "[the audit trail](#the-audit-trail)",
	"GET /v1/logs":                              "[the log](#the-log) of the node that answers",
	"GET /v1/settings":                          "the settings of this node: `settings`, with values and sources",
	"GET /v1/settings/sign-in":                  "[settings](#settings-of-sign-in) of sign-in",
	"PATCH /v1/settings/sign-in":                "change them: `localPasswords`",
	"POST /v1/secret/rotate":                    "begin a new epoch of the secrets of sign-in; answers the settings",
	"POST /v1/root-key/rotate":                  "replace the root key; answers [an access key](#access-keys)",
	"POST /v1/root-key/recover":                 "the same with a proof of `region.secret`, from this machine only",
	"GET /v1/users":                             "[users](#users): `limit` (100, at most 1000), `after`",
	"POST /v1/users":                            "create a user",
	"GET /v1/users/{name}":                      "a user",
	"PATCH /v1/users/{name}":                    "change a user",
	"DELETE /v1/users/{name}":                   "delete a user with its keys, assignments and sessions",
	"PUT /v1/users/{name}/policies/{policy}":    "store an own policy of a user: `document`",
	"DELETE /v1/users/{name}/policies/{policy}": "delete it",
	"GET /v1/users/{name}/sign-ins":             "[sign-in sessions](#sign-in-sessions) that have not ended",
	"DELETE /v1/users/{name}/sign-ins":          "end them all; answers `ended`, their number",
	"GET /v1/me/sign-ins":                       "those of the caller, who must be signed in; no permission is needed",
	"DELETE /v1/me/sign-ins":                    "end them all, with the keys of this call",
	"POST /v1/users/{name}/unlock":              "forget the wrong passwords of a user, on this node",
	"GET /v1/groups":                            "groups with `members` and `roles`",
	"POST /v1/groups":                           "create a group, or change its `description`",
	"DELETE /v1/groups/{name}":                  "delete a group without members and roles",
	"GET /v1/roles":                             "[roles](#roles)",
	"GET /v1/roles/{name}":                      "a role",
	"PUT /v1/roles/{name}":                      "create or replace a role",
	"DELETE /v1/roles/{name}":                   "delete a role with its assignments",
	"GET /v1/assignments":                       "who has which role: `role`, `subject`, `created`",
	"PUT /v1/assignments/{role}/{subject}":      "assign a role to a user, or to a group as `@NAME`",
	"DELETE /v1/assignments/{role}/{subject}":   "remove an assignment",
	"GET /v1/policies":                          "[policies](#policies), built-in and stored",
	"GET /v1/policies/{name}":                   "a policy",
	"PUT /v1/policies/{name}":                   "create or replace it: `document`, `description`, `allowUnknown`",
	"DELETE /v1/policies/{name}":                "delete a policy that nothing uses",
	"POST /v1/policies/check":                   "[whether a call would be allowed](#policies)",
	"GET /v1/keys":                              "[access keys](#access-keys): `user`",
	"POST /v1/keys":                             "create an access key; its secret is in this answer only",
	"PATCH /v1/keys/{id}":                       "change `status` (`Active`, `Inactive`) or `expires`",
	"DELETE /v1/keys/{id}":                      "delete an access key",
	"POST /v1/keys/{id}/rotate":                 "replace an access key; the old one stops at once",
	"GET /v1/providers":                         "[identity providers](#identity-providers)",
	"GET /v1/providers/{name}":                  "an identity provider",
	"PUT /v1/providers/{name}":                  "create or replace one",
	"DELETE /v1/providers/{name}":               "delete one; its users stay",
}

// The generated part of a page that is otherwise written by hand.
const (
	beginGenerated = "<!-- Generated by internal/refdoc: make generate. -->\n"
	endGenerated   = "<!-- End of the generated part. -->\n"
)

// requestsPage replaces the table in the page of operators.
func requestsPage() ([]byte, error) {
	page, err := os.ReadFile("../../docs/reference/operator-api.md")
	if err != nil {
		return nil, err
	}
	before, rest, ok := strings.Cut(string(page), beginGenerated)
	_, after, ended := strings.Cut(rest, endGenerated)
	if !ok || !ended {
		return nil, fmt.Errorf("the page has no part between %q and %q", beginGenerated, endGenerated)
	}
	var b bytes.Buffer
	b.WriteString(before + beginGenerated)
	b.WriteString("\n| request | action | resource | recorded | answer, or what it does |\n|---|---|---|---|---|\n")
	for _, r := range operator.Requests() {
		method, path, _ := strings.Cut(r.Pattern, " ")
		fmt.Fprintf(&b, "| %s `%s` | %s | %s | %s | %s |\n", method, path, code(r.Action), resourceOf(&r),
			mark(r.Recorded), requestNotes[r.Pattern])
	}
	b.WriteString("\n" + endGenerated + after)
	return b.Bytes(), nil
}

// code returns a text as code; "" stays empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func mark(yes bool) string {
	if yes {
		return "yes"
	}
	return ""
}

func resourceOf(r *operator.Request) string {
	switch {
	case r.Action == "":
		return ""
	case r.Body && strings.HasSuffix(r.Pattern, "/groups"):
		return "`group/{name}` of the body"
	case r.Body:
		return "`user/{name}` of the body"
	case r.Resource == "":
		return "`*`"
	}
	var names []string
	for name := range strings.FieldsSeq(r.Resource) {
		names = append(names, code(name))
	}
	return strings.Join(names, " and ")
}

func TestRequestNotesAreComplete(t *testing.T) {
	known := map[string]bool{}
	for _, r := range operator.Requests() {
		known[r.Pattern] = true
		if requestNotes[r.Pattern] == "" {
			t.Errorf("%s has no note", r.Pattern)
		}
	}
	for pattern := range requestNotes {
		if !known[pattern] {
			t.Errorf("there is no request %s", pattern)
		}
	}
}
