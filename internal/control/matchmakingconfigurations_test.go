package control

import (
	"fmt"
	"testing"

	"github.com/muster-gg/muster/internal/catalog"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// smallestRuleSet matches any player with anybody else.
const smallestRuleSet = `{"ruleLanguageVersion":"1.0","teams":[{"name":"all","minPlayers":2,"maxPlayers":2}]}`

// ruleSetOf makes a rule set.
func (w *world) ruleSetOf(name string) {
	w.t.Helper()
	w.must("CreateMatchmakingRuleSet", object{"Name": name, "RuleSetBody": smallestRuleSet})
}

func TestMatchmakingConfigurationShapes(t *testing.T) {
	w := newWorld(t, withShards(1))
	w.ruleSetOf("duel")
	w.ruleSetOf("raid.2")
	harbor := w.queueOf("harbor")
	const born = 1767323045
	ruleSet := fmt.Sprintf(`"RuleSetName":"duel","RuleSetArn":%q`, arnOf("matchmakingruleset/duel"))

	alone := fmt.Sprintf(`{"Name":"alone","ConfigurationArn":%q,%s,"FlexMatchMode":"STANDALONE",
		"BackfillMode":"MANUAL","AcceptanceRequired":false,"RequestTimeoutSeconds":43200,
		"AdditionalPlayerCount":0,"GameProperties":[],"GameSessionQueueArns":[],
		"CreationTime":%d}`, arnOf("matchmakingconfiguration/alone"), ruleSet, born)
	same(t, w.must("CreateMatchmakingConfiguration",
		object{"Name": "alone", "RuleSetName": arnOf("matchmakingruleset/duel"), "FlexMatchMode": "STANDALONE",
			"AcceptanceRequired": false, "RequestTimeoutSeconds": 43200}), `{"Configuration":%s}`, alone)

	sent := fmt.Sprintf(`"Name":"ladder.1","Description":"d",
		"GameSessionQueueArns":["arn:aws:gamelift:eu-west-1::gamesessionqueue/far",%q],"RequestTimeoutSeconds":60,
		"AcceptanceTimeoutSeconds":20,
		"AcceptanceRequired":true,"NotificationTarget":"arn:aws:sns:us-west-2:111122223333:a/b",
		"AdditionalPlayerCount":2,"CustomEventData":"blue",
		"GameProperties":[{"Key":"mode","Value":"duel"}],"GameSessionData":"data","BackfillMode":"AUTOMATIC"`, harbor)
	ladder := fmt.Sprintf(`{%s,%s,"FlexMatchMode":"WITH_QUEUE","ConfigurationArn":%q,"CreationTime":%d}`, sent, ruleSet,
		arnOf("matchmakingconfiguration/ladder.1"), born)
	same(t, w.must("CreateMatchmakingConfiguration",
		`{`+sent+`,"RuleSetName":"duel","Tags":[{"Key":"k","Value":"v"}]}`), `{"Configuration":%s}`, ladder)
	same(t, w.must("ListTagsForResource", object{"ResourceARN": arnOf("matchmakingconfiguration/ladder.1")}),
		`{"Tags":[{"Key":"k","Value":"v"}]}`)

	for in, want := range map[string]string{
		`{}`:                            alone + "," + ladder,
		`{"Names":["ladder.1","none"]}`: ladder,
		`{"Names":["none"]}`:            "",
		`{"RuleSetName":"duel"}`:        alone + "," + ladder,
		`{"RuleSetName":"raid.2"}`:      "",
		`{"RuleSetName":"none"}`:        "",
		`{"Names":["` + arnOf("matchmakingconfiguration/alone") + `"],"RuleSetName":"duel"}`: alone,
		`{"Names":["alone"],"RuleSetName":"raid.2"}`:                                         "",
		`{"RuleSetName":"arn:aws:gamelift:us-west-2::matchmakingruleset/duel"}`:              alone + "," + ladder,
		`{"RuleSetName":"arn:aws:gamelift:eu-west-1::matchmakingruleset/duel"}`:              "",
		`{"Names":["arn:aws:gamelift:eu-west-1::matchmakingconfiguration/alone"]}`:           "",
	} {
		same(t, w.must("DescribeMatchmakingConfigurations", in), `{"Configurations":[%s]}`, want)
	}

	same(t, w.must("DeleteMatchmakingConfiguration", `{"Name":"alone"}`), `{}`)
	w.refused(fault.NotFound, "DeleteMatchmakingConfiguration", `{"Name":"alone"}`)
	w.restart()
	same(t, w.must("DescribeMatchmakingConfigurations", `{}`), `{"Configurations":[%s]}`, ladder)
}

// Each member of an update changes that member alone.
func TestUpdateConfigurationLeavesTheRest(t *testing.T) {
	w := newWorld(t, withShards(1))
	w.ruleSetOf("duel")
	harbor, attic := w.queueOf("harbor"), w.queueOf("attic")
	w.must("CreateMatchmakingConfiguration", object{
		"Name": "ladder", "Description": "a", "RuleSetName": "duel", "GameSessionQueueArns": []string{harbor},
		"RequestTimeoutSeconds":    60,
		"AcceptanceTimeoutSeconds": 20, "AcceptanceRequired": true, "NotificationTarget": "arn:aws:sns:a",
		"AdditionalPlayerCount": 2, "CustomEventData": "a",
		"GameProperties": []object{{"Key": "a", "Value": "a"}}, "GameSessionData": "a",
	})
	changes := object{
		"Description": "b", "GameSessionQueueArns": []any{attic}, "RequestTimeoutSeconds": 61.,
		"AcceptanceTimeoutSeconds": 21.,
		"AcceptanceRequired":       false, "NotificationTarget": "arn:aws:sns:b", "AdditionalPlayerCount": 0.,
		"CustomEventData": "b",
		"GameProperties":  []any{object{"Key": "b", "Value": "b"}}, "GameSessionData": "b", "BackfillMode": "AUTOMATIC",
	}
	w.changesAlone("UpdateMatchmakingConfiguration", "Configuration", object{"Name": "ladder"}, changes, nil)

	w.ruleSetOf("raid")
	out := w.must("UpdateMatchmakingConfiguration", `{"Name":"ladder","RuleSetName":"raid"}`)
	if got := text(out, "Configuration", "RuleSetArn"); got != arnOf("matchmakingruleset/raid") {
		t.Errorf("rule set %s", got)
	}
	w.refused(fault.InvalidRequest, "UpdateMatchmakingConfiguration", `{"Name":"ladder","FlexMatchMode":"STANDALONE"}`)
	out = w.must("UpdateMatchmakingConfiguration", `{"Name":"ladder","FlexMatchMode":"STANDALONE",
		"BackfillMode":"MANUAL","GameSessionQueueArns":[],"GameProperties":[],
		"CustomEventData":"","NotificationTarget":""}`)
	c, _ := out["Configuration"].(object)
	same(t, object{"a": c["GameProperties"], "b": c["GameSessionQueueArns"], "c": c["CustomEventData"],
		"d": c["NotificationTarget"]}, `{"a":[],"b":[],"c":null,"d":null}`)
}

// A configuration keeps naming a queue that was deleted, and its rule set cannot
// be deleted before it.
func TestWhatAConfigurationRefersTo(t *testing.T) {
	w := newWorld(t, withShards(1))
	w.ruleSetOf("duel")
	harbor := w.queueOf("harbor")
	w.must("CreateMatchmakingConfiguration", object{"Name": "ladder", "RuleSetName": "duel",
		"AcceptanceRequired": false, "RequestTimeoutSeconds": 9, "GameSessionQueueArns": []string{harbor}})
	w.refused(fault.InvalidRequest, "DeleteMatchmakingRuleSet", `{"Name":"duel"}`)
	w.must("DeleteGameSessionQueue", `{"Name":"harbor"}`)
	w.must("UpdateMatchmakingConfiguration", `{"Name":"ladder","Description":"d"}`)
	w.refused(fault.NotFound, "UpdateMatchmakingConfiguration",
		object{"Name": "ladder", "GameSessionQueueArns": []string{harbor}})
	w.must("DeleteMatchmakingConfiguration", `{"Name":"ladder"}`)
	w.must("DeleteMatchmakingRuleSet", `{"Name":"duel"}`)
}

func TestMatchmakingQuotas(t *testing.T) {
	w := newWorld(t, withShards(1),
		withLimits(func(l *catalog.Limits) { l.Queues, l.MatchmakingConfigurations, l.RuleSets = 1, 1, 1 }))
	w.queueOf("harbor")
	w.refused(fault.LimitExceeded, "CreateGameSessionQueue", `{"Name":"attic"}`)
	w.ruleSetOf("duel")
	w.refused(fault.LimitExceeded, "CreateMatchmakingRuleSet", object{"Name": "raid", "RuleSetBody": smallestRuleSet})
	configuration := object{"Name": "a", "RuleSetName": "duel", "AcceptanceRequired": false, "RequestTimeoutSeconds": 9,
		"FlexMatchMode": "STANDALONE"}
	w.must("CreateMatchmakingConfiguration", configuration)
	configuration["Name"] = "b"
	w.refused(fault.LimitExceeded, "CreateMatchmakingConfiguration", configuration)
}

// A configuration stays for as long as a ticket uses it.
func TestDeleteConfigurationInUse(t *testing.T) {
	a := matchmakers(t, 0)
	a.seek("duel", "t1", "p1")
	a.refused(fault.InvalidRequest, "DeleteMatchmakingConfiguration", `{"Name":"duel"}`)
	a.must("StopMatchmaking", `{"TicketId":"t1"}`)
	a.must("DeleteMatchmakingConfiguration", `{"Name":"duel"}`)
	a.refused(fault.NotFound, "StartMatchmaking", object{"ConfigurationName": "duel", "Players": players("p1")})
}
