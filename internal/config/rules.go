package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A SettingError says which setting cannot be used, and why.
type SettingError struct {
	Setting string // its name
	Origin  string // where its value came from, as in Origins; "" when that is not known
	Problem string
}

// Error names the setting, where its value came from and the problem.
func (e *SettingError) Error() string {
	if e.Origin == "" {
		return fmt.Sprintf("setting %s: %s", e.Setting, e.Problem)
	}
	return fmt.Sprintf("setting %s (%s): %s", e.Setting, e.Origin, e.Problem)
}

// A rule is broken by settings that do not go together. It names the setting to change.
type rule struct {
	broken           bool
	setting, problem string
}

// validate checks each setting and the rules, and joins what is wrong as *SettingErrors.
func validate(settings []Setting, rules []rule) error {
	var errs []error
	for _, s := range settings {
		if err := s.check(); err != nil {
			errs = append(errs, &SettingError{Setting: s.Name, Problem: err.Error()})
		}
	}
	for _, r := range rules {
		if r.broken {
			errs = append(errs, &SettingError{Setting: r.setting, Problem: r.problem})
		}
	}
	return errors.Join(errs...)
}

// Validate reports every setting that a service could not run with, as joined
// *SettingErrors.
func (c *Config) Validate() error {
	return validate(c.Settings(), slices.Concat(c.Gateway.rules(), c.Cluster.rules(), []rule{
		{c.TLSCert != "" && c.TLSKey == "", "tls-key", "is missing, and tls-cert is set: give both or neither"},
		{c.TLSCert == "" && c.TLSKey != "", "tls-cert", "is missing, and tls-key is set: give both or neither"},
		{c.Plaintext == "refuse" && strings.HasPrefix(c.PublicURL, "ws:"),
			"public-url", "begins with ws://, which plaintext=refuse does not answer: use wss://"},
	}))
}

// Validate reports what a gateway could not run with, as joined *SettingErrors.
func (c *StandaloneGateway) Validate() error {
	return validate(c.Settings(), slices.Concat(c.Gateway.rules(), []rule{
		{(c.TLSCert == "") != (c.TLSKey == ""), "tls-cert", "give both tls-cert and tls-key, or neither"},
		{c.Gateway.Listen == "", "gateway-listen", "must not be empty: there is nothing else to run"},
		{c.Legacy == On && c.Endpoint == "", "gateway-endpoint", "is missing: name the URL of the GameLift Local"},
	}))
}

func (c *Gateway) rules() []rule {
	return []rule{
		{len(nonEmpty(c.Fleet, c.Alias, c.Queue)) > 1,
			"gateway-fleet", "give one of gateway-fleet, gateway-alias and gateway-queue"},
		{c.Location != "" && c.Fleet == "" && c.Alias == "",
			"gateway-location", "needs gateway-fleet or gateway-alias beside it"},
		{c.JWTIssuer == "" && (c.JWTKeys != "" || c.JWTAudience != "" || c.JWTScope != ""),
			"gateway-jwt-issuer", "is missing, and gateway-jwt-keys, gateway-jwt-audience or gateway-jwt-scope is set"},
	}
}

func (c *Cluster) rules() []rule {
	node, peers, nats := c.Node != "", len(c.Peers) > 0, len(c.NATS) > 0
	files := len(nonEmpty(c.Cert, c.Key, c.CA))
	return []rule{
		{!node && peers, "node", "is missing, and peer is set: name this node"},
		{!node && !peers && nats, "node", "is missing, and nats is set: name this node"},
		{node && !peers && !nats, "peer", "is missing, and node is set: " +
			"name the other nodes' addresses, or a NATS that runs elsewhere with nats"},
		{node && peers && nats, "peer", "has no meaning with nats, where the nodes meet: give one of them"},
		{nats && (c.Cert == "") != (c.Key == ""), "cluster-cert", "give cluster-cert and cluster-key, or none of them"},
		{!nats && files != 0 && files != 3,
			"cluster-cert", "give cluster-cert, cluster-key and cluster-ca, or none of them"},
		{!nats && c.NATSCreds != "", "nats", "is missing, and nats-creds is set"},
		{c.Replicas%2 == 0, "cluster-replicas",
			fmt.Sprintf("is %d: an even number survives no more than the odd one before it; use 1, 3 or 5", c.Replicas)},
	}
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}
