package jetstream_test

import (
	"bufio"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/journal/jetstream"
	"github.com/muster-gg/muster/internal/mustertest/leaktest"
)

// The embedded server opens a port for clients because it opens none for nodes
// without it. No client is accepted there, whatever credentials it sends.
func TestClusterClientPortAcceptsNobody(t *testing.T) {
	t.Parallel()
	t.Run("nodes", func(t *testing.T) {
		c := newCluster(t)
		c.startAll()
		w := &writer{t: t, j: c.journal(0, 0)}
		w.append()
		password := jetstream.Password(c.nodes[0])
		address := jetstream.ClientAddress(c.nodes[0])
		for name, first := range map[string]string{
			"no credentials":         `CONNECT {}`,
			"no CONNECT":             `PING`,
			"subscribes at once":     `SUB > 1`,
			"empty credentials":      `CONNECT {"user":"","pass":""}`,
			"empty token":            `CONNECT {"auth_token":""}`,
			"wrong password":         `CONNECT {"user":"muster","pass":"wrong"}`,
			"no password":            `CONNECT {"user":"muster"}`,
			"password alone":         `CONNECT {"pass":"` + password + `"}`,
			"unknown user":           `CONNECT {"user":"somebody","pass":"` + password + `"}`,
			"the user of nobody":     `CONNECT {"user":"nobody"}`,
			"system, wrong password": `CONNECT {"user":"system","pass":"wrong"}`,
			"right password": `CONNECT {"user":"muster",` +
				`"pass":"` + password + `"}`, // for this process, which uses no socket
		} {
			answers := converse(t, address,
				first+"\r\nPING\r\nSUB inbox 2\r\nPUB $JS.API.STREAM.NAMES inbox 0\r\n\r\nPING\r\n")
			if slices.ContainsFunc(answers, func(line string) bool {
				return strings.HasPrefix(line, "PONG") || strings.HasPrefix(line, "MSG")
			}) {
				t.Errorf("%s: the client is answered %q", name, answers)
			}
		}
	})
}

// converse sends what a client of NATS says, and returns the lines that follow the
// server's greeting, until the connection ends or a second PONG arrives.
func converse(t *testing.T, address, says string) (lines []string) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	if greeting, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(greeting, "INFO ") {
		t.Fatalf("greeting %q, %v", greeting, err)
	}
	_, _ = io.WriteString(conn, says) // refused already, or soon
	for pongs := 0; pongs < 2; {
		line, err := r.ReadString('\n')
		if line != "" {
			lines = append(lines, line)
		}
		if err != nil {
			break
		}
		if strings.HasPrefix(line, "PONG") {
			pongs++
		}
	}
	return lines
}

// A server alone has no port; a node has the one for nodes, and that for clients on
// the loopback interface. There is none for monitoring, profiles, WebSocket, MQTT, leaf
// nodes and gateways.
func TestPorts(t *testing.T) {
	defer leaktest.Check(t, serverLeaks...)()
	t.Run("nodes", func(t *testing.T) {
		alone, err := jetstream.Open(t.Context(), jetstream.Config{Dir: filepath.Join(t.TempDir(), "alone")})
		if err != nil {
			t.Fatal(err)
		}
		defer alone.Close()
		if got := openPorts(t, alone); got != "" {
			t.Errorf("alone, the server has the ports %s", got)
		}
		c := newCluster(t)
		c.startAll()
		if got, want := openPorts(t, c.nodes[0]), "client 127.0.0.1, nodes 127.0.0.1"; got != want {
			t.Errorf("a node has the ports %s, want %s", got, want)
		}
	})
}

// openPorts lists the ports of a server: what each is for, and on which host.
func openPorts(t *testing.T, e *jetstream.Engine) string {
	t.Helper()
	var open []string
	for kind, host := range jetstream.Ports(t, e) {
		open = append(open, kind+" "+host)
	}
	slices.Sort(open)
	return strings.Join(open, ", ")
}
