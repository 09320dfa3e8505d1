package gamenet

import (
	"crypto/tls"
	"errors"
	"testing"
)

// TestTLSConfig: settings of TLS that cannot work are found before Start.
func TestTLSConfig(t *testing.T) {
	good, _ := certificate(t)
	for name, config := range map[string]*tls.Config{
		"none":           nil,
		"no certificate": {},
		"no key":         {Certificates: []tls.Certificate{{Certificate: good.Certificates[0].Certificate}}},
		"versions": {Certificates: good.Certificates, MinVersion: tls.VersionTLS13,
			MaxVersion: tls.VersionTLS12},
	} {
		cfg := Config{NewHandler: always(echo), Transport: TLS(config)}
		_, err := NewServer(ServerConfig{Config: cfg})
		if e, ok := errors.AsType[*ConfigError](err); !ok || e.Field != "Transport" {
			t.Errorf("%s: the server fails with %v", name, err)
		}
		_, err = NewClient(ClientConfig{Config: cfg})
		if _, refused := errors.AsType[*ConfigError](err); refused != (name == "no key" || name == "versions") {
			t.Errorf("%s: the client fails with %v", name, err)
		}
	}
}

// TestTLSFailures: a failed handshake is ErrHandshake on both sides, also when the client learns of it after Start.
func TestTLSFailures(t *testing.T) {
	server, client := certificate(t)
	_, stranger := certificate(t)
	picky := server.Clone()
	picky.ClientAuth = tls.RequireAnyClientCert
	for name, c := range map[string]struct{ server, client Transport }{
		"unknown CA":            {TLS(server), TLS(stranger)},
		"system's CAs":          {TLS(server), TLS(nil)},
		"no client certificate": {TLS(picky), TLS(client)},
		"server without TLS":    {TCP, TLS(client)},
	} {
		t.Run(name, func(t *testing.T) {
			causes := &closings{}
			// A server without TLS rejects the record of the client as a packet that is too long.
			service := startServer(t, ServerConfig{Config: Config{NewHandler: always(echo), Transport: c.server,
				MaxPacket: 100, Metrics: causes}})
			seen := newDiary()
			there, err := NewClient(ClientConfig{Config: Config{Address: service.Addr().String(),
				NewHandler: always(seen), Transport: c.client}})
			if err != nil {
				t.Fatal(err)
			}
			if err = there.Start(t.Context()); err == nil {
				err = await(t, "the end", seen.onClose)
			}
			wantCause(t, err, ErrHandshake)
			eventually(t, "the end at the server", func() bool { return len(causes.all()) == 1 })
			if name != "server without TLS" {
				wantCause(t, causes.all()[0], ErrHandshake)
			}
			closeWithin(t, there)
		})
	}
}
