package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/muster-gg/muster/internal/telemetry/loglimit"
)

// A logger receives the log lines of the server.
type logger struct {
	log    *slog.Logger
	broken func(text string) // called when the server stops using a stream
	lines  *loglimit.Limiter // limits lines that unauthenticated clients can cause

	mu      sync.Mutex
	first   error // the first fatal error
	noSpace error // the last error for want of disk space
	started bool
}

// said is the message of all log lines of the server; its own text is an attribute.
const said = "message of the journal engine"

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
	if rejectsCertificate(text) {
		if suppressed, ok := l.lines.AllowEvery("certificate", certificatePause); ok {
			l.log.Warn("this node and another one do not trust each other's certificates", "text", text,
				"suppressed", suppressed, "fix", "ca.pem and ca.key in tls/ must be the same on all nodes: use those "+
					"of one muster cluster init, or the same cluster-ca")
		}
		return
	}
	if strings.Contains(text, "handshake error") { // any client of the cluster's port can cause it
		if suppressed, ok := l.lines.Allow("handshake"); ok {
			l.log.Warn(said, "text", text, "suppressed", suppressed)
		}
		return
	}
	l.log.Warn(said, "text", text)
}

// certificatePause is the least time between two warnings of certificates: nodes connect every second.
const certificatePause = time.Minute

// rejectsCertificate reports whether a node has rejected the certificate of another one. Source: crypto/tls, alert.go
// and handshake_client.go; a remote error is the other node's.
func rejectsCertificate(text string) bool {
	return strings.Contains(text, "TLS route handshake error") && (strings.Contains(text, "unknown authority") ||
		strings.Contains(text, "remote error: tls: bad certificate") ||
		strings.Contains(text, "remote error: tls: unknown certificate"))
}

func (l *logger) Debugf(string, ...any) {}
func (l *logger) Tracef(string, ...any) {}

// warn logs a warning. At its start after a crash, the server warns of each index that is older than its files, and
// rebuilds it: no cause for alarm.
func (l *logger) warn(text string) {
	if strings.HasPrefix(text, "Plaintext passwords") { // they are random and stay within this process
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

// noteSpace keeps the server's text about a full disk: its callers learn only that an operation failed.
func (l *logger) noteSpace(text string) {
	if !strings.Contains(text, "no space left") {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noSpace = errors.New(text)
}

// full returns the last error for want of disk space, or nil.
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

// Fatalf keeps the first text. The server returns after it, and does not end the program.
func (l *logger) Fatalf(format string, v ...any) {
	err := fmt.Errorf(format, v...)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		l.first = err
	}
	l.log.Error(said, "text", err.Error())
}

// fatal returns the first fatal error, or nil.
func (l *logger) fatal() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}
