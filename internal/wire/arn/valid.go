package arn

import "strings"

// Longest ids, in bytes.
// Sources: API reference (data types of the members named).
const (
	maxFleetID       = 128 // FleetId
	maxLocation      = 64  // LocationStringModel
	minCustom        = 8   // CustomInputLocationStringModel
	maxName          = 128 // names of computes, queues, configurations, rule sets, groups
	maxGameSessionID = 512 // ArnStringModel, the whole ARN
)

// ValidRegion reports whether s looks like an AWS Region: two letters, a word and one digit ("eu-west-1"). Server SDKs
// refuse ARNs of any other Region, so a service must not be given one. Pattern: ^[a-z]{2}-[a-z]+-\d$
// Source: server SDK 5 source, validation of ARNs.
func ValidRegion(s string) bool {
	n := len(s)
	return n >= len("aa-a-1") &&
		all(s[:2], lower) && s[2] == '-' &&
		all(s[3:n-2], lower) && s[n-2] == '-' && isDigit(s[n-1])
}

// LocalRegion is the Region in the ids of GameLift Local. Only a service for its clients has it.
const LocalRegion = "local"

// ValidAccount reports whether s is an AWS account id: twelve digits.
func ValidAccount(s string) bool { return len(s) == 12 && all(s, digit) }

// Fits reports whether id is a well-formed id or name of this kind; it is false for a kind that is none of the
// constants.
// Source: API reference, the patterns of the …Id, …Name and …Arn types, each taken as a full match.
func (k Kind) Fits(id string) bool {
	switch k {
	case KindFleet, KindContainerFleet:
		return validFleet(id)
	case KindGameSession:
		return validGameSession(id)
	case KindLocation:
		return len(id) >= minCustom && validLocation(id) && strings.HasPrefix(id, "custom-")
	case KindCompute:
		return validCompute(id)
	case KindAlias:
		return prefixed(id, "alias-")
	case KindBuild:
		return prefixed(id, "build-")
	case KindScript:
		return prefixed(id, "script-")
	case KindQueue:
		return len(id) <= maxName && all(id, word)
	case KindMatchmakingConfiguration, KindMatchmakingRuleSet, KindGameServerGroup:
		return len(id) <= maxName && all(id, dottedWord)
	case KindContainerGroupDefinition:
		name, version, versioned := strings.Cut(id, ":")
		return len(name) <= maxName && all(name, word) && (!versioned || all(version, digit))
	default:
		return false
	}
}

// fleetKind is the kind in the ARN of the fleet with this id.
func fleetKind(fleetID string) Kind {
	if strings.HasPrefix(fleetID, "containerfleet-") {
		return KindContainerFleet
	}
	return KindFleet
}

// validFleet checks ^[a-z]*fleet-[a-zA-Z0-9\-]+$.
func validFleet(s string) bool {
	head, tail, _ := strings.Cut(s, "-")
	return len(s) <= maxFleetID && strings.HasSuffix(head, "fleet") && all(head, lower) && all(tail, word)
}

// validLocation checks the name of any location: [A-Za-z0-9\-]{1,64}.
func validLocation(s string) bool { return len(s) <= maxLocation && all(s, word) }

// validCompute checks [a-zA-Z0-9\-]+(/[a-zA-Z0-9\-]+)?.
func validCompute(s string) bool {
	host, process, two := strings.Cut(s, "/")
	return len(s) <= maxName && all(host, word) && (!two || all(process, word))
}

// validGameSession checks "<fleet>/<id>" and "<fleet>/<location>/<id>".
func validGameSession(s string) bool {
	fleetID, location, idPart := cutGameSession(s)
	located := len(s) > len(fleetID)+len("/")+len(idPart) // a slash was cut off, so something must stand before it
	return validFleet(fleetID) && (!located || validLocation(location)) && all(idPart, word)
}

// prefixed checks <prefix>\S+.
func prefixed(s, prefix string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	return ok && all(rest, visible)
}

// A class is a set of characters. The ids of every call go through them, so each is a table.
type class [256]bool

func classOf(holds func(c byte) bool) *class {
	var k class
	for c := range k {
		k[c] = holds(byte(c))
	}
	return &k
}

// all reports whether s is not empty and every byte of it is of the class.
func all(s string, k *class) bool {
	for i := range len(s) {
		if !k[s[i]] {
			return false
		}
	}
	return s != ""
}

var (
	digit      = classOf(isDigit)
	lower      = classOf(isLower)
	word       = classOf(isWord)
	dottedWord = classOf(func(c byte) bool { return isWord(c) || c == '.' })

	// visible is \S for the characters of ASCII without the controls; ids that the service gives out hold no others.
	visible = classOf(func(c byte) bool { return '!' <= c && c <= '~' })
)

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

func isWord(c byte) bool { return isLower(c) || isDigit(c) || 'A' <= c && c <= 'Z' || c == '-' }
