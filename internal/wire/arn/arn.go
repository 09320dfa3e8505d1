// Package arn builds and reads the Amazon Resource Names and ids by which clients name fleets, locations, game sessions
// and the other resources.
//
// An ARN has six parts, of which this package knows those of GameLift:
//
//	arn:<partition>:gamelift:<region>:<account>:<kind>/<id>
//
// What the package builds carries the account, except for game sessions, whose ARN has none. What it reads may come
// with or without an account and from any partition, because clients and published examples use all of these forms;
// where an operation takes "id or ARN" the bare id reads just as well. Reading cuts substrings and allocates nothing.
//
// Sources: API reference (data types of the …Id, …Arn and …IdOrArn members); server SDK 5 source (validation of ARNs).
package arn

import "strings"

// Kind is the type of a resource in an ARN, before the slash.
type Kind string

// The kinds of resources that have an ARN.
const (
	KindAlias                    Kind = "alias"
	KindBuild                    Kind = "build"
	KindCompute                  Kind = "compute"
	KindContainerFleet           Kind = "containerfleet"
	KindContainerGroupDefinition Kind = "containergroupdefinition"
	KindFleet                    Kind = "fleet"
	KindGameServerGroup          Kind = "gameservergroup"
	KindGameSession              Kind = "gamesession"
	KindLocation                 Kind = "location"
	KindMatchmakingConfiguration Kind = "matchmakingconfiguration"
	KindMatchmakingRuleSet       Kind = "matchmakingruleset"
	KindQueue                    Kind = "gamesessionqueue"
	KindScript                   Kind = "script"
)

// An ARN is the parts of one name, as substrings of what was parsed.
type ARN struct {
	Partition string // "aws", "aws-cn", or whatever the client wrote
	Region    string // never empty
	Account   string // twelve digits, or empty
	Kind      Kind   // one of the constants
	ID        string // fits the kind: "fleet-…", a name, or "<fleet>/<id>" of a game session
}

// maxLength is the longest ARN that any member of the API takes: a compute's. Source: API reference, RegisterCompute
// (ComputeArn).
const maxLength = 1024

// Parse reads a whole ARN of the service gamelift. ok is false when a part is malformed, the kind is unknown, or the id
// does not fit its kind. Callers that serve one Region compare Region with theirs.
func Parse(s string) (a ARN, ok bool) {
	if len(s) > maxLength {
		return ARN{}, false
	}
	rest, ok := strings.CutPrefix(s, "arn:")
	if !ok {
		return ARN{}, false
	}
	if a.Partition, rest, ok = strings.Cut(rest, ":"); !ok || !all(a.Partition, word) {
		return ARN{}, false
	}
	if rest, ok = strings.CutPrefix(rest, "gamelift:"); !ok {
		return ARN{}, false
	}
	if a.Region, rest, ok = strings.Cut(rest, ":"); !ok || !all(a.Region, word) {
		return ARN{}, false
	}
	if a.Account, rest, ok = strings.Cut(rest, ":"); !ok || a.Account != "" && !ValidAccount(a.Account) {
		return ARN{}, false
	}
	kind, id, ok := strings.Cut(rest, "/")
	if a.Kind, a.ID = Kind(kind), id; !ok || !a.Kind.Fits(a.ID) {
		return ARN{}, false
	}
	return a, true
}

// String is the ARN's text; Parse reads it back.
func (a ARN) String() string {
	return "arn:" + a.Partition + ":gamelift:" + a.Region + ":" + a.Account + ":" + string(a.Kind) + "/" + a.ID
}

// Partition is the partition of a Region's ARNs: "aws-cn" for the Regions of China, "aws" for every other. Server SDKs
// refuse any third one.
// Source: server SDK 5 source, StopMatchBackfillRequest.
func Partition(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "aws-cn"
	}
	return "aws"
}
