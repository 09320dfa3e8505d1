package gameserver_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-gg/muster/gameserver"
)

const role = "arn:aws:iam::123456789012:role/game_servers"

// TestFleetRoleCredentials asks again only when those at hand are about to expire.
func TestFleetRoleCredentials(t *testing.T) {
	s := newService(t)
	var mu sync.Mutex
	var traced strings.Builder
	server, clock := connect(t, s, func(cfg *gameserver.Config) {
		cfg.Trace = func(m gameserver.Message) {
			mu.Lock()
			defer mu.Unlock()
			traced.WriteString(m.Text)
		}
	})
	expires := clock.Now().Add(time.Hour).Truncate(time.Millisecond)
	s.set(func() {
		s.replies["GetFleetRoleCredentials"] = fmt.Sprintf(`"StatusCode":200,"AssumedRoleUserArn":"arn:u",`+
			`"AssumedRoleId":"id","AccessKeyId":"AK",`+
			`"SecretAccessKey":"se\/cret","SessionToken":"to\/ken","Expiration":%d`, expires.UnixMilli())
	})
	get := func(sessionName string) {
		t.Helper()
		c, err := server.GetFleetRoleCredentials(t.Context(), role, sessionName)
		if err != nil || c.AccessKeyID != "AK" || c.SecretAccessKey != "se/cret" || c.SessionToken != "to/ken" ||
			c.AssumedRoleUserARN != "arn:u" ||
			c.AssumedRoleID != "id" || !c.Expiration.Equal(expires) {
			t.Errorf("got %+v, %v", c, err)
		}
		if text := fmt.Sprint(slog.AnyValue(c).Resolve()); strings.Contains(text, "cret") ||
			strings.Contains(text, "ken") {
			t.Errorf("logged as %s", text)
		}
	}
	get("")
	get("another")
	clock.Advance(45*time.Minute - time.Second)
	get("")
	clock.Advance(time.Second)
	get("named")
	want := []string{
		`{"Action":"GetFleetRoleCredentials","RequestId":"ID","RoleArn":"` + role +
			`","RoleSessionName":"fleet-1-host-1"}`,
		`{"Action":"GetFleetRoleCredentials","RequestId":"ID","RoleArn":"` + role + `","RoleSessionName":"named"}`,
	}
	if got := s.sent("GetFleetRoleCredentials"); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("asked\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	mu.Lock()
	defer mu.Unlock()
	if text := traced.String(); strings.Contains(text, "/cret") || strings.Contains(text, "/ken") ||
		!strings.Contains(text, "AccessKeyId") {
		t.Errorf("traced %s", text)
	}
}

func TestFleetWithoutRole(t *testing.T) {
	s := newService(t)
	server, _ := connect(t, s, nil)
	s.set(func() { s.replies["GetFleetRoleCredentials"] = `"StatusCode":200,"AccessKeyId":"","Expiration":0` })
	for range 2 {
		if _, err := server.GetFleetRoleCredentials(t.Context(), role, ""); !errors.Is(err, gameserver.ErrNoFleetRole) {
			t.Errorf("got %v", err)
		}
	}
	if n := len(s.sent("GetFleetRoleCredentials")); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestFleetRoleCredentialsRefused(t *testing.T) {
	s := newService(t)
	server, _ := connect(t, s, nil)
	for _, args := range [][2]string{{"", ""}, {role, "x"}, {role, "a b"}, {role, strings.Repeat("x", 65)}} {
		_, err := server.GetFleetRoleCredentials(t.Context(), args[0], args[1])
		if !errors.Is(err, gameserver.ErrInvalid) {
			t.Errorf("%q: %v", args, err)
		}
	}
	s.set(func() { s.replies["GetFleetRoleCredentials"] = `"StatusCode":200,"Expiration":"soon"` })
	if _, err := server.GetFleetRoleCredentials(t.Context(), role, ""); err == nil ||
		errors.Is(err, gameserver.ErrNoFleetRole) {
		t.Errorf("senseless answer: %v", err)
	}
	s.set(func() { s.replies["GetFleetRoleCredentials"] = `"StatusCode":403,"ErrorMessage":"AccessDenied: no"` })
	_, err := server.GetFleetRoleCredentials(t.Context(), role, "")
	if e, ok := errors.AsType[*gameserver.Error](err); !ok || e.Code != 403 {
		t.Errorf("refused: %v", err)
	}
}
