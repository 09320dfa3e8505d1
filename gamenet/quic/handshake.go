package quic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// version is the first byte of the client's stream: what follows are gamenet's packets. It also makes the stream
// visible to the server, which notices it with the first byte, not when it is opened.
const version = 1

var errNoDatagrams = errors.New("quic: the other side takes no datagrams")

// open makes the stream of a client.
func (c *Conn) open(ctx context.Context) error {
	if err := c.agree(); err != nil {
		return err
	}
	stream, err := c.quic.OpenStreamSync(ctx)
	if err != nil {
		return c.named(err)
	}
	if _, err := stream.Write([]byte{version}); err != nil { // which does not wait: the packet has place
		return c.named(err)
	}
	c.stream.Store(stream)
	return nil
}

// HandshakeContext implements gamenet.Handshaker: on a server it waits for the client's stream and reads the version.
// On a client everything is done.
func (c *Conn) HandshakeContext(ctx context.Context) error {
	if c.stream.Load() != nil {
		return nil
	}
	if err := c.agree(); err != nil {
		return err
	}
	stream, err := c.quic.AcceptStream(ctx)
	if err != nil {
		return c.waited(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() {
		_ = stream.SetReadDeadline(time.Unix(1, 0)) // long past: Read returns
	})
	var first [1]byte
	_, err = io.ReadFull(stream, first[:])
	if !stop() { // the deadline is set, or will be
		return ctx.Err()
	}
	switch {
	case err != nil:
		return c.waited(ctx, err)
	case first[0] != version:
		c.end(codeProtocol, fmt.Sprintf("version %d is not spoken here, version %d is", first[0], version))
		return fmt.Errorf("quic: the client speaks version %d, not %d", first[0], version)
	}
	c.stream.Store(stream)
	return nil
}

// waited names an error of something that ctx limits.
func (c *Conn) waited(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.named(err)
}

// agree checks what the other side offers.
func (c *Conn) agree() error {
	if !c.quic.ConnectionState().SupportsDatagrams.Remote {
		c.end(codeProtocol, "datagrams are needed")
		return errNoDatagrams
	}
	c.datagrams.small = min(c.datagramLimit(), smallDatagram)
	return nil
}
