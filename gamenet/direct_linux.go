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

// On Linux with amd64 or arm64, plain TCP connections are read and written with system calls that do not wait, and Go's
// poller is used only for waiting: a packet and its answer cost one read and one write.
//
// The calls bypass the scheduler's bookkeeping (RawSyscall): on a non-blocking socket they last microseconds, and for
// most of them the bookkeeping would add a tenth.

// A direct reads and writes without waiting. The memory that a system call needs comes from pools, where it stays in
// the CPU cache, unlike memory in each of a thousand sessions.
type direct struct {
	raw    syscall.RawConn // nil if the connection is not plain TCP
	counts bool            // the system reports how much is left to read
}

// newDirect checks whether a connection can be read and written directly.
func newDirect(conn Conn) (d direct) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return direct{}
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return direct{} // closed already: reading returns the error
	}
	err = raw.Control(func(fd uintptr) {
		d.counts = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpINQ, 1) == nil // older kernels lack it
	})
	if err != nil {
		return direct{}
	}
	d.raw = raw
	return d
}

// possible reports whether the connection can be read and written directly.
func (d *direct) possible() bool { return d.raw != nil }

// write writes the frames, from offset in the first one, as far as the system accepts them. 0 means that it accepts no
// more now. Only one goroutine may write at a time.
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
	try    func(fd uintptr) bool // attempt; stored, because a method value allocates
	single []byte                // what to write, or
	used   int                   // the number of entries to write
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

// clear drops the references to the frames.
func (w *directWrite) clear() {
	clear(w.entries[:w.used])
	w.single, w.used = nil, 0
}

// attempt writes once. It never makes the poller wait.
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

// smallWrite is the largest write that bypasses the scheduler.
const smallWrite = 4 << 10

func (w *directWrite) call(fd uintptr) (n uintptr, errno syscall.Errno) {
	switch {
	case w.used > 0:
		n, _, errno = syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&w.entries[0])), uintptr(w.used))
	case len(w.single) > smallWrite:
		n, _, errno = syscall.Syscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(unsafe.SliceData(w.single))),
			uintptr(len(w.single)))
	default: // sendto skips the work that write does for files
		n, _, errno = syscall.RawSyscall6(syscall.SYS_SENDTO, fd, uintptr(unsafe.Pointer(unsafe.SliceData(w.single))),
			uintptr(len(w.single)), syscall.MSG_NOSIGNAL, 0, 0)
	}
	return n, errno
}

// A directRead is one read, which also returns whether more bytes are left, so that the reader need not read again
// before it waits.
type directRead struct {
	message syscall.Msghdr
	vector  syscall.Iovec
	control struct {
		header syscall.Cmsghdr
		left   int32
		_      int32
	}
	buffer [readSize]byte // for sessions without received bytes
}

var directReads = sync.Pool{New: func() any {
	r := new(directRead)
	r.message.Iov, r.message.Iovlen = &r.vector, 1
	r.message.Control = (*byte)(unsafe.Pointer(&r.control))
	return r
}}

// Source: linux/tcp.h. The count of bytes left is also 1 at the end of the stream (tcp_inq_hint in net/ipv4/tcp.c), so
// no end is missed.
const (
	tcpINQ   = 36 // TCP_INQ, TCP_CM_INQ
	inqBytes = int(unsafe.Sizeof(syscall.Cmsghdr{})) + 4
)

// read reads once. left reports whether there may be more to read.
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

// read reads until the connection ends. While it waits for a TCP connection it holds no buffer.
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
		// A nudge, or the end: cut sets severed before the deadline.
		if err := tcp.SetReadDeadline(time.Time{}); err != nil || s.severed.Load() {
			return err
		}
	}
}

// readReady reads whenever the system reports that bytes have arrived. Without errors it is one call of Read, whose
// function returns false to be called again: so the runtime's poller records arrivals in between, and none is missed if
// the function has not read to the end.
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

// readOnce reads once and delivers the packets. left reports whether there may be more to read.
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

// nudge makes a waiting reader read again: the count of bytes left does not show that the other side has reset the
// connection together with its last bytes.
func (s *Session) nudge() {
	if tcp, ok := s.conn.(*net.TCPConn); ok {
		_ = tcp.SetReadDeadline(time.Unix(1, 0))
	}
}
