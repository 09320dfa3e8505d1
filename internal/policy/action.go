package policy

import (
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/wire"
)

// The actions beside those of GameLift, by service.
const (
	cloudwatchActions = "DescribeAlarms DescribeAlarmsForMetric GetMetricData GetMetricStatistics ListMetrics"
	iamActions        = "CreateAccessKey CreateUser DeleteAccessKey DeleteUser DeleteUserPolicy" +
		" GetAccessKeyLastUsed GetUser GetUserPolicy ListAccessKeys ListUserPolicies ListUsers PassRole" +
		" PutUserPolicy UpdateAccessKey"
	musterActions = "AssignmentDelete AssignmentPut AuditRead BackupCreate BuildRead ConsoleUse EndedSessionRead" +
		" EventRead FleetBuildPut GameSessionRead GroupDelete GroupPut GroupRead KeyCreate KeyDelete KeyRead" +
		" KeyUpdate LegacyRead LogRead MachineDelete MachineDrain MachineRead MachineTokenCreate MachineTokenDelete" +
		" MachineTokenRead NodeRead NodeRemove OverviewRead PlacementRead PlayerRead PlayerRelease PolicyCheck" +
		" PolicyDelete PolicyPut PolicyRead ProcessLogRead ProviderDelete ProviderPut ProviderRead RoleDelete RolePut" +
		" RoleRead RootKeyRotate RuleSetCheck RuleSetSimulate SearchRead SecretRotate SessionEnd SessionRead" +
		" SettingsPut SettingsRead TicketExplain TicketRead Unlock UserDelete UserPut UserRead"
	s3Actions = "AbortMultipartUpload CreateBucket DeleteBucket DeleteObject GetBucketLocation GetObject" +
		" ListAllMyBuckets ListBucket ListMultipartUploadParts PutObject"
	stsActions = "AssumeRole AssumeRoleWithWebIdentity GetAccessKeyInfo GetCallerIdentity GetSessionToken" +
		" SetSourceIdentity TagSession"
)

// Action is a known action, as its index in Actions. Indexes are not stable between versions: store names.
type Action int

var (
	actionNames = knownActions()
	lowerNames  = lowered(actionNames)
	actionIndex = indexed(lowerNames)
)

func knownActions() []string {
	var all []string
	add := func(service string, names []string) {
		for _, name := range names {
			all = append(all, service+":"+name)
		}
	}
	for _, op := range wire.Operations {
		all = append(all, "gamelift:"+op.Name)
	}
	add("cloudwatch", strings.Fields(cloudwatchActions))
	add("iam", strings.Fields(iamActions))
	add("muster", strings.Fields(musterActions))
	add("s3", strings.Fields(s3Actions))
	add("sts", strings.Fields(stsActions))
	slices.Sort(all)
	return all
}

func lowered(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = lower(name)
	}
	return all
}

func indexed(names []string) map[string]Action {
	index := make(map[string]Action, len(names))
	for i, name := range names {
		index[name] = Action(i)
	}
	return index
}

// lower maps the letters of ASCII only: names of actions have no others, so no other letter may become one of theirs.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// Actions returns the names of all known actions, sorted: "gamelift:CreateFleet", "muster:UserPut", "sts:AssumeRole".
func Actions() []string { return slices.Clone(actionNames) }

// ActionOf finds an action by its name, in any case.
func ActionOf(name string) (Action, bool) {
	a, ok := actionIndex[lower(name)]
	return a, ok
}

// String is the action's name.
func (a Action) String() string { return actionNames[a] }

// ReadOnly reports whether the action changes nothing and hands out no credentials.
func (a Action) ReadOnly() bool {
	service, name, _ := strings.Cut(a.String(), ":")
	if service == "muster" {
		return strings.HasSuffix(name, "Read")
	}
	switch name {
	case "GetComputeAccess", "GetComputeAuthToken", "GetInstanceAccess", "GetSessionToken":
		return false
	}
	for _, verb := range []string{"Describe", "Get", "List", "Resolve", "Search", "Validate"} {
		if strings.HasPrefix(name, verb) {
			return true
		}
	}
	return false
}

// OfGames reports whether an action is of games that are played, and not of the region: there may be many such calls.
func (a Action) OfGames() bool {
	name, ok := strings.CutPrefix(a.String(), "gamelift:")
	return ok && gameCalls[name]
}

var gameCalls = map[string]bool{
	"CreateGameSession": true, "UpdateGameSession": true, "TerminateGameSession": true,
	"CreatePlayerSession": true, "CreatePlayerSessions": true,
	"StartGameSessionPlacement": true, "StopGameSessionPlacement": true,
	"StartMatchmaking": true, "StopMatchmaking": true, "AcceptMatch": true, "StartMatchBackfill": true,
}

// An actionSet has a bit for each action.
type actionSet [4]uint64

func (s *actionSet) add(a Action) { s[a/64] |= 1 << (a % 64) }

func (s *actionSet) has(a Action) bool { return s[a/64]&(1<<(a%64)) != 0 }

// actionsMatching returns the actions of a set that a pattern matches, and how many they are.
func actionsMatching(text string, among func(Action) bool) (set actionSet, count int) {
	p := parseGlob(lower(text))
	for i, name := range lowerNames {
		if among(Action(i)) && match(p, name) {
			set.add(Action(i))
			count++
		}
	}
	return set, count
}

// services are the prefixes of the known actions.
var services = []string{"cloudwatch", "gamelift", "iam", "muster", "s3", "sts"}
