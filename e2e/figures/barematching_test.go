package figures

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

// A bareFeed is the event feed of the bare peer, which is its matchmaker too: each
// ten tickets are a match, in the order in which they come, whoever they are. It has
// one reader.
type bareFeed struct {
	mu      sync.Mutex
	next    []bareTicket  // of the match in the making
	lines   []byte        // that the reader has not got
	matches int           // so far
	wake    chan struct{} // there are lines
}

// The events as package awsevent writes them, as far as matchmaking goes.
type (
	bareLine struct {
		Position string       `json:"position"`
		Event    bareEnvelope `json:"event"`
	}
	bareEnvelope struct {
		Version string     `json:"version"`
		ID      string     `json:"id"`
		Kind    string     `json:"detail-type"`
		Source  string     `json:"source"`
		Account string     `json:"account"`
		Time    time.Time  `json:"time"`
		Region  string     `json:"region"`
		Detail  bareDetail `json:"detail"`
	}
	bareDetail struct {
		Type    string       `json:"type"`
		Match   string       `json:"matchId,omitempty"`
		Tickets []bareTicket `json:"tickets"`
		Game    bareGame     `json:"gameSessionInfo"`
	}
	bareGame struct {
		Players []barePlayer `json:"players"`
	}
	bareTicket struct {
		ID      string       `json:"ticketId"`
		Start   time.Time    `json:"startTime"`
		Players []barePlayer `json:"players"`
	}
	barePlayer struct {
		ID   string `json:"playerId"`
		Team string `json:"team,omitempty"`
	}
)

// startMatchmaking takes a ticket and answers what the service answers.
func (p *bare) startMatchmaking(body []byte) ([]byte, error) {
	in, err := wire.OpStartMatchmaking.Decode(wire.JSON, body)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if err := p.feed.enter(bareTicket{in.TicketId, now, []barePlayer{{ID: in.Players[0].PlayerId}}}); err != nil {
		return nil, err
	}
	return wire.OpStartMatchmaking.Append(nil, wire.JSON,
		&wire.StartMatchmakingOutput{MatchmakingTicket: &wire.MatchmakingTicket{
			TicketId: in.TicketId, ConfigurationName: in.ConfigurationName,
			ConfigurationArn: "arn:aws:gamelift:us-west-2:111122223333:matchmakingconfiguration/" +
				in.ConfigurationName,
			Status: wire.MatchmakingConfigurationStatusQueued, StartTime: now, Players: in.Players,
		}}), nil
}

// enter announces a ticket, and the match that it completes.
func (f *bareFeed) enter(t bareTicket) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append(f.next, t)
	events := []bareDetail{{Type: "MatchmakingSearching", Tickets: []bareTicket{t}, Game: bareGame{t.Players}}}
	if len(f.next) == perMatch {
		f.matches++
		made := bareDetail{Type: "PotentialMatchCreated", Match: fmt.Sprintf("match-%d", f.matches), Tickets: f.next}
		for _, t := range f.next {
			made.Game.Players = append(made.Game.Players, t.Players...)
		}
		placed := made
		placed.Type = "MatchmakingSucceeded"
		events = append(events, made, placed)
		f.next = nil
	}
	for _, e := range events {
		line, err := json.Marshal(bareLine{"1.1", bareEnvelope{
			"0", "0123abcd-0123-8abc-8def-0123456789ab", "GameLift Matchmaking Event", "aws.gamelift", testAccount,
			t.Start, testRegion, e,
		}})
		if err != nil {
			return err
		}
		f.lines = append(append(f.lines, line...), '\n')
	}
	select {
	case f.wake <- struct{}{}:
	default: // the reader is about to look
	}
	return nil
}

// follow writes the lines as they come.
func (f *bareFeed) follow(w http.ResponseWriter, r *http.Request) {
	flush := http.NewResponseController(w).Flush
	for flush() == nil {
		select {
		case <-f.wake:
		case <-r.Context().Done():
			return
		}
		f.mu.Lock()
		lines := f.lines
		f.lines = nil
		f.mu.Unlock()
		if _, err := w.Write(lines); err != nil {
			return
		}
	}
}
