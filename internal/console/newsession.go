package console

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A newSession is the form of a game session.
type newSession struct {
	Name, Players, Location, Properties string
	Command                             string // that does the same
	Open                                bool   // it was sent
}

// newSessionForm completes the form that creates a game session in the fleet that is shown.
func (v *visit) newSessionForm(b *sessionsBody) (err error) {
	for _, f := range b.Fleets {
		if f.FleetId == b.Fleet && v.may("gamelift:CreateGameSession", []string{f.FleetArn}) {
			b.CreateIn = f.FleetArn
		}
	}
	if b.CreateIn == "" {
		return nil
	}
	if b.Locations, err = v.locationsOf(b.Fleet); err != nil && !fault.Is(err, fault.AccessDenied) {
		return err
	}
	b.New = newSession{Name: v.form("session-name"), Players: cmp.Or(v.form("players"), "4"),
		Location: v.form("location"), Properties: v.form("properties"), Open: v.r.Method == http.MethodPost}
	if b.New.Location == "" && len(b.Locations) > 0 {
		b.New.Location = b.Locations[0].Location
	}
	b.New.Command = b.New.command(b.Fleet)
	return nil
}

// command is what creates the same game session on a command line.
func (n *newSession) command(fleetID string) string {
	words := []string{"aws", "gamelift", "create-game-session", "--fleet-id", fleetID,
		"--maximum-player-session-count", n.Players}
	if n.Name != "" {
		words = append(words, "--name", n.Name)
	}
	if n.Location != "" {
		words = append(words, "--location", n.Location)
	}
	if properties, err := propertiesOf(n.Properties); err == nil && len(properties) > 0 {
		text, _ := json.Marshal(properties) // of texts
		words = append(words, "--game-properties", string(text))
	}
	return shell(words)
}

// propertiesOf reads game properties, one KEY=VALUE a line.
func propertiesOf(text string) (all []wire.GameProperty, err error) {
	for _, line := range linesOf(text) {
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, invalid("GameProperties: %.100q must be a key, an equals sign, and a value.", line)
		}
		all = append(all, wire.GameProperty{Key: strings.TrimSpace(key), Value: strings.TrimSpace(value)})
	}
	return all, nil
}

// createInFleet creates the game session of the list's form, or shows its command.
func createInFleet(v *visit) error {
	if v.form("to") == "command" {
		return v.gameSessions(nil)
	}
	in := &wire.CreateGameSessionInput{FleetId: v.form("fleet"), Name: v.form("session-name"),
		Location: v.form("location")}
	var err error
	if in.MaximumPlayerSessionCount, err = v.number("players",
		"MaximumPlayerSessionCount: type a number of players."); err != nil {
		return v.gameSessions(err)
	}
	if in.GameProperties, err = propertiesOf(v.form("properties")); err != nil {
		return v.gameSessions(err)
	}
	out, err := call(v, wire.OpCreateGameSession, in)
	if err != nil {
		return v.gameSessions(err)
	}
	return v.redirect(gameSessionPath(out.GameSession.GameSessionId) + "&done=session-created")
}
