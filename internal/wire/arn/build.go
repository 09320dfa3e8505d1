package arn

import (
	"strconv"
	"strings"
)

// build joins the parts of one ARN.
func build(region, account string, kind Kind, id string) string {
	return ARN{Partition: Partition(region), Region: region, Account: account, Kind: kind, ID: id}.String()
}

// Fleet is the ARN of a fleet; that of a container fleet ("containerfleet-…") has the kind containerfleet.
func Fleet(region, account, fleetID string) string {
	return build(region, account, fleetKind(fleetID), fleetID)
}

// Location is the ARN of a custom location. Locations that are AWS Regions have none.
func Location(region, account, name string) string {
	return build(region, account, KindLocation, name)
}

// Compute is the ARN of a compute, by its name.
func Compute(region, account, name string) string { return build(region, account, KindCompute, name) }

// Alias is the ARN of an alias.
func Alias(region, account, aliasID string) string { return build(region, account, KindAlias, aliasID) }

// Build is the ARN of a build.
func Build(region, account, buildID string) string { return build(region, account, KindBuild, buildID) }

// Script is the ARN of a script.
func Script(region, account, scriptID string) string {
	return build(region, account, KindScript, scriptID)
}

// Queue is the ARN of a game session queue, by its name.
func Queue(region, account, name string) string { return build(region, account, KindQueue, name) }

// MatchmakingConfiguration is the ARN of a matchmaking configuration, by its name.
func MatchmakingConfiguration(region, account, name string) string {
	return build(region, account, KindMatchmakingConfiguration, name)
}

// MatchmakingRuleSet is the ARN of a matchmaking rule set, by its name.
func MatchmakingRuleSet(region, account, name string) string {
	return build(region, account, KindMatchmakingRuleSet, name)
}

// GameSessionPrefix is what the ids of all game sessions of one fleet location begin with; the id part follows. The
// account is empty by rule. The location is in the ARN unless it is the home Region: location is then "" or equals
// region.
// Source: API reference, GameSession.GameSessionId.
func GameSessionPrefix(region, fleetID, location string) string {
	prefix := "arn:" + Partition(region) + ":gamelift:" + region + "::gamesession/" + fleetID + "/"
	if location == "" || location == region {
		return prefix
	}
	return prefix + location + "/"
}

// GameSession is the ARN, and so the id, of a game session; see GameSessionPrefix for the location. idPart is what the
// client gave, or "gsess-<uuid>", or the bare UUID of a placed session; or a Verbatim, which is the whole id.
func GameSession(region, fleetID, location, idPart string) string {
	if given, ok := CutVerbatim(idPart); ok {
		return given
	}
	return GameSessionPrefix(region, fleetID, location) + idPart
}

// verbatim marks the id part of a game session whose whole id the client has chosen. It is in no other id.
const verbatim = "="

// Verbatim is the id part of a game session whose id is not an ARN but the text that the client gave, as GameLift Local
// has it. The same text may be used again after the game session has ended: use counts from 1.
func Verbatim(given string, use int) string {
	if use == 1 {
		return verbatim + given
	}
	return verbatim + given + verbatim + strconv.Itoa(use)
}

// CutVerbatim returns the text of a Verbatim; ok is false for any other id part.
func CutVerbatim(idPart string) (given string, ok bool) {
	given, ok = strings.CutPrefix(idPart, verbatim)
	given, _, _ = strings.Cut(given, verbatim)
	return given, ok
}
