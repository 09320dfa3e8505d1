package server

import (
	"net"
	"os"
	"testing"

	"github.com/muster-gg/muster/internal/config"
)

func TestServerEndpoint(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9080}
	tests := []struct {
		name      string
		change    func(*config.Config)
		listening net.Addr
		want      string
	}{
		{"address", func(*config.Config) {}, loopback, "wss://127.0.0.1:9080"},
		{"IPv6", func(*config.Config) {}, &net.TCPAddr{IP: net.IPv6loopback, Port: 1}, "wss://[::1]:1"},
		{"wildcard", func(*config.Config) {}, &net.TCPAddr{IP: net.IPv6unspecified, Port: 9080},
			"wss://" + host + ":9080"},
		{"public URL", func(c *config.Config) { c.PublicURL = "wss://games.example.com/" }, loopback,
			"wss://games.example.com"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := config.Default()
			test.change(&c)
			if got := serverEndpoint(&c, test.listening); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
