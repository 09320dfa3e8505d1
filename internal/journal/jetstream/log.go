package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/muster-gg/muster/internal/loglimit"
)

// A logger takes what the server has to say.
type logger struct {
	log    *slog.Logger
	broken func(text string) // is told when the server gives a stream up
	lines  *loglimit.Limiter // for what clients without a certificate can cause

	mu      sync.Mutex
	first   error // the first thing that the server called fatal
	noSpace error // the last thing that it had no space for
	started bool
}

// said is the message of every line of the server's; its own words stand in the
// text.
const said = "the journal engine says"

func (l *logger) Noticef(format string, v ...any) {
	l.log.Debug(said, "text", fmt.Sprintf(format, v...))
}
func (l *logger) Warnf(format string, v ...any) { l.warn(fmt.Sprintf(format, v...)) }
func (l *logger) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.noteSpace(text)
	if saysBroken(text) {
		l.log.Error(said, "text", text)
		l.broken(text)
		return
	}
	if strings.Contains(text, "handshake error") { // anybody who reaches the cluster's port can cause it
		if suppressed, ok := l.lines.Allow("handshake"); ok {
			l.log.Warn(said, "text", text, "suppressed", suppressed)
		}
		return
	}
	l.log.Warn(said, "text", text)
}
func (l *logger) Debugf(string, ...any) {}
func (l *logger) Tracef(string, ...any) {}

// warn passes a warning on. While the server starts it warns of each index that
// is older than its files, as after every crash, and makes it anew: that is how
// a recovery goes, and no cause for alarm.
func (l *logger) warn(text string) {
	if strings.HasPrefix(text, "Plaintext passwords") { // drawn at the start, and known to this process alone
		return
	}
	l.noteSpace(text)
	if saysBroken(text) {
		l.broken(text)
	}
	l.mu.Lock()
	level := slog.LevelInfo
	if l.started {
		level = slog.LevelWarn
	}
	l.mu.Unlock()
	l.log.Log(context.Background(), level, said, "text", text)
}

// noteSpace keeps what the server says about a full disk: to its callers it says
// only that something failed.
func (l *logger) noteSpace(text string) {
	if !strings.Contains(text, "no space left") {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noSpace = errors.New(text)
}

// full is the last thing that the server had no space for, or nil.
func (l *logger) full() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.noSpace
}

// begun ends the time in which warnings are expected.
func (l *logger) begun() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = true
}

// Fatalf keeps the first text. The server returns behind it; ending the program
// is not its business.
func (l *logger) Fatalf(format string, v ...any) {
	err := fmt.Errorf(format, v...)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		l.first = err
	}
	l.log.Error(said, "text", err.Error())
}

// fatal is the first thing that the server called fatal, or nil.
func (l *logger) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}
