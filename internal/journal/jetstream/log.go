package jetstream

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
)

// A logger takes what the server has to say.
type logger struct {
	log *slog.Logger

	mu    sync.Mutex
	first error // the first thing that the server called fatal
}

// said is the message of every line of the server's; its own words stand in the
// text.
const said = "the journal engine says"

func (l *logger) Noticef(format string, v ...any) {
	l.log.Debug(said, "text", fmt.Sprintf(format, v...))
}
func (l *logger) Warnf(format string, v ...any)  { l.log.Warn(said, "text", fmt.Sprintf(format, v...)) }
func (l *logger) Errorf(format string, v ...any) { l.log.Warn(said, "text", fmt.Sprintf(format, v...)) }
func (l *logger) Debugf(string, ...any)          {}
func (l *logger) Tracef(string, ...any)          {}

// Fatalf keeps the first text. The server returns behind it; ending the program
// is not its business.
func (l *logger) Fatalf(format string, v ...any) {
	err := errors.New(fmt.Sprintf(format, v...))
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
