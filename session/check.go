package session

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxText is the maximum length of names, player ids and expressions, in characters. Source: API reference,
// NonZeroAndMaxString.
const maxText = 1024

// maxTicketID is the maximum length of a ticket's id, in characters. Source: API reference, MatchmakingIdStringModel.
const maxTicketID = 128

// A checker validates a request and keeps its first error.
type checker struct {
	op  string
	err error
}

func (c *checker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = Errorf(c.op, ErrInvalid, format, args...)
	}
}

func (c *checker) given(field, value string) {
	if value == "" {
		c.fail("%s is empty: give one", field)
	}
}

func (c *checker) short(field, value string, limit int) {
	if n := utf8.RuneCountInString(value); n > limit {
		c.fail("%s has %d characters, at most %d are allowed", field, n, limit)
	}
}

// id checks an id that the caller chooses: letters, digits and the marks.
func (c *checker) id(field, value, marks string, limit int) {
	c.short(field, value, limit)
	other := func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune(marks, r)
	}
	if strings.ContainsFunc(value, other) {
		c.fail("%s %q may have letters, digits and %s only", field, value, marks)
	}
}

func (c *checker) between(field string, value, low, high int) {
	if value < low || value > high {
		c.fail("%s is %d: it must be %d to %d", field, value, low, high)
	}
}

// fleet checks the target of a request. The provider decides whether one is needed.
func (c *checker) fleet(fleetID, aliasID string) {
	if fleetID != "" && aliasID != "" {
		c.fail("FleetID %s and AliasID %s are given: leave one empty", fleetID, aliasID)
	}
}

func (c *checker) player(field, id string) {
	c.given(field, id)
	c.short(field, id, maxText)
}

func (c *checker) properties(p map[string]string) {
	c.between("the number of properties", len(p), 0, maxProperties)
	for _, key := range slices.Sorted(maps.Keys(p)) {
		c.given("a property's key", key)
		c.short("the property's key "+key, key, maxPropertyKey)
		c.short("the property "+key, p[key], maxPropertyValue)
	}
}

func (r CreateSessionRequest) check() error {
	c := checker{op: "CreateSession"}
	c.fleet(r.FleetID, r.AliasID)
	c.between("MaxPlayer", r.MaxPlayer, 0, maxPlayers)
	c.short("CreatorID", r.CreatorID, maxText)
	c.short("SessionName", r.SessionName, maxText)
	c.id("IdempotencyToken", r.IdempotencyToken, "-", maxIdempotencyToken)
	c.properties(r.SessionProperties)
	return c.err
}

func (r CreateSessionOnQueueRequest) check() error {
	c := checker{op: "CreateSessionOnQueue"}
	c.given("PlacementID", r.PlacementID)
	c.id("PlacementID", r.PlacementID, "-", maxIdempotencyToken)
	c.between("MaxPlayer", r.MaxPlayer, 1, maxPlayers)
	c.short("SessionName", r.SessionName, maxText)
	c.properties(r.SessionProperties)
	return c.err
}

func (r SearchSessionsRequest) check() error {
	c := checker{op: "SearchSessions"}
	c.fleet(r.FleetID, r.AliasID)
	c.between("MaxResult", r.MaxResult, 0, maxPage)
	c.short("FilterExpression", r.FilterExpression, maxText)
	c.short("SortExpression", r.SortExpression, maxText)
	c.short("NextToken", r.NextToken, maxText)
	return c.err
}

func (r JoinSessionRequest) check() error {
	c := checker{op: "JoinSession"}
	c.given("SessionID", r.SessionID)
	c.player("PlayerID", r.PlayerID)
	c.short("PlayerData", r.PlayerData, maxPlayerData)
	return c.err
}

func (r StartMatchmakingRequest) check() error {
	c := checker{op: "StartMatchmaking"}
	c.given("ConfigurationName", r.ConfigurationName)
	c.between("the number of Players", len(r.Players), 1, maxTicketPlayers)
	c.id("TicketID", r.TicketID, "-.", maxTicketID)
	for _, p := range r.Players {
		c.player("PlayerID", p.PlayerID)
		for _, name := range slices.Sorted(maps.Keys(p.PlayerAttributes)) {
			if !isAttribute(p.PlayerAttributes[name]) {
				c.fail("the attribute %s of player %s must be an object with one of the keys S, N, SL and SDM "+
					`and a value of that type, such as {"N": 23}`, name, p.PlayerID)
			}
		}
	}
	return c.err
}

// isAttribute reports whether text is an attribute of a player.
func isAttribute(text json.RawMessage) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil || len(object) != 1 {
		return false
	}
	values := map[string]any{"S": new(*string), "N": new(*float64), "SL": new([]*string),
		"SDM": new(map[string]*float64)}
	for key, value := range object {
		into, known := values[key]
		if !known || string(value) == "null" || json.Unmarshal(value, into) != nil {
			return false
		}
	}
	return true
}

func (r StopMatchmakingRequest) check() error {
	c := checker{op: "StopMatchmaking"}
	c.given("TicketID", r.TicketID)
	return c.err
}

func (r AcceptMatchRequest) check() error {
	c := checker{op: "AcceptMatch"}
	c.given("TicketID", r.TicketID)
	if len(r.PlayerIDs) == 0 {
		c.fail("PlayerIDs is empty: give at least one")
	}
	for _, id := range r.PlayerIDs {
		c.player("a player's id", id)
	}
	return c.err
}
