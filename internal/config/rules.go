package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A SettingError is a setting with an invalid value.
type SettingError struct {
	Setting string // its name
	Origin  string // of its value, as in Origins; may be ""
	Problem string
}

func (e *SettingError) Error() string {
	if e.Origin == "" {
		return fmt.Sprintf("setting %s: %s", e.Setting, e.Problem)
	}
	return fmt.Sprintf("setting %s (%s): %s", e.Setting, e.Origin, e.Problem)
}

// A rule is broken by incompatible settings. It names the setting to change.
type rule struct {
	broken           bool
	setting, problem string
}

// validate checks each setting and the rules, and joins the errors, *SettingErrors.
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

// minHistorySize is the smallest limit of the history's size in MiB: some batches fit.
const minHistorySize = 64

// Validate returns all invalid settings as joined *SettingErrors.
func (c *Config) Validate() error {
	return validate(c.Settings(), slices.Concat(c.Gateway.rules(), c.Cluster.rules(), []rule{
		{c.TLSCert != "" && c.TLSKey == "", "tls-key", "is missing, but tls-cert is set: set both or neither"},
		{c.TLSCert == "" && c.TLSKey != "", "tls-cert", "is missing, but tls-key is set: set both or neither"},
		{c.Plaintext == "refuse" && strings.HasPrefix(c.PublicURL, "ws:"),
			"public-url", "begins with ws://, which plaintext=refuse rejects: use wss://"},
		{c.Local() != (c.Region == "local"), "region", "must be local with legacy-rules=local, and only then"},
		{c.Local() && c.Legacy != On, "legacy", "must be on with legacy-rules=local"},
		{c.MaxHistorySize > 0 && c.MaxHistorySize < minHistorySize, "max-history-size",
			fmt.Sprintf("%d is too small: give at least %d, or 0 for no limit", c.MaxHistorySize, minHistorySize)},
	}))
}

// Validate returns all invalid settings as joined *SettingErrors.
func (c *StandaloneGateway) Validate() error {
	return validate(c.Settings(), slices.Concat(c.Gateway.rules(), []rule{
		{(c.TLSCert == "") != (c.TLSKey == ""), "tls-cert", "set both tls-cert and tls-key, or neither"},
		{c.Gateway.Listen == "", "gateway-listen", "must not be empty"},
		{c.Legacy == On && c.Endpoint == "", "gateway-endpoint", "is missing: set it to the URL of the GameLift Local"},
	}))
}

func (c *Gateway) rules() []rule {
	return []rule{
		{len(nonEmpty(c.Fleet, c.Alias, c.Queue)) > 1,
			"gateway-fleet", "set only one of gateway-fleet, gateway-alias and gateway-queue"},
		{c.Location != "" && c.Fleet == "" && c.Alias == "",
			"gateway-location", "requires gateway-fleet or gateway-alias"},
		{c.JWTIssuer == "" && (c.JWTKeys != "" || c.JWTAudience != "" || c.JWTScope != ""),
			"gateway-jwt-issuer", "is missing, but gateway-jwt-keys, gateway-jwt-audience or gateway-jwt-scope is set"},
	}
}

func (c *Cluster) rules() []rule {
	node, peers, nats := c.Node != "", len(c.Peers) > 0, len(c.NATS) > 0
	files := len(nonEmpty(c.Cert, c.Key, c.CA))
	return []rule{
		{!node && peers, "node", "is missing, but peer is set: name this node"},
		{!node && !peers && nats, "node", "is missing, but nats is set: name this node"},
		{node && !peers && !nats, "peer", "is missing, but node is set: " +
			"set it to the other nodes' addresses, or nats to those of an external NATS"},
		{node && peers && nats, "peer", "cannot be combined with nats: set one of them"},
		{nats && (c.Cert == "") != (c.Key == ""), "cluster-cert", "set cluster-cert and cluster-key, or neither"},
		{!nats && files != 0 && files != 3,
			"cluster-cert", "set cluster-cert, cluster-key and cluster-ca, or none of them"},
		{!nats && c.NATSCreds != "", "nats", "is missing, but nats-creds is set"},
		{c.Replicas%2 == 0, "cluster-replicas",
			fmt.Sprintf("is %d: an even number tolerates no more failures than the odd one below; use 1, 3 or 5",
				c.Replicas)},
	}
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}
