package game

import "github.com/muster-gg/muster/gamenet/handshake"

// slots counts the players who are connected or being admitted. The handshake checks their tickets. It belongs to the
// room's executor.
type slots struct {
	open       bool // there is a game session
	unticketed bool // players need no player session
	most       int  // players at one time; 0: any number
	strict     bool // most holds for player sessions too, which the service counts itself
	taken      int  // by players, and by those who are being admitted
	visits     int  // those, and the players who have left and whose player session has not ended yet
	visited    bool // a player was admitted
}

// The reasons why a player is not admitted. Players see them.
var (
	errNoGame  = &handshake.RefusedError{Code: handshake.NoSession, Text: "there is no game session"}
	errNoPlace = &handshake.RefusedError{Code: handshake.Full, Text: "the game is full"}
)

// enter takes a slot, for a client with a ticket or "". It decides what needs no call of the service.
func (s *slots) enter(ticket string) error {
	switch {
	case !s.open && !s.unticketed:
		return errNoGame
	case s.most > 0 && s.taken >= s.most && (ticket == "" || s.strict):
		return errNoPlace
	}
	s.taken++
	s.visits++
	return nil
}

// leave releases the slot. It is called before the service is notified, which may then send the next player at once.
func (s *slots) leave() { s.taken-- }

// settle ends a visit, when the service was notified. It reports whether that was the last one of a game session that
// had a player.
func (s *slots) settle() (over bool) {
	s.visits--
	return s.open && s.visited && s.visits == 0
}
