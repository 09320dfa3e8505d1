package gameserver

import (
	"cmp"

	"github.com/muster-gg/muster/internal/life"
)

// create begins the game session. It is a job of the callbacks' sequence.
func (h *Host) create(gs GameSession) {
	config, ok := h.begin(gs)
	if !ok {
		return
	}
	if err := h.createSessionBegin(config); err != nil {
		h.terminate("the game session could not be created", err)
		return
	}
	if h.isEnding() {
		return
	}
	if err := h.server.ActivateGameSession(h.ending); err != nil {
		if !h.isEnding() {
			h.log.Error("game session not activated", "game_session", gs.GameSessionID, "error", err)
		}
		h.terminate("the game session could not be activated", err)
		return
	}
	if h.activated() {
		h.createSessionEnd()
	}
}

// begin stores the game session; false if the process is ending.
func (h *Host) begin(gs GameSession) (SessionConfig, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.life.Do(life.Start) {
		return SessionConfig{}, false
	}
	gs.Status = "" // from here on h.life counts
	h.session = &gs
	return sessionConfig(gs, h.life.State()), true
}

// activated stores that players may join; false if the process is ending.
func (h *Host) activated() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.life.Do(life.Done)
}

// update calls the callbacks about a change of the game session. It is a job of the callbacks' sequence, so that the
// newest data stays.
func (h *Host) update(u GameSessionUpdate) {
	config, ok := h.changed(&u)
	if !ok {
		return
	}
	h.updateSessionBegin(config, u.Reason)
	if u.Reason == MatchmakingDataUpdated {
		h.refresh(u.GameSession)
	}
	h.updateSessionEnd()
}

// changed returns the game session of the update; false if there is none yet, or the update is for another one.
func (h *Host) changed(u *GameSessionUpdate) (SessionConfig, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.life.Allows(life.Update) {
		return SessionConfig{}, false
	}
	gs := &u.GameSession
	gs.GameSessionID = cmp.Or(gs.GameSessionID, h.session.GameSessionID)
	if gs.GameSessionID != h.session.GameSessionID {
		h.log.Warn("update ignored: it is for another game session", "game_session", gs.GameSessionID)
		return SessionConfig{}, false
	}
	gs.FleetID = cmp.Or(gs.FleetID, h.session.FleetID)
	return sessionConfig(*gs, h.life.State()), true
}

// refresh replaces the data of the game session. Its status stays that of the Host.
func (h *Host) refresh(gs GameSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	gs.Status = ""
	h.session = &gs
}
