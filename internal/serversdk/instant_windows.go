package serversdk

import (
	"net"
	"syscall"
)

// rawOf is nil: on Windows a write that does not wait has no short form, so that
// each socket is written to by a goroutine of its own.
func rawOf(net.Conn) syscall.RawConn { return nil }

// An instant has nothing to do here.
type instant struct{}

func newInstant() *instant { return nil }

func (*instant) write(syscall.RawConn, []byte) (sent int, err error) { return 0, nil }
