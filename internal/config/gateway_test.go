package config

import (
	"maps"
	"strings"
	"testing"
)

func TestGatewaySettings(t *testing.T) {
	for _, c := range []struct {
		change func(*Gateway)
		want   string // in the error; "" for none
	}{
		{func(c *Gateway) {}, ""},
		{func(c *Gateway) { c.Fleet, c.Queue = "fleet-1", "hot" }, "gateway-fleet"},
		{func(c *Gateway) { c.Fleet = "Chat" }, `gateway-fleet: "Chat" is not the id or ARN`},
		{func(c *Gateway) { c.Alias = "fleet-1" }, "gateway-alias"},
		{func(c *Gateway) { c.Location = "custom-home" }, "gateway-location"},
		{func(c *Gateway) { c.Fleet, c.Location = "fleet-1", "custom-home" }, ""},
		{func(c *Gateway) { c.JWTAudience = "arena" }, "gateway-jwt-issuer"},
		{func(c *Gateway) { c.JWTScope = "play" }, "gateway-jwt-issuer"},
		{func(c *Gateway) { c.JWTIssuer = "ftp://id.example.com" }, "gateway-jwt-issuer"},
		{func(c *Gateway) { c.Builds = []string{"1234"} }, "gateway-builds"},
		{func(c *Gateway) { c.Builds = []string{"12345678901=fleet-1"} }, "gateway-builds"},
		{func(c *Gateway) { c.Search = []string{"hot"} }, "gateway-search"},
		{func(c *Gateway) { c.TrustedProxies = []string{"10.0.0.0/8", "::1"} }, ""},
		{func(c *Gateway) { c.TrustedProxies = []string{"10.0.0.0/33"} }, "gateway-trusted-proxies"},
		{func(c *Gateway) { c.Origins = []string{"*", "https://play.example.com"} }, ""},
		{func(c *Gateway) { c.Origins = []string{"https://play.example.com/"} }, "gateway-origins"},
		{func(c *Gateway) { c.LocalFleet = "123" }, "gateway-local-fleet"},
		{func(c *Gateway) { c.Listen = "0.0.0.0:3000" }, ""},
	} {
		config := Default()
		c.change(&config.Gateway)
		err := config.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", config.Gateway, err, c.want)
		}
	}
}

func TestGatewayRoutes(t *testing.T) {
	c := Gateway{Builds: []string{"7=fleet-7", "-1=arn:aws:gamelift:eu-central-1::alias/alias-2", "9=hot"},
		Alias: "alias-1", Location: "custom-home"}
	want := map[int32]Target{7: {Fleet: "fleet-7"}, -1: {Alias: "arn:aws:gamelift:eu-central-1::alias/alias-2"},
		9: {Queue: "hot"}}
	if got := c.Routes(); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if got := c.Target(); got != (Target{Alias: "alias-1", Location: "custom-home"}) {
		t.Errorf("got %v", got)
	}
}

// TestGatewayDefaults holds a gateway that nobody configured to this machine, and its
// callers to rates.
func TestGatewayDefaults(t *testing.T) {
	c := Default().Gateway
	if c.ListenAddress() != "127.0.0.1:3000" || c.AddressRate == 0 || c.PlayerRate == 0 || c.MaxUnused == 0 {
		t.Errorf("without authentication: %q, rates %d and %d, %d unused", c.ListenAddress(), c.AddressRate,
			c.PlayerRate, c.MaxUnused)
	}
	for _, change := range []func(*Gateway){
		func(c *Gateway) { c.KeysFile = "keys" },
		func(c *Gateway) { c.Keys = map[string]string{"game": "0123456789abcdef"} },
		func(c *Gateway) { c.JWTIssuer = "https://id.example.com" },
	} {
		c := Default().Gateway
		if change(&c); c.ListenAddress() != ":3000" {
			t.Errorf("with authentication: %q", c.ListenAddress())
		}
	}
	if c.Listen = "0.0.0.0:3000"; c.ListenAddress() != "0.0.0.0:3000" {
		t.Errorf("told otherwise: %q", c.ListenAddress())
	}
}
