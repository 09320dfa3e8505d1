package otlp

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Defaults of OpenTelemetry's specification.
const (
	defaultEndpoint = "http://localhost:4318"
	defaultInterval = time.Minute
	defaultLimit    = 30 * time.Second
	defaultAttempt  = 10 * time.Second
)

// Settings say where metrics are pushed to, and how often.
type Settings struct {
	url      *url.URL
	header   http.Header
	gzip     bool
	tls      *tls.Config
	interval time.Duration
	limit    time.Duration // of a push with its retries
	attempt  time.Duration // of one request
	resource map[string]string
}

// Load reads the OTEL_* variables of an environment (NAME=value). It returns nil if they ask for no push. As the
// specification wants it, an empty variable is as good as none. The error joins all variables with a wrong value.
func Load(environ []string) (*Settings, error) {
	v := variables{values: make(map[string]string)}
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "OTEL_") {
			v.values[name] = strings.TrimSpace(value)
		}
	}
	if !v.enabled() {
		return nil, errors.Join(v.errs...)
	}
	s := &Settings{
		url: v.endpoint(), header: v.header(), tls: v.tls(), resource: v.resource(),
		interval: v.milliseconds("OTEL_METRIC_EXPORT_INTERVAL", defaultInterval),
		limit:    v.milliseconds("OTEL_METRIC_EXPORT_TIMEOUT", defaultLimit),
		attempt:  v.milliseconds(v.ofExporter("TIMEOUT"), defaultAttempt),
		gzip:     v.choice(v.ofExporter("COMPRESSION"), "use gzip or none", "none", "gzip") == "gzip",
	}
	v.choice(v.ofExporter("PROTOCOL"), "Muster pushes over HTTP only: set http/protobuf, and the endpoint of the "+
		"collector's HTTP port, usually 4318", "http/protobuf")
	v.choice("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "Muster's metrics are cumulative: unset it, or "+
		"convert them in the collector (cumulativetodelta)", "cumulative")
	return s, errors.Join(v.errs...)
}

// variables are those of an environment that begin with OTEL_.
type variables struct {
	values map[string]string
	errs   []error
}

func (v *variables) fail(name, format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s: "+format, append([]any{name}, args...)...))
}

// ofExporter returns the name of a variable of the exporter: the one for metrics, or, without it, the one for all
// signals.
func (v *variables) ofExporter(name string) string {
	if own := "OTEL_EXPORTER_OTLP_METRICS_" + name; v.values[own] != "" {
		return own
	}
	return "OTEL_EXPORTER_OTLP_" + name
}

// choice returns the value of a variable, in lower case, which must be one of those given. The first is the default.
func (v *variables) choice(name, fix string, allowed ...string) string {
	value := cmp.Or(strings.ToLower(v.values[name]), allowed[0])
	if !slices.Contains(allowed, value) {
		v.fail(name, "%q is not supported: %s", v.values[name], fix)
	}
	return value
}

// enabled reports whether metrics are pushed. OpenTelemetry's default exporter is otlp, to localhost; here a service
// pushes only if a variable names the exporter or an endpoint.
func (v *variables) enabled() bool {
	if v.choice("OTEL_SDK_DISABLED", "use true or false", "false", "true") == "true" {
		return false
	}
	const name = "OTEL_METRICS_EXPORTER"
	if v.values[name] == "" {
		return v.values[v.ofExporter("ENDPOINT")] != ""
	}
	return v.choice(name, "use otlp or none; /metrics is always there for Prometheus", "none", "otlp") == "otlp"
}

// endpoint returns the URL of the requests. The variable for all signals has a base URL.
func (v *variables) endpoint() *url.URL {
	name := v.ofExporter("ENDPOINT")
	u, err := url.Parse(cmp.Or(v.values[name], defaultEndpoint))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		v.fail(name, "not a URL: use one like http://collector:4318") // without the value, which may have a password
		return nil
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath("v1", "metrics")
	}
	return u
}

func (v *variables) milliseconds(name string, otherwise time.Duration) time.Duration {
	if v.values[name] == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(v.values[name], 10, 32)
	if err != nil || n < 1 {
		v.fail(name, "%q is not a number of milliseconds from 1 to 2147483647", v.values[name])
	}
	return time.Duration(n) * time.Millisecond
}

// pairs returns the entries key=value of a list, percent-decoded. Errors have no values, because they may be secret.
func (v *variables) pairs(name string) map[string]string {
	pairs := make(map[string]string)
	for i, entry := range strings.Split(v.values[name], ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		key, value, found := strings.Cut(entry, "=")
		key, keyErr := url.PathUnescape(strings.TrimSpace(key))
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || key == "" || cmp.Or(keyErr, err) != nil {
			v.fail(name, "entry %d is not key=value, with other characters than letters and digits as %%XX", i+1)
			continue
		}
		pairs[key] = value
	}
	return pairs
}

func (v *variables) header() http.Header {
	header := make(http.Header)
	name := v.ofExporter("HEADERS")
	for key, value := range v.pairs(name) {
		if !httpguts.ValidHeaderFieldName(key) || !httpguts.ValidHeaderFieldValue(value) {
			v.fail(name, "%q is not a header, or its value has control characters", key)
			continue
		}
		header.Set(key, value)
	}
	return header
}

// resource returns the attributes of the resource that the environment sets.
func (v *variables) resource() map[string]string {
	attributes := v.pairs("OTEL_RESOURCE_ATTRIBUTES")
	if service := v.values["OTEL_SERVICE_NAME"]; service != "" {
		maps.Copy(attributes, map[string]string{serviceName: service})
	}
	return attributes
}

func (v *variables) tls() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if name := v.ofExporter("CERTIFICATE"); v.values[name] != "" {
		text, err := os.ReadFile(v.values[name])
		c.RootCAs = x509.NewCertPool()
		if err != nil {
			v.fail(name, "%w", err)
		} else if !c.RootCAs.AppendCertsFromPEM(text) {
			v.fail(name, "%s has no certificate in PEM", v.values[name])
		}
	}
	name, key := v.ofExporter("CLIENT_CERTIFICATE"), v.ofExporter("CLIENT_KEY")
	if v.values[name] == "" && v.values[key] == "" {
		return c
	}
	// The files are read for each connection, so that they can be renewed.
	load := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(v.values[name], v.values[key])
		return &pair, err
	}
	if v.values[name] == "" || v.values[key] == "" {
		v.fail(name, "set it and %s, or neither", key)
	} else if _, err := load(nil); err != nil {
		v.fail(name, "%w", err)
	}
	c.GetClientCertificate = load
	return c
}
