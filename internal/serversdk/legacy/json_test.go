package legacy

import (
	"errors"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// TestJSON compares what the service sends with the rules for all SDKs: integers are numbers, lists are present, and
// empty texts that old SDKs do not know are absent.
func TestJSON(t *testing.T) {
	full := processes.CreateGameSessionPush{
		GameSessionID: "g", Name: "n", FleetID: "f", GameSessionData: "d", MatchmakerData: `{"matchId":"m"}`,
		IPAddress: "127.0.0.1", DNSName: "localhost", Port: 7777, MaximumPlayerSessionCount: 2,
		GameProperties: map[string]string{"b": "2", "a": "1"},
	}
	const fullText = `{"gameSessionId":"g","fleetId":"f","name":"n","maxPlayers":2,"joinable":true,` +
		`"gameProperties":[{"key":"a","value":"1"},{"key":"b","value":"2"}],"ipAddress":"127.0.0.1","port":7777,` +
		`"gameSessionData":"d","matchmakerData":"{\"matchId\":\"m\"}","dnsName":"localhost"}`
	const leastText = `{"gameSessionId":"","fleetId":"","maxPlayers":0,"joinable":true,"gameProperties":[],` +
		`"ipAddress":"","port":0}`
	created := time.Unix(1700000100, 999_999_999)
	players := processes.PlayerSessionPage{NextToken: "n", PlayerSessions: []processes.PlayerSessionView{
		{PlayerID: "p", PlayerSessionID: "s", GameSessionID: "g", FleetID: "f", PlayerData: "d",
			IPAddress: "127.0.0.1", DNSName: "localhost", Status: "COMPLETED", Port: 7777, CreationTime: created,
			TerminationTime: created.Add(time.Minute)},
		{PlayerSessionID: "t"},
	}}
	for _, tt := range []struct {
		name  string
		value any
		want  string
	}{
		{"ActivateGameSession", activateGameSession{gameSessionOf(full)}, `{"gameSession":` + fullText + `}`},
		{"ActivateGameSession, empty", activateGameSession{gameSessionOf(processes.CreateGameSessionPush{})},
			`{"gameSession":` + leastText + `}`},
		{"UpdateGameSession", updateGameSession{gameSessionOf(full), "MATCHMAKING_DATA_UPDATED", "t"},
			`{"gameSession":` + fullText + `,"updateReason":"MATCHMAKING_DATA_UPDATED","backfillTicketId":"t"}`},
		{"UpdateGameSession, empty", updateGameSession{gameSessionOf(processes.CreateGameSessionPush{}), "", ""},
			`{"gameSession":` + leastText + `,"updateReason":""}`},
		{"TerminateProcess", terminateProcess{1700000500000}, `{"terminationTime":1700000500000}`},
		{"DescribePlayerSessionsResponse", playerSessionsOf(players), `{"nextToken":"n","playerSessions":[` +
			`{"playerSessionId":"s","playerId":"p","gameSessionId":"g","fleetId":"f","ipAddress":"127.0.0.1",` +
			`"status":"COMPLETED","creationTime":1700000100,"terminationTime":1700000160,"port":7777,` +
			`"playerData":"d","dnsName":"localhost"},` +
			`{"playerSessionId":"t","playerId":"","gameSessionId":"","fleetId":"","ipAddress":"","status":"",` +
			`"creationTime":0,"port":0}]}`},
		{"DescribePlayerSessionsResponse, empty", playerSessionsOf(processes.PlayerSessionPage{}),
			`{"nextToken":"","playerSessions":[]}`},
		{"BackfillMatchmakingResponse", backfillTicket{"t"}, `{"ticketId":"t"}`},
		{"GetInstanceCertificateResponse", Certificate{"/c", "/d", "/k", "localhost", "/r"},
			`{"certificatePath":"/c","certificateChainPath":"/d","privateKeyPath":"/k","hostName":"localhost",` +
				`"rootCertificatePath":"/r"}`},
	} {
		if got := textOf(tt.value); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// TestFailures reports errors of the service with ERROR_500, and others with ERROR_400.
func TestFailures(t *testing.T) {
	for err, status := range map[error]string{
		fault.New(fault.InvalidRequest, "x"):     "ERROR_400",
		fault.New(fault.NotFound, "x"):           "ERROR_400",
		fault.New(fault.Throttling, "x"):         "ERROR_400",
		fault.New(fault.InternalService, "x"):    "ERROR_500",
		fault.New(fault.ServiceUnavailable, "x"): "ERROR_500",
	} {
		want := `{"status":"` + status + `","responseData":"","errorMessage":"x"}`
		if got := failureOf(err); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
	if got := statusOf(errors.New("disk")); got != 500 {
		t.Errorf("HTTP status %d of an unknown error", got)
	}
}

// TestEnvelope writes pushes for the WebSocket of SDK 4.
func TestEnvelope(t *testing.T) {
	for _, tt := range []struct {
		push push
		want string
	}{
		{push{message: "TerminateProcess", terminate: time.UnixMilli(1700000500123)},
			`"terminationTime":1700000500123}}`},
		{push{message: "UpdateGameSession", content: updateGameSession{
			UpdateReason: `<"&>`, GameSession: gameSession{GameProperties: []property{}},
		}},
			`"gameSession":{"gameSessionId":"","fleetId":"","maxPlayers":0,"joinable":false,"gameProperties":[],` +
				`"ipAddress":"","port":0},"updateReason":"\u003c\"\u0026\u003e"}}`},
	} {
		want := `{"innerMessage":{"@type":"type.googleapis.com/com.amazon.whitewater.auxproxy.pbuffer.` +
			tt.push.message + `",` + tt.want
		if got := string(envelope(tt.push)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
