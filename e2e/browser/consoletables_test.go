package browser_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/people"
	"github.com/muster-gg/muster/mustertest"
)

// TestConsoleTables: a new row waits behind a button while the keyboard is in the table, and a list is saved as a view.
func TestConsoleTables(t *testing.T) {
	t.Parallel()
	s := people.Start(t, func(c *muster.Config) { c.OpenConsole = "on" })
	create := func(queue string) {
		mustertest.Call(t, s.Client.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{
			Name: aws.String(queue)})
	}
	create("middle")
	p := open(t, s)
	p.Go("/console/queues", 200)
	p.Shows("middle", "live")
	p.Press("j")
	create("first")
	p.Shows("1 new")
	if text := p.Text(); strings.Contains(text, "queue/first") || p.Focused() != "middle" {
		t.Errorf("a row came while the keyboard was on %s", p.Focused())
	}
	p.TabTo("1 new")
	p.Press("\r")
	p.Shows("gamesessionqueue/first", "gamesessionqueue/middle")
	if strings.Contains(p.Text(), "1 new") {
		t.Error("the button stays")
	}

	p.TabTo("Save view")
	p.Press("\r")
	p.TabTo("Title")
	p.Press("My queues")
	p.press(200)
	p.Shows("The view was saved.", "My queues")
	p.Check("console-views")
	p.Go("/console/", 200)
	p.Palette()
	p.Press("my que")
	p.Shows("View: My queues")
	p.press(200)
	p.Is("Queues", "")
}
