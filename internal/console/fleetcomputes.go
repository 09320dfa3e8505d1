package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/muster-gg/muster/internal/control"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// A computesView is the tab of a fleet's computes.
type computesView struct {
	Rows   []computeRow
	Page   string      // the token of this page; "": it is the first
	Bare   bool        // the person may not read the server processes
	Chosen *computeRow // whose server processes are listed; nil: none

	Typed wire.RegisterComputeInput // in the form that adds a compute
	Added *addedCompute             // nil: none was added
}

// A computeRow is a compute with its server processes.
type computeRow struct {
	control.ComputeRow
	Output bool // the person may read the output of its server processes
}

// An addedCompute has what a game server needs to connect.
type addedCompute struct {
	wire.Compute
	Token   string
	Expires time.Time
	Command string
}

// fleetComputes reads the computes of a fleet with their server processes, or without those that the person may not
// read.
func (v *visit) fleetComputes(b *fleetBody) error {
	b.Computes.Page, b.Computes.Rows = v.form("next"), nil
	var list control.ComputeList
	err := v.request("GET", v.rowsOf("fleets", b.FleetId, "computes"), nil, &list)
	if fault.Is(err, fault.AccessDenied) {
		b.Computes.Bare = true
		list, err = v.bareComputes(b.FleetId)
	}
	if err != nil {
		return err
	}
	v.partial("Computes", list.Partial)
	b.Next = list.NextToken
	output := v.may("muster:ProcessLogRead", []string{"fleet/" + b.FleetId})
	for _, c := range list.Computes {
		b.Computes.Rows = append(b.Computes.Rows, computeRow{c, output})
	}
	chosen := v.r.URL.Query().Get("compute")
	if i := slices.IndexFunc(b.Computes.Rows, func(c computeRow) bool { return c.Name == chosen }); i >= 0 {
		b.Computes.Chosen = &b.Computes.Rows[i]
	}
	return nil
}

func (v *visit) bareComputes(fleet string) (list control.ComputeList, err error) {
	out, err := call(v, wire.OpListCompute, &wire.ListComputeInput{FleetId: fleet,
		Limit: wire.Some[int32](pageSize), NextToken: v.form("next")})
	if err != nil {
		return list, err
	}
	list.NextToken = out.NextToken
	for _, c := range out.ComputeList {
		list.Computes = append(list.Computes, control.ComputeRow{Name: c.ComputeName, Location: c.Location,
			IPAddress: c.IpAddress, DNSName: c.DnsName, CreationTime: c.CreationTime})
	}
	return list, nil
}

// A cellGroup is the server processes of a compute that are in one state, with a mark for each.
type cellGroup struct {
	State control.ProcessState
	Count int
}

// marks of the states: they differ in shape, because colours alone do not suffice.
var marks = map[control.ProcessState]string{
	control.ProcessHosting: "■", control.ProcessActivating: "◧", control.ProcessIdle: "□", control.ProcessStarting: "◌",
}

// maxMarks is the number of marks of a group that are shown.
const maxMarks = 50

// Marks has one for each process; of many, those that fit.
func (g cellGroup) Marks() string { return strings.Repeat(marks[g.State], min(g.Count, maxMarks)) }

// Text is like "3 hosting".
func (g cellGroup) Text() string {
	return fmt.Sprintf("%d %s", g.Count, strings.ToLower(string(g.State)))
}

// Cells are the groups that have server processes, the busiest first.
func (c computeRow) Cells() (groups []cellGroup) {
	for _, state := range []control.ProcessState{control.ProcessHosting, control.ProcessActivating,
		control.ProcessIdle, control.ProcessStarting} {
		g := cellGroup{State: state}
		for _, p := range c.Processes {
			if p.State == state {
				g.Count++
			}
		}
		if g.Count > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// SDKs are the server SDKs of the processes, each once: "Go 5.3.0".
func (c computeRow) SDKs() (all []string) {
	for _, p := range c.Processes {
		if sdk := strings.TrimSpace(p.SDKLanguage + " " + p.SDKVersion); sdk != "" {
			all = append(all, sdk)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Oldest is the oldest of the last health reports of the processes; zero if there is none.
func (c computeRow) Oldest() (oldest time.Time) {
	for _, p := range c.Processes {
		if p.LastReport != nil && (oldest.IsZero() || p.LastReport.Before(oldest)) {
			oldest = *p.LastReport
		}
	}
	return oldest
}

// Problems are what is wrong with server processes: "1 without a connection".
func (c computeRow) Problems() (texts []string) {
	lost, unhealthy := 0, 0
	for _, p := range c.Processes {
		if !p.Connected {
			lost++
		}
		if p.Unhealthy > 0 {
			unhealthy++
		}
	}
	if lost > 0 {
		texts = append(texts, fmt.Sprintf("%d without a connection", lost))
	}
	if unhealthy > 0 {
		texts = append(texts, fmt.Sprintf("%d unhealthy", unhealthy))
	}
	if n := len(c.Backoffs); n > 0 {
		texts = append(texts, fmt.Sprintf("%d in back-off", n))
	}
	return texts
}

// Address is where players connect to.
func (c computeRow) Address() string { return cmp.Or(c.IPAddress, c.DNSName) }

// addCompute registers a compute, and shows the command that starts a game server on it.
func addCompute(v *visit) error {
	b, err := v.fleet("computes")
	if err != nil {
		return err
	}
	typed := &b.Computes.Typed
	typed.ComputeName, typed.IpAddress, typed.Location = v.form("compute-name"), v.form("ip"), v.form("location")
	typed.FleetId = b.FleetId
	out, err := call(v, wire.OpRegisterCompute, typed)
	if err != nil {
		return v.showFleet(b, err)
	}
	token, err := call(v, wire.OpGetComputeAuthToken, &wire.GetComputeAuthTokenInput{FleetId: b.FleetId,
		ComputeName: typed.ComputeName})
	if err != nil {
		return v.showFleet(b, err)
	}
	if err := v.read(v.fleetTab(b)...); err != nil {
		return err
	}
	b.Computes.Added = &addedCompute{Compute: *out.Compute, Token: token.AuthToken, Expires: token.ExpirationTimestamp,
		Command: v.serverCommand(out.Compute, token.AuthToken)}
	return v.showFleet(b, nil)
}

// serverCommand sets the variables that the server SDKs read, and starts a game server. The CA is for those that use
// OpenSSL, and for Go.
// Source: server SDK 5, "GAMELIFT_SDK_…" of InitSDK.
func (v *visit) serverCommand(c *wire.Compute, token string) string {
	ca := ""
	if v.h.CA != "" {
		ca = "SSL_CERT_FILE=" + quote(v.h.CA) + " \\\n  "
	}
	return ca + "GAMELIFT_SDK_WEBSOCKET_URL=" + quote(c.GameLiftServiceSdkEndpoint) +
		" \\\n  GAMELIFT_SDK_FLEET_ID=" + quote(c.FleetId) +
		" \\\n  GAMELIFT_SDK_HOST_ID=" + quote(c.ComputeName) +
		" \\\n  GAMELIFT_SDK_PROCESS_ID=$(uuidgen)" +
		" \\\n  GAMELIFT_SDK_AUTH_TOKEN=" + quote(token) +
		" \\\n  ./your-game-server"
}

func deregisterCompute(v *visit) error {
	b, err := v.fleet("computes")
	if err != nil {
		return err
	}
	in := &wire.DeregisterComputeInput{FleetId: b.FleetId, ComputeName: v.form("compute-name")}
	if _, err := call(v, wire.OpDeregisterCompute, in); err != nil {
		return v.showFleet(b, err)
	}
	return v.redirect("/console/fleets/" + url.PathEscape(b.FleetId) + "?tab=computes&done=compute-deregistered")
}
