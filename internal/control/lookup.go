package control

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/control/history"
	"github.com/muster-gg/muster/internal/fleet"
	"github.com/muster-gg/muster/internal/matchmaking"
	"github.com/muster-gg/muster/internal/placement"
	"github.com/muster-gg/muster/internal/region"
	"github.com/muster-gg/muster/internal/router"
	"github.com/muster-gg/muster/internal/wire/arn"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	lookupTime = 150 * time.Millisecond // limits a search
	answerTime = 100 * time.Millisecond // limits its waiting for shards: the rest is for what they have
	lookupHits = 20                     // of an answer
	minPrefix  = 4                      // characters from which the beginning of an id or name finds it
	scanned    = 256                    // game sessions between two checks of the time
)

// A LookupQuery asks what a text may mean.
type LookupQuery struct {
	// Text is an id, an ARN, a name, the beginning of one of them, an address, or the id of a player.
	Text   string
	Hidden func(fleetID string) bool // fleets whose game sessions and players are left out; nil: none
}

// Lookup is what a text may mean.
type Lookup struct {
	Hits    []LookupHit `json:"hits"`    // at most 20; those that the text names exactly are first
	Partial bool        `json:"partial"` // there may be further ones: there were too many, or it took too long

	MissingShards []int `json:"missingShards,omitempty"` // that did not answer in time
}

// A LookupHit is something that a text may mean.
type LookupHit struct {
	Kind  string `json:"kind"` // fleet, alias, queue, configuration, ruleSet, location, compute, gameSession, …
	ID    string `json:"id"`   // its id, its name if it has no other, or its ARN
	Title string `json:"title"`
	Exact bool   `json:"exact"` // the text is its id, ARN, name or address
	Path  string `json:"path"`  // of its page in the console
	// Status is that of a game session; "" for other kinds.
	Status fleet.GameSessionStatus `json:"status,omitempty"`
}

// A lookup is a search in progress.
type lookup struct {
	*Plane
	LookupQuery
	text    string // without the part of an ARN before the name
	kind    string // that an ARN names; "": the text is no ARN
	prefix  bool   // the text is long enough to be a beginning
	covered func(fleet.RoomID) bool

	exact, others []LookupHit
	missed        Partial // shards that were not searched
}

// Lookup searches the catalog, game sessions, computes, placements and tickets in memory, players by their whole ids,
// and the history by whole ids. It takes 150 ms at most. InvalidRequestException: the text is empty or too long.
func (p *Plane) Lookup(ctx context.Context, q LookupQuery) (*Lookup, error) {
	q.Text = strings.TrimSpace(q.Text)
	if q.Text == "" || len(q.Text) > 1024 {
		return nil, invalid("q has %d bytes: give 1 to 1024", len(q.Text))
	}
	visible := p.visibleFleets(q.Hidden)
	l := &lookup{Plane: p, LookupQuery: q, text: q.Text, prefix: len(q.Text) >= minPrefix,
		covered: func(id fleet.RoomID) bool { return visible == nil || visible[id.Fleet] }}
	if strings.HasPrefix(q.Text, "arn:") {
		name, _ := arn.Parse(q.Text)
		l.text = q.Text[strings.LastIndexAny(q.Text, "/:")+1:]
		l.kind, l.prefix = cmp.Or(arnKinds[name.Kind], unknownKind), false
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	asking, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	views := l.views(asking)
	partial := false
	l.inCatalog()
	for _, search := range []func() error{
		func() error { return l.byID(asking) },
		func() error { return l.inShards(ctx, views) },
	} {
		err := search()
		_, unanswered := UnansweredShard(err)
		switch {
		case ctx.Err() != nil || unanswered || err != nil && asking.Err() != nil:
			partial = true
		case err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.InvalidRequest):
			return nil, err
		}
	}
	missing := l.missed.MissingShards
	partial = partial || len(missing) > 0
	hits := append(l.exact, l.others...)
	if len(hits) > lookupHits {
		hits, partial = hits[:lookupHits], true
	}
	return &Lookup{Hits: append([]LookupHit{}, hits...), Partial: partial, MissingShards: missing}, nil
}

// arnKinds are the kinds of hits that ARNs name.
var arnKinds = map[arn.Kind]string{
	arn.KindFleet: "fleet", arn.KindAlias: "alias", arn.KindQueue: "queue", arn.KindLocation: "location",
	arn.KindMatchmakingConfiguration: "configuration", arn.KindMatchmakingRuleSet: "ruleSet",
	arn.KindCompute: "compute", arn.KindGameSession: gameSessionKind,
}

const (
	gameSessionKind = "gameSession"
	unknownKind     = "unknown" // no hit has it
)

// full reports whether no further inexact hits are needed.
func (l *lookup) full() bool { return len(l.others) > lookupHits }

// match adds something with names, if the text is one of them or the beginning of one.
func (l *lookup) match(kind, id, title, path string, names ...string) {
	l.matchHit(LookupHit{Kind: kind, ID: id, Title: title, Path: path}, names...)
}

func (l *lookup) matchHit(hit LookupHit, names ...string) {
	if l.kind != "" && l.kind != hit.Kind { // things of several kinds can have one name
		return
	}
	found := false
	for _, name := range names {
		switch {
		case name == "":
		case name == l.text || name == l.Text:
			hit.Exact = true
			l.exact = append(l.exact, hit)
			return
		case l.prefix && len(name) > len(l.text) && strings.EqualFold(name[:len(l.text)], l.text):
			found = true
		}
	}
	if found && !l.full() {
		l.others = append(l.others, hit)
	}
}

func (l *lookup) inCatalog() {
	view := l.Catalog()
	fleets, _ := view.Fleets("", math.MaxInt)
	for _, f := range fleets {
		if l.covered(fleet.RoomID{Fleet: fleet.ID(f.ID)}) {
			l.match("fleet", f.ID, f.Attributes.Name, "/console/fleets/"+url.PathEscape(f.ID), f.ID, f.Attributes.Name,
				strings.TrimPrefix(f.ID, "fleet-"))
		}
	}
	aliases, _ := view.Aliases(catalog.AliasFilter{}, "", math.MaxInt)
	for _, a := range aliases {
		l.match("alias", a.ID, a.Name, "/console/fleets", a.ID, a.Name)
	}
	queues, _ := view.Queues("", math.MaxInt)
	for _, q := range queues {
		l.match("queue", q.Name, q.Name, "/console/queues/"+url.PathEscape(q.Name), q.Name)
	}
	configurations, _ := view.MatchmakingConfigurations("", "", math.MaxInt)
	for _, c := range configurations {
		l.match("configuration", c.Name, c.Name, "/console/matchmaking/"+url.PathEscape(c.Name), c.Name)
	}
	ruleSets, _ := view.RuleSets("", math.MaxInt)
	for _, s := range ruleSets {
		l.match("ruleSet", s.Name, s.Name, "/console/rule-sets/"+url.PathEscape(s.Name), s.Name)
	}
	locations, _ := view.Locations("", math.MaxInt)
	for _, at := range locations {
		l.match("location", at.Name, at.Name, "/console/locations", at.Name, strings.TrimPrefix(at.Name, "custom-"))
	}
}

// byID finds what a whole id names, also in the history.
func (l *lookup) byID(ctx context.Context) error {
	if l.Text != l.text { // an ARN
		room, g, err := l.findSession(ctx, l.Text)
		if err == nil && l.covered(room) {
			l.session(room, g)
		}
		return err
	}
	found, err := l.findPlacement(ctx, l.text)
	if err == nil {
		l.placement(found)
	} else if !fault.Is(err, fault.NotFound) {
		return err
	}
	tickets, err := l.findTickets(ctx, []string{l.text})
	if err != nil {
		return err
	}
	if t := tickets[0].ticket; t != nil {
		l.ticket(t)
	}
	if id, err := fleet.ParsePlayerSessionID(l.text); err == nil {
		return l.playerSession(ctx, id)
	}
	return nil
}

func (l *lookup) playerSession(ctx context.Context, id fleet.PlayerSessionID) error {
	at, ordinal := id.Locate()
	if int(at.Shard) >= len(l.Shards()) {
		return nil
	}
	f, err := router.Look(ctx, l.Shards()[at.Shard], func(m *region.Machine) (f foundPlayer) {
		if r, ok := m.RoomAt(at.Room); ok {
			f.room = r.ID()
			f.session, _ = r.GameSessionAt(ordinal)
		}
		return f
	})
	if err == nil && f.session == nil {
		f.room, f.session, err = l.history.GameSessionAt(ctx, at, ordinal)
	}
	if err != nil || f.session == nil || !l.covered(f.room) {
		return err
	}
	var ok bool
	if f.player, ok = f.session.PlayerSession(id); !ok {
		if f.player, err = l.history.PlayerSession(ctx, f.session, id); err != nil || f.player == nil {
			return err
		}
	}
	l.match("playerSession", l.text, f.player.PlayerID, playerPath(f.player.PlayerID), l.text)
	return nil
}

func playerPath(player string) string { return "/console/players?id=" + url.QueryEscape(player) }

// resembles reports whether a game session may match. It rules out nearly all others, without making their ARNs.
func (l *lookup) resembles(g *fleet.GameSession) bool {
	text := strings.TrimPrefix(l.text, "[") // of an IPv6 address with a port
	for _, name := range [...]string{g.ID, strings.TrimPrefix(g.ID, "gsess-"), g.Name, g.IPAddress, g.DNSName} {
		n := min(len(name), len(text))
		if n > 0 && strings.EqualFold(name[:n], text[:n]) {
			return true
		}
	}
	return false
}

func (l *lookup) session(room fleet.RoomID, g *fleet.GameSession) {
	id := l.GameSessionARN(room, g.ID)
	names := []string{id, g.ID, g.Name, hostPort(g.IPAddress, g.Port), strings.TrimPrefix(g.ID, "gsess-")}
	if g.DNSName != "" {
		names = append(names, hostPort(g.DNSName, g.Port))
	}
	if l.Text != l.text { // an ARN names its fleet, too
		names = names[:1]
	}
	title := g.Name
	if title == "" {
		title = g.ID
	}
	l.matchHit(LookupHit{Kind: gameSessionKind, ID: id, Title: title, Status: g.Status,
		Path: "/console/game-session?id=" + url.QueryEscape(id)}, names...)
}

// hostPort joins a host and a port, with brackets around an IPv6 address.
func hostPort(host string, port int32) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}

func (l *lookup) placement(p *placement.Placement) {
	l.match("placement", p.ID, p.Queue, "/console/placements/"+url.PathEscape(p.ID), p.ID)
}

func (l *lookup) ticket(t *matchmaking.Ticket) {
	l.match("ticket", t.ID, t.Configuration.Name, "/console/tickets/"+url.PathEscape(t.ID), t.ID)
}

// errEnough ends a scan.
var errEnough = errors.New("enough")

// views begins to read all shards, and returns a function that waits for what was read.
func (l *lookup) views(ctx context.Context) func() ([]*region.Machine, error) {
	var views []*region.Machine
	done := make(chan error, 1)
	go func() {
		done <- lookEach(ctx, &l.missed, l.Shards(), (*region.Machine).Freeze, func(view *region.Machine) {
			views = append(views, view)
		})
	}()
	return func() ([]*region.Machine, error) {
		err := <-done
		return views, err
	}
}

// inShards scans what is in memory. It looks for game sessions, computes, placements and tickets that byID has not
// found.
func (l *lookup) inShards(ctx context.Context, views func() ([]*region.Machine, error)) error {
	whole := map[LookupHit]bool{}
	for _, h := range l.exact {
		whole[h] = true
	}
	player := false
	frozen, err := views()
	if err != nil {
		return err
	}
	for _, view := range frozen {
		var err error
		part := &lookup{Plane: l.Plane, LookupQuery: l.LookupQuery, text: l.text, kind: l.kind, prefix: l.prefix,
			others: l.others}
		for _, r := range view.Rooms() {
			if !l.covered(r.ID()) {
				continue
			}
			if err = part.inRoom(ctx, r); err != nil {
				break
			}
			if l.kind != "" { // an ARN names no player
				continue
			}
			r.PlayerSessionsOf(l.text, func(*fleet.GameSession, *fleet.PlayerSession) bool {
				player = true
				return false
			})
		}
		part.inParts(view)
		for _, h := range part.exact {
			if !whole[h] {
				l.exact = append(l.exact, h)
			}
		}
		l.others = part.others
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	if !player {
		var err error
		player, err = l.pastPlayer(ctx)
		if err != nil {
			return err
		}
	}
	if player {
		l.exact = append(l.exact, LookupHit{Kind: "player", ID: l.text, Title: l.text, Exact: true,
			Path: playerPath(l.text)})
	}
	return nil
}

// pastPlayer reports whether the history knows the player.
func (l *lookup) pastPlayer(ctx context.Context) (known bool, err error) {
	if l.Text != l.text {
		return false, nil
	}
	err = l.history.OfPlayer(ctx, l.text, allFleets, 0, func(e history.Entry) bool {
		known = l.covered(e.Room)
		return !known
	})
	return known, err
}

func (l *lookup) inRoom(ctx context.Context, r *fleet.Room) error {
	id := r.ID()
	r.Computes("", func(c *fleet.Compute) bool {
		l.match("compute", c.Name, c.Name+" in "+id.Location, "/console/fleets/"+url.PathEscape(string(id.Fleet))+
			"?tab=computes", c.Name, c.IPAddress, c.DNSName)
		return true
	})
	if l.full() {
		return errEnough
	}
	n := 0
	var err error
	r.GameSessions(r.FirstNumber()-1, func(g *fleet.GameSession) bool {
		if n++; n%scanned == 0 {
			err = ctx.Err()
		}
		if err == nil && l.resembles(g) {
			l.session(id, g)
		}
		return err == nil
	})
	return err
}

// inParts searches placements and tickets by the beginning of their ids.
func (l *lookup) inParts(m *region.Machine) {
	if !l.prefix {
		return
	}
	m.Placements().From(l.text, func(p *placement.Placement) bool {
		if strings.HasPrefix(p.ID, l.text) && p.ID != l.text {
			l.placement(p)
		}
		return strings.HasPrefix(p.ID, l.text) && !l.full()
	})
	if s := m.Matchmaking(); s != nil {
		s.From(l.text, func(t *matchmaking.Ticket) bool {
			if strings.HasPrefix(t.ID, l.text) && t.ID != l.text {
				l.ticket(t)
			}
			return strings.HasPrefix(t.ID, l.text) && !l.full()
		})
	}
}
