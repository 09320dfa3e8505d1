package listen

import (
	"io"
	"net"
	"strings"
	"testing"
)

// A sender is a connection that has a way of its own to send what a reader has, as TCP connections do.
type sender struct {
	net.Conn
	sent string
}

func (s *sender) ReadFrom(r io.Reader) (int64, error) {
	data, err := io.ReadAll(r)
	s.sent += string(data)
	return int64(len(data)), err
}

// TestReadFrom checks that a file is sent by the innermost connection, which can use sendfile.
func TestReadFrom(t *testing.T) {
	inner := &sender{}
	var outer net.Conn = &framed{Conn: Replay(Replay(&counted{Conn: inner}, nil), []byte("x"))}
	if n, err := outer.(io.ReaderFrom).ReadFrom(strings.NewReader("a file")); n != 6 || err != nil {
		t.Error(n, err)
	}
	if inner.sent != "a file" {
		t.Errorf("sent %q", inner.sent)
	}
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		_, _ = Replay(far, nil).ReadFrom(strings.NewReader("copied"))
		_ = far.Close()
	}()
	if got, err := io.ReadAll(near); string(got) != "copied" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
