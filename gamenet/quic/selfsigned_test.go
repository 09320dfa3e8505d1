package quic

import (
	"slices"
	"testing"
	"time"
)

func TestSelfSigned(t *testing.T) {
	for _, test := range []struct {
		hosts  []string
		expect string
		names  []string
		ips    int
	}{
		{nil, "localhost", []string{"localhost"}, 2},
		{[]string{"game.example", "192.0.2.7", "2001:db8::7"}, "game.example", []string{"game.example"}, 2},
		{[]string{"192.0.2.7"}, "192.0.2.7", nil, 1},
	} {
		server, client, err := SelfSigned(test.hosts...)
		if err != nil {
			t.Fatal(err)
		}
		leaf := server.Certificates[0].Leaf
		if !slices.Equal(leaf.DNSNames, test.names) || len(leaf.IPAddresses) != test.ips ||
			client.ServerName != test.expect {
			t.Errorf("%v: names %v, addresses %v, the client expects %q", test.hosts, leaf.DNSNames, leaf.IPAddresses,
				client.ServerName)
		}
		if until := time.Until(leaf.NotAfter); until < 364*24*time.Hour || until > 367*24*time.Hour || leaf.IsCA {
			t.Errorf("%v: valid for %v, an authority: %v", test.hosts, until, leaf.IsCA)
		}
		l := listen(t, New(Config{TLS: server}))
		c := dial(t, New(Config{TLS: client}), l.Addr().String()) // by an address that may not be in it
		say(t, c, "hello")
		hear(t, serve(t, l), "hello")
	}
}
