package game

import "errors"

// A door knows who is in, or on the way in, and who may come. It belongs to the
// room's executor.
type door struct {
	open       bool // there is a game session
	unticketed bool // players need no player session
	places     int  // for players at one time; 0 for any number
	strict     bool // the places hold for player sessions too, which the service counts itself
	tickets    map[string]bool
	taken      int  // places: of players, and of those who are being let in
	visits     int  // those, and the players who have left and are not given back yet
	visited    bool // somebody has been let in
}

// The reasons why somebody may not come in. Players see them.
var (
	errNoGame   = errors.New("there is no game session")
	errNoTicket = errors.New("a player session id is needed")
	errInUse    = errors.New("this player session is in use")
	errNoPlace  = errors.New("the game is full")
	errEnding   = errors.New("the game server is ending")
)

// enter takes a place, and the ticket if there is one: one player for one ticket.
// It is what can be known without asking the service.
func (d *door) enter(ticket string) error {
	switch {
	case ticket == "" && !d.unticketed:
		return errNoTicket
	case !d.open && !d.unticketed:
		return errNoGame
	case d.tickets[ticket]:
		return errInUse
	case d.places > 0 && d.taken >= d.places && (ticket == "" || d.strict):
		return errNoPlace
	}
	d.taken++
	d.visits++
	if ticket != "" {
		d.tickets[ticket] = true
	}
	return nil
}

// leave gives the place back. It comes before the service hears of it, which then
// may send the next player at once.
func (d *door) leave() { d.taken-- }

// settle gives the ticket back, when the service knows. It reports whether that
// was the last one of a game session that somebody has played in.
func (d *door) settle(ticket string) (over bool) {
	d.visits--
	delete(d.tickets, ticket)
	return d.open && d.visited && d.visits == 0
}
