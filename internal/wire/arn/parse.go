package arn

import "strings"

// ParseFleet reads a fleet's id or ARN, those of container fleets included.
func ParseFleet(s string) (fleetID string, ok bool) {
	if !strings.HasPrefix(s, "arn:") {
		return named(s, validFleet(s))
	}
	a, ok := Parse(s)
	return named(a.ID, ok && (a.Kind == KindFleet || a.Kind == KindContainerFleet))
}

// ParseLocation reads the name or ARN of a custom location. The code of an AWS Region is not one: ok is false.
func ParseLocation(s string) (name string, ok bool) { return parseAs(KindLocation, s) }

// ParseCompute reads a compute's name or ARN.
func ParseCompute(s string) (name string, ok bool) { return parseAs(KindCompute, s) }

// ParseAlias reads an alias's id or ARN.
func ParseAlias(s string) (aliasID string, ok bool) { return parseAs(KindAlias, s) }

// ParseBuild reads a build's id or ARN.
func ParseBuild(s string) (buildID string, ok bool) { return parseAs(KindBuild, s) }

// ParseScript reads a script's id or ARN.
func ParseScript(s string) (scriptID string, ok bool) { return parseAs(KindScript, s) }

// ParseQueue reads the name or ARN of a game session queue.
func ParseQueue(s string) (name string, ok bool) { return parseAs(KindQueue, s) }

// ParseMatchmakingConfiguration reads the name or ARN of a matchmaking configuration.
func ParseMatchmakingConfiguration(s string) (name string, ok bool) {
	return parseAs(KindMatchmakingConfiguration, s)
}

// ParseMatchmakingRuleSet reads the name or ARN of a matchmaking rule set.
func ParseMatchmakingRuleSet(s string) (name string, ok bool) {
	return parseAs(KindMatchmakingRuleSet, s)
}

// ParseResource reads the ARN of a resource that can be tagged. ok is false for malformed text and for the kinds that
// take no tags: computes and game sessions. The id of a container group definition may end in ":<version>".
// Source: API reference, TagResource.
func ParseResource(s string) (kind Kind, id string, ok bool) {
	a, ok := Parse(s)
	if !ok || a.Kind == KindCompute || a.Kind == KindGameSession {
		return "", "", false
	}
	return a.Kind, a.ID, true
}

// ParseGameSession reads the ARN of a game session. If it has no location, the game session runs in the home Region,
// and location is region.
func ParseGameSession(s string) (region, fleetID, location, idPart string, ok bool) {
	a, ok := Parse(s)
	if !ok || a.Kind != KindGameSession || len(s) > maxGameSessionID {
		return "", "", "", "", false
	}
	fleetID, location, idPart = cutGameSession(a.ID)
	if location == "" {
		location = a.Region
	}
	return a.Region, fleetID, location, idPart, true
}

// FleetOfGameSession returns what [ParseGameSession] returns as the fleet, for a text that it accepts; for others, any
// text. It takes a fraction of the time, for callers that only compare, before the text is parsed.
func FleetOfGameSession(s string) (fleetID string, ok bool) {
	_, id, ok := strings.Cut(s, ":"+string(KindGameSession)+"/")
	if !ok {
		return "", false
	}
	fleetID, _, ok = strings.Cut(id, "/")
	return fleetID, ok
}

// cutGameSession splits "<fleet>/<id>" or "<fleet>/<location>/<id>".
func cutGameSession(id string) (fleetID, location, idPart string) {
	fleetID, rest, _ := strings.Cut(id, "/")
	if i := strings.LastIndexByte(rest, '/'); i >= 0 {
		return fleetID, rest[:i], rest[i+1:]
	}
	return fleetID, "", rest
}

// parseAs reads an id of the kind, or an ARN of the kind.
func parseAs(kind Kind, s string) (id string, ok bool) {
	if !strings.HasPrefix(s, "arn:") {
		return named(s, kind.Fits(s))
	}
	a, ok := Parse(s)
	return named(a.ID, ok && a.Kind == kind)
}

// named blanks an id that is not one.
func named(id string, ok bool) (string, bool) {
	if !ok {
		return "", false
	}
	return id, true
}
