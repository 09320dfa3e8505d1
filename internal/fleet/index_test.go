package fleet

import "testing"

// TestDocumentsChangeOnlyWhenASearchSeesIt: a player who is accepted changes
// nothing that a search can see, a player who leaves does, and so does a rename.
func TestDocumentsChangeOnlyWhenASearchSeesIt(t *testing.T) {
	w := newWorld(t)
	k := ProcessKey{"host-1", "process-1"}
	g := w.active("game-1", k)
	players := w.reserve(g.ID, "ada", "bob")
	for _, c := range []struct {
		name    string
		command Command
		changes bool
	}{
		{"accept", AcceptPlayer{k, g.ID, players[0]}, false},
		{"remove", RemovePlayer{k, g.ID, players[0]}, true},
		{"rename", UpdateGameSession{ID: g.ID, Name: "another name"}, true},
		{"close", UpdateGameSession{ID: g.ID, Policy: DenyAll}, false},
		{"new property", UpdateGameSession{ID: g.ID, Properties: []Property{{"mode", "duel"}}}, true},
		{"more places", UpdateGameSession{ID: g.ID, Maximum: new(int32(7))}, true},
	} {
		before, _ := w.room.Index().Get(g.Ordinal)
		w.do(c.command)
		after, ok := w.room.Index().Get(g.Ordinal)
		if !ok || (after != before) != c.changes {
			t.Errorf("%s: the document was replaced: %v, want %v", c.name, after != before, c.changes)
		}
		if now := w.session(g.ID); after.Players != now.Players() || after.Maximum != now.Maximum ||
			after.Name != now.Name {
			t.Errorf("%s: the document is %+v, the game session %+v", c.name, after, now)
		}
	}
}
