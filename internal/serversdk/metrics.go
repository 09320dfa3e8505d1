package serversdk

import "time"

// Metrics are functions that the door calls as things happen; nil ones are
// skipped. They must return quickly and may be called at the same time. Labels
// come from closed sets: what a process made up never becomes one.
type Metrics struct {
	Opened  func()                                              // a socket was accepted
	Closed  func()                                              // an accepted socket is gone
	Refused func(status int)                                    // a handshake was answered with this HTTP status
	Replied func(action string, status int, took time.Duration) // a request was answered; action is "unknown" if there is none of that name
	Pushed  func(action string)                                 // a push was queued
	Slow    func()                                              // a socket was cut because its reader fell behind
}

// fill replaces the functions that are missing.
func (m *Metrics) fill() {
	nothing := func() {}
	for _, f := range []*func(){&m.Opened, &m.Closed, &m.Slow} {
		if *f == nil {
			*f = nothing
		}
	}
	if m.Refused == nil {
		m.Refused = func(int) {}
	}
	if m.Replied == nil {
		m.Replied = func(string, int, time.Duration) {}
	}
	if m.Pushed == nil {
		m.Pushed = func(string) {}
	}
}
