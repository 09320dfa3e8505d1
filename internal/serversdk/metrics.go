package serversdk

import "time"

// Metrics are hooks, which may be nil. They must return quickly and may be called concurrently. Labels are from closed
// sets and never chosen by a process.
type Metrics struct {
	Opened  func()                                              // a socket was accepted
	Closed  func()                                              // an accepted socket was closed
	Refused func(status int)                                    // a handshake was answered with this HTTP status
	Replied func(action string, status int, took time.Duration) // action is "unknown" if there is none of this name
	Pushed  func(action string)                                 // a push was queued
	Slow    func()                                              // a socket was closed because its process did not read
}

// Fill sets the missing functions.
func (m *Metrics) Fill() {
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
