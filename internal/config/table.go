package config

import (
	"slices"
	"time"
)

// A row is one setting: its name, its default in the form of a flag, its field with the form of the value, and its help
// text. The flag, the environment variable and the key of the file follow from the name.
type row struct {
	name, fallback string
	value
	usage string
}

// group returns rows as settings under a heading of the help and the reference.
func group(name string, rows []row) []Setting {
	settings := make([]Setting, len(rows))
	for i, r := range rows {
		settings[i] = Setting{Name: r.name, Group: name, Default: r.fallback, Usage: r.usage, value: r.value}
	}
	return settings
}

// Settings returns the settings of c in the order of the reference. Set changes c.
func (c *Config) Settings() []Setting {
	return slices.Concat(c.storage(), c.network(), c.awsAPI(), c.signIn(), c.gameServers(), c.managedFleets(),
		c.oldServers(), c.events(), c.metricsHistory(), c.Gateway.Settings(), c.Cluster.Settings(),
		group("Running", c.running()))
}

func (c *Config) storage() []Setting {
	return group("Storage", []row{
		{"data", "muster-data", text(&c.Data, notEmpty), "directory for all data; created if it does not exist"},
		{"shards", "0", number(&c.Shards, 0, 256),
			"number of shards, fixed at creation; 0: 4, or 12 for a node of a cluster; " +
				"0 also accepts the number of an existing data directory"},
		{"snapshot-every", "50000", number(&c.SnapshotEvery, 100, 10_000_000),
			"journal records of a shard between two snapshots"},
		{"session-retention", "10m", duration(&c.SessionRetention, 0, 30*day).formerly("session-memory"),
			"time that ended game sessions stay in memory, and up to 5 minutes more; afterwards only the history has " +
				"them; also applies to most ended player sessions"},
		// Source: API reference, DescribeGameSessions.
		{"history-retention", "30d", duration(&c.HistoryRetention, time.Minute, 3650*day).formerly("history"),
			"time that ended game sessions and player sessions can be described"},
		{"max-history-size", "0", number(&c.MaxHistorySize, 0, 1<<30),
			"MiB of the history, without the nodes' indexes; above it the oldest batches are deleted before their " +
				"time; 0: no limit"},
		{"max-build-size", "20480", number(&c.MaxBuildSize, 1, 1<<20),
			"MiB to which the archive of a build may unpack; larger builds are FAILED"},
		{"max-process-logs", "10240", number(&c.MaxProcessLogs, 1, 1<<30),
			"MiB of the stored logs of processes; above it the oldest are deleted before their 14 days"},
	})
}

func (c *Config) network() []Setting {
	return group("Network", slices.Concat([]row{
		{"listen", ":9080", text(&c.Listen, address),
			"TCP address for HTTP, HTTPS, ws and wss; port 0: any free port"},
		{"public-url", "", text(&c.PublicURL, optional(webSocketURL)),
			"ws:// or wss:// URL for game servers; empty: derived from listen"},
	}, c.certificate("", "one of a local CA in the data directory"), []row{
		{"tls-names", "", list(&c.TLSNames, hostName),
			"additional host names and IP addresses in the local CA's certificate"},
		{"instance-domain", "muster.internal", text(&c.InstanceDomain, hostName),
			"domain in certificates of instances: INSTANCE.FLEET.DOMAIN"},
		{"trusted-proxies", "", list(&c.TrustedProxies, network),
			"networks (CIDR) of proxies whose X-Forwarded-For and -Proto are trusted"},
	}, c.limits(), []row{
		{"max-body-memory", "128", number(&c.MaxBodyMemory, 11, 1<<20),
			"MiB of memory for bodies of API requests; above it they are throttled"},
		c.metrics("the other addresses"),
		{"pprof-listen", "", text(&c.PprofListen, optional(address)),
			"TCP address of Go's profiler, without authentication; empty: off"},
	}))
}

func (c *Config) awsAPI() []Setting {
	return group("AWS API", []row{
		{"region", "us-west-2", text(&c.Region, matching(regionName, "a region such as us-west-2")),
			"AWS region of the service, part of every ARN"},
		{"account", "111122223333", text(&c.Account, matching(accountNumber, "12 digits")),
			"AWS account number in ARNs"},
		// Source: AWS Signature Version 4.
		{"clock-skew", "5m", duration(&c.ClockSkew, time.Second, day),
			"maximum difference between the dates of signed requests and the clock"},
		{"throttle", "0", number(&c.Throttle, 0, 1_000_000), "requests per second for one access key; 0: no limit"},
		{"max-calls", "0", number(&c.MaxCalls, 0, 100_000),
			"concurrent API calls; more are throttled; 0: by number of processors"},
	})
}

func (c *Config) signIn() []Setting {
	return group("Sign-in and audit trail", []row{
		{"sign-in", "8h", duration(&c.SignIn, 15*time.Minute, 90*day),
			"duration of a command line's sign-in session; then people sign in again"},
		{"console-sign-in", "12h", duration(&c.ConsoleSignIn, 15*time.Minute, 90*day),
			"duration of a browser's sign-in session; it also ends after an hour without use"},
		{"insecure-sign-in", "off", toggle(&c.InsecureSignIn),
			"sign-in over unencrypted connections from other machines; they reveal passwords"},
		{"open-console", "off", toggle(&c.OpenConsole),
			"console without sign-in, with all rights, for people on this machine"},
		{"audit-retention", "90d", duration(&c.AuditRetention, time.Hour, 3650*day),
			"time that records of the audit trail are kept"},
		{"max-audit-size", "1024", number(&c.MaxAuditSize, 16, 1<<30),
			"MiB of the audit trail; above it the oldest records are deleted before their time"},
		{"audit-calls", "all", choice(&c.AuditCalls, "all", "management"),
			"changing calls in the trail; management: without those for game sessions, player sessions, placements " +
				"and tickets, unless they are denied"},
	})
}

// Source of the retention: CloudWatch user guide, metrics retention.
func (c *Config) metricsHistory() []Setting {
	return group("Metrics", []row{
		{"max-labelled-fleets", "1000", number(&c.MaxLabelledFleets, 0, 1_000_000),
			"fleets up to which GET /metrics shows the metrics of each; above it, it shows none of them; 0: no limit"},
		{"metrics-samples-retention", "3h", duration(&c.MetricsSamplesRetention, 3*time.Hour, 30*day),
			"time that metrics are kept in steps of 10 seconds"},
		{"metrics-minutes-retention", "15d", duration(&c.MetricsMinutesRetention, 6*time.Hour, 3650*day),
			"time that metrics are kept in steps of a minute"},
		{"metrics-five-minutes-retention", "63d", duration(&c.MetricsFiveMinutesRetention, 6*time.Hour, 3650*day),
			"time that metrics are kept in steps of 5 minutes"},
		{"metrics-hours-retention", "455d", duration(&c.MetricsHoursRetention, day, 3650*day),
			"time that metrics are kept in steps of an hour"},
		{"max-metrics-size", "2048", number(&c.MaxMetricsSize, 64, 1<<30),
			"MiB of the metrics, a quarter for each length of steps; above it the oldest are deleted early"},
	})
}

func (c *Config) gameServers() []Setting {
	return group("Game servers", []row{
		{"auth-token-lifetime", "3h", duration(&c.AuthTokenLifetime, time.Minute, 365*day),
			"validity of a compute's auth token"},
		// Source: server SDK reference, PlayerSession.Status.
		{"reservation-timeout", "1m", duration(&c.ReservationTimeout, time.Second, day),
			"time that a reserved player session waits for its player"},
		{"process-grace", "3m20s", duration(&c.ProcessGrace, time.Second, day),
			"time for a disconnected server process to reconnect"},
		{"process-retention", "10m", duration(&c.ProcessRetention, 10*time.Second, day).formerly("process-memory"),
			"time that the id of an ended server process stays reserved"},
		{"ready-timeout", "5m", duration(&c.ReadyTimeout, time.Second, day),
			"time for a connected server process to become ready"},
		// Source: server SDK reference, OnHealthCheck.
		{"health-interval", "1m", duration(&c.HealthInterval, time.Second, time.Hour),
			"expected interval between health reports of a server process"},
		{"health-misses", "3", number(&c.HealthMisses, 1, 1000),
			"consecutive missing or bad health reports that end a server process"},
		// Source: server SDK reference, OnProcessTerminate.
		{"termination-grace", "5m", duration(&c.TerminationGrace, time.Second, day),
			"time for a server process to end after it was asked to"},
	})
}

func (c *Config) managedFleets() []Setting {
	return group("EC2-type fleets", []row{
		{"fleet-activation-timeout", "45m", duration(&c.FleetActivationTimeout, time.Minute, 7*day),
			"time for a new EC2-type fleet to become ACTIVE; afterwards it is in ERROR"},
		{"machine-loss-timeout", "3m", duration(&c.MachineLossTimeout, time.Minute, 7*day),
			"time until the instances of a machine that does not report are replaced; on other machines"},
		{"instance-types", "", list(&c.InstanceTypes, instanceType),
			"needs of instances by type, as TYPE=CPUS:MEMORY with MiB of memory; for instance c5.large=1.5:2048; " +
				"other types need what they have in EC2; the same on all nodes"},
	})
}

func (c *Config) oldServers() []Setting {
	return group("Old game servers", []row{
		{"legacy", "off", toggle(&c.Legacy), "accept game servers on server SDK 3 and 4, without authentication"},
		{"legacy-listen", "localhost", text(&c.LegacyListen, hostName),
			"host name or IP address that old game servers dial; localhost: IPv4 and IPv6"},
		// Source: server SDK 3 and 4, which dial no others.
		{"legacy-ports", "5757,5758,5759", text(&c.LegacyPorts,
			matching(threePorts, "three ports such as 5757,5758,5759")),
			"TCP ports for old game servers: socket.io, HTTP and WebSocket; 0: any free port"},
		{"legacy-fleet", "fleet-123", text(&c.LegacyFleet, matching(fleetID, "an id such as fleet-123")),
			"fleet that old game servers join; created if it does not exist"},
		{"legacy-address", "127.0.0.1", text(&c.LegacyAddress, hostName),
			"host name or IP address of old game servers on this machine, for players"},
		{"legacy-rules", "fleet", choice(&c.LegacyRules, "fleet", "local"),
			"rules for calls and old game servers; local: those of GameLift Local: calls need no valid signature, " +
				"any fleet exists and has all old game servers; needs legacy=on and region=local"},
	})
}

func (c *Config) events() []Setting {
	return group("Events", []row{
		{"webhooks", "", list(&c.Webhooks, webhook).hiding(shownWebhook),
			"webhooks for events of queues and matchmaking, as TOPIC=URL or URL; TOPIC selects the events with " +
				"that NotificationTarget, a URL alone receives all"},
		{"webhook-secret-file", "", text(&c.WebhookSecretFile, nil),
			"file with the secret that signs deliveries; whsec_ and base64; empty: unsigned"},
	})
}

// Settings returns the gateway's settings, bound to c.
func (c *Gateway) Settings() []Setting {
	return group("Session gateway", slices.Concat(c.targets(), c.answers(), c.admission()))
}

// targets are the settings for where game sessions are created.
func (c *Gateway) targets() []row {
	return []row{
		{"gateway-listen", "auto", text(&c.Listen, gatewayAddress),
			"TCP address of the session gateway for game clients; empty: off; auto: :3000 with keys or an " +
				"issuer, else 127.0.0.1:3000"},
		{"gateway-fleet", "", text(&c.Fleet, aFleet),
			"fleet for the gateway's game sessions; empty, without alias and queue: the oldest ACTIVE one " +
				"with server processes"},
		{"gateway-alias", "", text(&c.Alias, anAlias), "alias of the fleet for the gateway's game sessions"},
		{"gateway-queue", "", text(&c.Queue, nil), "queue that places the gateway's game sessions"},
		{"gateway-location", "", text(&c.Location, nil),
			"location of new game sessions; empty: one with an idle server process"},
		{"gateway-builds", "", list(&c.Builds, buildRoute),
			"targets for clients by build: build=fleet, build=alias or build=queue"},
		{"gateway-search", "", list(&c.Search, searchable),
			"additional fleets and aliases to search; for instance those of a queue"},
		{"gateway-allow-target", "off", toggle(&c.AllowTarget),
			"let clients of /v1/ choose where a game session is created"},
		{"gateway-build-check", "off", choice(&c.BuildCheck, "off", "warn", "enforce"),
			"reaction to clients whose build differs from the game session's"},
		{"gateway-reuse", "off", toggle(&c.Reuse), "use an empty game session before creating a new one"},
		{"gateway-deadline", "12s", duration(&c.Deadline, time.Second, 10*time.Minute),
			"time-out of a request, including the start of a game session"},
	}
}

// answers are the settings for what clients see.
func (c *Gateway) answers() []row {
	return []row{
		{"gateway-fields", "full", choice(&c.Fields, "full", "minimal"),
			"fields of found game sessions that clients see"},
		{"gateway-find-limit", "100", number(&c.FindLimit, 1, 10_000),
			"maximum number of game sessions that a client finds"},
		{"gateway-local-fleet", "fleet-123", text(&c.LocalFleet, matching(localFleet, "an id such as fleet-123")),
			"fleet id in the _local paths"},
		{"gateway-compat-errors", "off", toggle(&c.CompatErrors),
			"return errors in the format of AWS-SAMUEL's gateway"},
		{"gateway-messages", "generic", choice(&c.Messages, "generic", "api"),
			"error texts for clients: the API's own, or generic ones"},
	}
}

// admission are the settings for who may call, and how often.
func (c *Gateway) admission() []row {
	return []row{
		{"gateway-keys-file", "", text(&c.KeysFile, nil),
			"file of required API keys, one name:key per line; empty: none required"},
		{"gateway-secret-file", "", text(&c.SecretFile, nil),
			"file with the key for the hashes in game session ids; the same for all gateways of a service; " +
				"empty: the service's own"},
		{"gateway-jwt-issuer", "", text(&c.JWTIssuer, optional(webURL)),
			"issuer of required bearer tokens; empty: none required"},
		{"gateway-jwt-keys", "", text(&c.JWTKeys, optional(webURL)),
			"URL of the issuer's keys (JWKS); empty: as the issuer publishes it"},
		{"gateway-jwt-audience", "", text(&c.JWTAudience, nil), "required audience of bearer tokens; empty: any"},
		{"gateway-jwt-scope", "", text(&c.JWTScope, nil), "required scope of bearer tokens; empty: any"},
		{"gateway-address-rate", "50", number(&c.AddressRate, 0, 1_000_000),
			"requests per second from one address; 0: no limit"},
		{"gateway-player-rate", "10", number(&c.PlayerRate, 0, 1_000_000),
			"requests per second for one player; 0: no limit"},
		{"gateway-max-unused-sessions", "4", number(&c.MaxUnused, 0, 10_000),
			"game sessions of one caller that no player has joined; 0: no limit"},
		{"gateway-trusted-proxies", "", list(&c.TrustedProxies, network),
			"networks (CIDR) of proxies whose X-Forwarded-For is trusted"},
		{"gateway-origins", "", list(&c.Origins, origin), "web origins that may call the gateway (CORS)"},
		{"gateway-access-log", "on", choice(&c.AccessLog, "on", "off"), "log every request to the gateway"},
	}
}

// Settings returns the settings of a cluster, bound to c.
func (c *Cluster) Settings() []Setting {
	return group("Cluster", []row{
		{"node", "", text(&c.Node, optional(matching(NodeName, "1 to 64 letters, digits, - and _"))),
			"unique, constant name of this node in a cluster; empty: no cluster"},
		{"cluster-listen", ":9222", text(&c.Listen, fixedAddress), "TCP address for the other nodes"},
		{"cluster-advertise", "", text(&c.Advertise, optional(hostPort)),
			"host:port at which the other nodes reach this one; empty: the source address of its connections"},
		{"peer", "", list(&c.Peers, hostPort), "host:port of the other nodes; may include this one"},
		{"cluster-replicas", "3", number(&c.Replicas, 1, 5),
			"number of nodes that have a copy of all data: 1, 3 or 5"},
		{"cluster-lease", "3s", duration(&c.Lease, time.Second, time.Minute),
			"time after which the shards of an unreachable node move to others"},
		{"cluster-cert", "", text(&c.Cert, nil),
			"PEM file with the certificate of this node for nodes, or for nats; read again when it changes; for " +
				"nodes, empty: one of the local CA in the data directory"},
		{"cluster-key", "", text(&c.Key, nil), "PEM file with the key of cluster-cert"},
		{"cluster-ca", "", text(&c.CA, nil), "PEM file with the CA of all nodes' certificates, or of nats"},
		{"nats", "", list(&c.NATS, natsURL).hiding(ShownURL),
			"URLs of an external NATS with JetStream; empty: embedded"},
		{"nats-creds", "", text(&c.NATSCreds, nil), "file with the credentials for nats"},
	})
}

// Settings returns the settings of c, bound to c.
func (c *StandaloneGateway) Settings() []Setting {
	service := group("Service", []row{
		{"gateway-endpoint", "", text(&c.Endpoint, optional(webURL)),
			"URL of the GameLift API, a Muster or a GameLift Local; empty: that of AWS in the region"},
		{"gateway-legacy", "off", toggle(&c.Legacy), "the endpoint is a GameLift Local, without locations and search"},
		{"region", "", text(&c.Region, nil),
			"AWS region of the service; empty: as the AWS SDK finds it"},
	})
	running := group("Running", slices.Concat(
		c.certificate(" if there is a certificate", "unencrypted"), c.limits(),
		[]row{c.metrics("the gateway's address")}, c.running()))
	return slices.Concat(c.Gateway.Settings(), service, running)
}

// certificate are the settings of encryption. where and without complete the help texts.
func (p *Process) certificate(where, without string) []row {
	return []row{
		{"plaintext", "allow", choice(&p.Plaintext, "allow", "refuse"),
			"allow or refuse requests without TLS" + where},
		{"tls-cert", "", text(&p.TLSCert, nil),
			"PEM file with the certificate chain; read again when it changes; empty: " + without},
		{"tls-key", "", text(&p.TLSKey, nil), "PEM file with the key of tls-cert"},
	}
}

// limits are the settings of how many connections are accepted.
func (p *Process) limits() []row {
	return []row{
		{"max-connections", "0", number(&p.MaxConnections, 0, MostConnections),
			"open connections over all ports; 0: as many as open files allow; " +
				"that limit is the maximum in any case"},
		{"max-connections-per-address", "0", number(&p.MaxConnectionsPerAddress, 0, MostConnections),
			"open connections from one IPv4 address or IPv6 network of 64 bits; 0: half of max-connections"},
	}
}

// metrics is the setting of the metrics' address. others are the addresses that serve /metrics without it.
func (p *Process) metrics(others string) row {
	return row{"metrics-listen", "", text(&p.MetricsListen, optional(address)),
		"TCP address of /metrics, without authentication; empty: " + others + ", for this machine only"}
}

// running are the settings of the log and of stopping.
func (p *Process) running() []row {
	return []row{
		{"log-level", "info", choice(&p.LogLevel, "debug", "info", "warn", "error"), "minimum log level"},
		{"log-format", "text", choice(&p.LogFormat, "text", "json"), "log format"},
		{"shutdown-timeout", "10s", duration(&p.ShutdownTimeout, 0, time.Hour),
			"time that a stop waits for requests in progress"},
	}
}
