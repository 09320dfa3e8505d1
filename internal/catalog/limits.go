package catalog

// Limits are the quotas of one catalog. They are configuration: events are
// applied whatever the limits are, and lowering one takes nothing away.
// A zero refuses everything that it counts.
type Limits struct {
	Locations                 int // custom locations
	Fleets                    int // Anywhere fleets that are not TERMINATED
	LocationsPerFleet         int
	ComputesPerFleet          int
	Aliases                   int
	Queues                    int // game session queues
	MatchmakingConfigurations int
	RuleSets                  int // matchmaking rule sets
	TagsPerResource           int
	SessionsPerCreator        int32 // highest NewGameSessionsPerCreator of a fleet's policy
	CreatorPeriodMinutes      int32 // highest PolicyPeriodInMinutes of a fleet's policy
}

// DefaultLimits are those of a service that its operator pays for: mostly far
// above the AWS quotas (20 locations, 10 fleets, 4 locations and 100 computes
// per fleet, 100 aliases, 10 sessions per creator in up to 60 minutes), which
// protect a shared one. 50 tags per resource is what all of AWS allows.
// Source: API reference, "Service quotas"; AWS tagging guide.
func DefaultLimits() Limits {
	return Limits{
		Locations:                 200,
		Fleets:                    200,
		LocationsPerFleet:         100,
		ComputesPerFleet:          10_000,
		Aliases:                   1000,
		Queues:                    1000,
		MatchmakingConfigurations: 1000,
		RuleSets:                  1000,
		TagsPerResource:           50,
		SessionsPerCreator:        1000,
		CreatorPeriodMinutes:      24 * 60,
	}
}
