package bench

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// serverUsage is the resource usage of the service, from the standard Prometheus metrics of processes and the Go
// runtime.
type serverUsage struct {
	usage
	resident float64 // bytes of memory
}

// scrape reads the metrics of the service; false if there are none.
func scrape(ctx context.Context, url string, trust *tls.Config) (serverUsage, bool) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	transport := &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return serverUsage{}, false
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return serverUsage{}, false
	}
	defer func() { _ = answer.Body.Close() }() // it has been read
	if answer.StatusCode != http.StatusOK {
		return serverUsage{}, false
	}
	u, err := parseMetrics(answer.Body)
	return u, err == nil
}

// parseMetrics reads the text format of Prometheus. It fails if the processor time is missing.
func parseMetrics(r io.Reader) (serverUsage, error) {
	var u serverUsage
	found := false
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue // a comment, or a sample with spaces in its labels
		}
		switch name {
		case "process_cpu_seconds_total":
			u.cpu, found = time.Duration(value*float64(time.Second)), true
		case "go_memstats_mallocs_total":
			u.allocations = uint64(value)
		case "process_resident_memory_bytes":
			u.resident = value
		}
	}
	if !found {
		return u, fmt.Errorf("no process_cpu_seconds_total among the metrics: %w", lines.Err())
	}
	return u, lines.Err()
}
