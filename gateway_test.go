package muster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/gateway"
)

// startGateway runs a service with a session gateway. stop ends it and waits.
func startGateway(t *testing.T, change func(*Config)) (e Endpoints, stop func() error) {
	t.Helper()
	config := DefaultConfig()
	config.Data, config.Listen, config.Gateway.Listen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	change(&config)
	ready, ended := make(chan Endpoints, 1), make(chan error, 1)
	config.Ready = func(e Endpoints) { ready <- e }
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { ended <- Run(ctx, config) }()
	select {
	case e = <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	return e, func() error {
		cancel()
		return <-ended
	}
}

// TestGatewayStopsThoughNobodyReads ends a service whose client takes no answer.
func TestGatewayStopsThoughNobodyReads(t *testing.T) {
	e, stop := startGateway(t, func(c *Config) { c.ShutdownTimeout = 200 * time.Millisecond })
	conn, err := net.Dial("tcp", strings.TrimPrefix(e.Gateway, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(2048); err != nil {
		t.Fatal(err)
	}
	// More than all buffers on the way hold, so that the gateway is stuck in writing.
	if err := conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for range 100_000 {
		if _, err := fmt.Fprint(conn, "GET /v1/openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			break // it reads no more
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestGatewaySettings(t *testing.T) {
	for _, c := range []struct {
		change func(*GatewayConfig)
		want   string // in the error; "" for none
	}{
		{func(c *GatewayConfig) {}, ""},
		{func(c *GatewayConfig) { c.Fleet, c.Queue = "fleet-1", "hot" }, "gateway-fleet"},
		{func(c *GatewayConfig) { c.Location = "custom-home" }, "gateway-location"},
		{func(c *GatewayConfig) { c.Fleet, c.Location = "fleet-1", "custom-home" }, ""},
		{func(c *GatewayConfig) { c.JWTAudience = "arena" }, "gateway-jwt-issuer"},
		{func(c *GatewayConfig) { c.JWTIssuer = "ftp://id.example.com" }, "gateway-jwt-issuer"},
		{func(c *GatewayConfig) { c.Builds = []string{"1234"} }, "gateway-builds"},
		{func(c *GatewayConfig) { c.Builds = []string{"12345678901=fleet-1"} }, "gateway-builds"},
		{func(c *GatewayConfig) { c.Search = []string{"hot"} }, "gateway-search"},
		{func(c *GatewayConfig) { c.TrustedProxies = []string{"10.0.0.0/8", "::1"} }, ""},
		{func(c *GatewayConfig) { c.TrustedProxies = []string{"10.0.0.0/33"} }, "gateway-trusted-proxies"},
		{func(c *GatewayConfig) { c.Origins = []string{"*", "https://play.example.com"} }, ""},
		{func(c *GatewayConfig) { c.Origins = []string{"https://play.example.com/"} }, "gateway-origins"},
		{func(c *GatewayConfig) { c.LocalFleet = "123" }, "gateway-local-fleet"},
	} {
		config := DefaultGatewayConfig()
		c.change(&config)
		err := config.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", config, err, c.want)
		}
	}
}

func TestGatewayRoutes(t *testing.T) {
	c := GatewayConfig{Builds: []string{"7=fleet-7", "-1=arn:aws:gamelift:eu-central-1::alias/alias-2", "9=hot"}, Alias: "alias-1", Location: "custom-home"}
	want := map[int32]gateway.Target{7: {FleetID: "fleet-7"}, -1: {AliasID: "arn:aws:gamelift:eu-central-1::alias/alias-2"}, 9: {Queue: "hot"}}
	if got := c.routes(); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if got := c.target(); got != (gateway.Target{AliasID: "alias-1", Location: "custom-home"}) {
		t.Errorf("got %v", got)
	}
}

func TestGatewayFiles(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), url.PathEscape("keys"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const key, other = "0123456789abcdef", "fedcba9876543210"
	for _, c := range []struct {
		text string
		want map[string]string // nil: an error
	}{
		{"# keys\n\ngame: " + key + "\nnext:" + other + "\n", map[string]string{"game": key, "next": other}},
		{"", nil},
		{"game:short\n", nil},
		{key + "\n", nil},
		{"game:" + key + "\ngame:" + other, nil},
	} {
		got, err := (&GatewayConfig{KeysFile: file(c.text)}).apiKeys()
		if (err == nil) != (c.want != nil) || !maps.Equal(got, c.want) {
			t.Errorf("%q: got %v, %v", c.text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("%q: the error shows a key: %v", c.text, err)
		}
	}
	for text, want := range map[string]string{key + "\n": key, "short": ""} {
		got, err := (&GatewayConfig{SecretFile: file(text)}).secret([]byte("own"))
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("secret %q: got %q, %v", text, got, err)
		}
	}
	if got, err := (&GatewayConfig{}).secret([]byte("own")); err != nil || string(got) != "own" {
		t.Errorf("without a file: %q, %v", got, err)
	}
}
