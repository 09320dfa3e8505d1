package testkit

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A FleetRequest describes a fleet to create.
type FleetRequest struct {
	Name     string `json:"name,omitempty"`     // "": Arena
	Location string `json:"location,omitempty"` // created unless it exists; "": custom-test
	Servers  int    `json:"servers,omitempty"`  // game servers, each for one game session; 0: 1
}

// A Fleet is an Anywhere fleet with game servers that are ready. They activate each game session at once; when one has
// ended, another game server takes the place of its process. Nothing listens on their ports.
type Fleet struct {
	FleetID   string    `json:"fleetId"`
	Location  string    `json:"location"`
	Processes []Process `json:"processes"`
}

// A Process is a game server of a Fleet.
type Process struct {
	ProcessID string `json:"processId"`
	Port      int    `json:"port"`
}

const (
	maxServers = 1000
	compute    = "test"
	firstPort  = 7777
)

// CreateFleet creates a fleet. InvalidRequest, and the exceptions of the calls that it consists of.
func (k *Kit) CreateFleet(ctx context.Context, r FleetRequest) (*Fleet, error) {
	s, err := k.attached()
	if err != nil {
		return nil, err
	}
	if r.Servers < 0 || r.Servers > maxServers {
		return nil, fault.New(fault.InvalidRequest, "servers is %d: use 1 to %d, or 0 for one.", r.Servers, maxServers)
	}
	f := &Fleet{Location: cmp.Or(r.Location, "custom-test")}
	_, err = invoke[struct{}](ctx, s, "CreateLocation", object{"LocationName": f.Location})
	if err != nil && !fault.Is(err, fault.Conflict) {
		return nil, err
	}
	created, err := invoke[struct{ FleetAttributes struct{ FleetId string } }](ctx, s, "CreateFleet", object{
		"Name": cmp.Or(r.Name, "Arena"), "ComputeType": "ANYWHERE", "Locations": []object{{"Location": f.Location}}})
	if err != nil {
		return nil, err
	}
	f.FleetID = created.FleetAttributes.FleetId
	_, err = invoke[struct{}](ctx, s, "RegisterCompute", object{
		"FleetId": f.FleetID, "ComputeName": compute, "Location": f.Location, "IpAddress": "127.0.0.1"})
	for i := 0; i < max(r.Servers, 1) && err == nil; i++ {
		var one *server
		if one, err = k.launch(ctx, f.FleetID, firstPort+i); err == nil {
			f.Processes = append(f.Processes, Process{ProcessID: one.id, Port: one.port})
		}
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

type object map[string]any

// invoke makes a call of the API.
func invoke[A any](ctx context.Context, s *Service, operation string, in object) (answer A, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return answer, err
	}
	out, err := s.Invoke(ctx, operation, body)
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	return answer, err
}

// servers are the game servers that run.
type servers struct {
	mu      sync.Mutex
	running map[string]*server // by process id
	closed  bool
	ending  sync.WaitGroup
}

// A server is one game server.
type server struct {
	*gameserver.Server
	kit       *Kit
	id, fleet string
	port      int

	mu      sync.Mutex
	session string // id of its game session; "": none yet
}

// launch starts a game server and returns when it is ready.
func (k *Kit) launch(ctx context.Context, fleet string, port int) (*server, error) {
	s, err := k.attached()
	if err != nil {
		return nil, err
	}
	token, err := invoke[struct{ AuthToken string }](ctx, s, "GetComputeAuthToken", object{
		"FleetId": fleet, "ComputeName": compute})
	if err != nil {
		return nil, err
	}
	one := &server{kit: k, id: uuid.NewString(), fleet: fleet, port: port,
		Server: gameserver.New(gameserver.Config{Getenv: func(string) string { return "" }, TLSConfig: s.TLS})}
	if !k.servers.add(one) {
		return nil, fault.New(fault.ServiceUnavailable, "The service is stopping.")
	}
	err = one.Connect(ctx, gameserver.ServerParameters{WebSocketURL: s.URL,
		HostID: compute, FleetID: fleet, AuthToken: token.AuthToken, ProcessID: one.id})
	if err == nil {
		err = one.ProcessReady(ctx, gameserver.ProcessParameters{Port: port,
			OnStartGameSession: one.start, OnProcessTerminate: one.terminate})
	}
	if err != nil {
		k.servers.remove(one.id)
		one.Close()
		return nil, fmt.Errorf("game server on port %d: %w", port, err)
	}
	return one, nil
}

func (s *server) start(g gameserver.GameSession) {
	s.mu.Lock()
	s.session = g.GameSessionID
	s.mu.Unlock()
	_ = s.ActivateGameSession(context.Background()) // fails if the test has ended the game session or this server
}

// terminate ends the process and launches the next one.
func (s *server) terminate() {
	ctx := context.Background()
	_ = s.ProcessEnding(ctx) // fails if the service stops
	if s.kit.servers.remove(s.id) {
		s.kit.servers.ending.Go(func() {
			s.Close()
			_, _ = s.kit.launch(ctx, s.fleet, s.port) // fails if the test has deleted the fleet, or the service stops
		})
	}
}

func (all *servers) add(s *server) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if !all.closed {
		all.running[s.id] = s
	}
	return !all.closed
}

// remove reports whether the game server ran.
func (all *servers) remove(id string) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	_, ran := all.running[id]
	delete(all.running, id)
	return ran
}

func (all *servers) close() {
	all.mu.Lock()
	all.closed = true
	left := slices.Collect(maps.Values(all.running))
	clear(all.running)
	all.mu.Unlock()
	for _, s := range left {
		s.Close()
		s.Wait()
	}
	all.ending.Wait()
}

// find returns the game server with a process or game session; nil: there is none.
func (all *servers) find(id string) *server {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, s := range all.running {
		if s.id == id || s.hosts(id) {
			return s
		}
	}
	return nil
}

func (s *server) hosts(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return session != "" && s.session == session
}

// Kill closes the connection of a game server as a crash would, and launches no other one. The service ends its process
// after its process-grace. id is that of the process or its game session. NotFound.
func (k *Kit) Kill(id string) error {
	s, err := k.host(id)
	if err == nil && k.servers.remove(s.id) {
		s.Close()
	}
	return err
}

// host returns the game server with a process or game session.
func (k *Kit) host(id string) (*server, error) {
	if s := k.servers.find(id); s != nil {
		return s, nil
	}
	return nil, fault.New(fault.NotFound, "No game server of /v1/test/fleets has the process or game session %.256q.",
		id)
}

// Connect has the game server accept a player, as when the player connects. NotFound; InvalidRequest if the service
// refuses the player session.
func (k *Kit) Connect(ctx context.Context, playerSession string) error {
	return k.forPlayer(ctx, playerSession, (*gameserver.Server).AcceptPlayerSession)
}

// Disconnect has the game server remove a player, as when the player disconnects. The errors are those of Connect.
func (k *Kit) Disconnect(ctx context.Context, playerSession string) error {
	return k.forPlayer(ctx, playerSession, (*gameserver.Server).RemovePlayerSession)
}

func (k *Kit) forPlayer(ctx context.Context, id string,
	call func(*gameserver.Server, context.Context, string) error) error {
	s, err := k.attached()
	if err != nil {
		return err
	}
	out, err := invoke[struct {
		PlayerSessions []struct{ GameSessionId string }
	}](ctx, s, "DescribePlayerSessions", object{"PlayerSessionId": id})
	if err != nil {
		return err
	}
	if len(out.PlayerSessions) == 0 {
		return fault.New(fault.NotFound, "Player session %.128q is not known.", id)
	}
	host, err := k.host(out.PlayerSessions[0].GameSessionId)
	if err != nil {
		return err
	}
	if err := call(host.Server, ctx, id); err != nil {
		return fault.New(fault.InvalidRequest, "The service refuses player session %s: %v", id, err)
	}
	return nil
}

// maxPlayers is the most player ids of one CreatePlayerSessions. Source: API reference, CreatePlayerSessions.
const maxPlayers = 25

// Fill creates player sessions for all free slots of a game session, has its game server accept them, and returns their
// ids. NotFound, and the exceptions of CreatePlayerSessions.
func (k *Kit) Fill(ctx context.Context, gameSession string) (players []string, err error) {
	s, err := k.attached()
	if err != nil {
		return nil, err
	}
	host, err := k.host(gameSession)
	if err != nil {
		return nil, err
	}
	out, err := invoke[struct {
		GameSessions []struct{ CurrentPlayerSessionCount, MaximumPlayerSessionCount int }
	}](ctx, s, "DescribeGameSessions", object{"GameSessionId": gameSession})
	if err != nil {
		return nil, err
	}
	free := out.GameSessions[0].MaximumPlayerSessionCount - out.GameSessions[0].CurrentPlayerSessionCount
	for len(players) < free {
		var ids []string
		for range min(free-len(players), maxPlayers) {
			ids = append(ids, "test-"+uuid.NewString())
		}
		made, err := invoke[struct {
			PlayerSessions []struct{ PlayerSessionId string }
		}](ctx, s, "CreatePlayerSessions", object{"GameSessionId": gameSession, "PlayerIds": ids})
		if err != nil {
			return players, err
		}
		for _, p := range made.PlayerSessions {
			if err := host.AcceptPlayerSession(ctx, p.PlayerSessionId); err != nil {
				return players, err
			}
			players = append(players, p.PlayerSessionId)
		}
	}
	return players, nil
}
