package main

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/muster-gg/muster/internal/serversdk/legacy"
)

const terminalWidth = 80

// String names the process, as an object in a sentence.
func (o portOwner) String() string {
	switch {
	case o.Local:
		return fmt.Sprintf("GameLift Local (%s, pid %d)", o.Process, o.PID)
	case o.Process != "":
		return fmt.Sprintf("%s (pid %d)", o.Process, o.PID)
	case o.User != "":
		return fmt.Sprintf("another user's process (of %s)", o.User)
	default:
		return "another process"
	}
}

// write prints the diagnosis as text.
func (f *diagnosis) write(to io.Writer, now time.Time) {
	fmt.Fprintln(to, "Ports on this machine:")
	for _, p := range f.Ports {
		writeWrapped(to, "  ", "    ", p.String())
	}
	fmt.Fprintln(to)
	writeWrapped(to, "", "  ", "Muster service at "+f.Service.Endpoint+":")
	writeWrapped(to, "  ", "  ", f.serviceText())
	if !onLoopback(f.Service.Endpoint) {
		writeWrapped(to, "  ", "  ", "It may run on another machine: the ports above are those of this one.")
	}
	if f.Report != nil {
		fmt.Fprintln(to, "\nGame servers:")
		writeServers(to, f.Report.Servers, now)
	}
	if len(f.Advice) == 0 {
		return
	}
	fmt.Fprintln(to, "\nTo do:")
	for _, advice := range f.Advice {
		writeWrapped(to, "  - ", "    ", advice)
	}
}

func (p portState) String() string {
	name := strconv.Itoa(p.Port)
	if p.Protocol != "" {
		name += " (" + p.Protocol + ")"
	}
	if len(p.Owners) == 0 {
		if p.Service != "" {
			return name + ": free here; the service listens on " + p.Service
		}
		return name + ": free"
	}
	owners := make([]string, 0, len(p.Owners))
	for _, o := range p.Owners {
		by := "taken by " + o.String()
		switch {
		case o.Service && o.Process != "":
			by = "this Muster service, " + o.String()
		case o.Service:
			by = "this Muster service"
		}
		owners = append(owners, by+" at "+o.Address)
	}
	return name + ": " + strings.Join(owners, "; ")
}

func (f *diagnosis) serviceText() string {
	switch {
	case !f.Service.Reachable:
		return "No report: " + f.Service.Error
	case f.Report == nil:
		return "Legacy is off: it has no ports for old game servers."
	}
	text := "Legacy is on"
	if len(f.Report.Addresses) > 0 {
		text += ", at " + strings.Join(f.Report.Addresses, ", ")
	}
	if f.Report.Fleet == "" {
		return text + "."
	}
	return text + ". New game servers join fleet " + f.Report.Fleet + "."
}

// onLoopback reports whether the endpoint is certainly of this machine.
func onLoopback(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

const noServers = `No game server is connected. The SDK dials 127.0.0.1 in InitSDK: the game server must run on this ` +
	`machine, as a process or in a container with host networking ("docker run --network host"). Start it after ` +
	`the service.`

func writeServers(to io.Writer, servers []legacy.ServerReport, now time.Time) {
	if len(servers) == 0 {
		writeWrapped(to, "  ", "  ", noServers)
		return
	}
	for _, s := range servers {
		session := "no game session"
		if s.GameSession != "" {
			session = "game session " + s.GameSession
		}
		writeWrapped(to, "  ", "      ", fmt.Sprintf("%s pid %s: SDK %s %s, %s, %s, %s, %s", s.Address, s.PID,
			cmp.Or(s.SDKLanguage, "of unknown language"), s.SDKVersion, s.Protocol, counted(s.Sockets, "socket"),
			s.Status, session))
		const first, more = "    ", "      "
		writeWrapped(to, first, more, "last request: "+lastRequest(s, now))
		if s.LastError != "" {
			writeWrapped(to, first, more, "last error: "+s.LastError)
		}
		for _, sentence := range s.Missing {
			writeWrapped(to, first, more, "missing: "+sentence)
		}
	}
}

// lastRequest returns the last request and when it came. The age is left out if the clocks of both machines differ.
func lastRequest(s legacy.ServerReport, now time.Time) string {
	switch age := now.Sub(s.LastAt).Round(time.Second); {
	case s.LastRequest == "":
		return "none"
	case s.LastAt.IsZero():
		return s.LastRequest
	case age < 0:
		return s.LastRequest + " at " + moment(&s.LastAt)
	default:
		return fmt.Sprintf("%s at %s, %s ago", s.LastRequest, moment(&s.LastAt), age)
	}
}

// writeWrapped prints text in lines of at most 80 columns, the first one behind first and the others behind more. Game
// servers choose parts of the text, so control characters are replaced.
func writeWrapped(to io.Writer, first, more, text string) {
	line, empty := first, true
	for _, word := range strings.Fields(text) {
		word = strings.Map(printable, word)
		switch {
		case empty:
			line += word
		case len(line)+1+len(word) > terminalWidth:
			fmt.Fprintln(to, line)
			line = more + word
		default:
			line += " " + word
		}
		empty = false
	}
	fmt.Fprintln(to, line)
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}
