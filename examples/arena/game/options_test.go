package game

import (
	"strings"
	"testing"

	"github.com/muster-gg/muster/examples/arena/link"
)

func TestParse(t *testing.T) {
	o, err := parse(strings.Fields("-LOG --allowunticketed -Linger -address 127.0.0.9 -logsecrets -processid p " +
		"-Transport QUIC -tickrate=20 -maxPlayers 8"))
	if err == nil {
		t.Error("a transport in capitals is taken for one")
	}
	o, err = parse(strings.Fields("-LOG --allowunticketed -Linger -address 127.0.0.9 -logsecrets -processid p " +
		"-Transport quic -tickrate=20 -maxPlayers 8"))
	if err != nil || !o.log || !o.allowUnticketed || !o.linger || !o.logSecrets || o.address != "127.0.0.9" ||
		o.Port != 7777 || o.ProcessID != "p" ||
		o.link.Transport != link.QUIC || o.tickRate != 20 || o.maxPlayers != 8 {
		t.Errorf("parsed %+v, %v", o, err)
	}
	o, err = parse([]string{"-port=0"})
	if err != nil || o.Port != 0 || o.ProcessID == "" || o.address != "127.0.0.1" || o.link.Transport != link.TCP ||
		o.tickRate != 30 {
		t.Errorf("parsed %+v, %v", o, err)
	}
	for _, line := range []string{"-unknown", "map", "log", "-port=x", "-log=x", "-tickrate=0", "-tickrate " +
		"121", "-maxplayers=-1", "-patience=-1s", "-patience=2", "-transport=udp", "-cert=c.pem"} {
		if _, err := parse(strings.Fields(line)); err == nil || !strings.Contains(err.Error(), "flags, in any case") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestHelp prints the usage, and no error.
func TestHelp(t *testing.T) {
	var out strings.Builder
	if err := Run(t.Context(), []string{"--help"}, &out); err != nil || out.String() != Usage+"\n" {
		t.Errorf("%v, printed\n%s", err, &out)
	}
}

func TestRedact(t *testing.T) {
	for secret, want := range map[string]string{"": "", "abcd": "…cd", "abcdefgh": "…efgh", token: "…7a10"} {
		if got := (options{}).redact(secret); got != want {
			t.Errorf("redact(%s) = %s, want %s", secret, got, want)
		}
	}
	if got := (options{logSecrets: true}).redact(token); got != token {
		t.Errorf("with -logsecrets: %s", got)
	}
}
