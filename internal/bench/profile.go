package bench

import (
	"context"
	"slices"
)

// A Profile is one kind of work.
type Profile struct {
	Name      string
	Summary   string // one line, for help
	Unit      string // result of an operation, in the plural
	Pool      int    // default of Config.Pool; 0: the profile needs no pool
	Locations int    // minimum for the fleet

	// prepare creates resources and returns a function that makes a worker's operation.
	prepare func(context.Context, *site) (func(worker int) operation, error)
}

// Profiles returns all profiles, in the order in which they are run.
func Profiles() []Profile {
	return []Profile{
		playersProfile, playerProfile, sessionsProfile, placementsProfile, livesProfile, acceptProfile, searchProfile,
		matchmakingProfile,
	}
}

// Lookup finds a profile by its name.
func Lookup(name string) (Profile, bool) {
	all := Profiles()
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return all[i], true
}
