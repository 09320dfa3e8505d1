package console

import (
	"net/http"
	"strings"

	"github.com/muster-gg/muster/internal/policy"
)

// A navGroup is a part of the navigation.
type navGroup struct {
	Title string // "": none
	Links []navLink
}

// A navLink is an entry of the navigation.
type navLink struct {
	link
	key    string // after g; "": none
	action string // whose permission the page needs, without which nothing of it is shown; "": any
}

// navigation has all entries.
var navigation = []navGroup{
	{"", []navLink{
		{link{"Overview", Prefix}, "d", ""}, {link{"Fleets", "/console/fleets"}, "f", ""},
		{link{"Game sessions", "/console/game-sessions"}, "s", ""}, {link{"Players", "/console/players"}, "p", ""},
		{link{"Queues", "/console/queues"}, "q", ""}, {link{"Matchmaking", "/console/matchmaking"}, "m", ""},
		{link{"Rule sets", "/console/rule-sets"}, "r", ""}, {link{"Locations", "/console/locations"}, "l", ""},
		{link{"Events", "/console/events"}, "e", "muster:EventRead"},
	}},
	{"Region", []navLink{
		{link{"Builds", "/console/builds"}, "b", "muster:BuildRead"},
		{link{"Instances", "/console/instances"}, "i", "muster:MachineRead"},
		{link{"Machines", "/console/machines"}, "h", "muster:MachineRead"},
		{link{"Cluster", "/console/cluster"}, "c", "muster:NodeRead"},
		{link{"Log", "/console/log"}, "o", "muster:LogRead"},
		{link{"API", "/console/api"}, "a", ""},
		{link{"Settings", "/console/settings"}, "", "muster:SettingsRead"},
	}},
	{"Access", []navLink{
		{link{"Users", "/console/users"}, "u", "muster:UserRead"},
		{link{"Groups", "/console/groups"}, "", "muster:GroupRead"},
		{link{"Roles", "/console/roles"}, "", "muster:RoleRead"},
		{link{"Policies", "/console/policies"}, "", "muster:PolicyRead"},
		{link{"Access keys", "/console/keys"}, "", "muster:KeyRead"},
		{link{"Identity providers", "/console/providers"}, "", "muster:ProviderRead"},
		{link{"Audit trail", "/console/audit"}, "t", "muster:AuditRead"},
	}},
}

// Navigation returns the entries whose pages the person may see.
func (p page) Navigation() (groups []navGroup) {
	for _, g := range navigation {
		seen := navGroup{Title: g.Title}
		for _, l := range g.Links {
			if l.action == "" || p.May(l.action) {
				seen.Links = append(seen.Links, l)
			}
		}
		if len(seen.Links) > 0 {
			groups = append(groups, seen)
		}
	}
	return groups
}

// A keyHelp is a key that leads to a page.
type keyHelp struct{ Key, Text string }

// Keys returns the keys after g.
func (p page) Keys() (keys []keyHelp) {
	for _, g := range p.Navigation() {
		for _, l := range g.Links {
			if l.key != "" {
				keys = append(keys, keyHelp{l.key, strings.ToLower(l.Text)})
			}
		}
	}
	return keys
}

// Key is the key of an entry, for the script.
func (l navLink) Key() string { return l.key }

// May reports whether the person may do something, so that a page leaves out forms that would be refused. Resources
// are ARNs, or KIND/NAME for actions of the service; none: it may be allowed on some.
func (p page) May(action string, resources ...string) bool {
	return p.may == nil || p.may(action, resources)
}

func (v *visit) may(name string, resources []string) bool {
	action, ok := policy.ActionOf(name)
	if !ok {
		panic("unknown action " + name)
	}
	if len(resources) == 0 {
		return v.h.Access.PermitsSome(v.id, action)
	}
	arns := make([]string, len(resources))
	for i, r := range resources {
		if arns[i] = r; !strings.HasPrefix(r, "arn:") {
			arns[i] = v.resource(r)
		}
	}
	return v.h.Access.Permits(v.id, v.from, action, arns...)
}

// sees reports whether the person may read a list, which is for all resources.
func (v *visit) sees(name string) bool {
	action, ok := policy.ActionOf(name)
	return ok && v.h.Access.Permits(v.id, v.from, action)
}

// resource returns the ARN of a resource of the service's own requests.
func (v *visit) resource(name string) string {
	return "arn:aws:muster:" + v.h.RegionName + ":" + v.h.Account + ":" + name
}

// consoleUse is the permission to see any page.
var consoleUse, _ = policy.ActionOf("muster:ConsoleUse")

// lookCookie has how a person wants the pages to look, in one browser: the colours, the zone of times and
// the density of tables, with dots between them.
const lookCookie = "muster-look"

// A look is how pages look. The zero look has the colours of the system, times in UTC and high rows.
type look struct {
	Theme string // light, dark, or "" for that of the system
	Local bool   // times are those of the browser's zone

	Compact bool // rows of tables are less high
}

// lookOf returns the look that a request asks for.
func lookOf(r *http.Request) (l look) {
	c, err := r.Cookie(lookCookie)
	if err != nil {
		return l
	}
	theme, rest, _ := strings.Cut(c.Value, ".")
	times, density, _ := strings.Cut(rest, ".")
	if theme == "light" || theme == "dark" {
		l.Theme = theme
	}
	l.Local, l.Compact = times == "local", density == "compact"
	return l
}

// A lookChoice is a button.
type lookChoice struct {
	Value, Text string
	On          bool
}

// Themes are the choices of colours.
func (l look) Themes() []lookChoice {
	return []lookChoice{{"system", "System", l.Theme == ""}, {"light", "Light", l.Theme == "light"},
		{"dark", "Dark", l.Theme == "dark"}}
}

// Zones are the choices of times.
func (l look) Zones() []lookChoice {
	return []lookChoice{{"utc", "UTC", !l.Local}, {"local", "Local time", l.Local}}
}

// Densities are the choices of tables.
func (l look) Densities() []lookChoice {
	return []lookChoice{{"comfortable", "Comfortable", !l.Compact}, {"compact", "Compact", l.Compact}}
}

// cookie returns the look as the value of its cookie.
func (l look) cookie() string {
	value := l.Theme
	if l.Theme != "light" && l.Theme != "dark" {
		value = ""
	}
	value += "."
	if l.Local {
		value += "local"
	}
	if l.Compact {
		value += ".compact"
	}
	return value
}

// chooseLook keeps how the pages look in the browser, and returns to the page.
func chooseLook(v *visit) error {
	l := lookOf(v.r)
	if theme := v.form("theme"); theme != "" {
		l.Theme = theme
	}
	if times := v.form("times"); times != "" {
		l.Local = times == "local"
	}
	if density := v.form("density"); density != "" {
		l.Compact = density == "compact"
	}
	http.SetCookie(v.w, &http.Cookie{Name: lookCookie, Value: l.cookie(), Path: strings.TrimSuffix(Prefix, "/"),
		MaxAge: 365 * 86400, HttpOnly: true, Secure: v.from.TLS, SameSite: http.SameSiteStrictMode})
	return v.redirect(v.returnPath())
}
