//go:build !linux

package gamenet

// A directWriter writes in the goroutine of whoever sends, on Linux. Elsewhere a
// goroutine of the session's writes, with net.Buffers.
type directWriter struct{}

func newDirectWriter(Conn) *directWriter { return nil }

func (*directWriter) write([]*Frame, int) (int, error) { return 0, nil }

// A directReader reads without waiting, on Linux. Elsewhere Read waits.
type directReader struct{}

// read reads until the connection ends.
func (s *Session) read() error { return s.readStream() }

// nudge makes the reader look again, where it waits without being sure.
func (*Session) nudge() {}
