package game

import "github.com/muster-gg/muster/gamenet/handshake"

// A door knows how many are in, or on the way in, and whether there is place for more. Whose ticket is whose is the
// handshake's. It belongs to the room's executor.
type door struct {
	open       bool // there is a game session
	unticketed bool // players need no player session
	places     int  // for players at one time; 0 for any number
	strict     bool // the places hold for player sessions too, which the service counts itself
	taken      int  // places: of players, and of those who are being let in
	visits     int  // those, and the players who have left and are not given back yet
	visited    bool // a player was admitted
}

// The reasons why a player is not admitted. Players see them.
var (
	errNoGame  = &handshake.RefusedError{Code: handshake.NoSession, Text: "there is no game session"}
	errNoPlace = &handshake.RefusedError{Code: handshake.Full, Text: "the game is full"}
)

// enter takes a place, for somebody with a ticket or "". It is what can be known without asking the service.
func (d *door) enter(ticket string) error {
	switch {
	case !d.open && !d.unticketed:
		return errNoGame
	case d.places > 0 && d.taken >= d.places && (ticket == "" || d.strict):
		return errNoPlace
	}
	d.taken++
	d.visits++
	return nil
}

// leave gives the place back. It comes before the service hears of it, which then may send the next player at once.
func (d *door) leave() { d.taken-- }

// settle ends a visit, when the service knows. It reports whether that was the last one of a game session that somebody
// has played in.
func (d *door) settle() (over bool) {
	d.visits--
	return d.open && d.visited && d.visits == 0
}
