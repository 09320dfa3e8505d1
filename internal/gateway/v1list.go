package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// Limits of the list.
const (
	defaultPage = 20
	maxPage     = 100
	maxFilter   = 900 // the API's 1024, less the gateway's additions
	maxSort     = 1024
	maxCursor   = 4096
)

// A listing is a request for a page of game sessions.
type listing struct {
	filter, sort string
	shift        int // characters in filter before that of the client
	open         bool
	limit        int
	cursor       string
}

// listSessions answers GET /v1/sessions.
func listSessions(c *call) (answer, error) {
	in, err := c.listing()
	if err != nil {
		return answer{}, err
	}
	sessions, next, err := c.g.list(c.ctx, in)
	if err != nil {
		return answer{}, err
	}
	body := struct {
		Sessions []*sessionView `json:"sessions"`
		Cursor   string         `json:"cursor,omitempty"`
	}{make([]*sessionView, len(sessions)), next}
	for i := range sessions {
		body.Sessions[i] = viewSession(&sessions[i])
	}
	return answer{body: body}, nil
}

// listing reads and checks the query string.
func (c *call) listing() (*listing, error) {
	q, err := c.query()
	if err != nil {
		return nil, err
	}
	in := &listing{
		filter: q.text("filter", maxFilter), sort: q.text("sort", maxSort), open: q.boolean("open", true),
		limit: int(q.integer("limit", 1, maxPage).Or(defaultPage)), cursor: q.text("cursor", maxCursor),
	}
	build := q.integer("buildId", minBuild, maxBuild)
	if q.problem != nil {
		return nil, q.problem
	}
	var more []string
	if n, ok := build.Get(); ok {
		more = append(more, buildFilter(n))
	}
	if in.open {
		more = append(more, openFilter)
	}
	in.and(more)
	if in.sort == "" {
		in.sort = oldestFirst
	}
	return in, nil
}

func (l *listing) and(filters []string) {
	if l.filter != "" && len(filters) > 0 {
		l.shift = len("(")
		filters = append([]string{"(" + l.filter + ")"}, filters...)
	}
	if len(filters) > 0 {
		l.filter = strings.Join(filters, " AND ")
	}
}

// place matches a position in an error of the service.
var place = regexp.MustCompile(`character (\d+)`)

// ofClient returns an error of a search with positions in the client's filter.
func (l *listing) ofClient(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || l.shift == 0 {
		return err
	}
	shifted := *f
	shifted.Message = place.ReplaceAllStringFunc(f.Message, func(text string) string {
		at, _ := strconv.Atoi(strings.TrimPrefix(text, "character ")) // digits alone
		return "character " + strconv.Itoa(max(at-l.shift, 1))
	})
	return &shifted
}

// A cursor is the position of the next page.
type cursor struct {
	Of     []byte `json:"q"`           // identifies the listing
	Target int    `json:"t"`           // the index of the target
	Next   string `json:"n,omitempty"` // the service's own token
}

// of returns a hash that identifies the listing: a cursor is valid for one listing only.
func (l *listing) of(targets []Target) []byte {
	text, _ := json.Marshal([]any{l.filter, l.sort, l.open, targets}) // never fails
	sum := sha256.Sum256(text)
	return sum[:9]
}

// start returns the position of the page.
func (l *listing) start(targets []Target) (cursor, error) {
	at := cursor{Of: l.of(targets)}
	if l.cursor == "" {
		return at, nil
	}
	var given cursor
	text, err := base64.RawURLEncoding.DecodeString(l.cursor)
	if err != nil || json.Unmarshal(text, &given) != nil || given.Target < 0 || given.Target >= len(targets) ||
		string(given.Of) != string(at.Of) {
		return at, invalid("The parameter cursor is not one of this list: begin again without it.")
	}
	return given, nil
}

func (c cursor) String() string {
	text, _ := json.Marshal(c) // never fails
	return base64.RawURLEncoding.EncodeToString(text)
}

// list returns the game sessions of a page; next is "" after the last one.
func (g *Gateway) list(ctx context.Context, l *listing) (found []wire.GameSession, next string, err error) {
	targets, err := g.searched(ctx)
	if err != nil {
		return nil, "", err
	}
	at, err := l.start(targets)
	if err != nil {
		return nil, "", err
	}
	for at.Target < len(targets) && len(found) < l.limit {
		out, err := g.service.SearchGameSessions(ctx,
			searchInput(targets[at.Target], l.filter, l.sort, l.limit-len(found), at.Next))
		if err != nil {
			return nil, "", failed(ctx, l.ofClient(err), NoFleet, Internal)
		}
		for _, s := range out.GameSessions {
			if !l.open || open(&s) {
				found = append(found, s)
			}
		}
		if at.Next = out.NextToken; at.Next == "" {
			at.Target++
		}
	}
	if at.Target < len(targets) {
		next = at.String()
	}
	return found, next, nil
}
