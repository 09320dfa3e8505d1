package quic

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"github.com/muster-gg/muster/gamenet"
)

// stranger is a client of quic-go's, which need not keep to the rules.
func stranger(t *testing.T, l *listener, config *quicgo.Config) *quicgo.Conn {
	t.Helper()
	return strangerTo(t, l.Addr().String(), config)
}

func strangerTo(t *testing.T, address string, config *quicgo.Config) *quicgo.Conn {
	t.Helper()
	_, trust := certificates()
	quic, err := quicgo.DialAddr(timely(t), address, clientTLS(trust, ""), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = quic.CloseWithError(0, "") })
	return quic
}

func TestSilentClient(t *testing.T) {
	l := listen(t, serverTransport())
	stranger(t, l, clientConfig(nil))
	server := accept(t, l)
	for what, err := range map[string]error{
		"Read":       readError(t, server),
		"Write":      second(server.Write([]byte("x"))),
		"CloseWrite": server.CloseWrite(),
		"deadline":   server.SetReadDeadline(time.Now()),
	} {
		if !errors.Is(err, errNotOpen) {
			t.Errorf("%s before the handshake: %v", what, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := server.HandshakeContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a timeout", err)
	}
	// Meanwhile others come in.
	client := dial(t, clientTransport(), l.Addr().String())
	say(t, client, "me first")
	hear(t, serve(t, l), "me first")
}

func TestVersion(t *testing.T) {
	l := listen(t, serverTransport())
	quic := stranger(t, l, clientConfig(nil))
	stream, err := quic.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Write([]byte{9}); err != nil {
		t.Fatal(err)
	}
	if err := accept(t, l).HandshakeContext(timely(t)); err == nil {
		t.Fatal("version 9 was accepted")
	}
	_, err = stream.Read(make([]byte, 1))
	if e, ok := errors.AsType[*quicgo.ApplicationError](err); !ok || e.ErrorCode != codeProtocol ||
		e.ErrorMessage == "" {
		t.Errorf("the client hears %v", err)
	}
}

func TestEndInsteadOfVersion(t *testing.T) {
	l := listen(t, serverTransport())
	quic := stranger(t, l, clientConfig(nil))
	stream, err := quic.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	if err := accept(t, l).HandshakeContext(timely(t)); err != io.EOF {
		t.Errorf("got %v, want EOF", err)
	}
}

func TestClientThatLeavesAtOnce(t *testing.T) {
	l := listen(t, serverTransport())
	quic := stranger(t, l, clientConfig(nil))
	server := accept(t, l)
	_ = quic.CloseWithError(0, "")
	if err := server.HandshakeContext(timely(t)); err != io.EOF {
		t.Errorf("got %v, want EOF", err)
	}
}

func TestClientWithoutDatagrams(t *testing.T) {
	l := listen(t, serverTransport())
	quic := stranger(t, l, nil)
	if err := accept(t, l).HandshakeContext(timely(t)); !errors.Is(err, errNoDatagrams) {
		t.Errorf("got %v", err)
	}
	if err := context.Cause(quic.Context()); err != nil {
		if e, ok := errors.AsType[*quicgo.ApplicationError](err); !ok || e.ErrorCode != codeProtocol {
			t.Errorf("the client hears %v", err)
		}
	}
}

func TestServerWithoutDatagrams(t *testing.T) {
	certificate, _ := certificates()
	quic, err := quicgo.ListenAddr("127.0.0.1:0", serverTLS(certificate), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer quic.Close()
	if _, err := clientTransport().Dial(timely(t), quic.Addr().String()); !errors.Is(err, errNoDatagrams) {
		t.Errorf("got %v", err)
	}
}

func TestSecondStreamIsRefused(t *testing.T) {
	client, server := pair(t)
	if _, err := client.quic.OpenStream(); err == nil {
		t.Error("the client opened a second stream")
	}
	if _, err := client.quic.OpenUniStream(); err == nil {
		t.Error("the client opened a stream in one direction")
	}
	if _, err := server.quic.OpenStream(); err == nil {
		t.Error("the server opened a stream")
	}
}

func TestTLSFailures(t *testing.T) {
	l := listen(t, serverTransport())
	address := l.Addr().String()
	_, elsewhere, err := SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	_, trust := certificates()
	otherName, otherProtocol := trust.Clone(), trust.Clone()
	otherName.ServerName = "elsewhere.example"
	otherProtocol.NextProtos = []string{"chess/1"}

	_, err = New(Config{TLS: elsewhere}).Dial(timely(t), address)
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); !ok || errors.Is(err, net.ErrClosed) {
		t.Errorf("unknown certificate: %v", err)
	}
	_, err = New(Config{}).Dial(timely(t), address)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("certificate that the system does not know: %v", err)
	}
	_, err = New(Config{TLS: otherName}).Dial(timely(t), address)
	if _, ok := errors.AsType[x509.HostnameError](err); !ok {
		t.Errorf("certificate for another name: %v", err)
	}
	_, err = New(Config{TLS: otherProtocol}).Dial(timely(t), address)
	if e, ok := errors.AsType[*quicgo.TransportError](err); !ok || !e.ErrorCode.IsCryptoError() {
		t.Errorf("another protocol: %v", err)
	}
	for _, config := range []Config{{TLS: elsewhere}, {}, {TLS: otherName}, {TLS: otherProtocol}} {
		if _, err := New(config).Dial(timely(t), address); !errors.Is(err, gamenet.ErrHandshake) {
			t.Errorf("a failed handshake is %v", err)
		}
	}
	// None of them has become a connection: the next one is the first.
	client := dial(t, clientTransport(), address)
	say(t, client, "hello")
	hear(t, serve(t, l), "hello")
}

func TestOwnProtocol(t *testing.T) {
	certificate, trust := certificates()
	certificate, trust = certificate.Clone(), trust.Clone()
	certificate.NextProtos, trust.NextProtos = []string{"chess/1"}, []string{"chess/1"}
	l := listen(t, New(Config{TLS: certificate}))
	client := dial(t, New(Config{TLS: trust}), l.Addr().String())
	if p := client.ConnectionState().TLS.NegotiatedProtocol; p != "chess/1" {
		t.Errorf("agreed on %q", p)
	}
	serve(t, l)
}

// A client that the server does not let in hears of it with the first Read: it
// has finished its part of the handshake before the server refuses.
func TestClientCertificate(t *testing.T) {
	certificate, _ := certificates()
	certificate = certificate.Clone()
	certificate.ClientAuth = tls.RequireAnyClientCert
	l := listen(t, New(Config{TLS: certificate}))
	c, err := clientTransport().Dial(timely(t), l.Addr().String())
	if err == nil {
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
	}
	if e, ok := errors.AsType[*quicgo.TransportError](err); !ok || !e.Remote || errors.Is(err, net.ErrClosed) ||
		!errors.Is(err, gamenet.ErrHandshake) {
		t.Errorf("got %v", err)
	}
}

func TestValidateAddress(t *testing.T) {
	transport := serverTransport()
	asked := make(chan net.Addr, 16)
	transport.ValidateAddress = func(a net.Addr) bool { asked <- a; return true }
	l := listen(t, transport)
	client := dial(t, clientTransport(), l.Addr().String())
	say(t, client, "it is me")
	hear(t, serve(t, l), "it is me")
	if a := <-asked; a.String() != client.LocalAddr().String() {
		t.Errorf("asked for %v, the client is %v", a, client.LocalAddr())
	}
}

func TestServerNeedsTLS(t *testing.T) {
	handler := func(*gamenet.Session) gamenet.Handler { return nil }
	none := gamenet.Config{Transport: New(Config{}), NewHandler: handler}
	_, err := gamenet.NewServer(gamenet.ServerConfig{Config: none})
	if e, ok := errors.AsType[*gamenet.ConfigError](err); !ok || e.Field != "Transport" {
		t.Errorf("got %v", err)
	}
	old := New(Config{TLS: &tls.Config{MaxVersion: tls.VersionTLS12}})
	_, err = gamenet.NewClient(gamenet.ClientConfig{Config: gamenet.Config{Transport: old, NewHandler: handler}})
	if e, ok := errors.AsType[*gamenet.ConfigError](err); !ok || e.Field != "Transport" {
		t.Errorf("got %v", err)
	}
	_, err = New(Config{}).Listen(t.Context(), "127.0.0.1:0")
	if e, ok := errors.AsType[*gamenet.ConfigError](err); !ok || e.Field != "Transport" {
		t.Errorf("got %v", err)
	}
	if _, err := New(Config{TLS: new(tls.Config)}).Listen(t.Context(), "127.0.0.1"); err == nil {
		t.Error("an address without a port was accepted")
	}
}
