//go:build linux && (amd64 || arm64)

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

// On Linux, on the processors that servers have, plain TCP connections are read and written with system calls that do
// not wait, and Go's poller is asked only to wait: a packet that is answered costs one read and one write.
//
// The calls go past the scheduler's bookkeeping (RawSyscall): on a socket that does not block they take microseconds,
// and on most of them the bookkeeping would cost a tenth.

// A direct is what reads and writes without waiting. What a system call needs besides comes from pools and is warm in
// the cache, unlike what lies in each of a thousand sessions.
type direct struct {
	raw    syscall.RawConn // nil if the connection is not plain TCP
	counts bool            // the system says how much is left to read
}

// newDirect looks whether a connection can be read and written directly.
func newDirect(conn Conn) (d direct) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return direct{}
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return direct{} // closed already, which whoever reads notices
	}
	err = raw.Control(func(fd uintptr) {
		d.counts = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpINQ, 1) == nil // older systems do not
	})
	if err != nil {
		return direct{}
	}
	d.raw = raw
	return d
}

// possible says whether the connection can be read and written directly.
func (d *direct) possible() bool { return d.raw != nil }

// write writes the frames, without the bytes of the first that are written already, as far as the system takes them. 0
// means that it takes no more now. One goroutine may write at a time.
func (d *direct) write(frames []*Frame, offset int) (int, error) {
	w := directWrites.Get().(*directWrite)
	w.n, w.errno = 0, 0
	if len(frames) == 1 {
		w.single = frames[0].bytes[offset:]
	} else {
		w.fill(frames, offset)
	}
	err := d.raw.Write(w.try)
	n, errno := w.n, w.errno
	w.clear()
	directWrites.Put(w)
	if err == nil && errno != 0 {
		err = os.NewSyscallError("write", errno)
	}
	return n, err
}

type directWrite struct {
	try    func(fd uintptr) bool // attempt; kept, because making a func value of a method allocates
	single []byte                // what to write, or
	used   int                   // in several pieces: so many of entries
	n      int
	errno  syscall.Errno

	entries [maxVector]syscall.Iovec
}

var directWrites = sync.Pool{New: func() any {
	w := new(directWrite)
	w.try = w.attempt
	return w
}}

func (w *directWrite) fill(frames []*Frame, offset int) {
	total := 0
	for _, f := range frames[:min(len(frames), maxVector)] {
		b := f.bytes[offset:]
		offset = 0
		w.entries[w.used].Base = unsafe.SliceData(b)
		w.entries[w.used].SetLen(len(b))
		w.used++
		if total += len(b); total >= maxWrite {
			break
		}
	}
}

// clear lets the frames go.
func (w *directWrite) clear() {
	clear(w.entries[:w.used])
	w.single, w.used = nil, 0
}

// attempt tries once. It never asks to wait.
func (w *directWrite) attempt(fd uintptr) bool {
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

func (w *directWrite) call(fd uintptr) (n uintptr, errno syscall.Errno) {
	switch {
	case w.used > 0:
		n, _, errno = syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&w.entries[0])), uintptr(w.used))
	case len(w.single) > brief:
		n, _, errno = syscall.Syscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(w.single))),
			uintptr(len(w.single)))
	default: // sendto goes past what write does for files
		n, _, errno = syscall.RawSyscall6(syscall.SYS_SENDTO, fd, uintptr(unsafe.Pointer(unsafe.SliceData(w.single))),
			uintptr(len(w.single)), syscall.MSG_NOSIGNAL, 0, 0)
	}
	return n, errno
}

// A directRead is one read, which also learns whether more is there, so that the reader need not ask a second time
// before it waits.
type directRead struct {
	message syscall.Msghdr
	vector  syscall.Iovec
	control struct {
		header syscall.Cmsghdr
		left   int32
		_      int32
	}
	buffer [readSize]byte // for sessions that hold nothing
}

var directReads = sync.Pool{New: func() any {
	r := new(directRead)
	r.message.Iov, r.message.Iovlen = &r.vector, 1
	r.message.Control = (*byte)(unsafe.Pointer(&r.control))
	return r
}}

// Source: linux/tcp.h. The count of bytes that are left is 1 at the end of the stream too (tcp_inq_hint in
// net/ipv4/tcp.c), so no end is missed.
const (
	tcpINQ   = 36 // TCP_INQ, TCP_CM_INQ
	inqBytes = int(unsafe.Sizeof(syscall.Cmsghdr{})) + 4
)

// read reads once. left says whether there may be more to read.
func (r *directRead) read(fd uintptr, b []byte, counts bool) (n int, left bool, errno syscall.Errno) {
	r.vector.Base = unsafe.SliceData(b)
	r.vector.SetLen(len(b))
	r.message.SetControllen(int(unsafe.Sizeof(r.control)))
	r.control.left = 1
	got, _, errno := syscall.RawSyscall(syscall.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&r.message)), 0)
	r.vector.Base = nil
	if errno != 0 {
		return 0, false, errno
	}
	counted := counts && int(r.message.Controllen) >= inqBytes &&
		r.control.header.Level == syscall.IPPROTO_TCP && r.control.header.Type == tcpINQ
	return int(got), !counted || r.control.left != 0, 0
}

// read reads until the connection ends. A TCP connection is waited for without a buffer.
func (s *Session) read() error {
	tcp, ok := s.conn.(*net.TCPConn)
	if !ok || !s.direct.possible() {
		return s.readStream()
	}
	for {
		err := s.readReady()
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		// A nudge, or the end: cut notes that before it sets the deadline.
		if err := tcp.SetReadDeadline(time.Time{}); err != nil || s.severed.Load() {
			return err
		}
	}
}

// readReady reads whenever the system says that bytes have arrived. It is one call of Read as long as nothing goes
// wrong, whose function asks to be called again by answering false: so the runtime's poller remembers what arrives in
// between, and nothing is lost if the function has not read to the end.
func (s *Session) readReady() error {
	var ended error
	err := s.direct.raw.Read(func(fd uintptr) bool {
		for ended == nil && !s.severed.Load() {
			left, err := s.readOnce(fd)
			if err != nil {
				ended = err
			} else if !left {
				return false
			}
		}
		return true
	})
	if ended != nil {
		return ended
	}
	return err
}

// readOnce reads and delivers what has come. left says whether there may be more.
func (s *Session) readOnce(fd uintptr) (left bool, err error) {
	r := directReads.Get().(*directRead)
	if s.in.memory == nil {
		s.in.borrow(r.buffer[:])
	}
	n, left, errno := r.read(fd, s.in.space(readSize), s.direct.counts)
	switch {
	case errno == syscall.EINTR:
		left = true
	case errno == syscall.EAGAIN:
	case errno != 0:
		err = os.NewSyscallError("read", errno)
	case n == 0:
		err = io.EOF
	default:
		s.received(n)
		if !left {
			mark(&s.watched.unsure)
		}
	}
	s.in.settle()
	directReads.Put(r)
	return left, err
}

// nudge makes a reader look again that has been silent since it last read: the count of bytes that are left does not
// tell when the other side has reset the connection together with its last bytes.
func (s *Session) nudge() {
	if tcp, ok := s.conn.(*net.TCPConn); ok {
		_ = tcp.SetReadDeadline(time.Unix(1, 0))
	}
}
