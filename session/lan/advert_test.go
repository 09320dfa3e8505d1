package lan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/muster-gg/muster/session"
)

func TestAdvertErrorsNameTheField(t *testing.T) {
	long := strings.Repeat("x", 255)
	properties := func(n int, value string) map[string]string {
		m := map[string]string{}
		for i := range n {
			m[fmt.Sprintf("key%03d", i)] = value
		}
		return m
	}
	for name, c := range map[string]struct {
		change func(*session.Advert)
		want   string
	}{
		"no port":         {func(a *session.Advert) { a.Port = 0 }, "Port is 0"},
		"port":            {func(a *session.Advert) { a.Port = 65536 }, "Port is 65536"},
		"negative places": {func(a *session.Advert) { a.Connections = -1 }, "Connections is -1"},
		"too many places": {func(a *session.Advert) { a.Connections = 65536 }, "Connections is 65536"},
		"more free than all": {func(a *session.Advert) { a.OpenConnections = 5 },
			"OpenConnections is 5, it must be 0 to 4"},
		"too many properties": {func(a *session.Advert) { a.Properties = properties(65, "") },
			"number of Properties is 65"},
		"long id":          {func(a *session.Advert) { a.SessionID = long + "x" }, "SessionID has 256 bytes"},
		"control in an id": {func(a *session.Advert) { a.OwnerID = "a\nb" }, "OwnerID has control characters"},
		"not UTF-8": {func(a *session.Advert) { a.Properties = map[string]string{"k": "\xff"} },
			`Properties["k"] has`},
		"key": {func(a *session.Advert) { a.Properties = map[string]string{"\x01": ""} },
			`Properties, key "\x01", has`},
		"does not fit": {func(a *session.Advert) { a.Properties = properties(4, long) },
			`Properties["key003"] does not fit`},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t, Config{})
			b := announce(t, n, advert("a"))
			a := advert("a")
			c.change(&a)
			if err := b.Update(a); !errors.Is(err, session.ErrInvalid) ||
				!strings.HasPrefix(err.Error(), "Update: "+c.want) {
				t.Errorf("Update says %v, want %s", err, c.want)
			}
			_, err := n.Announce(t.Context(), a)
			if !errors.Is(err, session.ErrInvalid) || !strings.HasPrefix(err.Error(), "Announce: "+c.want) {
				t.Errorf("Announce says %v, want %s", err, c.want)
			}
		})
	}
}

func TestLargestAdvertFits(t *testing.T) {
	a := advert(strings.Repeat("n", 300)) // names are cut, not refused
	a.SessionID, a.OwnerID = strings.Repeat("s", 255), strings.Repeat("o", 255)
	left := maxPacket - fixedReply - textsOfReply - maxName - 2*255
	a.Properties = map[string]string{"a": strings.Repeat("x", 255), "b": strings.Repeat("x", left-3-255-3)}
	cfg := Config{}.withDefaults()
	packet, err := encodeAdvert("Announce", a, sampleID, cfg)
	if err != nil || len(packet) != maxPacket {
		t.Fatalf("%d bytes, %v", len(packet), err)
	}
	if _, err := parseReply(packet, cfg.AppID, cfg.Limits.Properties); err != nil {
		t.Error(err)
	}
	a.Properties["b"] += "x"
	if _, err := encodeAdvert("Announce", a, sampleID, cfg); !errors.Is(err, session.ErrInvalid) {
		t.Errorf("one byte more: %v", err)
	}
}

func TestConfigErrorsNameTheField(t *testing.T) {
	for want, cfg := range map[string]Config{
		"Port is -1":                   {Port: -1},
		"Port is 70000":                {Port: 70000},
		"Limits.Results is -1":         {Limits: Limits{Results: -1}},
		"Limits.Properties is 256":     {Limits: Limits{Properties: 256}},
		"Limits.RepliesPerAsker is -2": {Limits: Limits{RepliesPerAsker: -2}},
		"Limits.Replies is -3":         {Limits: Limits{Replies: -3}},
		"Interfaces has an empty name": {Interfaces: []string{"lo", ""}},
	} {
		if _, err := New(cfg); !errors.Is(err, session.ErrInvalid) || !strings.HasPrefix(err.Error(), "New: "+want) {
			t.Errorf("New(%+v) says %v, want %s", cfg, err, want)
		}
	}
	n, err := New(Config{})
	if err != nil || n.cfg.Port != 14001 || n.cfg.AppID != 9999 {
		t.Errorf("the defaults are %+v, %v", n.cfg, err)
	}
}
