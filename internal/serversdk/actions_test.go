package serversdk

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-gg/muster/internal/processes"
	"github.com/muster-gg/muster/internal/wire/fault"
)

const (
	gameSessionID = "arn:aws:gamelift:us-west-2::gamesession/fleet-1/custom-lab/gsess-1"
	cppRequestID  = "SeahpBtymABnYMuAMiPdII7HMA1ltns2"
	uuidRequestID = "0f8fad5b-d9cb-469f-a165-70867728950e"
)

func TestActions(t *testing.T) {
	page := processes.PlayerSessionPage{NextToken: "more", PlayerSessions: []processes.PlayerSessionView{{
		PlayerID: "p1", PlayerSessionID: "psess-1", GameSessionID: gameSessionID, FleetID: "fleet-1",
		IPAddress: "203.0.113.9",
		Port:      7777, Status: "ACTIVE", CreationTime: time.UnixMilli(1767323045000), PlayerData: "a \"b\"\n",
	}}}
	ok := func(action, id, rest string) string {
		return fmt.Sprintf(`{"Action":%q,"RequestId":%q,"StatusCode":200%s}`, action, id, rest)
	}
	failed := func(action, id string, status int, message string) string {
		return fmt.Sprintf(`{"Action":%q,"RequestId":%q,"StatusCode":%d,"ErrorMessage":%q}`, action, id, status,
			message)
	}
	tests := []struct {
		name, query   string
		send          string
		call, receive string
		err           error
	}{
		{"go activates", goQuery,
			`{"Action":"ActivateServerProcess","RequestId":"` + uuidRequestID +
				`","SdkVersion":"5.6.0","SdkLanguage":"Go","Port":7777,"LogPaths":["/local/game/logs"]}`,
			"Activate {SDKVersion:5.6.0 SDKLanguage:Go ToolName: ToolVersion: Port:7777 LogPaths:[/local/game/logs]}",
			ok("ActivateServerProcess", uuidRequestID, ""), nil},
		{"c++ activates without paths and port", cppQuery,
			`{"SdkVersion":"5.4.0","SdkLanguage":"Cpp","SdkToolName":"X,Metrics","SdkToolVersion":"1.2,1.0.0",` +
				`"RequestId":"` + cppRequestID + `","Action":"ActivateServerProcess"}`,
			"Activate {SDKVersion:5.4.0 SDKLanguage:Cpp ToolName:X,Metrics ToolVersion:1.2,1.0.0 Port:0 LogPaths:[]}",
			ok("ActivateServerProcess", cppRequestID, ""), nil},
		{"c# activates with nulls", csharpQuery,
			`{"SdkVersion":"5.4.0","SdkLanguage":"CSharp","SdkToolName":null,"SdkToolVersion":null,"Port":1,` +
				`"LogPaths":null,"Action":"ActivateServerProcess","RequestId":"r"}`,
			"Activate {SDKVersion:5.4.0 SDKLanguage:CSharp ToolName: ToolVersion: Port:1 LogPaths:[]}",
			ok("ActivateServerProcess", "r", ""), nil},
		{"heartbeat", goQuery, `{"Action":"HeartbeatServerProcess","RequestId":"r","HealthStatus":true}`,
			"Heartbeat true", ok("HeartbeatServerProcess", "r", ""), nil},
		{"heartbeat in other case", csharpQuery,
			`{"action":"HeartbeatServerProcess","requestid":"r","HEALTHSTATUS":false}`, "Heartbeat false",
			ok("HeartbeatServerProcess", "r", ""), nil},
		{"activate game session", goQuery, `{"Action":"ActivateGameSession","RequestId":"r","GameSessionId":"` +
			gameSessionID + `"}`,
			"ActivateGameSession " + gameSessionID, ok("ActivateGameSession", "r", ""), nil},
		{"accept", goQuery, `{"Action":"AcceptPlayerSession","RequestId":"r","GameSessionId":"g",` +
			`"PlayerSessionId":"psess-1"}`, "Accept g psess-1", ok("AcceptPlayerSession", "r", ""), nil},
		{"accept unknown", goQuery,
			`{"Action":"AcceptPlayerSession","RequestId":"r","GameSessionId":"g","PlayerSessionId":"psess-dead"}`,
			"Accept g psess-dead",
			failed("AcceptPlayerSession", "r", 404, "NotFoundException: no such player session"),
			fault.New(fault.NotFound, "no such player session")},
		{"accept without id", goQuery,
			`{"Action":"AcceptPlayerSession","RequestId":"r","GameSessionId":"g","PlayerSessionId":null}`, "",
			failed("AcceptPlayerSession", "r", 400, "InvalidRequestException: PlayerSessionId must be given"), nil},
		{"remove", goQuery, `{"Action":"RemovePlayerSession","RequestId":"r","GameSessionId":"g",` +
			`"PlayerSessionId":"psess-1"}`, "Remove g psess-1",
			failed("RemovePlayerSession", "r", 409, "ConflictException: not now"),
			fault.New(fault.Conflict, "not now")},
		{"policy", cppQuery, `{"Action":"UpdatePlayerSessionCreationPolicy","RequestId":"r","GameSessionId":"g",` +
			`"PlayerSessionPolicy":"DENY_ALL"}`, "Policy g DENY_ALL",
			ok("UpdatePlayerSessionCreationPolicy", "r", ""), nil},
		{"describe", csharpQuery,
			`{"Action":"DescribePlayerSessions","RequestId":"r","GameSessionId":"g","PlayerId":null,` +
				`"NextToken":null,"Limit":20.0}`,
			"Describe {GameSessionID:g PlayerSessionID: PlayerID: StatusFilter: NextToken: Limit:20}",
			ok("DescribePlayerSessions", "r",
				`,"NextToken":"more","PlayerSessions":[{"PlayerId":"p1","PlayerSessionId":"psess-1","GameSessionId":"`+
					gameSessionID+
					`","FleetId":"fleet-1","PlayerData":"a \"b\"\n","IpAddress":"203.0.113.9","DnsName":"",`+
					`"Port":7777,"CreationTime":1767323045000,"TerminationTime":0,"Status":"ACTIVE"}]`), nil},
		{"describe without limit", goQuery,
			`{"Action":"DescribePlayerSessions","RequestId":"r","PlayerId":"p1","PlayerSessionStatusFilter":"ACTIVE"}`,
			"Describe {GameSessionID: PlayerSessionID: PlayerID:p1 StatusFilter:ACTIVE NextToken: Limit:50}",
			failed("DescribePlayerSessions", "r", 400, "InvalidRequestException: bad token"),
			fault.New(fault.InvalidRequest, "bad token")},
		{"certificate", cppQuery, `{"Action":"GetComputeCertificate","RequestId":"r"}`, "Certificate",
			ok("GetComputeCertificate", "r", `,"CertificatePath":"/certs/host-1.pem","ComputeName":"host-1"`), nil},
		{"role credentials", csharpQuery,
			`{"Action":"GetFleetRoleCredentials","RequestId":"r","RoleArn":"arn:aws:iam::1:role/x",` +
				`"RoleSessionName":null}`, "",
			ok("GetFleetRoleCredentials", "r",
				`,"AssumedRoleUserArn":"","AssumedRoleId":"","AccessKeyId":"","SecretAccessKey":"",`+
					`"SessionToken":"","Expiration":0`), nil},
		{"role credentials of a managed fleet", goQuery,
			`{"Action":"GetFleetRoleCredentials","RequestId":"r","RoleArn":"arn:aws:iam::1:role/game",` +
				`"RoleSessionName":"fleet-1-i-1"}`, "",
			ok("GetFleetRoleCredentials", "r",
				`,"AssumedRoleUserArn":"arn:fleet-1-i-1","AssumedRoleId":"AROA1:fleet-1-i-1","AccessKeyId":"ASIA1",`+
					`"SecretAccessKey":"secret","SessionToken":"token","Expiration":1767326645000`), nil},
		{"credentials of another role", goQuery,
			`{"Action":"GetFleetRoleCredentials","RequestId":"r","RoleArn":"arn:aws:iam::1:role/other"}`, "",
			failed("GetFleetRoleCredentials", "r", 403, "AccessDeniedException: another role"), nil},
		{"role credentials for a bad session name", goQuery,
			`{"Action":"GetFleetRoleCredentials","RequestId":"r","RoleArn":"x","RoleSessionName":"a b"}`, "",
			failed("GetFleetRoleCredentials", "r", 400,
				"InvalidRequestException: RoleSessionName must have 2 to 64 letters, digits or _+=,.@-"), nil},
		{"backfill", goQuery, `{"Action":"StartMatchBackfill","RequestId":"r","GameSessionArn":"g",` +
			`"MatchmakingConfigurationArn":"c","TicketId":"","Players":[` +
			`{"PlayerId":"p1","Team":"red","PlayerAttributes":{"skill":{"AttrType":"DOUBLE","N":23.0}},` +
			`"LatencyInMs":{"us-west-2":40}},{"PlayerId":"p2","PlayerAttributes":null}]}`,
			`StartMatchBackfill g c "" r: p1/red map[skill:{S: N:{value:23 set:true} SL:[] SDM:map[]}] ` +
				`map[us-west-2:40]; p2/ map[] map[]`,
			ok("StartMatchBackfill", "r", `,"TicketId":"ticket-1"`), nil},
		{"backfill of C#", csharpQuery,
			`{"Action":"StartMatchBackfill","RequestId":"r","GameSessionArn":"g","MatchmakingConfigurationArn":"c",` +
				`"TicketId":null,"Players":[` +
				`{"PlayerId":"p1","Team":"red","PlayerAttributes":{"a":{"attrType":"STRING","S":"x","N":0,"SL":null,` +
				`"SDM":null},"b":{"attrType":"STRING_LIST","S":null,"N":0,"SL":["y"],"SDM":null}},` +
				`"LatencyInMS":{"us-west-2":40.0}}]}`,
			`StartMatchBackfill g c "" r: p1/red map[a:{S:x N:{value:0 set:false} SL:[] SDM:map[]} ` +
				`b:{S: N:{value:0 set:false} SL:[y] SDM:map[]}] map[us-west-2:40]`,
			ok("StartMatchBackfill", "r", `,"TicketId":"ticket-1"`), nil},
		{"backfill of C++", cppQuery,
			`{"Action":"StartMatchBackfill","RequestId":"r","GameSessionArn":"g","MatchmakingConfigurationArn":"c",` +
				`"TicketId":"mine","Players":[` +
				`{"PlayerId":"p1","Team":"red","PlayerAttributes":{"a":{"AttrType":"STRING_DOUBLE_MAP",` +
				`"SDM":{"k":1}}},"LatencyInMs":{}}]}`,
			`StartMatchBackfill g c "mine" r: p1/red map[a:{S: N:{value:0 set:false} SL:[] SDM:map[k:1]}] map[]`,
			ok("StartMatchBackfill", "r", `,"TicketId":"ticket-1"`), nil},
		{"backfill without session", goQuery,
			`{"Action":"StartMatchBackfill","RequestId":"r","MatchmakingConfigurationArn":"c","Players":[]}`, "",
			failed("StartMatchBackfill", "r", 400, "InvalidRequestException: GameSessionArn must be given"), nil},
		{"backfill of nobody known", goQuery,
			`{"Action":"StartMatchBackfill","RequestId":"r","GameSessionArn":"g","MatchmakingConfigurationArn":"c",` +
				`"Players":{"p":1}}`, "",
			failed("StartMatchBackfill", "r", 400, "InvalidRequestException: Players has a value of the wrong type"),
			nil},
		{"backfill unknown", goQuery,
			`{"Action":"StartMatchBackfill","RequestId":"r","GameSessionArn":"g","MatchmakingConfigurationArn":"c",` +
				`"Players":[]}`, `StartMatchBackfill g c "" r:`,
			failed("StartMatchBackfill", "r", 404, "NotFoundException: Matchmaking configuration c not found"),
			fault.New(fault.NotFound, "Matchmaking configuration c not found")},
		{"stop backfill", goQuery,
			`{"Action":"StopMatchBackfill","RequestId":"r","GameSessionArn":"g","MatchmakingConfigurationArn":"c",` +
				`"TicketId":"t"}`, "StopMatchBackfill g c t",
			ok("StopMatchBackfill", "r", ""), nil},
		{"stop no backfill", goQuery,
			`{"Action":"StopMatchBackfill","RequestId":"r","GameSessionArn":"g","MatchmakingConfigurationArn":"c",` +
				`"TicketId":""}`, "",
			failed("StopMatchBackfill", "r", 400, "InvalidRequestException: TicketId must be given"), nil},
		{"unknown action", goQuery, `{"Action":"Dance","RequestId":"r"}`, "",
			failed("Dance", "r", 400, `InvalidRequestException: there is no action "Dance"`), nil},
		{"wrong type", goQuery, `{"Action":"HeartbeatServerProcess","RequestId":"r","HealthStatus":"yes"}`, "",
			failed("HeartbeatServerProcess", "r", 400,
				"InvalidRequestException: HealthStatus has a value of the wrong type"), nil},
		{"internal", goQuery, `{"Action":"ActivateGameSession","RequestId":"r","GameSessionId":"g"}`,
			"ActivateGameSession g",
			failed("ActivateGameSession", "r", 500,
				"InternalServiceException: The service could not complete the request. Try again."),
			errors.New("disk on fire")},
		{"terminate", goQuery, `{"Action":"TerminateServerProcess","RequestId":"r"}`, "Terminate",
			ok("TerminateServerProcess", "r", ""), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			servers := newFakeServers()
			servers.page = page
			servers.answer = func(string) error { return tt.err }
			p := newHarness(t, servers, Metrics{}).dial(t, tt.query)
			p.send(tt.send)
			if got := p.receive(); got != tt.receive {
				t.Errorf("reply\n %s\nwant\n %s", got, tt.receive)
			}
			if got := servers.called(); got != tt.call {
				t.Errorf("called\n %s\nwant\n %s", got, tt.call)
			}
		})
	}
}

func TestMetricsNameClosedSets(t *testing.T) {
	replied := make(chan string, 2)
	h := newHarness(t, newFakeServers(), Metrics{Replied: func(action string, status int, _ time.Duration) {
		replied <- fmt.Sprint(action, " ", status)
	}})
	p := h.dial(t, goQuery)
	p.send(`{"Action":"Dance","RequestId":"1"}`)
	p.send(`{"Action":"HeartbeatServerProcess","RequestId":"2"}`)
	if a, b := <-replied, <-replied; a != "unknown 400" || b != "HeartbeatServerProcess 200" {
		t.Errorf("metrics %q, %q", a, b)
	}
}

func TestPushes(t *testing.T) {
	create := processes.CreateGameSessionPush{
		GameSessionID: gameSessionID, Name: "duel", MaximumPlayerSessionCount: 8, IPAddress: "203.0.113.9", Port: 7777,
		GameSessionData: `{"map":1}`, GameProperties: map[string]string{"mode": "ranked", "level": "1"},
	}
	const session = `"MaximumPlayerSessionCount":8,"IpAddress":"203.0.113.9","Port":7777,"DnsName":"",` +
		`"GameSessionData":"{\"map\":1}","MatchmakerData":"","GameProperties":{"level":"1","mode":"ranked"}}`
	tests := []struct {
		push processes.Push
		want string
	}{
		{create, `{"Action":"CreateGameSession","GameSessionId":"` + gameSessionID + `","GameSessionName":"duel",` +
			session},
		{processes.CreateGameSessionPush{},
			`{"Action":"CreateGameSession","GameSessionId":"","GameSessionName":"","MaximumPlayerSessionCount":0,` +
				`"IpAddress":"","Port":0,"DnsName":"","GameSessionData":"","MatchmakerData":"","GameProperties":{}}`},
		{processes.UpdateGameSessionPush{GameSession: create, FleetID: "fleet-1", Location: "custom-lab",
			Status: "ACTIVE", UpdateReason: "MATCHMAKING_DATA_UPDATED", BackfillTicketID: "t"},
			`{"Action":"UpdateGameSession","GameSession":{"GameSessionId":"` + gameSessionID +
				`","Name":"duel","FleetId":"fleet-1","Location":"custom-lab","Status":"ACTIVE","StatusReason":"",` +
				session + `,"UpdateReason":"MATCHMAKING_DATA_UPDATED","BackfillTicketId":"t"}`},
		{processes.TerminateProcessPush{TerminationTime: time.UnixMilli(1767326645000)},
			`{"Action":"TerminateProcess","TerminationTime":1767326645000}`},
		{processes.RefreshConnectionPush{Endpoint: "wss://sdk.example.net", AuthToken: "b7d7"},
			`{"Action":"RefreshConnection","RefreshConnectionEndpoint":"wss://sdk.example.net","AuthToken":"b7d7"}`},
	}
	pushed := make(chan string, len(tests))
	servers := newFakeServers()
	// The service may speak before the handshake is answered.
	servers.greet = func(about processes.ConnectRequest) { about.Push(tests[0].push) }
	h := newHarness(t, servers, Metrics{Pushed: func(action string) { pushed <- action }})
	p := h.dial(t, goQuery)
	connection := servers.next(t)
	for _, tt := range tests[1:] {
		connection.about.Push(tt.push)
	}
	for _, tt := range tests {
		p.expect(tt.want)
		if action := <-pushed; !strings.HasPrefix(tt.want, `{"Action":"`+action+`"`) {
			t.Errorf("metric %s for %s", action, tt.want)
		}
	}
}
