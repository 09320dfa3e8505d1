package browser_test

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/browser"
	"github.com/muster-gg/muster/e2e/people"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/internal/mustertest"
)

// hostile is a text that attacks a page, in the name of a fleet and of its game sessions.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)> 😀`

// TestConsole goes the way from an empty region to a running game session in the console, with the keyboard alone:
// location, fleet, compute, a game server with the values of the command that the page shows, a game session, its
// players and its end. Every page on the way is checked.
func TestConsole(t *testing.T) {
	t.Parallel()
	s := people.Start(t, func(c *muster.Config) { c.OpenConsole = "on" })
	p := open(t, s)
	p.Go("/console/", 200)
	p.Is("Overview", "")
	p.Shows("No fleet yet", "live")
	p.Check("console-empty")

	p.Go("/console/locations", 200)
	p.TabTo("New location")
	p.Press("home")
	p.press(200)
	p.Shows("The location was created.", "custom-home")
	p.Check("console-locations")
	p.TabTo("New location")
	p.Press("home")
	p.press(400)
	p.Shows("ConflictException")

	p.createFleet()
	p.Is(hostile, "")
	p.Shows("The fleet was created.", "ACTIVE", "custom-home")
	p.Check("console-fleet")
	fleet := p.URL().Path

	command := p.addCompute(fleet)
	p.Check("console-compute")
	server := serve(t, s.WS, command)

	p.Go(fleet+"?tab=sessions", 200)
	p.Shows("The server processes of the fleet wait for the first.") // without a reload
	p.TabTo("Create game session")
	p.Press(" ")
	p.TabTo("Name")
	p.Press(hostile)
	p.press(200)
	p.Is(hostile, "")
	p.Shows("The game session was created.", "ACTIVATING", "No player has a place yet.")
	at := p.URL()
	session := "arn:aws:gamelift:" + s.Region + "::gamesession/" + at.Query().Get("fleet") + "/" +
		at.Query().Get("location") + "/" + path.Base(at.Path)
	started := <-server.started
	if started.Name != hostile {
		t.Errorf("the game server was asked to start %q", started.Name)
	}
	must(t, server.ActivateGameSession(t.Context()))
	p.Shows("ACTIVE") // without a reload
	p.players(server, session)
	p.Check("console-session")
	p.backFromSession(session)

	for _, page := range []string{"/console/", "/console/fleets", fleet + "?tab=sessions", fleet + "?tab=events",
		fleet + "?tab=metrics&range=15m", fleet + "?tab=metrics&metric=ActiveGameSessions",
		fleet + "?tab=tags", "/console/game-sessions", "/console/players/ada", "/console/queues",
		"/console/matchmaking", "/console/fleets/create"} {
		p.Go(page, 200)
		p.Check("console" + strings.NewReplacer("/", "-", "?", "-", "=", "-", "&", "-").Replace(
			strings.TrimPrefix(page, fleet)))
	}
	p.Go("/console/nowhere", 404)
	p.Check("console-nowhere")
	p.end(fleet, session)
}

// backFromSession opens a game session from a list, goes on to a player in it, and back to both. Their addresses are
// short, also after those of earlier releases.
func (p *person) backFromSession(session string) {
	p.Helper()
	p.Go("/console/game-sessions", 200)
	p.choose(`"><script>`, 200)
	at := "/console/game-sessions/" + path.Base(session)
	if got := p.URL(); got.Path != at || !strings.HasPrefix(got.Query().Get("fleet"), "fleet-") {
		p.Errorf("the game session is at %s", got)
	}
	p.choose("bob", 200)
	if got := p.URL().Path; got != "/console/players/bob" {
		p.Errorf("the player is at %s", got)
	}
	p.Back(at)
	p.Shows("Timeline")
	p.Back("/console/game-sessions")
	p.Go("/console/game-session?id="+url.QueryEscape(session), 200)
	if got := p.URL().Path; got != at {
		p.Errorf("the game session is at %s", got)
	}
}

// createFleet goes through the wizard.
func (p *person) createFleet() {
	p.Helper()
	p.Go("/console/fleets/create", 200)
	p.Is("Create fleet", "")
	p.TabTo("Name")
	p.Press(hostile)
	p.choose("Next", 200)
	p.choose("Next", 400)
	p.Shows("choose at least one location")
	p.TabTo("custom-home")
	p.Press(" ")
	p.choose("Next", 200)
	p.Shows("aws gamelift create-fleet --compute-type ANYWHERE")
	p.Check("console-review")
	p.choose("Back", 200)
	p.choose("Next", 200) // the choice is kept
	p.choose("Submit", 200)
}

// addCompute adds a compute, and returns the command that starts a game server on it.
func (p *person) addCompute(fleet string) string {
	p.Helper()
	p.Go(fleet+"?tab=computes", 200)
	p.Shows("No compute")
	p.TabTo("Add compute")
	p.Press(" ")
	p.TabTo("Name")
	p.Press("attic")
	p.TabTo("IP address")
	p.Press("127.0.0.1")
	p.press(200)
	p.Shows("attic was registered", "GAMELIFT_SDK_AUTH_TOKEN=")
	return p.Text()
}

// A startedServer is a game server of the test.
type startedServer struct {
	*gameserver.Server
	started chan gameserver.GameSession
}

var variable = regexp.MustCompile(`GAMELIFT_SDK_([A-Z_]+)=(\S+)`)

// serve connects a game server with the values of a command, over the unencrypted port, because this process does not
// trust the CA of the service.
func serve(t *testing.T, url, command string) *startedServer {
	t.Helper()
	set := map[string]string{}
	for _, m := range variable.FindAllStringSubmatch(command, -1) {
		set[m[1]] = m[2]
	}
	s := &startedServer{gameserver.New(gameserver.Config{}), make(chan gameserver.GameSession, 1)}
	t.Cleanup(s.Close)
	must(t, s.Connect(t.Context(), gameserver.ServerParameters{
		WebSocketURL: url, FleetID: set["FLEET_ID"], HostID: set["HOST_ID"],
		AuthToken: set["AUTH_TOKEN"], ProcessID: gameserver.NewProcessID(),
	}))
	must(t, s.ProcessReady(t.Context(), gameserver.ProcessParameters{
		Port:               7777,
		OnStartGameSession: func(gs gameserver.GameSession) { s.started <- gs },
		OnProcessTerminate: func() { _ = s.ProcessEnding(context.WithoutCancel(t.Context())) },
	}))
	return s
}

// players reserves places for two players, of whom one joins, which the page shows without a reload.
func (p *person) players(server *startedServer, session string) {
	p.Helper()
	for _, name := range []string{"ada", "bob"} {
		id := mustertest.Call(p, p.service.Client.CreatePlayerSession, &gamelift.CreatePlayerSessionInput{
			GameSessionId: aws.String(session), PlayerId: aws.String(name)}).PlayerSession.PlayerSessionId
		p.Shows(name, "RESERVED", "left")
		if name == "ada" {
			must(p, server.AcceptPlayerSession(p.Context(), *id))
			p.Shows("ACCEPTED")
		}
	}
}

// end terminates the game session, and deletes the fleet.
func (p *person) end(fleet, session string) {
	p.Helper()
	p.Go("/console/search?q="+session, 200)
	p.TabTo("Terminate")
	p.Press(" ")
	p.choose("Terminate", 200)
	p.Shows("The game session was terminated.", "TERMINATED")
	p.Go(fleet, 200)
	p.TabTo("Delete fleet")
	p.Press(" ")
	p.TabTo("Type")
	p.Press("another name")
	p.press(http.StatusBadRequest)
	p.Shows("type the name of the fleet")
}

// TestConsoleWithoutScripts creates a location and a fleet in a browser without scripts.
func TestConsoleWithoutScripts(t *testing.T) {
	t.Parallel()
	s := people.Start(t, func(c *muster.Config) { c.OpenConsole = "on" })
	p := &person{browser.Open(t, s.HTTP), s}
	p.DisableScripts()
	p.Go("/console/locations", 200)
	p.TabTo("New location")
	p.Press("home")
	p.press(200)
	p.createFleetPlainly()
	if !strings.HasPrefix(p.URL().Path, "/console/fleets/fleet-") {
		t.Errorf("the wizard led to %s", p.URL())
	}
}

// createFleetPlainly goes through the wizard, in a browser that cannot be checked.
func (p *person) createFleetPlainly() {
	p.Helper()
	p.Go("/console/fleets/create", 200)
	p.TabTo("Name")
	p.Press("first")
	p.choose("Next", 200)
	p.TabTo("custom-home")
	p.Press(" ")
	p.choose("Next", 200)
	p.choose("Submit", 200)
}

// TestConsoleReadOnly (item 24): a person who may only read sees pages without forms, and not those of access.
func TestConsoleReadOnly(t *testing.T) {
	t.Parallel()
	s := people.Start(t)
	s.AddUser("vera", "read-only")
	p := open(t, s)
	p.Go("/console/locations", 200)
	p.Is("Sign in", "")
	p.fill(200, "vera", people.Password)
	p.Is("Locations", "")
	p.Shows("No location yet")
	for _, stop := range p.Stops() {
		if stop == "New location" || stop == "Users" {
			t.Errorf("a reader sees %s", stop)
		}
	}
	p.Go("/console/users", 403)
	p.Shows("AccessDeniedException", "is not authorized to perform: muster:UserRead")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestConsoleRestart: a page outlives its service, says meanwhile that it is not live, and shows what changes later.
func TestConsoleRestart(t *testing.T) {
	t.Parallel()
	s := people.Start(t, func(c *muster.Config) { c.OpenConsole = "on" })
	create := func(location string) {
		mustertest.Call(t, s.Client.CreateLocation, &gamelift.CreateLocationInput{LocationName: aws.String(location)})
	}
	create("custom-before")
	p := open(t, s)
	p.Go("/console/locations", 200)
	p.Shows("custom-before", "live")
	p.Away(func() {
		s.Stop()
		p.Shows("reconnecting")
		s.Resume()
		p.Shows("live")
	})
	create("custom-after")
	p.Shows("custom-after")
	for _, name := range []string{"custom-before", "custom-after"} {
		if n := strings.Count(p.Text(), name+"\t"); n != 1 {
			t.Errorf("%s is shown %d times: %s", name, n, p.Text())
		}
	}
}
