package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
)

// sampleMark begins the names of what samples create. An operation that ends or deletes something is filled in with
// such names only, so that a sample never ends what players use.
const sampleMark = "sample-"

// samples are the inputs of operations that need more than the required members, in JSON. An empty text is filled in
// by the sources.
var samples = map[string]string{
	"CreateAlias":          `{"Name":"","RoutingStrategy":{"Type":"SIMPLE","FleetId":""}}`,
	"CreateBuild":          `{"Name":""}`,
	"CreateFleet":          `{"Name":"","ComputeType":"ANYWHERE","Locations":[{"Location":""}]}`,
	"CreateGameSession":    `{"FleetId":"","Location":"","MaximumPlayerSessionCount":2,"Name":""}`,
	"CreateFleetLocations": `{"FleetId":"","Locations":[{"Location":""}]}`,
	"CreateMatchmakingConfiguration": `{"Name":"","RuleSetName":"","RequestTimeoutSeconds":60,` +
		`"AcceptanceRequired":false,"FlexMatchMode":"STANDALONE"}`,
	"DescribeGameSessionDetails": `{"FleetId":""}`,
	"DescribeGameSessions":       `{"FleetId":""}`,
	"DescribePlayerSessions":     `{"GameSessionId":""}`,
	"RegisterCompute":            `{"FleetId":"","Location":"","ComputeName":"","IpAddress":"127.0.0.1"}`,
	"SearchGameSessions":         `{"FleetId":""}`,
	"StartGameSessionPlacement":  `{"PlacementId":"","GameSessionQueueName":"","MaximumPlayerSessionCount":2}`,
	"StartMatchBackfill": `{"ConfigurationName":"","GameSessionArn":"",` +
		`"Players":[{"PlayerId":"","Team":""}]}`,
	"StartMatchmaking": `{"TicketId":"","ConfigurationName":"","Players":[{"PlayerId":""}]}`,
	"TagResource":      `{"ResourceARN":"","Tags":[{"Key":"sample","Value":"1"}]}`,
	"UntagResource":    `{"ResourceARN":"","TagKeys":["sample"]}`,
}

// sampleRules is a rule set for one player against another.
const sampleRules = `{"name":"sample","ruleLanguageVersion":"1.0","teams":[` +
	`{"name":"red","minPlayers":1,"maxPlayers":1},{"name":"blue","minPlayers":1,"maxPlayers":1}]}`

// sources return the values of members of samples, by the member or by OPERATION.MEMBER; "": there is none.
var sources = map[string]func(*sampler) string{
	"AliasId":              (*sampler).alias,
	"BuildId":              (*sampler).build,
	"ComputeName":          (*sampler).compute,
	"ConfigurationName":    (*sampler).configuration,
	"FleetId":              (*sampler).fleet,
	"GameSessionArn":       (*sampler).gameSession,
	"GameSessionId":        (*sampler).gameSession,
	"GameSessionQueueName": (*sampler).queue,
	"Location":             (*sampler).fleetLocation,
	"Locations":            (*sampler).fleetLocation,
	"LocationName":         (*sampler).customLocation,
	"Name":                 (*sampler).name,
	"PlacementId":          (*sampler).placement,
	"PlayerId":             (*sampler).fresh,
	"PlayerIds":            (*sampler).player,
	"ResourceARN":          (*sampler).fleetARN,
	"RuleSetBody":          func(*sampler) string { return sampleRules },
	"RuleSetName":          (*sampler).ruleSet,
	"Team":                 (*sampler).team,
	"TicketId":             (*sampler).ticket,
	"TicketIds":            (*sampler).ticket,

	"AcceptMatch.PlayerIds":                 (*sampler).ticketPlayer,
	"CreateFleet.Location":                  (*sampler).customLocation,
	"CreateFleetLocations.Location":         (*sampler).otherLocation,
	"CreateLocation.LocationName":           func(s *sampler) string { return "custom-" + s.fresh() },
	"CreatePlayerSessions.PlayerIds":        (*sampler).fresh,
	"DeleteFleet.FleetId":                   (*sampler).anyFleet,
	"RegisterCompute.ComputeName":           (*sampler).fresh,
	"StartGameSessionPlacement.PlacementId": (*sampler).fresh,
	"StartMatchBackfill.PlayerId":           (*sampler).player,
	"StartMatchmaking.TicketId":             (*sampler).fresh,
}

// A sampler finds what exists in the region, as the person who has signed in. What is refused or empty is left out.
type sampler struct {
	v         *visit
	operation string
	known     map[string]any // answers
}

// unfilled is a member of a sample with an empty text, or a list of one.
var unfilled = regexp.MustCompile(`"([A-Za-z]+)":\[?""`)

// sample returns an input of an operation with names of what exists.
func (v *visit) sample(info *wire.OperationInfo) string {
	s := &sampler{v, info.Name, map[string]any{}}
	text := compact(cmp.Or(samples[info.Name], string(info.Sample())))
	return formatted(unfilled.ReplaceAllStringFunc(text, func(member string) string {
		name := unfilled.FindStringSubmatch(member)[1]
		source := sources[info.Name+"."+name]
		if source == nil {
			source = sources[name]
		}
		if source == nil {
			return member
		}
		value, err := json.Marshal(source(s))
		if err != nil {
			return member
		}
		return strings.TrimSuffix(member, `""`) + string(value)
	}))
}

// A named is something that a sample may name.
type named struct{ name, id string }

// pick returns the id of the first named: of those that samples created if the operation is dangerous, and otherwise
// of the others, if there are any.
func (s *sampler) pick(all []named) string {
	made := func(c named) bool { return strings.HasPrefix(strings.TrimPrefix(c.name, "custom-"), sampleMark) }
	if dangerous(s.operation) {
		all = slices.DeleteFunc(all, func(c named) bool { return !made(c) })
	}
	for _, c := range all {
		if !made(c) {
			return c.id
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[0].id
}

// namedIn returns what can be picked of a list.
func namedIn[T any](list []T, of func(*T) named) (all []named) {
	for i := range list {
		all = append(all, of(&list[i]))
	}
	return all
}

// find makes a call that reads, once for a sample. Its answer is empty if the person may not make it, or it fails.
func find[I, O any](s *sampler, op wire.Operation[I, O], in *I) *O {
	return once(s, op.Name+fmt.Sprint(*in), func(out *O) {
		if s.v.may("gamelift:"+op.Name, nil) {
			if answer, err := call(s.v, op, in); err == nil {
				*out = *answer
			}
		}
	})
}

// findRows reads a list of operators, as find does.
func findRows[O any](s *sampler, action, resource, path string) *O {
	return once(s, path, func(out *O) {
		if s.v.may("muster:"+action, []string{resource}) {
			_ = s.v.request("GET", path, nil, out) // what is refused is empty
		}
	})
}

// once returns the answer of the first read with a key.
func once[O any](s *sampler, key string, read func(*O)) *O {
	if known, ok := s.known[key].(*O); ok {
		return known
	}
	out := new(O)
	read(out)
	s.known[key] = out
	return out
}

// reader returns a sampler that picks what the operation only reads, of what is inside of it.
func (s *sampler) reader() *sampler { return &sampler{s.v, "", s.known} }

func (s *sampler) fresh() string { return sampleMark + uuid.NewString()[:8] }

// name returns the member Name: of what the operation creates, or of what it is about.
func (s *sampler) name() string {
	switch {
	case strings.HasPrefix(s.operation, "Create"):
		return s.fresh()
	case strings.HasSuffix(s.operation, "Queue"):
		return s.queue()
	case strings.HasSuffix(s.operation, "Configuration"):
		return s.configuration()
	case strings.HasSuffix(s.operation, "RuleSet"):
		return s.ruleSet()
	}
	return ""
}

func (s *sampler) allFleets() []wire.FleetAttributes {
	return find(s, wire.OpDescribeFleetAttributes, &wire.DescribeFleetAttributesInput{}).FleetAttributes
}

// fleet returns a fleet that the operation does not end, though it may end something in it.
func (s *sampler) fleet() string { return s.reader().anyFleet() }

func (s *sampler) anyFleet() string {
	return s.pick(namedIn(s.allFleets(), func(f *wire.FleetAttributes) named { return named{f.Name, f.FleetId} }))
}

func (s *sampler) fleetARN() string {
	id := s.fleet()
	for _, f := range s.allFleets() {
		if f.FleetId == id {
			return f.FleetArn
		}
	}
	return ""
}

func (s *sampler) locationsOf(fleet string) []named {
	if fleet == "" {
		return nil
	}
	out := find(s, wire.OpDescribeFleetLocationAttributes, &wire.DescribeFleetLocationAttributesInput{FleetId: fleet})
	return namedIn(out.LocationAttributes, func(l *wire.LocationAttributes) named {
		return named{l.LocationState.Location, l.LocationState.Location}
	})
}

func (s *sampler) fleetLocation() string { return s.pick(s.locationsOf(s.fleet())) }

func (s *sampler) customLocations() []named {
	out := find(s, wire.OpListLocations, &wire.ListLocationsInput{Filters: []wire.LocationFilter{"CUSTOM"}})
	return namedIn(out.Locations, func(l *wire.LocationModel) named { return named{l.LocationName, l.LocationName} })
}

func (s *sampler) customLocation() string { return s.pick(s.customLocations()) }

// otherLocation returns a location that the fleet does not have.
func (s *sampler) otherLocation() string {
	has := s.locationsOf(s.fleet())
	return s.pick(slices.DeleteFunc(s.customLocations(), func(c named) bool { return slices.Contains(has, c) }))
}

func (s *sampler) compute() string {
	out := find(s, wire.OpListCompute, &wire.ListComputeInput{FleetId: s.fleet()})
	return s.pick(namedIn(out.ComputeList, func(c *wire.Compute) named { return named{c.ComputeName, c.ComputeName} }))
}

// build returns a build; one without files for their upload.
func (s *sampler) build() string {
	in := &wire.ListBuildsInput{}
	if s.operation == "RequestUploadCredentials" {
		in.Status = wire.BuildStatusInitialized
	}
	return s.pick(namedIn(find(s, wire.OpListBuilds, in).Builds, func(b *wire.Build) named {
		return named{b.Name, b.BuildId}
	}))
}

func (s *sampler) alias() string {
	out := find(s, wire.OpListAliases, &wire.ListAliasesInput{})
	return s.pick(namedIn(out.Aliases, func(a *wire.Alias) named { return named{a.Name, a.AliasId} }))
}

// gameSessions returns those that are ACTIVE, and can take a player or a backfill if the operation adds one.
func (s *sampler) gameSessions() []control.ListedSession {
	list := findRows[control.SessionList](s, "GameSessionRead", "fleet/*", "/v1/game-sessions?status=ACTIVE")
	return slices.DeleteFunc(slices.Clone(list.GameSessions), func(g control.ListedSession) bool {
		switch s.operation {
		case "CreatePlayerSession", "CreatePlayerSessions":
			return g.Players >= g.Maximum
		case "StartMatchBackfill":
			return g.Configuration == "" // matchmaking did not make it
		}
		return false
	})
}

func (s *sampler) gameSession() string {
	return s.pick(namedIn(s.gameSessions(), func(g *control.ListedSession) named {
		return named{g.Name, g.GameSessionArn}
	}))
}

// player returns a player who has a place in the game session of the sample.
func (s *sampler) player() string {
	id := s.gameSession()
	if id == "" {
		return ""
	}
	out := find(s, wire.OpDescribePlayerSessions, &wire.DescribePlayerSessionsInput{GameSessionId: id})
	for _, p := range out.PlayerSessions {
		if p.Status == wire.PlayerSessionStatusReserved || p.Status == wire.PlayerSessionStatusActive {
			return p.PlayerId
		}
	}
	return ""
}

func (s *sampler) queue() string {
	out := find(s, wire.OpDescribeGameSessionQueues, &wire.DescribeGameSessionQueuesInput{})
	return s.pick(namedIn(out.GameSessionQueues, func(q *wire.GameSessionQueue) named { return named{q.Name, q.Name} }))
}

// placement returns a placement of the queue in which placements are; one that can be stopped if there is one.
func (s *sampler) placement() string {
	queue := s.reader().queue()
	if queue == "" {
		return ""
	}
	path := in("queues", queue, "placements")
	if dangerous(s.operation) {
		path += "?status=PENDING"
	}
	list := findRows[control.PlacementList](s, "PlacementRead", "queue/"+queue, path)
	return s.pick(namedIn(list.Placements, func(p *control.PlacementRow) named {
		return named{p.PlacementID, p.PlacementID}
	}))
}

func (s *sampler) configurations() []wire.MatchmakingConfiguration {
	return find(s, wire.OpDescribeMatchmakingConfigurations,
		&wire.DescribeMatchmakingConfigurationsInput{}).Configurations
}

// configuration returns that of the game session for a backfill.
func (s *sampler) configuration() string {
	if s.operation == "StartMatchBackfill" {
		id := s.gameSession()
		for _, g := range s.gameSessions() {
			if g.GameSessionArn == id {
				return g.Configuration
			}
		}
		return ""
	}
	return s.pick(namedIn(s.configurations(), func(c *wire.MatchmakingConfiguration) named {
		return named{c.Name, c.Name}
	}))
}

func (s *sampler) ruleSets(names ...string) []wire.MatchmakingRuleSet {
	return find(s, wire.OpDescribeMatchmakingRuleSets, &wire.DescribeMatchmakingRuleSetsInput{Names: names}).RuleSets
}

func (s *sampler) ruleSet() string {
	return s.pick(namedIn(s.ruleSets(), func(r *wire.MatchmakingRuleSet) named {
		return named{r.RuleSetName, r.RuleSetName}
	}))
}

// team returns a team of the rule set of the configuration.
func (s *sampler) team() string {
	name := s.configuration()
	for _, c := range s.configurations() {
		if c.Name != name {
			continue
		}
		for _, r := range s.ruleSets(c.RuleSetName) {
			var rules struct{ Teams []struct{ Name string } }
			if json.Unmarshal([]byte(r.RuleSetBody), &rules) == nil && len(rules.Teams) > 0 {
				return rules.Teams[0].Name
			}
		}
	}
	return ""
}

// ticketStatus has the status of tickets with which an operation succeeds.
var ticketStatus = map[string]string{"AcceptMatch": "REQUIRES_ACCEPTANCE", "StopMatchmaking": "SEARCHING"}

func (s *sampler) allTickets() []control.TicketRow {
	name := s.reader().configuration()
	if name == "" {
		return nil
	}
	path := in("configurations", name, "tickets") + "?" + url.Values{"status": {ticketStatus[s.operation]}}.Encode()
	return findRows[control.TicketList](s, "TicketRead", "configuration/"+name, path).Tickets
}

func (s *sampler) ticket() string {
	return s.pick(namedIn(s.allTickets(), func(t *control.TicketRow) named { return named{t.TicketID, t.TicketID} }))
}

// ticketPlayer returns a player of the ticket of the sample.
func (s *sampler) ticketPlayer() string {
	id := s.ticket()
	for _, t := range s.allTickets() {
		if t.TicketID == id && len(t.Players) > 0 {
			return t.Players[0]
		}
	}
	return ""
}
