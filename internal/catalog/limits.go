package catalog

// Limits are the quotas of a catalog. They are configuration: events are applied regardless of them, and lowering one
// deletes nothing. A zero forbids what it counts.
type Limits struct {
	Locations                 int // custom locations
	Fleets                    int // that are not TERMINATED
	LocationsPerFleet         int
	ComputesPerFleet          int
	Aliases                   int
	Queues                    int // game session queues
	MatchmakingConfigurations int
	RuleSets                  int // matchmaking rule sets
	TagsPerResource           int
	SessionsPerCreator        int32 // highest NewGameSessionsPerCreator of a fleet's policy
	CreatorPeriodMinutes      int32 // highest PolicyPeriodInMinutes of a fleet's policy
	Users                     int
	Groups                    int
	Roles                     int
	Assignments               int
	Policies                  int // managed ones that are stored
	PolicyCharacters          int // of a policy document, without white space
	Providers                 int
	KeysPerUser               int // access keys; the root has no limit
	SignIns                   int
	SignInsPerUser            int // a further one ends the least recently used one
	ViewsPerUser              int // saved views of the console
	Builds                    int
	Buckets                   int
	Objects                   int // of all buckets; those of builds count, but are never refused
	Machines                  int // that have joined
	MachineTokens             int // join tokens that were not used
	Instances                 int // desired ones of all EC2-type fleets
	ScalingPoliciesPerFleet   int
}

// DefaultLimits returns limits for a service with one operator: mostly far above the AWS quotas (20 locations, 10
// fleets, 4 locations and 100 computes per fleet, 100 aliases, 10 sessions per creator in up to 60 minutes, 1,000
// builds), which protect a shared service. AWS allows 50 tags per resource everywhere, 6,144 characters in a managed
// policy and 2 access keys of a user. Source: API reference, "Service quotas"; AWS tagging guide; IAM user guide, "IAM
// and AWS STS quotas".
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
		Users:                     10_000,
		Groups:                    1000,
		Roles:                     1000,
		Assignments:               50_000,
		Policies:                  1000,
		PolicyCharacters:          6144,
		Providers:                 20,
		KeysPerUser:               2,
		SignIns:                   100_000,
		SignInsPerUser:            100,
		ViewsPerUser:              50,
		Builds:                    10_000,
		Buckets:                   100,
		Objects:                   100_000,
		Machines:                  5000,
		MachineTokens:             1000,
		Instances:                 10_000,
		ScalingPoliciesPerFleet:   50,
	}
}

// GameLiftLimits returns limits that are those of an AWS account, where AWS has one. Source: API reference, "Service
// quotas".
func GameLiftLimits() Limits {
	l := DefaultLimits()
	l.Locations, l.Fleets, l.LocationsPerFleet, l.ComputesPerFleet = 20, 10, 4, 100
	l.Aliases, l.Queues, l.MatchmakingConfigurations = 100, 20, 100
	l.SessionsPerCreator, l.CreatorPeriodMinutes, l.Builds = 10, 60, 1000
	return l
}
