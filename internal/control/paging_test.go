package control

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/control/credentials"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// pagesOf follows NextToken to the end and returns the ids of each page.
func (w *world) pagesOf(operation, list, member string, in object) (pages [][]string) {
	w.t.Helper()
	in = clone(in)
	for range 100 {
		out := w.must(operation, in)
		var ids []string
		for _, e := range out[list].([]any) {
			if s, ok := e.(string); ok {
				ids = append(ids, s)
			} else {
				ids = append(ids, text(e, member))
			}
		}
		pages = append(pages, ids)
		token, more := out["NextToken"].(string)
		if !more {
			return pages
		}
		if token == "" || len(token) > 1024 {
			w.t.Fatalf("%s: NextToken of %d characters", operation, len(token))
		}
		in["NextToken"] = token
	}
	w.t.Fatalf("%s never ends", operation)
	return nil
}

func clone(o object) object {
	c := object{}
	for k, v := range o {
		c[k] = v
	}
	return c
}

// manyOfAll is a world with five of everything that is listed.
func manyOfAll(t *testing.T) (w *world, fleet, session string) {
	w = newWorld(t)
	for i := range 5 {
		w.fleetAt(fmt.Sprintf("custom-%d", i))
	}
	fleet = w.fleetAt("custom-0", "custom-1", "custom-2", "custom-3", "custom-4")
	for i := range 5 {
		w.must("CreateAlias", object{"Name": "a", "RoutingStrategy": object{"Type": "SIMPLE", "FleetId": fleet}})
		name, location := fmt.Sprintf("c%d", i), fmt.Sprintf("custom-%d", i%3)
		s := w.process(fleet, name, w.compute(fleet, location, name), "p")
		session = w.create(fleet, object{"Location": location, "MaximumPlayerSessionCount": 10})
		s.ok(s.activate(session))
		w.must("CreatePlayerSession", object{"GameSessionId": session, "PlayerId": "anna"})
	}
	for i := range 5 {
		name := fmt.Sprint("m", i)
		w.queueOf(name)
		w.ruleSetOf(name)
		w.must("CreateMatchmakingConfiguration", `{"Name":"`+name+`",`+strings.Replace(standalone, "duel", "m0", 1)+`}`)
	}
	for i := range 4 {
		w.must("CreatePlayerSession", object{"GameSessionId": session, "PlayerId": fmt.Sprint("b", i)})
	}
	return w, fleet, session
}

func TestPaging(t *testing.T) {
	w, fleet, session := manyOfAll(t)
	for _, c := range []struct {
		operation, list, member string
		in                      object
		all                     int
		foreign                 object // another query of the same operation
	}{
		{"ListLocations", "Locations", "LocationName", object{}, 5, object{"Filters": []string{"CUSTOM"}}},
		{"ListFleets", "FleetIds", "", object{}, 6, nil},
		{"DescribeFleetAttributes", "FleetAttributes", "FleetId", object{}, 6, nil},
		{"DescribeFleetCapacity", "FleetCapacity", "FleetId", object{}, 6, nil},
		{"DescribeFleetUtilization", "FleetUtilization", "FleetId", object{}, 6, nil},
		{"DescribeFleetLocationAttributes", "LocationAttributes", "", object{"FleetId": fleet}, 5, nil},
		{"DescribeFleetEvents", "Events", "EventId", object{"FleetId": fleet}, 7,
			object{"FleetId": fleet, "StartTime": 1}},
		{"ListCompute", "ComputeList", "ComputeName", object{"FleetId": fleet}, 5,
			object{"FleetId": fleet, "Location": "custom-0"}},
		{"ListAliases", "Aliases", "AliasId", object{}, 5, object{"Name": "a"}},
		{"DescribeGameSessions", "GameSessions", "GameSessionId", object{"FleetId": fleet}, 5,
			object{"FleetId": fleet, "StatusFilter": "ACTIVE"}},
		{"DescribeGameSessionDetails", "GameSessionDetails", "", object{"FleetId": fleet}, 5,
			object{"FleetId": fleet, "Location": "custom-0"}},
		{"SearchGameSessions", "GameSessions", "GameSessionId",
			object{"FleetId": fleet, "SortExpression": "creationTimeMillis DESC"}, 5, object{"FleetId": fleet}},
		{"DescribePlayerSessions", "PlayerSessions", "PlayerSessionId", object{"GameSessionId": session}, 5,
			object{"GameSessionId": session, "PlayerSessionStatusFilter": "RESERVED"}},
		{"DescribeGameSessionQueues", "GameSessionQueues", "Name", object{}, 5, nil},
		{"DescribeMatchmakingRuleSets", "RuleSets", "RuleSetName", object{}, 5, nil},
		{"DescribeMatchmakingConfigurations", "Configurations", "Name", object{"RuleSetName": "m0"}, 5, object{}},
		{"DescribePlayerSessions", "PlayerSessions", "PlayerSessionId", object{"PlayerId": "anna"}, 5,
			object{"PlayerId": "b1"}},
	} {
		in := clone(c.in)
		whole := w.pagesOf(c.operation, c.list, c.member, in)
		if len(whole) != 1 || len(whole[0]) != c.all {
			t.Errorf("%s %v: %v, want one page of %d", c.operation, in, whole, c.all)
		}
		in["Limit"] = 2
		pages := w.pagesOf(c.operation, c.list, c.member, in)
		if got := slices.Concat(pages...); len(pages) != (c.all+1)/2 || !slices.Equal(got, whole[0]) {
			t.Errorf("%s in twos: %v, want %v", c.operation, pages, whole)
		}
		in["Limit"] = c.all // exactly full: there is no empty page behind it
		if pages := w.pagesOf(c.operation, c.list, c.member, in); len(pages) != 1 {
			t.Errorf("%s in one full page: %v", c.operation, pages)
		}
		in["Limit"] = 2
		token := text(w.must(c.operation, in), "NextToken")
		if c.foreign != nil {
			foreign := clone(c.foreign)
			foreign["NextToken"] = token
			w.refused(fault.InvalidRequest, c.operation, foreign)
		}
		for _, bad := range []string{
			"x", token + "A", strings.ToUpper(token), base64.RawURLEncoding.EncodeToString([]byte(`"fleet-1"`)),
			token[:len(token)-1],
		} {
			in["NextToken"] = bad
			w.refused(fault.InvalidRequest, c.operation, in)
		}
		in["Limit"] = 0
		delete(in, "NextToken")
		w.refused(fault.InvalidRequest, c.operation, in)
	}
}

// A token holds for one operation alone, and is worth nothing in another region.
func TestTokensOfOtherOperationsAndRegions(t *testing.T) {
	w, _, _ := manyOfAll(t)
	token := w.must("ListFleets", `{"Limit":1}`)["NextToken"]
	w.refused(fault.InvalidRequest, "DescribeFleetAttributes", object{"Limit": 1, "NextToken": token})
	// The token is ignored beside ids.
	w.must("DescribeFleetAttributes", object{"Limit": 1, "NextToken": token, "FleetIds": []string{"fleet-1"}})

	other := newWorld(t, func(w *world) { w.config.Secret = slices.Repeat([]byte{8}, credentials.SecretSize) })
	other.refused(fault.InvalidRequest, "ListFleets", object{"NextToken": token})
	w.restart()
	w.must("ListFleets", object{"NextToken": token})
}

// The pages behind a token show what is there by then: nothing twice, and
// nothing that was there all the time is left out.
func TestTokensHoldAcrossChanges(t *testing.T) {
	w, fleet, _ := manyOfAll(t)
	out := w.must("ListAliases", `{"Limit":2}`)
	first := texts(out["Aliases"], "AliasId")
	w.must("DeleteAlias", object{"AliasId": first[0]})
	w.must("DeleteAlias", object{"AliasId": first[1]}) // also the one that the token is of
	rest := w.must("ListAliases", object{"NextToken": out["NextToken"]})
	if got := texts(rest["Aliases"], "AliasId"); len(got) != 3 || slices.Contains(got, first[0]) ||
		slices.Contains(got, first[1]) {
		t.Errorf("behind %v: %v", first, got)
	}

	out = w.must("DescribeGameSessions", object{"FleetId": fleet, "Limit": 2})
	shown := texts(out["GameSessions"], "GameSessionId")
	s := w.process(fleet, "c0", w.token(fleet, "c0"), "late")
	newest := w.active(fleet, object{"Location": "custom-0"}, s)
	var behind []string
	rest = object{"FleetId": fleet, "Limit": 2, "NextToken": out["NextToken"]}
	for _, page := range w.pagesOf("DescribeGameSessions", "GameSessions", "GameSessionId", rest) {
		behind = append(behind, page...)
	}
	all := w.pagesOf("DescribeGameSessions", "GameSessions", "GameSessionId", object{"FleetId": fleet})[0]
	for _, id := range all {
		want := 1
		if id == newest && !slices.Contains(behind, id) {
			want = 0 // it came before the place that the token is of
		}
		if n := count(append(slices.Clone(shown), behind...), id); n != want {
			t.Errorf("%s was shown %d times", id, n)
		}
	}
}

func count(list []string, s string) (n int) {
	for _, e := range list {
		if e == s {
			n++
		}
	}
	return n
}

// Queues, configurations and rule sets have small pages, whatever the caller asks for.
func TestSmallPages(t *testing.T) {
	w := newWorld(t, withShards(1))
	w.ruleSetOf("m0")
	for i := range 51 {
		w.queueOf(fmt.Sprint("m", i))
	}
	for i := range 11 {
		w.must("CreateMatchmakingConfiguration", fmt.Sprintf(`{"Name":"m%d",%s}`, i,
			strings.Replace(standalone, "duel", "m0", 1)))
	}
	for _, limit := range []any{nil, 1000} {
		in := object{}
		if limit != nil {
			in["Limit"] = limit
		}
		for operation, want := range map[string][]int{
			"DescribeGameSessionQueues": {50, 1}, "DescribeMatchmakingConfigurations": {10, 1},
		} {
			list := map[string]string{"DescribeGameSessionQueues": "GameSessionQueues",
				"DescribeMatchmakingConfigurations": "Configurations"}[operation]
			pages := w.pagesOf(operation, list, "Name", in)
			if len(pages) != 2 || len(pages[0]) != want[0] || len(pages[1]) != want[1] {
				t.Errorf("%s with limit %v: %d pages, the first of %d", operation, limit, len(pages), len(pages[0]))
			}
		}
	}
}

// Searches have pages of 20 at most, whatever the caller asks for.
func TestSearchPagesHave20(t *testing.T) {
	w := newWorld(t)
	fleet, sockets := w.host(23)
	for range sockets {
		w.active(fleet, nil, sockets...)
	}
	for _, limit := range []any{nil, 20, 100} {
		in := object{"FleetId": fleet}
		if limit != nil {
			in["Limit"] = limit
		}
		pages := w.pagesOf("SearchGameSessions", "GameSessions", "GameSessionId", in)
		if len(pages) != 2 || len(pages[0]) != 20 || len(pages[1]) != 3 {
			t.Errorf("with limit %v: pages of %d and more", limit, len(pages[0]))
		}
	}
}
