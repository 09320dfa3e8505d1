package catalog

// Limits are the quotas of a catalog. They are configuration: events are applied regardless of them, and lowering one
// deletes nothing. A zero forbids what it counts.
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

// DefaultLimits returns limits for a service with one operator: mostly far above the AWS quotas (20 locations, 10
// fleets, 4 locations and 100 computes per fleet, 100 aliases, 10 sessions per creator in up to 60 minutes), which
// protect a shared service. AWS allows 50 tags per resource everywhere. Source: API reference, "Service quotas"; AWS
// tagging guide.
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
