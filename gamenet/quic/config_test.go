package quic

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	quicgo "github.com/quic-go/quic-go"
)

func TestConfig(t *testing.T) {
	given := &quicgo.Config{
		MaxIdleTimeout: time.Minute, MaxIncomingStreams: 50, MaxIncomingUniStreams: 50,
		Allow0RTT: true, RequireStreamCreditRelease: true,
	}
	before := *given
	refused := errors.New("refused")
	chosen := given
	byClient := &quicgo.Config{GetConfigForClient: func(info *quicgo.ClientInfo) (*quicgo.Config, error) {
		if info.AddrVerified {
			return chosen, nil
		}
		return nil, refused
	}}
	perClient, err := serverConfig(byClient).GetConfigForClient(&quicgo.ClientInfo{AddrVerified: true})
	if err != nil {
		t.Fatal(err)
	}
	chosen = nil
	perClientDefault, err := serverConfig(byClient).GetConfigForClient(&quicgo.ClientInfo{AddrVerified: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		config  *quicgo.Config
		idle    time.Duration
		streams int64
	}{
		"server, default":             {serverConfig(nil), idleTimeout, 1},
		"server":                      {serverConfig(given), time.Minute, 1},
		"server, per client":          {perClient, time.Minute, 1},
		"server, per client, default": {perClientDefault, idleTimeout, 1},
		"client, default":             {clientConfig(nil), idleTimeout, -1},
		"client":                      {clientConfig(given), time.Minute, -1},
	} {
		c := test.config
		if c.MaxIdleTimeout != test.idle || c.MaxIncomingStreams != test.streams {
			t.Errorf("%s: idle timeout %v, %d streams", name, c.MaxIdleTimeout, c.MaxIncomingStreams)
		}
		if !c.EnableDatagrams || c.MaxIncomingUniStreams != -1 {
			t.Errorf("%s: datagrams %v, %d streams in one direction", name, c.EnableDatagrams, c.MaxIncomingUniStreams)
		}
		if test.streams == 1 && (c.Allow0RTT || c.RequireStreamCreditRelease) {
			t.Errorf("%s: 0-RTT %v, credit kept %v", name, c.Allow0RTT, c.RequireStreamCreditRelease)
		}
	}
	if _, err := serverConfig(byClient).GetConfigForClient(&quicgo.ClientInfo{}); err != refused {
		t.Errorf("got %v", err)
	}
	if given.MaxIncomingStreams != before.MaxIncomingStreams || given.EnableDatagrams != before.EnableDatagrams {
		t.Error("the given configuration was changed")
	}
}

func TestLocalFor(t *testing.T) {
	for remote, want := range map[string]string{
		"127.0.0.1": "127.0.0.1:0", "127.9.9.9": "127.0.0.1:0", "192.0.2.1": "0.0.0.0:0",
		"::1": "[::1]:0", "2001:db8::1": "[::]:0",
	} {
		if got := localFor(netip.MustParseAddr(remote)); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}
