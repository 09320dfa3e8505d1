package quic

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/muster-gg/muster/gamenet"
)

// version is the first byte of the client's stream; gamenet's packets follow. It also makes the stream visible to the
// server, which sees a stream only with its first byte.
const version = 1

var errNoDatagrams = fmt.Errorf("%w: quic: the other side takes no datagrams", gamenet.ErrHandshake)

// open opens the stream of a client.
func (c *connection) open(ctx context.Context) error {
	if err := c.agree(); err != nil {
		return err
	}
	stream, err := c.quic.OpenStreamSync(ctx)
	if err != nil {
		return c.named(err)
	}
	if _, err := stream.Write([]byte{version}); err != nil { // does not wait: the packet has space
		return c.named(err)
	}
	c.stream.Store(stream)
	return nil
}

// HandshakeContext implements gamenet.Handshaker: on a server it waits for the client's stream and reads the version.
// On a client Dial has completed the handshake.
func (c *connection) HandshakeContext(ctx context.Context) error {
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

// waited maps an error of a call that ctx limits.
func (c *connection) waited(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return c.named(err)
}

// agree checks that the other side supports datagrams.
func (c *connection) agree() error {
	if !c.quic.ConnectionState().SupportsDatagrams.Remote {
		c.end(codeProtocol, "datagrams are needed")
		return errNoDatagrams
	}
	c.datagrams.small = min(c.datagramLimit(), smallDatagram)
	return nil
}
