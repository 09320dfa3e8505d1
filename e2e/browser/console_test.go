package browser_test

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/browser"
	"github.com/muster-gg/muster/e2e/people"
	"github.com/muster-gg/muster/gameserver"
	"github.com/muster-gg/muster/mustertest"
)

// hostile is a text that attacks a page, in the name of a fleet and of its game sessions.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)> 😀`

// aFleet is, in playedPages, the id of the fleet.
const aFleet = "fleet-1"

// playedPages are pages of a region in which a game session is played.
var playedPages = []string{"/console/", "/console/fleets", "/console/fleets/fleet-1?tab=sessions",
	"/console/fleets/fleet-1?tab=events", "/console/fleets/fleet-1?tab=metrics&range=15m",
	"/console/fleets/fleet-1?tab=metrics&metric=ActiveGameSessions", "/console/fleets/fleet-1?tab=tags",
	"/console/fleets/selected?fleet=fleet-1", "/console/game-sessions", "/console/game-sessions?columns=id,creator",
	"/console/players", "/console/players/ada",
	"/console/search?q=a", "/console/locations", "/console/queues", "/console/matchmaking", "/console/fleets/create"}

// TestConsole goes the way from an empty region to a running game session in the console, with the keyboard alone:
// location, fleet, compute, a game server with the values of the command that the page shows, a game session, its
// players, of whom one does not come in time, and its end. Every page on the way is checked.
func TestConsole(t *testing.T) {
	t.Parallel()
	s := people.Start(t, shortReservations)
	p := open(t, s)
	p.Go("/console/", 200)
	p.Is("Overview", "")
	p.Shows("No fleet yet", "live")
	p.Check("console-empty")

	p.choose("Locations", 200)
	p.TabTo("New location")
	p.Press("home")
	p.press(200)
	p.Shows("The location was created.", "custom-home")
	p.Check("console-locations")
	p.TabTo("New location")
	p.Press("home")
	p.press(409)
	p.Shows("ConflictException")

	p.createFleet()
	p.Is(hostile, "")
	p.Shows("The fleet was created.", "ACTIVE", "custom-home")
	p.Check("console-fleet")
	fleet := p.URL().Path

	command := p.addCompute()
	p.Check("console-compute")
	server := serve(t, s.WS, command)

	p.TabTo("Metrics") // the tab before that of game sessions, of which the navigation has an entry too
	p.choose("Game sessions", 200)
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
	p.TabTo("ada")
	p.countsDown()
	p.Check("console-session")
	p.timesOut("bob")
	if got := p.Focused(); got != "ada" {
		t.Errorf("after bob's time ran out the keyboard is on %q", got)
	}
	p.backFromSession(session)
	p.chooseColumns(fleet)

	for _, page := range playedPages {
		p.Go(strings.Replace(page, aFleet, path.Base(fleet), 1), 200)
		p.Check("console" + strings.NewReplacer("/", "-", "?", "-", "=", "-", "&", "-").Replace(page))
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
	p.Forward(at)
	p.Shows("Timeline")
	p.Back("/console/game-sessions")
	p.opensTab("main a", `"><script>`, at)
	p.Go("/console/game-session?id="+url.QueryEscape(session), 200)
	if got := p.URL().Path; got != at {
		p.Errorf("the game session is at %s", got)
	}
}

// chooseColumns looks at lists in a window of 1,280 px, in which the usual columns fit, and adds one to a list.
func (p *person) chooseColumns(fleet string) {
	p.Helper()
	for _, list := range []struct{ page, part string }{{"/console/fleets", "fleet-rows"},
		{fleet + "?tab=sessions", "sessions"}, {"/console/game-sessions", "sessions"}} {
		p.Go(list.page, 200)
		p.Fits(list.part)
	}
	p.TabTo("Columns")
	p.Press(" ")
	p.TabTo("Creator")
	p.Press(" ")
	p.press(200)
	if got := p.URL().Query()["columns"]; len(got) != 1 || !strings.HasSuffix(got[0], ",creator") {
		p.Errorf("the columns of the address are %q", got)
	}
	p.TabTo("Save view") // it has the columns
	p.Press("\r")
	p.TabTo("Title")
	p.Press("With creators")
	p.press(200)
	p.Go("/console/game-sessions", 200)
	p.choose("With creators", 200)
	if got := p.URL().Query().Get("columns"); !strings.HasSuffix(got, ",creator") {
		p.Errorf("the columns of the view are %q", got)
	}
}

// opensTab clicks a link with the control key: the page stays, and another tab has the path of the link.
func (p *person) opensTab(selector, text, to string) {
	p.Helper()
	before := p.URL().String()
	var clicked time.Time
	mustertest.Eventually(p, "a tab with "+to, func() bool {
		if time.Since(clicked) > 5*time.Second { // a page from the history may not have taken the last click
			p.CtrlClick(selector, text)
			clicked = time.Now()
		}
		return slices.ContainsFunc(p.Opened(), func(u string) bool { return strings.Contains(u, to) })
	})
	if got := p.URL().String(); got != before {
		p.Errorf("the page became %s", got)
	}
}

// createFleet goes through the wizard.
func (p *person) createFleet() {
	p.Helper()
	p.choose("Fleets", 200)
	p.choose("Create fleet", 200)
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

// addCompute adds a compute to the fleet that is shown, and returns the command that starts a game server on it.
func (p *person) addCompute() string {
	p.Helper()
	p.choose("Computes", 200)
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
	p.Go("/console/game-sessions?show=ended", 200)
	p.Shows("Lasted")
	p.Fits("sessions")
	p.Go(fleet, 200)
	p.TabTo("Delete fleet")
	p.Press(" ")
	p.TabTo("Type")
	p.Press("another name")
	p.press(http.StatusBadRequest)
	p.Shows("type the name of the fleet")
}

// TestConsoleWithoutScripts goes from an empty region to a player in a game session in a browser without
// scripts, where forms post and pages are reloaded.
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
	p.playPlainly(p.URL().Path)
}

// playPlainly creates a game session in a fleet, and follows one player, by reloading the page.
func (p *person) playPlainly(fleet string) {
	p.Helper()
	server := serve(p.TB.(*testing.T), p.service.WS, p.addCompute())
	p.Go(fleet+"?tab=sessions", 200)
	p.TabTo("Create game session")
	p.Press(" ")
	p.TabTo("Name")
	p.Press("plain")
	p.press(200)
	p.Is("plain", "")
	p.Shows("ACTIVATING")
	started := <-server.started
	must(p, server.ActivateGameSession(p.Context()))
	id := mustertest.Call(p, p.service.Client.CreatePlayerSession, &gamelift.CreatePlayerSessionInput{
		GameSessionId: &started.GameSessionID, PlayerId: aws.String("ada")}).PlayerSession.PlayerSessionId
	p.Reload(200)
	p.Shows("ACTIVE", "ada", "RESERVED")
	must(p, server.AcceptPlayerSession(p.Context(), *id))
	p.Reload(200)
	p.Shows("ACCEPTED")
	p.choose("ada", 200)
	p.Is("Players", "")
	if got := p.URL().Path; got != "/console/players/ada" {
		p.Errorf("the player is at %s", got)
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

// TestConsoleReadOnly: a person who may only read sees pages without forms, and not those of access.
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
		if n := strings.Count(p.Text(), "location/"+name); n != 1 { // its ARN
			t.Errorf("%s is shown %d times: %s", name, n, p.Text())
		}
	}
}
