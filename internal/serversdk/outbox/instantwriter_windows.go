package outbox

import (
	"net"
	"syscall"
)

// rawOf returns nil: non-blocking writes are not implemented on Windows, so each socket has a goroutine for writing.
func rawOf(net.Conn) syscall.RawConn { return nil }

type instantWriter struct{}

func newInstantWriter() *instantWriter { return nil }

func (*instantWriter) write(syscall.RawConn, []byte) (sent int, err error) { return 0, nil }
