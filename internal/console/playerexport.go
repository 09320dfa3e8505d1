package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control"
)

// exportPlayer answers with a file of all that the region has of a player, as one JSON object. It reads page by page:
// memory does not grow with their number. A failure after the first page cuts the answer off, which browsers show.
func exportPlayer(v *visit) error {
	v.ctx = v.r.Context() // it may take longer than a page
	id := v.r.PathValue("id")
	page, err := v.playerPart(id, "")
	if err != nil {
		return err
	}
	head := v.w.Header()
	head.Set("Content-Type", "application/json")
	head.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "player-"+fileName(id)+".json"))
	out, deadline := json.NewEncoder(v.w), http.NewResponseController(v.w)
	write := func(text string, value any) error {
		_ = deadline.SetWriteDeadline(time.Now().Add(writeTime)) // limits a browser that does not read
		if _, err := fmt.Fprint(v.w, text); err != nil {
			return err
		}
		return out.Encode(value)
	}
	_ = write(`{"playerId":`, id)
	_ = write(`,"exportTime":`, v.h.Clock.Now().UTC())
	_ = write(`,"tickets":`, page.Tickets)
	_, _ = fmt.Fprint(v.w, `,"playerSessions":[`)
	separator := ""
	for {
		for _, s := range page.PlayerSessions {
			if write(separator, s) != nil {
				return nil // the browser has gone
			}
			separator = ","
		}
		if page.NextToken == "" {
			break
		}
		if page, err = v.playerPart(id, page.NextToken); err != nil {
			v.h.Log.Warn("download cut off", "file", "player", "err", err)
			panic(http.ErrAbortHandler)
		}
	}
	_, _ = fmt.Fprintln(v.w, "]}")
	return nil
}

// playerPart reads a page of what the region has of a player.
func (v *visit) playerPart(id, token string) (*control.Player, error) {
	q := url.Values{"limit": {strconv.Itoa(csvPage)}}
	if token != "" {
		q.Set("after", token)
	}
	p := &control.Player{}
	return p, v.request(http.MethodGet, in("players", id)+"?"+q.Encode(), nil, p)
}

// fileName returns a text as a part of a file's name that every system takes.
func fileName(text string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, text)
	return safe[:min(len(safe), 64)]
}
