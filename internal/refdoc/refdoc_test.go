// Package refdoc writes the pages of docs/reference that follow from the code: the settings, the operations of the API,
// the requests of operators (also as OpenAPI), the language of policies and the metrics; and from tables the dashboards
// and alert rules of docs/grafana. So the pages say what the program does. It is a test, which fails if a page is
// out of date.
package refdoc

//go:generate go test -run ^TestPagesAreUpToDate$ . -update

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the pages")

// pages are the files of docs, in Markdown, and for Grafana and Prometheus.
var pages = map[string]func() ([]byte, error){
	"reference/compatibility.md":          operationsPage,
	"reference/configuration.md":          settingsPage,
	"reference/metrics.md":                metricsPage,
	"reference/mission.md":                missionPage,
	"reference/operator-api.md":           requestsPage,
	"reference/operator-api.openapi.json": openAPIFile,
	"reference/policies.md":               policiesPage,
	"grafana/alerts.yml":                  alertsPage,
	"grafana/fleet.json":                  fleetDashboard.page,
	"grafana/matchmaking.json":            matchmakingDashboard.page,
	"grafana/node.json":                   nodeDashboard.page,
	"grafana/queue.json":                  queueDashboard.page,
	"grafana/region.json":                 regionDashboard.page,
}

func TestPagesAreUpToDate(t *testing.T) {
	for name, page := range pages {
		t.Run(name, func(t *testing.T) {
			file, want := filepath.Join("../../docs", name), must(t, page)
			if *update {
				if err := os.WriteFile(file, want, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			have, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(have, want) {
				t.Error("the page differs from the code: run make generate")
			}
		})
	}
}

func must(t *testing.T, page func() ([]byte, error)) []byte {
	t.Helper()
	text, err := page()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
