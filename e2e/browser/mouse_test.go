package browser_test

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/people"
	"github.com/muster-gg/muster/mustertest"
)

// click clicks what leads to another page.
func (p *person) click(selector, text string, status int) {
	p.Helper()
	p.Loads(status, func() { p.Click(selector, text) })
}

// typeIn clicks the label of a field, and types.
func (p *person) typeIn(label, text string) {
	p.Helper()
	p.Click("main label", label)
	p.Press(text)
}

// shortReservations opens the console of a service in which a player who does not come loses the place after 20 s.
func shortReservations(c *muster.Config) { c.OpenConsole, c.ReservationTimeout = "on", 20*time.Second }

// TestConsoleByMouse goes with the mouse from an empty region to a running game session whose players come, or
// do not come in time, as the page shows without a reload.
func TestConsoleByMouse(t *testing.T) {
	t.Parallel()
	s := people.Start(t, shortReservations)
	p := open(t, s)
	p.Go("/console/", 200)
	p.click("nav a", "Locations", 200)
	p.typeIn("New location", "home")
	p.click("main button", "Create location", 200)
	p.click("nav a", "Fleets", 200)
	p.click("main a", "Create fleet", 200)
	p.typeIn("Name", "lab")
	p.click("main button", "Next", 200)
	p.Click("main label", "custom-home")
	p.click("main button", "Next", 200)
	p.click("main button", "Submit", 200)
	p.Shows("The fleet was created.", "ACTIVE")
	p.click("main a", "Computes", 200)
	p.Click("main summary", "Add compute")
	p.typeIn("Name", "attic")
	p.typeIn("IP address", "127.0.0.1")
	p.click("main button", "Add compute", 200)
	p.Shows("attic was registered")
	server := serve(t, s.WS, p.Text())
	p.click("main a", "Game sessions", 200)
	p.Shows("The server processes of the fleet wait for the first.")
	p.Click("main summary", "Create game session")
	p.typeIn("Name", "DebugGameSession")
	p.click("main button", "Create game session", 200)
	p.Shows("ACTIVATING")
	<-server.started
	must(t, server.ActivateGameSession(t.Context()))
	p.Shows("ACTIVE")
	at := p.URL()
	session := "arn:aws:gamelift:" + s.Region + "::gamesession/" + at.Query().Get("fleet") + "/" +
		at.Query().Get("location") + "/" + path.Base(at.Path)
	p.players(server, session)
	p.countsDown()
	p.timesOut("bob")
	for _, each := range []string{"Timeline", "Terminate"} { // on paper there are no forms
		p.Shows(each)
		if got := strings.Contains(p.Printed(), each); got != (each == "Timeline") {
			t.Errorf("%s on paper: %t", each, got)
		}
	}
}

// keepsParts scrolls the table of the page of locations, in a window in which it is too wide. A new version of the
// table, a reload, and going away and back leave it there; its address leads to its left edge.
func (p *person) keepsParts() {
	p.Helper()
	p.Resize(360, 800)
	defer p.Resize(1280, 800)
	p.Shows("live")
	p.ScrollPart("rows", 120)
	mustertest.Call(p, p.service.Client.CreateLocation, &gamelift.CreateLocationInput{
		LocationName: aws.String("custom-00x")})
	p.Shows("custom-00x")
	p.PartScrolled("rows", 120)
	p.Reload(200)
	p.PartScrolled("rows", 120)
	p.Go("/console/fleets", 200)
	p.Back("/console/locations")
	p.PartScrolled("rows", 120)
	p.Forward("/console/fleets")
	p.Shows("No fleet yet")
	p.Go("/console/locations", 200)
	p.PartScrolled("rows", 0)
	p.Back("/console/fleets")
	p.Back("/console/locations")
}

var leftPattern = regexp.MustCompile(`(\d+) s left`)

// left returns how long the first reservation of the page lasts, in seconds.
func (p *person) left() (seconds int) {
	if m := leftPattern.FindStringSubmatch(p.Text()); m != nil {
		seconds, _ = strconv.Atoi(m[1])
	}
	return seconds
}

// countsDown waits until the page, without a reload, shows less time for a reservation than before.
func (p *person) countsDown() {
	p.Helper()
	left := p.left()
	mustertest.Eventually(p, "the time that is left goes down", func() bool { return p.left() < left })
}

// timesOut waits until the row of a player, without a reload, shows that the reservation has ended.
func (p *person) timesOut(player string) {
	p.Helper()
	row := regexp.MustCompile(`(?m)^` + player + `\s+TIMEDOUT`)
	mustertest.Eventually(p, player+" is TIMEDOUT", func() bool { return row.MatchString(p.Text()) })
}

// TestConsoleReturns: going back and forward, and reading a page again, keep filters, the place on the page,
// and what was entered in the wizard.
func TestConsoleReturns(t *testing.T) {
	t.Parallel()
	s := people.Start(t, func(c *muster.Config) { c.OpenConsole = "on" })
	for i := range 60 {
		mustertest.Call(t, s.Client.CreateLocation, &gamelift.CreateLocationInput{
			LocationName: aws.String(fmt.Sprintf("custom-%02d", i))})
	}
	p := open(t, s)
	p.Go("/console/log", 200)
	p.typeIn("Text", "no such line")
	p.click("main button", "Show", 200)
	filtered := p.URL().String()
	filter := func(after string) {
		t.Helper()
		mustertest.Eventually(t, "the filter is there after "+after, func() bool {
			return p.Field("text") == "no such line"
		})
		if at := p.URL().String(); at != filtered {
			t.Errorf("after %s the address is %s", after, at)
		}
	}
	filter("showing")
	p.Reload(200)
	filter("a reload")
	p.Go("/console/locations", 200)
	p.Scroll(900)
	p.Reload(200)
	p.Scrolled(900)
	p.Go("/console/fleets", 200)
	p.Back("/console/locations")
	p.Scrolled(900)
	p.keepsParts()
	p.Back("/console/log")
	filter("going back")

	p.Go("/console/fleets/create", 200)
	p.typeIn("Name", "lab")
	p.click("main button", "Next", 200)
	p.Shows("Custom locations")
	p.Reload(200)
	p.Shows("Custom locations")
	if got := p.Entered("fleet-name"); got != "lab" {
		t.Errorf("after a reload the name is %q", got)
	}
	p.Click("main label", "custom-07")
	p.click("main button", "Next", 200)
	p.Shows("custom-07", "lab")
	p.Reload(200)
	p.Shows("custom-07", "lab")
}
