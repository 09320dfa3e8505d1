// Package alerts tests the PromQL of docs/grafana with the parser and the engine of Prometheus: the expressions of the
// dashboards are valid, and the alert rules fire when they should.
package alerts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

const directory = "../../docs/grafana"

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAlerts evaluates the rules on the series of alertTests. Each rule needs a test where it fires, and one where it
// does not.
func TestAlerts(t *testing.T) {
	fires, quiet := map[string]int{}, map[string]int{}
	for _, test := range alertTests {
		if test.want == "" {
			quiet[test.alert]++
		} else {
			fires[test.alert]++
		}
		t.Run(test.alert+"/"+test.name, func(t *testing.T) {
			storage := promqltest.LoadedStorage(t, "load 1m"+ofJob(test.series))
			engine := promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{MaxSamples: 1000, Timeout: time.Minute})
			query := rules.EngineQueryFunc(engine, storage)
			if got := firing(t, loadRules(t)[test.alert], query, test.minutes); got != test.want {
				t.Errorf("after %d minutes:\n%s\nwant\n%s", test.minutes, got, test.want)
			}
		})
	}
	for name := range loadRules(t) {
		if fires[name] == 0 || quiet[name] == 0 {
			t.Errorf("%s: it fires in %d tests, and not in %d; want at least one each", name, fires[name], quiet[name])
		}
	}
}

// ofJob gives each series that has no job one, as Prometheus does, and begins each with a new line.
func ofJob(series string) (text string) {
	for line := range strings.Lines(strings.TrimSpace(series)) {
		if line = strings.TrimSpace(line); !strings.Contains(line, "job=") {
			line = strings.Replace(line, "{", `{job="muster", `, 1)
		}
		text += "\n" + line
	}
	return text
}

// loadRules reads the rules as Prometheus does, which parses their expressions and templates.
func loadRules(t *testing.T) map[string]*rules.AlertingRule {
	t.Helper()
	groups, errs := rules.NewManager(&rules.ManagerOptions{}).LoadGroups(time.Minute, labels.EmptyLabels(), "", nil,
		false, directory+"/alerts.yml")
	for _, err := range errs {
		t.Fatal(err)
	}
	all := map[string]*rules.AlertingRule{}
	for _, g := range groups {
		for _, r := range g.AlertingRules() {
			all[r.Name()] = r
		}
	}
	return all
}

// firing evaluates a rule each minute, the first time at 0, and returns a line for each alert that fires at the end:
// its labels and its summary.
func firing(t *testing.T, rule *rules.AlertingRule, query rules.QueryFunc, minutes int) string {
	t.Helper()
	if rule == nil {
		t.Fatal("there is no such rule")
	}
	for m := range minutes + 1 {
		_, err := rule.Eval(t.Context(), 0, time.Unix(int64(60*m), 0), query, nil, 0)
		check(t, err)
	}
	var lines []string
	for _, a := range rule.ActiveAlerts() {
		if a.State == rules.StateFiring {
			own := labels.NewBuilder(a.Labels).Del(labels.AlertName).Labels()
			lines = append(lines, own.String()+" "+a.Annotations.Get("summary"))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestSeriesExist holds the series of alertTests to the metrics that Muster has: a rule is silent on any others.
func TestSeriesExist(t *testing.T) {
	reference, err := os.ReadFile("../../docs/reference/metrics.md")
	check(t, err)
	for _, test := range alertTests {
		for line := range strings.Lines(test.series) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), "{")
			name = strings.TrimSuffix(name, "_bucket")
			if name != "" && name != "up" && !strings.Contains(string(reference), "| `"+name+"` |") {
				t.Errorf("%s, %s: there is no metric %s", test.alert, test.name, name)
			}
		}
	}
}

// A dashboard is what the test reads of a file for Grafana.
type dashboard struct {
	Templating struct{ List []variable }
	Panels     []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

type variable struct {
	Name, Type string
	Query      any // text, or with the type "query" an object with text
}

// labelValues is the query of a variable: Grafana's function around a selector in PromQL, and a label.
var labelValues = regexp.MustCompile(`^label_values\((.+), \w+\)$`)

func TestDashboards(t *testing.T) {
	files, err := filepath.Glob(directory + "/*.json")
	check(t, err)
	if len(files) == 0 {
		t.Error("there are no dashboards")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			check(t, err)
			var d dashboard
			check(t, json.Unmarshal(text, &d))
			checkDashboard(t, &d)
		})
	}
}

func checkDashboard(t *testing.T, d *dashboard) {
	values := map[string]string{"__rate_interval": "1m"}
	for _, v := range d.Templating.List {
		values[v.Name] = ".*"
	}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		query, _ := v.Query.(map[string]any)
		text := fmt.Sprint(query["query"])
		if m := labelValues.FindStringSubmatch(text); m == nil {
			t.Errorf("variable %s: %s is no query of label values", v.Name, text)
		} else {
			parse(t, "variable "+v.Name, m[1], values)
		}
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			parse(t, p.Title, target.Expr, values)
		}
	}
}

// parse parses an expression after Grafana's variables in it are replaced.
func parse(t *testing.T, where, expr string, variables map[string]string) {
	t.Helper()
	promQL := os.Expand(expr, func(name string) string {
		value, ok := variables[name]
		if !ok {
			t.Errorf("%s: the dashboard has no variable $%s", where, name)
		}
		return value
	})
	if _, err := parser.NewParser(parser.Options{}).ParseExpr(promQL); err != nil {
		t.Errorf("%s: %v in %s", where, err, expr)
	}
}
