package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/gorilla/websocket"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/gameserver"
)

// trust is a TLS configuration that trusts the local authority alone.
func (s *service) trust(t testing.TB) *tls.Config {
	t.Helper()
	pem, err := os.ReadFile(s.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatalf("no certificate in %s", s.CAFile)
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// TestOnePort speaks http, https, ws and wss on the one port.
func TestOnePort(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	params := s.newCompute(t, fleet, home, "pc")

	secure := &http.Client{Transport: &http.Transport{TLSClientConfig: s.trust(t)}}
	t.Cleanup(secure.CloseIdleConnections)
	https := s.client(func(o *gamelift.Options) {
		o.HTTPClient = secure
		o.BaseEndpoint = new("https" + strings.TrimPrefix(s.HTTP, "http"))
	})
	if got := call(t, https.ListFleets, &gamelift.ListFleetsInput{}).FleetIds; len(got) != 1 || got[0] != fleet {
		t.Errorf("over https: %q", got)
	}

	for i, url := range []string{s.WS, s.WSS} {
		params.WebSocketURL = url
		p := s.launch(t, params, behaviour{config: gameserver.Config{TLSConfig: s.trust(t)}, port: 7777 + i})
		session := s.newActiveSession(t, fleet, home)
		if err := p.AcceptPlayerSession(t.Context(), s.join(t, session, "ada")); err != nil {
			t.Errorf("over %s: %v", url, err)
		}
	}

	// Nobody is told to trust the authority by a certificate alone.
	_, _, err := websocket.DefaultDialer.DialContext(t.Context(), s.WSS, nil)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("a client that does not trust the authority: %v", err)
	}

	// The C++ edition of the server SDK verifies no certificate, and adds a slash
	// to the URL that it was given.
	params.ProcessID = "cpp"
	s.dial(t, s.WSS+"/", params, &websocket.Dialer{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}})

	compute := call(t, s.client().DescribeCompute,
		&gamelift.DescribeComputeInput{FleetId: &fleet, ComputeName: new("pc")}).Compute
	if got := *compute.GameLiftServiceSdkEndpoint; got != s.WSS {
		t.Errorf("computes are told to connect to %s", got)
	}
}

// TestWithoutPlainText refuses everything but TLS.
func TestWithoutPlainText(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *muster.Config) { c.Plaintext = "refuse" })
	if !strings.HasPrefix(s.HTTP, "https://") || s.WS != "" {
		t.Fatalf("the endpoints are %q and %q", s.HTTP, s.WS)
	}
	s.http.Transport.(*http.Transport).TLSClientConfig = s.trust(t)
	call(t, s.client().ListFleets, &gamelift.ListFleetsInput{})
	plain := s.client(func(o *gamelift.Options) { o.BaseEndpoint = new("http" + strings.TrimPrefix(s.HTTP, "https")) })
	if _, err := plain.ListFleets(t.Context(), &gamelift.ListFleetsInput{}); err == nil {
		t.Error("plain text was answered")
	}
}

// TestSignedServers lets game servers in that sign with an access key instead of
// presenting a token.
func TestSignedServers(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	params := s.newCompute(t, fleet, home, "pc")
	params.AuthToken, params.Region, params.AccessKey, params.SecretKey = "", s.Region, s.AccessKey, s.SecretKey
	s.launch(t, params, behaviour{})
	s.newActiveSession(t, fleet, home)

	params.SecretKey = "of somebody else"
	liar := gameserver.New(gameserver.Config{})
	defer liar.Close()
	if err := liar.Connect(t.Context(), params); gameserverCode(err) != http.StatusForbidden {
		t.Errorf("a wrong secret: %v", err)
	}
}

// TestRefusedServers presents credentials that are no good.
func TestRefusedServers(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	good := s.newCompute(t, fleet, home, "pc")
	other := s.newCompute(t, fleet, home, "other")
	for name, change := range map[string]func(*gameserver.ServerParameters){
		"made-up token": func(p *gameserver.ServerParameters) {
			p.AuthToken = "00000000-0000-4000-8000-000000000000"
		},
		"another's token": func(p *gameserver.ServerParameters) { p.AuthToken = other.AuthToken },
		"unknown compute": func(p *gameserver.ServerParameters) { p.HostID = "nobody" },
		"unknown fleet": func(p *gameserver.ServerParameters) {
			p.FleetID = "fleet-00000000-0000-4000-8000-000000000000"
		},
		"token with a space": func(p *gameserver.ServerParameters) { p.AuthToken += " " },
	} {
		params := good
		change(&params)
		stranger := gameserver.New(gameserver.Config{})
		if err := stranger.Connect(t.Context(), params); gameserverCode(err) != http.StatusForbidden {
			t.Errorf("%s: %v", name, err)
		}
		stranger.Close()
	}
	if n := s.metric(t, `muster_server_process_refusals_total{status="403"}`); n != 5 {
		t.Errorf("%v refusals were counted", n)
	}
	s.launch(t, good, behaviour{})
	s.newActiveSession(t, fleet, home)
}
