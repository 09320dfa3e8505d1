package quic

import (
	"crypto/tls"
	"time"

	quicgo "github.com/quic-go/quic-go"
)

// protocol is the application protocol that both sides agree on in the TLS handshake.
const protocol = "muster-gamenet/1"

// The defaults of Config.QUIC.
const (
	idleTimeout = 30 * time.Second
	keepAlive   = 10 * time.Second // NATs forget a silent client after 30 s or more
	window      = 1 << 20          // bytes that may wait to be read
)

func serverTLS(given *tls.Config) *tls.Config {
	c := given.Clone()
	if len(c.NextProtos) == 0 {
		c.NextProtos = []string{protocol}
	}
	return c
}

func clientTLS(given *tls.Config, host string) *tls.Config {
	if given == nil {
		given = new(tls.Config)
	}
	c := serverTLS(given)
	if c.ServerName == "" {
		c.ServerName = host
	}
	return c
}

func defaults() *quicgo.Config {
	return &quicgo.Config{
		MaxIdleTimeout:             idleTimeout,
		MaxStreamReceiveWindow:     window,
		MaxConnectionReceiveWindow: window,
	}
}

// serverConfig returns a server's configuration. It sends no keep-alives: the clients do.
func serverConfig(given *quicgo.Config) *quicgo.Config {
	c := defaults()
	if given != nil {
		c = given.Clone()
	}
	c.EnableDatagrams = true
	c.Allow0RTT = false
	c.MaxIncomingStreams = 1
	c.MaxIncomingUniStreams = -1
	c.RequireStreamCreditRelease = false // connection.linger waits for the credit
	if choose := c.GetConfigForClient; choose != nil {
		c.GetConfigForClient = func(info *quicgo.ClientInfo) (*quicgo.Config, error) {
			chosen, err := choose(info)
			return serverConfig(chosen), err
		}
	}
	return c
}

// clientConfig returns a client's configuration.
func clientConfig(given *quicgo.Config) *quicgo.Config {
	c := defaults()
	c.KeepAlivePeriod = keepAlive
	if given != nil {
		c = given.Clone()
	}
	c.EnableDatagrams = true
	c.MaxIncomingStreams = -1
	c.MaxIncomingUniStreams = -1
	return c
}
