package config

import (
	"slices"
	"time"

	"github.com/muster-gg/muster/internal/webhook"
)

// A row is one setting: its name, its default as a flag has it, the field that it sets
// with the form of the value, and its help text. The flag, the environment variable and
// the key of the file follow from the name.
type row struct {
	name, fallback string
	value
	usage string
}

// group gives rows the heading of the reference under which they are listed.
func group(name string, rows []row) []Setting {
	settings := make([]Setting, len(rows))
	for i, r := range rows {
		settings[i] = Setting{Name: r.name, Group: name, Default: r.fallback, Usage: r.usage, value: r.value}
	}
	return settings
}

// Settings lists the settings of c in the order of the reference. They stay
// bound to c: Set changes c.
func (c *Config) Settings() []Setting {
	return slices.Concat(c.storage(), c.network(), c.awsAPI(), c.gameServers(), c.events(),
		c.Gateway.Settings(), c.Cluster.Settings(), group("Running", c.running()))
}

func (c *Config) storage() []Setting {
	return group("Storage", []row{
		{"data", "muster-data", text(&c.Data, notEmpty),
			"directory that holds everything the service keeps; made when it does not exist"},
		{"shards", "0", number(&c.Shards, 0, 256),
			"number of shards, which is fixed when the data directory is created; 0 is what that has, and in a new " +
				"one 4, or 12 for a node of a cluster"},
		{"snapshot-every", "50000", number(&c.SnapshotEvery, 100, 10_000_000),
			"journal records that a shard writes between two snapshots of its state"},
		{"session-memory", "10m", duration(&c.SessionMemory, 0, 30*day),
			"how long ended game sessions, and most ended player sessions, stay in memory before only the history " +
				"has them"},
		// Source: API reference, DescribeGameSessions.
		{"history", "30d", duration(&c.History, time.Minute, 3650*day),
			"how long ended game sessions and player sessions can still be described"},
	})
}

func (c *Config) network() []Setting {
	return group("Network", slices.Concat([]row{
		{"listen", ":9080", text(&c.Listen, address),
			"TCP address of the one port for HTTP, HTTPS, ws and wss; port 0 means any free one"},
		{"public-url", "", text(&c.PublicURL, optional(webSocketURL)),
			"ws:// or wss:// URL under which game servers reach the service; empty derives it from the listen " +
				"address"},
	}, c.certificate("", "uses one of a local authority in the data directory"), []row{
		{"tls-names", "", list(&c.TLSNames, hostName),
			"further host names and IP addresses in the local authority's certificate"},
	}, c.limits(), []row{
		{"max-body-memory", "128", number(&c.MaxBodyMemory, 11, 1<<20),
			"MiB that bodies of API requests may take in memory at the same time, before further ones are throttled"},
		c.metrics("the other addresses"),
		{"pprof-listen", "", text(&c.PprofListen, optional(address)),
			"TCP address of Go's profiler, which asks for no credentials; empty switches it off"},
	}))
}

func (c *Config) awsAPI() []Setting {
	return group("AWS API", []row{
		{"region", "us-west-2", text(&c.Region, matching(regionName, "a region such as us-west-2")),
			"AWS region that the service stands for; part of every ARN"},
		{"account", "111122223333", text(&c.Account, matching(accountNumber, "12 digits")),
			"AWS account number in ARNs"},
		// Source: AWS Signature Version 4.
		{"clock-skew", "5m", duration(&c.ClockSkew, time.Second, day),
			"how far the date of a signed request may be from the service's clock"},
		{"throttle", "0", number(&c.Throttle, 0, 1_000_000),
			"requests a second that one access key may make; 0 sets no limit"},
		{"max-calls", "0", number(&c.MaxCalls, 0, 100_000),
			"calls worked on at the same time, before further ones are throttled; 0 derives it from the number of " +
				"processors"},
	})
}

func (c *Config) gameServers() []Setting {
	return group("Game servers", []row{
		{"auth-token-lifetime", "3h", duration(&c.AuthTokenLifetime, time.Minute, 365*day),
			"how long a compute's auth token is valid"},
		// Source: server SDK reference, PlayerSession.Status.
		{"reservation-timeout", "1m", duration(&c.ReservationTimeout, time.Second, day),
			"how long a reserved player session waits for its player"},
		{"process-grace", "3m20s", duration(&c.ProcessGrace, time.Second, day),
			"how long a server process whose socket broke may take to come back"},
		{"process-memory", "10m", duration(&c.ProcessMemory, 10*time.Second, day),
			"how long the id of an ended server process stays taken"},
		{"ready-timeout", "5m", duration(&c.ReadyTimeout, time.Second, day),
			"how long a connected server process may take to say that it is ready"},
		// Source: server SDK reference, OnHealthCheck.
		{"health-interval", "1m", duration(&c.HealthInterval, time.Second, time.Hour),
			"how often a server process is expected to report its health"},
		{"health-misses", "3", number(&c.HealthMisses, 1, 1000),
			"health reports in a row that may be missing or bad before a server process is ended"},
		// Source: server SDK reference, OnProcessTerminate.
		{"termination-grace", "5m", duration(&c.TerminationGrace, time.Second, day),
			"how long a server process may take to end after it was asked to"},
	})
}

func (c *Config) events() []Setting {
	return group("Events", []row{
		{"webhooks", "", list(&c.Webhooks, webhookTarget).hiding(shownWebhook),
			"where events of queues and matchmaking are delivered: TOPIC=URL for those whose NotificationTarget is " +
				"TOPIC, or a URL for all"},
		{"webhook-secret-file", "", text(&c.WebhookSecretFile, nil),
			"file with the secret that deliveries are signed with (whsec_ and base64); empty leaves them unsigned"},
	})
}

// Settings lists the gateway's settings. They stay bound to c.
func (c *Gateway) Settings() []Setting {
	return group("Session gateway", slices.Concat(c.targets(), c.answers(), c.admission()))
}

// targets are the rows of where game sessions are created.
func (c *Gateway) targets() []row {
	return []row{
		{"gateway-listen", "auto", text(&c.Listen, gatewayAddress),
			"TCP address of the session gateway for game clients; auto is :3000 with keys or an issuer and " +
				"127.0.0.1:3000 without; empty switches it off"},
		{"gateway-fleet", "", text(&c.Fleet, nil),
			"fleet in which the gateway creates game sessions; without fleet, alias and queue the first one that is " +
				"ACTIVE"},
		{"gateway-alias", "", text(&c.Alias, nil), "alias of that fleet"},
		{"gateway-queue", "", text(&c.Queue, nil), "queue that places the gateway's game sessions"},
		{"gateway-location", "", text(&c.Location, nil),
			"location of new game sessions; empty chooses one with an idle server process"},
		{"gateway-builds", "", list(&c.Builds, buildRoute),
			"where clients of a build go, as build=fleet, build=alias or build=queue"},
		{"gateway-search", "", list(&c.Search, searchable),
			"fleets and aliases where game sessions are looked for besides, as those that the queue places on"},
		{"gateway-allow-target", "off", toggle(&c.AllowTarget),
			"whether clients of /v1/ may say where a game session is created"},
		{"gateway-build-check", "off", choice(&c.BuildCheck, "off", "warn", "enforce"),
			"what happens to a client whose build is not that of the game session"},
		{"gateway-reuse", "off", toggle(&c.Reuse),
			"whether an empty game session is taken before a new one is created"},
		{"gateway-deadline", "12s", duration(&c.Deadline, time.Second, 10*time.Minute),
			"how long a request may take, the start of the game session included"},
	}
}

// answers are the rows of what clients see.
func (c *Gateway) answers() []row {
	return []row{
		{"gateway-fields", "full", choice(&c.Fields, "full", "minimal"),
			"what clients see of the game sessions that they find"},
		{"gateway-find-limit", "100", number(&c.FindLimit, 1, 10_000), "game sessions that a client finds at most"},
		{"gateway-local-fleet", "fleet-123", text(&c.LocalFleet, matching(localFleet, "an id such as fleet-123")),
			"fleet id that the _local paths speak of"},
		{"gateway-compat-errors", "off", toggle(&c.CompatErrors),
			"whether failures are answered in the form of the gateway of Python functions that this one replaces"},
		{"gateway-messages", "generic", choice(&c.Messages, "generic", "api"),
			"whether clients see the API's own text of a failure, or a generic one"},
	}
}

// admission are the rows of who may call, and how often.
func (c *Gateway) admission() []row {
	return []row{
		{"gateway-keys-file", "", text(&c.KeysFile, nil),
			"file of API keys, one name:key a line, one of which a request must carry; empty asks for none"},
		{"gateway-secret-file", "", text(&c.SecretFile, nil),
			"file that keys the hashes in the ids of game sessions, the same for all gateways of a service; empty " +
				"uses the service's own"},
		{"gateway-jwt-issuer", "", text(&c.JWTIssuer, optional(webURL)),
			"issuer of the bearer tokens that requests must carry; empty asks for none"},
		{"gateway-jwt-keys", "", text(&c.JWTKeys, optional(webURL)),
			"URL of the issuer's keys (JWKS); empty asks the issuer for it"},
		{"gateway-jwt-audience", "", text(&c.JWTAudience, nil),
			"audience that bearer tokens must be for; empty for any"},
		{"gateway-jwt-scope", "", text(&c.JWTScope, nil), "scope that bearer tokens must have; empty for any"},
		{"gateway-address-rate", "50", number(&c.AddressRate, 0, 1_000_000),
			"requests a second that the gateway takes from one address; 0 sets no limit"},
		{"gateway-player-rate", "10", number(&c.PlayerRate, 0, 1_000_000),
			"requests a second that the gateway takes for one player; 0 sets no limit"},
		{"gateway-max-unused-sessions", "4", number(&c.MaxUnused, 0, 10_000),
			"game sessions that one caller may have created without a player ever entering them; 0 sets no limit"},
		{"gateway-trusted-proxies", "", list(&c.TrustedProxies, network),
			"networks (CIDR) of proxies whose X-Forwarded-For is believed"},
		{"gateway-origins", "", list(&c.Origins, origin), "web origins that may call the gateway (CORS)"},
		{"gateway-access-log", "on", choice(&c.AccessLog, "on", "off"),
			"whether every request to the gateway is logged"},
	}
}

// Settings lists the settings of a cluster. They stay bound to c.
func (c *Cluster) Settings() []Setting {
	return group("Cluster", []row{
		{"node", "", text(&c.Node, optional(matching(NodeName, "1 to 64 letters, digits, - and _"))),
			"name of this node in a cluster, another one for each node and always the same; empty makes the service " +
				"the only one of its region"},
		{"cluster-listen", ":9222", text(&c.Listen, fixedAddress), "TCP address where the other nodes connect"},
		{"cluster-advertise", "", text(&c.Advertise, optional(hostPort)),
			"host:port under which nodes tell each other of this one; empty is the address that its connections come " +
				"from"},
		{"peer", "", list(&c.Peers, hostPort), "host:port of the other nodes; this node may be among them"},
		{"cluster-replicas", "3", number(&c.Replicas, 1, 5), "on how many nodes everything is kept: 1, 3 or 5"},
		{"cluster-lease", "3s", duration(&c.Lease, time.Second, time.Minute),
			"after how long without a sign of life a node's shards go to others"},
		{"cluster-cert", "", text(&c.Cert, nil),
			"PEM file with the certificate by which other nodes, or nats, know this one, read again when it changes; " +
				"for nodes, empty uses one of the local authority in the data directory"},
		{"cluster-key", "", text(&c.Key, nil), "PEM file with the key of cluster-cert"},
		{"cluster-ca", "", text(&c.CA, nil),
			"PEM file with the authority of all nodes' certificates, or of that of nats"},
		{"nats", "", list(&c.NATS, natsURL).hiding(webhook.ShownURL),
			"URLs of a NATS with JetStream that runs elsewhere; empty embeds one"},
		{"nats-creds", "", text(&c.NATSCreds, nil), "file with the credentials for nats"},
	})
}

// Settings lists the settings of c. They stay bound to c.
func (c *StandaloneGateway) Settings() []Setting {
	service := group("Service", []row{
		{"gateway-endpoint", "", text(&c.Endpoint, optional(webURL)),
			"URL of the GameLift API, a Muster or a GameLift Local; empty for that of AWS in the region"},
		{"gateway-legacy", "off", toggle(&c.Legacy),
			"whether the endpoint is a GameLift Local, which has no locations and no search"},
		{"region", "", text(&c.Region, nil),
			"AWS region of the service; empty for that of the AWS SDK's usual sources"},
	})
	running := group("Running", slices.Concat(
		c.certificate(" where there is a certificate", "speaks plain text"), c.limits(),
		[]row{c.metrics("the gateway's address")}, c.running()))
	return slices.Concat(c.Gateway.Settings(), service, running)
}

// certificate are the rows of encryption. where and without complete the help texts:
// where unencrypted requests can be refused, and what an empty certificate does.
func (p *Process) certificate(where, without string) []row {
	return []row{
		{"plaintext", "allow", choice(&p.Plaintext, "allow", "refuse"),
			"whether requests without TLS are answered" + where},
		{"tls-cert", "", text(&p.TLSCert, nil),
			"PEM file with the certificate chain, which is read again when it changes; empty " + without},
		{"tls-key", "", text(&p.TLSKey, nil), "PEM file with the key of tls-cert"},
	}
}

// limits are the rows of how many connections are accepted.
func (p *Process) limits() []row {
	return []row{
		{"max-connections", "0", number(&p.MaxConnections, 0, MostConnections),
			"connections open at the same time, over all ports; 0 derives it from the limit of open files, which " +
				"bounds it in any case"},
		{"max-connections-per-address", "0", number(&p.MaxConnectionsPerAddress, 0, MostConnections),
			"connections from one IPv4 address, or IPv6 network of 64 bits, open at the same time; 0 is half of " +
				"max-connections"},
	}
}

// metrics is the row of the metrics' address. others are the addresses that answer
// /metrics without it.
func (p *Process) metrics(others string) row {
	return row{"metrics-listen", "", text(&p.MetricsListen, optional(address)),
		"TCP address that answers /metrics, without authentication; empty answers it on " + others +
			" to this machine alone"}
}

// running are the rows of the log and of the stop.
func (p *Process) running() []row {
	return []row{
		{"log-level", "info", choice(&p.LogLevel, "debug", "info", "warn", "error"), "least level that is logged"},
		{"log-format", "text", choice(&p.LogFormat, "text", "json"), "form of the log"},
		{"shutdown-timeout", "10s", duration(&p.ShutdownTimeout, 0, time.Hour),
			"how long a stop waits for requests under way"},
	}
}
