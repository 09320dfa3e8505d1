package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-gg/muster/internal/config"
	"github.com/muster-gg/muster/internal/gateway"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// startGateway runs a service with a session gateway. stop ends it and waits.
func startGateway(t *testing.T, change func(*config.Config)) (e config.Endpoints, stop func() error) {
	t.Helper()
	c := config.Default()
	c.Data, c.Listen, c.Gateway.Listen = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	change(&c)
	ready, ended := make(chan config.Endpoints, 1), make(chan error, 1)
	c.Ready = func(e config.Endpoints) { ready <- e }
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() { ended <- Run(ctx, c) }()
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

// TestGatewayPlayerRate counts every request of a player once, whether the request
// names the player or only its token does.
func TestGatewayPlayerRate(t *testing.T) {
	issuer, token := tokenIssuer(t, "ada")
	c := config.Default().Gateway
	c.JWTIssuer, c.JWTKeys, c.PlayerRate = issuer, issuer, 2
	clock := clockwork.NewFakeClock()
	g, err := newGatewayHandler(&c, &gatewayParts{
		service: nowhere{}, region: "us-west-2", secret: []byte("secret"), metrics: prometheus.NewRegistry(),
		clock: clock, log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for path, method := range map[string]string{"/find_session": http.MethodGet, "/create_session": http.MethodPost} {
		var codes []int
		for range 5 {
			r := httptest.NewRequest(method, path,
				strings.NewReader(`{"session_name":"S","build_id":1,"uuid":"ada","num_connections":4}`))
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			codes = append(codes, w.Code)
		}
		if taken := slices.Index(codes, http.StatusTooManyRequests); taken != 4 ||
			slices.Contains(codes, http.StatusForbidden) {
			t.Errorf("%s: %v, want 4 to be taken, which is two seconds' worth", path, codes)
		}
		clock.Advance(time.Minute)
	}
}

// tokenIssuer publishes a key and returns a token of a player, signed with it.
func tokenIssuer(t *testing.T, player string) (issuer, token string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: private.Public(), KeyID: "k",
		Algorithm: string(jose.ES256), Use: "sig"}}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(keys)
	}))
	t.Cleanup(server.Close)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: private},
		(&jose.SignerOptions{}).WithHeader("kid", "k"))
	if err != nil {
		t.Fatal(err)
	}
	token, err = jwt.Signed(signer).Claims(jwt.Claims{Issuer: server.URL, Subject: player,
		Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour * 24 * 365 * 100))}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return server.URL, token
}

// nowhere is a service without fleets.
type nowhere struct{ gateway.Service }

func (nowhere) Fleet(context.Context) (string, error) {
	return "", fault.New(fault.NotFound, "no fleet")
}
func (nowhere) Ready(context.Context) error { return nil }
func (nowhere) DescribePlayerSessions(context.Context, *wire.DescribePlayerSessionsInput) (
	*wire.DescribePlayerSessionsOutput, error,
) {
	return &wire.DescribePlayerSessionsOutput{}, nil
}

// TestGatewayStopsThoughNobodyReads ends a service whose client takes no answer.
func TestGatewayStopsThoughNobodyReads(t *testing.T) {
	e, stop := startGateway(t,
		func(c *config.Config) { c.ShutdownTimeout, c.Gateway.AddressRate = 200*time.Millisecond, 0 })
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
		got, err := apiKeys(&config.Gateway{KeysFile: file(c.text)})
		if (err == nil) != (c.want != nil) || !maps.Equal(got, c.want) {
			t.Errorf("%q: got %v, %v", c.text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("%q: the error shows a key: %v", c.text, err)
		}
	}
	for text, want := range map[string]string{key + "\n": key, "short": ""} {
		got, err := idSecret(&config.Gateway{SecretFile: file(text)}, []byte("own"))
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("secret %q: got %q, %v", text, got, err)
		}
	}
	if got, err := idSecret(&config.Gateway{}, []byte("own")); err != nil || string(got) != "own" {
		t.Errorf("without a file: %q, %v", got, err)
	}
}

// TestGatewayOpennessIsLogged says at the start who can reach a gateway that
// authenticates nobody, and what to set.
func TestGatewayOpennessIsLogged(t *testing.T) {
	at := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 3000} }
	for _, c := range []struct {
		change func(*config.Gateway)
		at     net.Addr
		want   []string // in the line; none: nothing is logged
	}{
		{func(*config.Gateway) {}, at("127.0.0.1"),
			[]string{"INFO", "listens on loopback only", "gateway-keys-file, gateway-jwt-issuer or gateway-listen"}},
		{func(c *config.Gateway) { c.Listen = ":3000" }, at("::"),
			[]string{"WARN", "without authentication", "gateway-keys-file or gateway-jwt-issuer"}},
		{func(c *config.Gateway) { c.Listen = "127.0.0.1:3000" }, at("127.0.0.1"), nil},
		{func(c *config.Gateway) { c.JWTIssuer = "https://id.example.com" }, at("::"), nil},
	} {
		g := config.Default().Gateway
		c.change(&g)
		var log strings.Builder
		reportOpenness(&g, c.at, slog.New(slog.NewTextHandler(&log, nil)))
		for _, want := range c.want {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%q at %v logs %q, want %q", g.Listen, c.at, log.String(), want)
			}
		}
		if c.want == nil && log.Len() > 0 {
			t.Errorf("%q at %v logs %q", g.Listen, c.at, log.String())
		}
	}
}
