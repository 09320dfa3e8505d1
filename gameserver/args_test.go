package gameserver

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseArgs(t *testing.T) {
	full := Args{ServerParameters: ServerParameters{WebSocketURL: "wss://x", HostID: "DesktopPC", FleetID: "fleet-1",
		AuthToken: "t-1"}, Port: 7777, HasPort: true}
	tests := []struct {
		line string
		want Args
		err  string
	}{
		{"-authtoken=t-1 -hostid=DesktopPC -fleetid=fleet-1 -websocketurl=wss://x -port 7777", full, ""},
		{ // as the walk-through starts a game server
			"-log -authtoken=t-1 -hostid=DesktopPC -fleetid=fleet-1 -websocketurl=wss://x -port 7777",
			Args{ServerParameters: full.ServerParameters, Port: 7777, HasPort: true, Rest: []string{"-log"}}, "",
		},
		{"--AuthToken t-1 -HOSTID DesktopPC --fleetId=fleet-1 -WebSocketUrl wss://x -PORT=7777", full, ""},
		{"-log map1 -port 1 --linger -x=y", Args{Port: 1, HasPort: true,
			Rest: []string{"-log", "map1", "--linger", "-x=y"}}, ""},
		{"-port=1 -port=2 -processid=p", Args{ServerParameters: ServerParameters{ProcessID: "p"}, Port: 2,
			HasPort: true}, ""},
		{"-authtoken=", Args{}, ""},
		{"-port", Args{}, "flag -port needs a value"},
		{"-hostid -port=1", Args{}, "flag -hostid needs a value"},
		{"-port=http", Args{}, `flag -port: "http" is no port number`},
		{"-port=70000", Args{}, `flag -port: "70000" is no port number`},
		{"-port=0", Args{HasPort: true}, ""},
		{"- --", Args{Rest: []string{"-", "--"}}, ""},
	}
	for _, tt := range tests {
		got, err := ParseArgs(strings.Fields(tt.line))
		if err == nil && tt.err != "" || err != nil && err.Error() != tt.err {
			t.Errorf("%s: error %v, want %q", tt.line, err, tt.err)
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s:\n got  %+v\n want %+v", tt.line, got, tt.want)
		}
	}
}

// The vector was computed independently of this code.
func TestSign(t *testing.T) {
	q := url.Values{}
	sign(q, ServerParameters{
		HostID: "task-0123", FleetID: "containerfleet-aaaa", ProcessID: "3f0e6a1c-1111-4222-8333-444455556666",
		Region: "us-west-2", AccessKey: "AK", SecretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
	}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if got := q.Get("X-Amz-Signature"); got != "09cafe2706169bcb66225209a77b33ed4b7ca565d71b90e9c836feaf7207d369" {
		t.Errorf("signature %s", got)
	}
	if got := q.Get("X-Amz-Credential"); got != "AK/20260102/us-west-2/gamelift/aws4_request" {
		t.Errorf("credential %s", got)
	}
	if q.Has("X-Amz-Security-Token") {
		t.Error("an empty session token is sent")
	}
}

// FuzzRedact finds no message that is a secret's and shows it.
func FuzzRedact(f *testing.F) {
	for _, seed := range []string{
		`{"Action":"RefreshConnection","AuthToken":"t\u002d1"}`, `{"authTOKEN":"a","AuthToken":"b"}`,
		`{"SecretAccessKey":"x\/y","SessionToken":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m inbound
		if json.Unmarshal(data, &m) != nil || m.secrets == (secrets{}) {
			return
		}
		var seen struct{ AuthToken, SecretAccessKey, SessionToken any }
		text := redact(data, m.secrets)
		if err := json.Unmarshal([]byte(text), &seen); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for _, secret := range []any{seen.AuthToken, seen.SecretAccessKey, seen.SessionToken} {
			if secret != nil && secret != "***" {
				t.Errorf("%q shows %v", text, secret)
			}
		}
	})
}

func FuzzReceive(f *testing.F) {
	for _, seed := range []string{
		`{"Action":"CreateGameSession","GameSessionId":"g"}`, `{"Action":"TerminateProcess","TerminationTime":1}`,
		`{"RequestId":"r","StatusCode":200}`,
		`{"Action":"RefreshConnection","AuthToken":"t"}`, `[]`, `{"Action":"UpdateGameSession","GameSession":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		s := New(Config{})
		s.process = &ProcessParameters{OnStartGameSession: func(GameSession) {}, OnProcessTerminate: func() {}}
		var m inbound
		if err := decodeThen(data, func(p inbound) { m = p }); err == nil {
			s.deliver(m, data)
			_ = s.pushed(m.Action, data)
		}
		s.Close()
		s.Wait()
	})
}
