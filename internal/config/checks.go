package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// NodeName is the form of a node's name.
var NodeName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

var (
	regionName    = regexp.MustCompile(`^([a-z]{2}-[a-z]+-\d|local)$`)
	accountNumber = regexp.MustCompile(`^\d{12}$`)
	threePorts    = regexp.MustCompile(`^\d{1,5},\d{1,5},\d{1,5}$`)
	fleetID       = regexp.MustCompile(`^fleet-[a-zA-Z0-9-]+$`)
	localFleet    = regexp.MustCompile(`^fleet-\S+$`)
)

// MostConnections is the maximum of connections, even without a limit of files.
const MostConnections = 1_000_000

func hostName(s string) error {
	if strings.ContainsAny(s, " /:@") && net.ParseIP(s) == nil {
		return fmt.Errorf("%q is neither a host name nor an IP address", s)
	}
	return nil
}

func optional(check func(string) error) func(string) error {
	return func(s string) error {
		if s == "" {
			return nil
		}
		return check(s)
	}
}

func notEmpty(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func matching(pattern *regexp.Regexp, what string) func(string) error {
	return func(s string) error {
		if !pattern.MatchString(s) {
			return fmt.Errorf("%q is not %s", s, what)
		}
		return nil
	}
}

func address(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("%q is not an address such as 127.0.0.1:9080 or :9080", s)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q has no port between 0 and 65535", s)
	} else if strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%q has a port with leading zeros", s)
	}
	return nil
}

// maxEndpoint is the maximum length of a public URL: with "/agent" it is a GameLiftAgentEndpoint, which has at most 128
// characters. Source: API reference, Compute.
const maxEndpoint = 128 - len("/agent")

// webSocketURL rejects URLs that server SDKs cannot extend with their query. Source: server SDK 5 source, WebSocket
// connection.
func webSocketURL(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Hostname() == "":
		return fmt.Errorf("%q is not a URL such as wss://games.example.com:9080", s)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("%q must not have a user, a query or a fragment", u.Redacted())
	case len(s) > maxEndpoint:
		return fmt.Errorf("is longer than %d characters", maxEndpoint)
	}
	return nil
}

// fixedAddress checks an address with a known port.
func fixedAddress(s string) error {
	if err := address(s); err != nil {
		return err
	}
	if _, port, _ := net.SplitHostPort(s); port == "0" {
		return fmt.Errorf("%q has port 0, but the other nodes must know the port", s)
	}
	return nil
}

// hostPort checks an address to dial.
func hostPort(s string) error {
	host, port, err := net.SplitHostPort(s)
	n, bad := strconv.Atoi(port)
	if err != nil || host == "" || bad != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%q is not of the form host:port", s)
	}
	return nil
}

// natsURL checks the address of a NATS server.
func natsURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
		return fmt.Errorf("%q is not of the form nats://host:port or tls://host:port", ShownURL(s))
	}
	return nil
}

// gatewayAddress checks Listen.
func gatewayAddress(s string) error {
	if s == "" || s == AutoListen {
		return nil
	}
	return address(s)
}

func webURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return fmt.Errorf("%q is not a URL such as https://id.example.com", s)
	}
	return nil
}

func origin(s string) error {
	if s == "*" {
		return nil
	}
	if u, err := url.Parse(s); err != nil || webURL(s) != nil || u.Path != "" || u.RawQuery != "" {
		return fmt.Errorf("%q is not an origin such as https://play.example.com", s)
	}
	return nil
}

// hidden replaces a part of a URL that is not shown.
const hidden = "***"

// ShownURL returns a URL as logs and messages may show it: its user and its query may be secrets. A text that is not a
// URL is hidden as a whole.
func ShownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return hidden
	}
	if u.User != nil {
		u.User = url.User(hidden)
	}
	if u.RawQuery != "" {
		u.RawQuery = hidden
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}

// everyTopic is the topic of a webhook that gets all events.
const everyTopic = "*"

// A Webhook is an endpoint that events are delivered to.
type Webhook struct {
	Topic string // a NotificationTarget; "*" for all events
	URL   string
}

// ParseWebhook reads TOPIC=URL or URL.
func ParseWebhook(text string) Webhook {
	topic, url, ok := strings.Cut(text, "=")
	if !ok || webURL(text) == nil { // a URL may have an equals sign in its query
		return Webhook{everyTopic, text}
	}
	return Webhook{topic, url}
}

// webhook checks a Webhook.
func webhook(text string) error {
	w := ParseWebhook(text)
	if w.Topic == "" {
		return errors.New("an entry has no topic before its equals sign: write TOPIC=URL, or a URL alone")
	}
	if webURL(w.URL) != nil { // whose error shows the URL
		return fmt.Errorf("%q is not a URL such as https://backend.example.com/events", ShownURL(w.URL))
	}
	if strings.HasSuffix(w.URL, "?"+hidden) {
		return fmt.Errorf("%q has a query that muster config has hidden: write the query itself", w.URL)
	}
	return nil
}

// shownWebhook returns an entry without its secrets.
func shownWebhook(text string) string {
	w := ParseWebhook(text)
	if w.Topic == everyTopic {
		return ShownURL(w.URL)
	}
	return w.Topic + "=" + ShownURL(w.URL)
}

// An InstanceType is what an instance of a type needs of a machine.
type InstanceType struct {
	Name      string
	MilliCPUs int32
	MemoryMiB int64
}

// The maximum of CPUs and of memory in MiB of an InstanceType.
const (
	maxTypeCPUs   = 10_000
	maxTypeMemory = 1 << 30
)

var typeName = regexp.MustCompile(`^[a-z0-9-]{1,32}\.[a-z0-9-]{1,32}$`)

// ParseInstanceType reads TYPE=CPUS:MEMORY, with CPUs to a thousandth and the memory in MiB.
func ParseInstanceType(text string) (InstanceType, error) {
	name, need, _ := strings.Cut(text, "=")
	cpus, memory, _ := strings.Cut(need, ":")
	n, err := strconv.ParseFloat(cpus, 64)
	mib, failed := strconv.ParseInt(memory, 10, 64)
	switch {
	case !typeName.MatchString(name) || err != nil || failed != nil:
		return InstanceType{}, fmt.Errorf("%q is not of the form TYPE=CPUS:MEMORY, such as c5.large=1.5:2048", text)
	case !(n >= 0.001 && n <= maxTypeCPUs):
		return InstanceType{}, fmt.Errorf("%q needs between 0.001 and %d CPUs", text, maxTypeCPUs)
	case mib < 1 || mib > maxTypeMemory:
		return InstanceType{}, fmt.Errorf("%q needs between 1 and %d MiB of memory", text, maxTypeMemory)
	}
	return InstanceType{name, int32(math.Round(n * 1000)), mib}, nil
}

// instanceType checks an InstanceType.
func instanceType(text string) error {
	_, err := ParseInstanceType(text)
	return err
}
