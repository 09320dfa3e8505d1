package link

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-gg/muster/examples/arena/cmdline"
	"github.com/muster-gg/muster/gamenet"
	"github.com/muster-gg/muster/gamenet/quic"
)

// files writes a certificate of its own and its key.
func files(t *testing.T) (cert, key, fingerprint string) {
	t.Helper()
	config, _, err := quic.SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(config.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: config.Certificates[0].Certificate[0]},
		key:  {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, Fingerprint(config.Certificates[0].Certificate[0])
}

// visit connects a client to a server and says a word. It gives the client's error.
func visit(t *testing.T, server, client gamenet.Transport) error {
	t.Helper()
	l, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			defer conn.Close()
			if h, ok := conn.(gamenet.Handshaker); ok {
				err = h.HandshakeContext(context.Background())
			}
			if err == nil {
				_, err = io.ReadFull(conn, make([]byte, 2))
			}
		}
		heard <- err
	}()
	conn, err := client.Dial(t.Context(), l.Addr().String())
	if err == nil {
		defer conn.Close()
		if _, err := conn.Write([]byte("hi")); err != nil {
			t.Error(err)
		}
		if err := <-heard; err != nil {
			t.Errorf("the server heard nothing: %v", err)
		}
		return l.Close()
	}
	_ = l.Close()
	return errors.Join(err, <-heard)
}

func TestTransports(t *testing.T) {
	cert, key, fingerprint := files(t)
	for _, test := range []struct {
		name           string
		server, client string // flags
		works          bool
	}{
		{"nothing said", "", "", true},
		{"plain", "-transport tcp", "-transport tcp", true},
		{"TLS, any certificate", "-transport tls", "-transport tls -insecure", true},
		{"TLS, unknown certificate", "-transport tls", "-transport tls", false},
		{"TLS, from files", "-transport tls -cert CERT -key KEY", "-transport tls -fingerprint FINGERPRINT", true},
		{"TLS, another one", "-transport tls", "-transport tls -fingerprint FINGERPRINT", false},
		{"QUIC, any certificate", "-transport quic", "-transport quic -insecure", true},
		{"QUIC, unknown certificate", "-transport quic", "-transport quic", false},
		{"QUIC, from files", "-transport quic -cert CERT -key KEY", "-transport quic -fingerprint FINGERPRINT", true},
		{"QUIC, another one", "-transport quic", "-transport quic -insecure -fingerprint FINGERPRINT", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			named := strings.NewReplacer("CERT", cert, "KEY", key, "FINGERPRINT", fingerprint)
			var s Server
			var c Client
			parse(t, s.Register, named.Replace(test.server))
			parse(t, c.Register, named.Replace(test.client))
			server, printed, err := s.Open()
			if err := errors.Join(err, s.Validate()); err != nil {
				t.Fatal(err)
			}
			if s.Cert != "" && printed != fingerprint {
				t.Errorf("prints the fingerprint %s of %s", printed, fingerprint)
			}
			client, err := c.Open()
			if err != nil {
				t.Fatal(err)
			}
			if err := visit(t, server, client); (err == nil) != test.works {
				t.Errorf("connecting: %v", err)
			}
		})
	}
}

func parse(t *testing.T, register func(*flag.FlagSet), line string) {
	t.Helper()
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	register(flags)
	if err := cmdline.Parse(flags, strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
}

func TestInvalid(t *testing.T) {
	for _, s := range []Server{
		{Transport: "udp"}, {Transport: TLS, Cert: "cert.pem"}, {Transport: QUIC, Key: "key.pem"},
		{Cert: "cert.pem", Key: "key.pem"},
	} {
		if err := s.Validate(); err == nil {
			t.Errorf("%+v is valid", s)
		}
	}
	if _, _, err := (&Server{Transport: TLS, Cert: "none", Key: "none"}).Open(); err == nil {
		t.Error("a certificate was read from a file that is not there")
	}
	for _, c := range []Client{
		{Transport: "udp"}, {Transport: TLS, Fingerprint: "xyz"}, {Transport: QUIC, Fingerprint: "00"},
	} {
		if _, err := c.Open(); err == nil {
			t.Errorf("%+v is valid", c)
		}
	}
}
