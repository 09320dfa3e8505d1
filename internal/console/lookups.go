package console

import (
	"net/url"
	"strings"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/wire"
)

type playersBody struct {
	ID       string
	Sessions []wire.PlayerSession
	Next     string              // the address of the next page; "": none
	Tickets  []control.TicketRow // that have not ended
	Export   string              // the address of a file with all of the player; "": not for this person
}

// playersPage asks for a player, and leads to the page of one.
func playersPage(v *visit) error {
	id := v.form("id")
	if isSegment(id) {
		return v.permalink(playerPath(id))
	}
	return v.player(id)
}

func playerPage(v *visit) error { return v.player(v.r.PathValue("id")) }

// player shows the player sessions of a player; "": a form that asks for one.
func (v *visit) player(id string) error {
	b := playersBody{ID: id}
	if b.ID != "" {
		err := v.readAny(
			part{"Player sessions", func() error { return v.sessionsOf(&b) }},
			part{"Matchmaking tickets", func() error { return v.ticketsOf(&b) }},
		)
		if err != nil {
			return err
		}
	}
	return v.show("players", page{Title: "Players", Nav: "/console/players", Live: b.ID != "", Body: b})
}

func (v *visit) sessionsOf(b *playersBody) error {
	out, err := call(v, wire.OpDescribePlayerSessions, &wire.DescribePlayerSessionsInput{PlayerId: b.ID,
		Limit: wire.Some[int32](pageSize), NextToken: v.form("next")})
	if err != nil {
		return err
	}
	b.Sessions = out.PlayerSessions
	if out.NextToken != "" {
		b.Next = "?" + url.Values{"id": {b.ID}, "next": {out.NextToken}}.Encode()
	}
	return nil
}

func (v *visit) ticketsOf(b *playersBody) error {
	if !v.may("muster:PlayerRead", []string{"player/" + b.ID}) || !isSegment(b.ID) {
		return nil
	}
	var known control.Player
	err := v.request("GET", in("players", b.ID), nil, &known)
	b.Tickets, b.Export = known.Tickets, playerPath(b.ID)+"/export"
	return err
}

// A searchBody is what a text may mean.
type searchBody struct {
	Query string
	Found control.Lookup
	Views []access.SavedView // with the text in their titles
}

// searchPage leads to what a text names if that is one thing, and otherwise lists what it may mean.
func searchPage(v *visit) error {
	b := searchBody{Query: strings.TrimSpace(v.form("q"))}
	if b.Query == "" {
		return v.redirect(Prefix)
	}
	err := v.request("GET", "/v1/search?q="+url.QueryEscape(b.Query), nil, &b.Found)
	if err != nil {
		return err
	}
	v.partial("Search", control.Partial{MissingShards: b.Found.MissingShards})
	if hits := b.Found.Hits; len(hits) > 0 && hits[0].Exact && (len(hits) == 1 || !hits[1].Exact) {
		return v.redirect(hits[0].Path)
	}
	b.Views = v.savedViews().named(b.Query)
	return v.show("search", page{Title: "Search", Body: b})
}

// releasePlayer frees the place of a player who has not come.
func releasePlayer(v *visit) error {
	id := v.r.PathValue("id")
	if err := v.request("DELETE", in("players", id, "sessions", v.form("session")), nil, nil); err != nil {
		return err
	}
	return v.redirect(playerPath(id) + "?done=player-released")
}
