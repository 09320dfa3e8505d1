package console

// The parts of lists of game sessions that only some have.
const (
	ofEnded   = "ended game sessions"
	ofRunning = "running game sessions"
	ofFleets  = "several fleets"
)

// sessionColumns are those of a list of game sessions. The usual ones fit in a width of 1,280 px.
var sessionColumns = columns{
	{Name: "name", Title: "Name"},
	{Name: "id", Title: "Id", Extra: true},
	{Name: "status", Title: "Status", part: ofRunning},
	{Name: "ended", Title: "Ended", part: ofEnded},
	{Name: "reason", Title: "Reason", part: ofEnded},
	{Name: "fleet", Title: "Fleet", part: ofFleets},
	{Name: "location", Title: "Location"},
	{Name: "address", Title: "Address"},
	{Name: "players", Title: "Players", Number: true, part: ofRunning},
	{Name: "age", Title: "Age", part: ofRunning},
	{Name: "lasted", Title: "Lasted", part: ofEnded},
	{Name: "creator", Title: "Creator", Extra: true},
	{Name: "matchmaker", Title: "Matchmaker", Extra: true},
}

// chooseColumns sets the columns for a value of the query. A choice has the columns of both lists.
func (b *sessionsBody) chooseColumns(text string) {
	missing := ofEnded
	if b.Ended {
		missing = ofRunning
	}
	b.Columns, b.Choices = sessionColumns.choose(text, missing)
	b.chosen = text
}

// Columns are those of the game sessions of the fleet.
func (fleetBody) Columns() columns {
	shown, _ := sessionColumns.choose("id,status,location,address,players,age")
	return shown
}
