package operator

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Game sessions on a page, if the request says nothing, and at most.
const (
	defaultEnded = 100
	maxEnded     = 1000
)

func (d *Handler) endedSessions(c *call) (*control.EndedSessions, error) {
	q, err := parseEndedQuery(c.URL.Query())
	if err != nil {
		return nil, err
	}
	return d.Region.EndedSessions(c.Context(), q)
}

func parseEndedQuery(values url.Values) (control.EndedQuery, error) {
	q := control.EndedQuery{Limit: defaultEnded}
	for name, list := range values {
		wanted, known := setEnded(&q, name, list[0])
		switch {
		case !known:
			return q, fault.New(fault.InvalidRequest, "Unknown parameter %.100q. The parameters are from, to, fleet, "+
				"location, reason, creator, player, property, limit and after.", name)
		case len(list) > 1:
			return q, fault.New(fault.InvalidRequest, "Parameter %s was given %d times; give it once.", name, len(list))
		case wanted != "":
			return q, fault.New(fault.InvalidRequest, "Parameter %s is %.100q: it must be %s.", name, list[0], wanted)
		}
	}
	return q, nil
}

// setEnded sets a parameter. Wanted says what it must be, if it is not.
func setEnded(q *control.EndedQuery, name, value string) (wanted string, known bool) {
	texts := map[string]*string{"fleet": &q.FleetID, "location": &q.Location, "reason": &q.Reason,
		"creator": &q.CreatorID, "player": &q.PlayerID, "after": &q.NextToken}
	times := map[string]*time.Time{"from": &q.From, "to": &q.To}
	if to, ok := texts[name]; ok {
		*to = value
		return "", true
	}
	if to, ok := times[name]; ok {
		t, err := time.Parse(time.RFC3339, value)
		if err != nil || t.Year() < 1970 || t.Year() > 2200 {
			return "a time from 1970 to 2200 like 2026-01-31T12:00:00Z", true
		}
		*to = t
		return "", true
	}
	switch name {
	case "property":
		key, is, ok := strings.Cut(value, "=")
		if !ok || key == "" {
			return "a game property as KEY=VALUE", true
		}
		q.Property = &fleet.Property{Key: key, Value: is}
		return "", true
	case "limit":
		n, err := strconv.Atoi(value)
		if q.Limit = n; err != nil || n < 1 || n > maxEnded {
			return "a number from 1 to " + strconv.Itoa(maxEnded), true
		}
		return "", true
	}
	return "", false
}
