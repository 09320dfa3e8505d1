package gamenet

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// On Linux plain TCP connections are read and written with system calls that do
// not wait, and Go's poller is asked only to wait: a packet that is answered costs
// one read and one write.
//
// The calls go past the scheduler's bookkeeping (RawSyscall): on a socket that does
// not block they take microseconds, and on most of them the bookkeeping would cost
// a tenth.

// A directWriter writes to a TCP connection as far as the system takes bytes
// without waiting, in the goroutine of whoever sends. It has no lock: one writer
// at a time.
type directWriter struct {
	raw syscall.RawConn
	try func(fd uintptr) bool

	single []byte    // what to write, or
	vector *ioVector // in several pieces
	n      int
	errno  syscall.Errno
}

// An ioVector is what writev reads.
type ioVector struct {
	entries [maxVector]syscall.Iovec
	used    int
}

var ioVectors = sync.Pool{New: func() any { return new(ioVector) }}

// newDirectWriter is nil if the connection is not plain TCP.
func newDirectWriter(conn Conn) *directWriter {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil // closed already, which whoever reads notices
	}
	w := &directWriter{raw: raw}
	w.try = w.attempt
	return w
}

// write writes the frames, without the bytes of the first that are written
// already. 0 means that the system takes no more now.
func (w *directWriter) write(frames []*Frame, offset int) (int, error) {
	w.n, w.errno = 0, 0
	var err error
	if len(frames) == 1 {
		w.single = frames[0].bytes[offset:]
		err = w.raw.Write(w.try)
		w.single = nil
	} else {
		w.vector = ioVectors.Get().(*ioVector)
		w.vector.fill(frames, offset)
		err = w.raw.Write(w.try)
		w.vector.clear()
		ioVectors.Put(w.vector)
		w.vector = nil
	}
	if err == nil && w.errno != 0 {
		err = os.NewSyscallError("write", w.errno)
	}
	return w.n, err
}

func (v *ioVector) fill(frames []*Frame, offset int) {
	total := 0
	for _, f := range frames[:min(len(frames), maxVector)] {
		b := f.bytes[offset:]
		offset = 0
		v.entries[v.used].Base = unsafe.SliceData(b)
		v.entries[v.used].SetLen(len(b))
		v.used++
		if total += len(b); total >= maxWrite {
			break
		}
	}
}

// clear lets the frames go.
func (v *ioVector) clear() {
	clear(v.entries[:v.used])
	v.used = 0
}

// attempt tries once. It never asks to wait.
func (w *directWriter) attempt(fd uintptr) bool {
	for {
		n, errno := w.call(fd)
		switch errno {
		case 0:
			w.n = int(n)
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		default:
			w.errno = errno
		}
		return true
	}
}

// brief is how much is written without telling the scheduler.
const brief = 4 << 10

func (w *directWriter) call(fd uintptr) (n uintptr, errno syscall.Errno) {
	switch {
	case w.vector != nil:
		n, _, errno = syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&w.vector.entries[0])), uintptr(w.vector.used))
	case len(w.single) > brief:
		n, _, errno = syscall.Syscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(w.single))), uintptr(len(w.single)))
	default:
		n, _, errno = syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(w.single))), uintptr(len(w.single)))
	}
	return n, errno
}

// A directReader reads from a TCP connection and learns from the same system
// call whether more is there, so that it need not ask a second time before it
// waits.
type directReader struct {
	counts  bool // the system says how much is left
	message syscall.Msghdr
	vector  syscall.Iovec
	control struct {
		header syscall.Cmsghdr
		left   int32
		_      int32
	}
}

// Source: linux/tcp.h. The count of bytes that are left is 1 at the end of the
// stream too (tcp_inq_hint in net/ipv4/tcp.c), so no end is missed.
const (
	tcpINQ   = 36 // TCP_INQ, TCP_CM_INQ
	inqBytes = int(unsafe.Sizeof(syscall.Cmsghdr{})) + 4
)

// prepare asks the system to say how much is left; older ones do not.
func (r *directReader) prepare(raw syscall.RawConn) error {
	return raw.Control(func(fd uintptr) {
		r.counts = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpINQ, 1) == nil
	})
}

// read reads once. left says whether there may be more to read.
func (r *directReader) read(fd uintptr, b []byte) (n int, left bool, errno syscall.Errno) {
	r.vector.Base = unsafe.SliceData(b)
	r.vector.SetLen(len(b))
	r.message.Iov, r.message.Iovlen = &r.vector, 1
	if r.counts {
		r.control.left = 1
		r.message.Control = (*byte)(unsafe.Pointer(&r.control))
		r.message.SetControllen(int(unsafe.Sizeof(r.control)))
	}
	got, _, errno := syscall.RawSyscall(syscall.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.message)), 0)
	r.vector.Base = nil
	if errno != 0 {
		return 0, false, errno
	}
	counted := r.counts && int(r.message.Controllen) >= inqBytes &&
		r.control.header.Level == syscall.IPPROTO_TCP && r.control.header.Type == tcpINQ
	return int(got), !counted || r.control.left != 0, 0
}

// read reads until the connection ends. A TCP connection is waited for without
// a buffer.
func (s *Session) read() error {
	tcp, ok := s.conn.(*net.TCPConn)
	if !ok {
		return s.readStream()
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	if err := s.reader.prepare(raw); err != nil {
		return err
	}
	for {
		err := s.readReady(raw)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		// A nudge, or the end: cut notes that before it sets the deadline.
		if err := tcp.SetReadDeadline(time.Time{}); err != nil || s.severed.Load() {
			return err
		}
	}
}

// readReady reads whenever the system says that bytes have arrived. It is one
// call of Read as long as nothing goes wrong, whose function asks to be called
// again by answering false: so the runtime's poller remembers what arrives in
// between, and nothing is lost if the function has not read to the end.
func (s *Session) readReady(raw syscall.RawConn) error {
	var ended error
	err := raw.Read(func(fd uintptr) bool {
		for ended == nil && !s.severed.Load() {
			n, left, errno := s.reader.read(fd, s.in.space(readSize))
			switch {
			case errno == syscall.EINTR:
			case errno == syscall.EAGAIN:
				s.in.settle()
				return false
			case errno != 0:
				ended = os.NewSyscallError("read", errno)
			case n == 0:
				ended = io.EOF
			default:
				s.received(n)
				if !left {
					mark(&s.watched.unsure)
					s.in.settle()
					return false
				}
			}
		}
		return true
	})
	if ended != nil {
		return ended
	}
	return err
}

// nudge makes a reader look again that has been silent since it last read: the
// count of bytes that are left does not tell when the other side has reset the
// connection together with its last bytes.
func (s *Session) nudge() {
	if tcp, ok := s.conn.(*net.TCPConn); ok {
		_ = tcp.SetReadDeadline(time.Unix(1, 0))
	}
}
