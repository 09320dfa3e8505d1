package gameserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
)

// SessionCallbacks are called with the events of a Host. Each is optional: nil is as if it did nothing and
// returned true.
//
// All subscribers are called, one after the other in the order of subscription. The result is true if all of
// them return true; after one that returns false the others are still called. A callback that panics counts as false,
// and the panic is logged with its stack, by slog.Default() if Config.Log drops it.
//
// No callback runs under a lock, so all may call the Host. Those about creation and updates come in the order of this
// list and never overlap. The health check and those about the end may run at the same time as the others: the end does
// not wait for a level to be loaded. After OnDestroySessionBegin has been called, no further creation or update begins;
// what is running then is left to finish. Source: O3DE, AzFramework SessionNotifications; the order is that of the
// AWSGameLift Gem.
type SessionCallbacks struct {
	// OnCreateSessionBegin is called once, with the game session to host. Load the level, listen for players on the
	// port, and return true: the Host then activates the game session. false ends the process, with the exit code 1
	// (see Host.Err). The service waits for a limited time, which is set with the fleet.
	OnCreateSessionBegin func(SessionConfig) bool
	// OnCreateSessionEnd is called when the game session is ACTIVE. The first players may have connected already.
	OnCreateSessionEnd func()
	// OnUpdateSessionBegin is called when the service has changed the game session. Host.SessionConfig has the new
	// state from after this callback on, and only for MatchmakingDataUpdated; for the other reasons, it stays as it is.
	OnUpdateSessionBegin func(SessionConfig, UpdateReason)
	// OnUpdateSessionEnd follows each OnUpdateSessionBegin.
	OnUpdateSessionEnd func()
	// OnSessionHealthCheck is called about once a minute from NotifyProcessReady on, and returns within 50 s whether
	// the game server is healthy. The service ends an unhealthy process after some reports in a row.
	OnSessionHealthCheck func() bool
	// OnDestroySessionBegin is called once, when the process is to end, also when no game session was created. Save
	// what must be kept and disconnect the players. It may take Config.DestroyLimit, after which the end goes on.
	// false means not yet: the end goes on when that limit has passed.
	OnDestroySessionBegin func() bool
	// OnDestroySessionEnd is called once, after the end of the process was reported; also if that failed, see
	// Host.Err. Release what is left.
	OnDestroySessionEnd func()
}

// Subscribe adds a subscriber. It is called from the next callback on, until unsubscribe is called, which does not wait
// for a call under way; calling it twice does nothing. Without any callback it is refused with ErrInvalid.
func (h *Host) Subscribe(c SessionCallbacks) (unsubscribe func(), err error) {
	if c.none() {
		return func() {}, invalid("Subscribe", "no callback is set: set OnCreateSessionBegin, for example")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	added := &c
	h.subscribers = append(h.subscribers, added)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.subscribers = slices.DeleteFunc(h.subscribers, func(s *SessionCallbacks) bool { return s == added })
	}, nil
}

// none reports whether no callback is set.
func (c *SessionCallbacks) none() bool {
	return c.OnCreateSessionBegin == nil && c.OnCreateSessionEnd == nil && c.OnUpdateSessionBegin == nil &&
		c.OnUpdateSessionEnd == nil && c.OnSessionHealthCheck == nil && c.OnDestroySessionBegin == nil &&
		c.OnDestroySessionEnd == nil
}

// ask calls all subscribers; call returns the result of one. It returns the error of the first that did not return
// true.
func (h *Host) ask(callback string, call func(*SessionCallbacks) bool) (failure error) {
	h.mu.Lock()
	subscribers := slices.Clone(h.subscribers)
	h.mu.Unlock()
	for _, s := range subscribers {
		if err := h.askOne(callback, s, call); failure == nil {
			failure = err
		}
	}
	return failure
}

var errReturnedFalse = errors.New("it returned false")

// askOne calls one subscriber.
func (h *Host) askOne(callback string, s *SessionCallbacks, call func(*SessionCallbacks) bool) (failure error) {
	defer func() {
		if reason := recover(); reason != nil {
			h.logPanic(callback, reason)
			failure = failed(callback, fmt.Errorf("it panicked: %v", reason))
		}
	}()
	if !call(s) {
		return failed(callback, errReturnedFalse)
	}
	return nil
}

// logPanic logs a recovered panic: by slog's default logger if the Host's drops it.
func (h *Host) logPanic(callback string, reason any) {
	log := h.log
	if !log.Enabled(context.Background(), slog.LevelError) {
		log = slog.Default()
	}
	log.Error("callback panicked", "callback", callback, "panic", reason, "stack", string(debug.Stack()))
}

// tell calls a callback without an answer of all subscribers.
func (h *Host) tell(callback string, which func(*SessionCallbacks) func()) {
	_ = h.ask(callback, func(s *SessionCallbacks) bool { // a panic is logged
		if f := which(s); f != nil {
			f()
		}
		return true
	})
}

func (h *Host) createSessionBegin(c SessionConfig) error {
	return h.ask("OnCreateSessionBegin", func(s *SessionCallbacks) bool {
		return s.OnCreateSessionBegin == nil || s.OnCreateSessionBegin(c)
	})
}

func (h *Host) createSessionEnd() {
	h.tell("OnCreateSessionEnd", func(s *SessionCallbacks) func() { return s.OnCreateSessionEnd })
}

func (h *Host) updateSessionBegin(c SessionConfig, reason UpdateReason) {
	_ = h.ask("OnUpdateSessionBegin", func(s *SessionCallbacks) bool {
		if s.OnUpdateSessionBegin != nil {
			s.OnUpdateSessionBegin(c, reason)
		}
		return true
	})
}

func (h *Host) updateSessionEnd() {
	h.tell("OnUpdateSessionEnd", func(s *SessionCallbacks) func() { return s.OnUpdateSessionEnd })
}

func (h *Host) sessionHealthCheck() error {
	return h.ask("OnSessionHealthCheck", func(s *SessionCallbacks) bool {
		return s.OnSessionHealthCheck == nil || s.OnSessionHealthCheck()
	})
}

func (h *Host) destroySessionBegin() error {
	return h.ask("OnDestroySessionBegin", func(s *SessionCallbacks) bool {
		return s.OnDestroySessionBegin == nil || s.OnDestroySessionBegin()
	})
}

func (h *Host) destroySessionEnd() {
	h.tell("OnDestroySessionEnd", func(s *SessionCallbacks) func() { return s.OnDestroySessionEnd })
}
