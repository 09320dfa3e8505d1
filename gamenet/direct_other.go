//go:build !linux || !(amd64 || arm64)

package gamenet

// A direct reads and writes without waiting, on Linux (direct_linux.go). Elsewhere a goroutine of the session writes
// with net.Buffers, and Read waits.
type direct struct{}

func newDirect(Conn) direct { return direct{} }

func (*direct) possible() bool { return false }

func (*direct) write([]*Frame, int) (int, error) { return 0, nil }

// read reads until the connection ends.
func (s *Session) read() error { return s.readStream() }

// nudge does nothing: here the reader waits in Read, which returns every error.
func (*Session) nudge() {}
