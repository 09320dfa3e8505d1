package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/gorilla/websocket"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/clients"
	"github.com/muster-gg/muster/gameserver"
)

// asLocal makes the service what muster local runs, on other ports.
func asLocal(c *muster.Config) {
	c.Legacy, c.LegacyPorts, c.LegacyRules, c.Region = "on", "0,0,0", "local", "local"
	c.Gateway.Fleet = c.LegacyFleet
}

// protobuf encodes a message with texts as its fields.
func protobuf(texts ...string) (data []byte) {
	for i, text := range texts {
		data = protowire.AppendString(protowire.AppendTag(data, protowire.Number(i+1), protowire.BytesType), text)
	}
	return data
}

// readyAt encodes ProcessReady with a port.
func readyAt(port uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), port)
}

// An oldServer is a game server on npm's socket.io-client.
type oldServer struct {
	*service
	*clients.GameServer
}

// oldServer starts a game server that has called ProcessReady.
func (s *service) oldServer(version, pid string, sockets int, port uint64) oldServer {
	s.Helper()
	g := oldServer{s, clients.SocketIO(s.T, clients.SocketIOConnect{
		Version: version, URL: "http://" + s.Legacy[0], PID: pid, SDKVersion: "3.2.1", SDKLanguage: "Nodejs",
		Sockets: sockets,
	})}
	for range sockets {
		g.next(clients.Connected)
	}
	g.must("ProcessReady", readyAt(port))
	return g
}

// next waits for an event of a kind.
func (g oldServer) next(kind string) clients.GameServerEvent {
	g.Helper()
	ctx, cancel := context.WithTimeout(g.Context(), time.Minute)
	defer cancel()
	e, err := g.Next(ctx, kind)
	if err != nil {
		g.Fatal(err)
	}
	return e
}

// must sends a request that must succeed, and returns the text of the answer.
func (g oldServer) must(message string, payload []byte) string {
	g.Helper()
	ok, text := g.ask(message, payload)
	if !ok {
		g.Fatalf("%s was rejected: %s", message, text)
	}
	return text
}

func (g oldServer) ask(message string, payload []byte) (ok bool, text string) {
	g.Helper()
	args, err := g.Request(message, payload)
	if err != nil {
		g.Fatalf("%s: %v", message, err)
	}
	if len(args) != 2 || json.Unmarshal(args[0], &ok) != nil || json.Unmarshal(args[1], &text) != nil {
		g.Fatalf("%s: acknowledged with %s", message, args)
	}
	return ok, text
}

// started waits for a game session and returns its id.
func (g oldServer) started() string {
	g.Helper()
	var start struct {
		GameSession struct{ GameSessionID string }
	}
	if err := json.Unmarshal([]byte(g.next(clients.Push).Text), &start); err != nil {
		g.Fatal(err)
	}
	return start.GameSession.GameSessionID
}

// anyone is a client with credentials that the service does not know.
func (s *service) anyone() *gamelift.Client {
	return s.client(func(o *gamelift.Options) { o.Credentials = aws.AnonymousCredentials{} })
}

func createIn(s *service, c *gamelift.Client, fleet string, change ...func(*gamelift.CreateGameSessionInput)) (
	*types.GameSession, error) {
	in := &gamelift.CreateGameSessionInput{FleetId: &fleet, MaximumPlayerSessionCount: aws.Int32(4)}
	for _, f := range change {
		f(in)
	}
	out, err := c.CreateGameSession(s.Context(), in)
	if err != nil {
		return nil, err
	}
	return out.GameSession, nil
}

// TestOldServerLife runs a whole life with each version of the client, over one and two sockets.
func TestOldServerLife(t *testing.T) {
	s := start(t, asLocal)
	c := s.anyone()
	for i, version := range []string{"2.1.1", "2.5.0"} {
		g := s.oldServer(version, "42"+string(rune('0'+i)), i+1, uint64(7000+i))
		created, err := createIn(s, c, "fleet-123")
		if err != nil {
			t.Fatal(err)
		}
		id := *created.GameSessionId
		if !strings.HasPrefix(id, "arn:aws:gamelift:local::gamesession/fleet-123/gsess-") ||
			*created.DnsName != "localhost" || *created.IpAddress != "127.0.0.1" || *created.Port != int32(7000+i) {
			t.Errorf("created %+v", created)
		}
		if got := g.started(); got != id {
			t.Errorf("started %s, want %s", got, id)
		}
		g.must("GameSessionActivate", protobuf(id))
		player, err := c.CreatePlayerSession(t.Context(),
			&gamelift.CreatePlayerSessionInput{GameSessionId: &id, PlayerId: aws.String("ada")})
		if err != nil {
			t.Fatal(err)
		}
		psess := *player.PlayerSession.PlayerSessionId
		g.must("AcceptPlayerSession", protobuf(id, psess))
		ok, text := g.ask("AcceptPlayerSession", protobuf(id, "psess-1"))
		if ok || !strings.Contains(text, `"ERROR_400"`) {
			t.Errorf("unknown player session: %v %s", ok, text)
		}
		if text := g.must("DescribePlayerSessionsRequest", protobuf(id)); !strings.Contains(text, psess) {
			t.Errorf("player sessions are %s", text)
		}
		g.must("RemovePlayerSession", protobuf(id, psess))
		g.must("UpdatePlayerSessionCreationPolicy", protobuf(id, "DENY_ALL"))
		if found, err := c.SearchGameSessions(t.Context(), &gamelift.SearchGameSessionsInput{
			FleetId: aws.String("fleet-123")}); err != nil || len(found.GameSessions) != 1 {
			t.Errorf("search: %v %v", found, err)
		}
		g.must("GameSessionTerminate", protobuf(id)) // and again
		if _, err = createIn(s, c, "fleet-123"); err != nil {
			t.Fatal(err)
		}
		id = g.started()
		g.must("GameSessionActivate", protobuf(id))
		if _, err := c.TerminateGameSession(t.Context(), &gamelift.TerminateGameSessionInput{GameSessionId: &id,
			TerminationMode: types.TerminationModeTriggerOnProcessTerminate}); err != nil {
			t.Fatal(err)
		}
		if p := g.next(clients.Push); p.Name != "TerminateProcess" || p.Asked {
			t.Errorf("pushed %+v", p)
		}
		g.must("ProcessEnding", nil)
		g.Close()
	}
}

// TestAnyFleet serves any fleet with any old game server, and keeps the ids that callers give.
func TestAnyFleet(t *testing.T) {
	s := start(t, asLocal)
	c := s.anyone()
	first, second := s.oldServer("2.5.0", "1", 1, 7001), s.oldServer("2.5.0", "2", 1, 7002)
	verbatim := func(in *gamelift.CreateGameSessionInput) { in.GameSessionId = aws.String("gsess-abc") }
	created, err := createIn(s, c, "fleet-other", verbatim)
	if err != nil {
		t.Fatal(err)
	}
	if *created.GameSessionId != "gsess-abc" || *created.FleetId != "fleet-other" {
		t.Errorf("created %+v", created)
	}
	if id := first.started(); id != "gsess-abc" {
		t.Errorf("started %s", id)
	}
	first.must("GameSessionActivate", protobuf("gsess-abc"))
	if _, err := c.CreatePlayerSession(t.Context(), &gamelift.CreatePlayerSessionInput{
		GameSessionId: aws.String("gsess-abc"), PlayerId: aws.String("ada")}); err != nil {
		t.Error(err)
	}
	if _, err := createIn(s, c, "fleet-123"); err != nil {
		t.Fatal(err)
	}
	second.started()
	for fleet, want := range map[string]int{"fleet-other": 1, "fleet-123": 1, "fleet-unheard-of": 0} {
		out, err := c.DescribeGameSessions(t.Context(), &gamelift.DescribeGameSessionsInput{FleetId: &fleet})
		if err != nil || len(out.GameSessions) != want {
			t.Errorf("%s: %v %v", fleet, out, err)
		}
	}
	first.must("GameSessionTerminate", protobuf("gsess-abc"))
	if created, err = createIn(s, c, "fleet-third", verbatim); err != nil || *created.GameSessionId != "gsess-abc" {
		t.Errorf("the same id again: %v %v", created, err)
	}
	if id := first.started(); id != "gsess-abc" {
		t.Errorf("started %s", id)
	}
}

// TestOldServerSurvivesRestart goes on with its game session after a restart of the service, and gets the next one.
func TestOldServerSurvivesRestart(t *testing.T) {
	s := start(t, asLocal)
	g := s.oldServer("2.5.0", "77", 2, 7077)
	created, err := createIn(s, s.anyone(), "fleet-123")
	if err != nil {
		t.Fatal(err)
	}
	id := g.started()
	g.must("GameSessionActivate", protobuf(id))
	s.stop()
	s.config.LegacyPorts = portsOf(t, s.Legacy)
	s.run()
	g.next(clients.Connected)
	g.next(clients.Connected)
	g.must("UpdatePlayerSessionCreationPolicy", protobuf(*created.GameSessionId, "DENY_ALL"))
	if _, err := createIn(s, s.anyone(), "fleet-123"); err == nil {
		t.Error("a second game session on one process")
	}
	g.must("GameSessionTerminate", protobuf(id))
	if created, err = createIn(s, s.anyone(), "fleet-123"); err != nil {
		t.Fatal(err)
	}
	if next := g.started(); next != *created.GameSessionId {
		t.Errorf("started %s", next)
	}
}

func portsOf(t *testing.T, addresses []string) string {
	t.Helper()
	var ports []string
	for _, a := range addresses {
		ports = append(ports, a[strings.LastIndexByte(a, ':')+1:])
	}
	return strings.Join(ports, ",")
}

// TestOldServerRejects fails a creation that the game server does not accept, and frees the process.
func TestOldServerRejects(t *testing.T) {
	s := start(t, asLocal)
	g := s.oldServer("2.5.0", "5", 2, 7005)
	for _, policy := range []string{"false", "empty"} {
		if err := g.Policy(policy); err != nil {
			t.Fatal(err)
		}
		_, err := createIn(s, s.anyone(), "fleet-123")
		if err == nil || !strings.Contains(err.Error(), "not accepted") {
			t.Errorf("policy %s: %v", policy, err)
		}
		g.next(clients.Push)
	}
	if err := g.Policy("true"); err != nil {
		t.Fatal(err)
	}
	if _, err := createIn(s, s.anyone(), "fleet-123"); err != nil {
		t.Error(err)
	}
}

// TestOldServerOverHTTP runs a life of the SDK for C# 4.0, whose requests may come by IPv6.
func TestOldServerOverHTTP(t *testing.T) {
	s := start(t, asLocal)
	ws, _, err := websocket.DefaultDialer.Dial(
		"ws://"+s.Legacy[2]+"/?pID=4343&sdkVersion=4.0.2&sdkLanguage=CSharp", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close() //nolint:errcheck // it is dropped
	pong, pushed := make(chan string, 1), make(chan string, 1)
	ws.SetPongHandler(func(data string) error { pong <- data; return nil })
	go func() { // pongs come while a message is waited for
		_, text, err := ws.ReadMessage()
		if err != nil {
			text = []byte(err.Error())
		}
		pushed <- string(text)
	}()
	if err := ws.WriteControl(websocket.PingMessage, []byte("alive"), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	select { // InitSDK waits for it
	case data := <-pong:
		if data != "alive" {
			t.Errorf("pong %q", data)
		}
	case text := <-pushed:
		t.Fatalf("before the pong came %s", text)
	}
	at := s.Legacy[1]
	post := func(target string, body []byte, want int) string {
		t.Helper()
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at+"/", bytes.NewReader(body))
		request.Header.Set("gamelift-target", target)
		request.Header.Set("gamelift-server-pid", "4343")
		answer, err := s.http.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close() //nolint:errcheck // it was only read
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != want {
			t.Fatalf("%s: %s, %v: %s", target, answer.Status, err, text)
		}
		return string(text)
	}
	post("ProcessReady", readyAt(7777), 200)
	post("com.amazon.whitewater.auxproxy.pbuffer.ReportHealth", nil, 200)
	created, err := createIn(s, s.anyone(), "fleet-123")
	if err != nil {
		t.Fatal(err)
	}
	id := *created.GameSessionId
	if text := <-pushed; !strings.Contains(text, `"@type":"type.googleapis.com/`+
		`com.amazon.whitewater.auxproxy.pbuffer.ActivateGameSession","gameSession":{"gameSessionId":"`+id) {
		t.Errorf("pushed %s", text)
	}
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil { // localhost may be either
		_ = l.Close()
		at = "[::1]" + at[strings.LastIndexByte(at, ':'):]
	}
	post("GameSessionActivate", protobuf(id), 200)
	post("AcceptPlayerSession", protobuf(id, ""), 400)
	const none = `{"nextToken":"","playerSessions":[]}`
	if text := post("DescribePlayerSessionsRequest", protobuf(id), 200); text != none {
		t.Errorf("player sessions: %s", text)
	}
	if text := post("GetInstanceCertificate", nil, 200); !strings.Contains(text, `"hostName":"localhost"`) {
		t.Errorf("certificate: %s", text)
	}
	post("NoSuchMessage", nil, 400)
	post("ProcessEnding", nil, 200)
}

// TestOldPortsRefuseWebPages keeps browsers, and by default other machines, from what has no authentication.
func TestOldPortsRefuseWebPages(t *testing.T) {
	s := start(t, asLocal)
	for _, address := range s.Legacy {
		if at, err := netip.ParseAddrPort(address); err != nil || !at.Addr().IsLoopback() {
			t.Errorf("it listens on %s", address)
		}
	}
	for _, url := range []string{"http://" + s.Legacy[0] + "/socket.io/?pID=1&transport=websocket",
		"http://" + s.Legacy[1], "http://" + s.Legacy[2] + "/?pID=1", s.HTTP} {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
		request.Header.Set("Origin", "http://example.com")
		request.Header.Set("Content-Type", "application/x-amz-json-1.1")
		request.Header.Set("X-Amz-Target", "GameLift.ListFleets")
		answer, err := s.http.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close() //nolint:errcheck // it was not read
		if answer.StatusCode < 400 {
			t.Errorf("%s: %s", url, answer.Status)
		}
	}
}

// TestUnknownCallerIsNotTheRootKey refuses a backup, which has all secrets, to a caller that only names the first key.
func TestUnknownCallerIsNotTheRootKey(t *testing.T) {
	s := start(t, asLocal)
	impostor := aws.Credentials{AccessKeyID: s.AccessKey, SecretAccessKey: "guessed"}
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.HTTP+"/v1/backup", nil)
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	err := v4.NewSigner().SignHTTP(t.Context(), impostor, request, empty, "gamelift", "local", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close() //nolint:errcheck // it was not read
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("backup for a guessed key: %s", answer.Status)
	}
}

// TestOldServerMatches places a match of FlexMatch on an old game server, through a queue, and backfills it.
func TestOldServerMatches(t *testing.T) {
	s := start(t, func(c *muster.Config) { c.Legacy, c.LegacyPorts = "on", "0,0,0" })
	g := s.oldServer("2.5.0", "9", 2, 7009)
	s.newMatchmaker(t, "fleet-123", types.BackfillModeManual)
	s.seek(t, "ada")
	s.seek(t, "grace")
	var start struct {
		GameSession struct{ GameSessionID, MatchmakerData string }
	}
	if err := json.Unmarshal([]byte(g.next(clients.Push).Text), &start); err != nil {
		t.Fatal(err)
	}
	id := start.GameSession.GameSessionID
	if want := "arn:aws:gamelift:" + testRegion + "::gamesession/fleet-123/"; !strings.HasPrefix(id, want) {
		t.Errorf("started %s, want %s…", id, want)
	}
	g.must("GameSessionActivate", protobuf(id))
	found := s.awaitTicket(t, "ada", types.MatchmakingConfigurationStatusCompleted)
	for _, p := range found.GameSessionConnectionInfo.MatchedPlayerSessions {
		g.must("AcceptPlayerSession", protobuf(id, *p.PlayerSessionId))
	}
	match, err := gameserver.ParseMatchmakerData(start.GameSession.MatchmakerData)
	if err != nil {
		t.Fatal(err)
	}
	request := protobuf("more", id, match.MatchmakingConfigurationARN)
	for _, team := range match.Teams {
		for _, p := range team.Players {
			player := protowire.AppendTag(protobuf(p.PlayerID), 3, protowire.BytesType)
			player = protowire.AppendString(player, team.Name)
			request = protowire.AppendBytes(protowire.AppendTag(request, 4, protowire.BytesType), player)
		}
	}
	if text := g.must("BackfillMatchmakingRequest", request); text != `{"ticketId":"more"}` {
		t.Errorf("backfill: %s", text)
	}
	s.seek(t, "linus")
	update := g.next(clients.Push)
	for _, part := range []string{`"updateReason":"MATCHMAKING_DATA_UPDATED"`, "linus", `"backfillTicketId":"more"`} {
		if update.Name != "UpdateGameSession" || !strings.Contains(update.Text, part) {
			t.Errorf("pushed %+v, without %s", update, part)
		}
	}
	s.awaitTicket(t, "linus", types.MatchmakingConfigurationStatusCompleted)
	g.must("BackfillMatchmakingRequest", append(protobuf("again"), request[len(protobuf("more")):]...))
	g.must("StopMatchmakingRequest", protobuf("again", id, match.MatchmakingConfigurationARN))
	if update = g.next(clients.Push); !strings.Contains(update.Text, `"updateReason":"BACKFILL_CANCELLED"`) {
		t.Errorf("pushed %+v", update)
	}
}

// TestLocalPathsOfTheGateway creates, finds and joins game sessions on an old game server by HTTP.
func TestLocalPathsOfTheGateway(t *testing.T) {
	s := start(t, asLocal)
	g := s.oldServer("2.5.0", "10", 1, 7010)
	ask := func(method, path, body string, result any) error {
		request, _ := http.NewRequestWithContext(t.Context(), method, s.Gateway+path, strings.NewReader(body))
		answer, err := s.http.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close() //nolint:errcheck // it was only read
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK || json.Unmarshal(text, result) != nil {
			return fmt.Errorf("%s: %s: %s", path, answer.Status, text)
		}
		return nil
	}
	var player, second struct {
		PlayerSessionID, GameSessionID, IPAddress string
		Port                                      int
	}
	created := make(chan error, 1)
	go func() {
		created <- ask(http.MethodPost, "/create_session_local",
			`{"session_name":"Arena","build_id":1,"uuid":"player-1","num_connections":4}`, &player)
	}()
	id := g.started()
	g.must("GameSessionActivate", protobuf(id)) // the answer waits for it
	if err := <-created; err != nil {
		t.Fatal(err)
	}
	if player.GameSessionID != id || player.IPAddress != "127.0.0.1" || player.Port != 7010 {
		t.Errorf("created %+v in %s", player, id)
	}
	var found []struct{ GameSessionID, Name string }
	if err := ask(http.MethodGet, "/find_session_local", "", &found); err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].GameSessionID != id || found[0].Name != "Arena" {
		t.Errorf("found %+v", found)
	}
	join := `{"GameSessionId":"` + id + `","uuid":"player-2"}`
	if err := ask(http.MethodPost, "/join_session_local", join, &second); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{player.PlayerSessionID, second.PlayerSessionID} {
		g.must("AcceptPlayerSession", protobuf(id, p))
	}
}
