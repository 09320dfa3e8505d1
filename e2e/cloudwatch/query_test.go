package cloudwatch_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	gl "github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/people"
	"github.com/muster-gg/muster/mustertest"
)

// A measuredRegion is a service on a fake clock, with a series of each set of dimensions.
type measuredRegion struct {
	*people.Service
	clock *clockwork.FakeClock
	begin time.Time // a whole minute, since which there are values
	aws   *cloudwatch.Client
	fleet string
}

// TestQuery: GET /v1/metrics/query, from which graphs are drawn, and GetMetricData have the same values of all metrics,
// with all statistics, in all sets of dimensions.
func TestQuery(t *testing.T) {
	r := startMeasured(t)
	r.play()
	for r.clock.Since(r.begin) < 3*time.Minute {
		r.step()
	}
	sets := map[string]bool{}
	compared, nonzero := 0, 0
	for _, period := range []int{10, 60} {
		for _, statistic := range []string{"SampleCount", "Average", "Sum", "Minimum", "Maximum", "p50", "p99.9"} {
			series := r.series(statistic)
			fromAWS := r.data(series, statistic, period)
			for i, m := range series {
				fromMuster := r.query(r.Root, m, statistic, period)
				if !maps.Equal(fromAWS[i], fromMuster) {
					t.Errorf("%s %v, %s of %d s: GetMetricData has %v, the query %v", *m.MetricName, names(m),
						statistic, period, fromAWS[i], fromMuster)
				}
				compared += len(fromMuster)
				for _, v := range fromMuster {
					if v != 0 {
						nonzero++
					}
				}
				sets[names(m)] = true
			}
		}
	}
	for _, set := range []string{"FleetId", "FleetId Location", "MetricGroup", "MetricGroup Location", "Location",
		"QueueName", "QueueName Location", "ConfigurationName", "ConfigurationName-RuleName"} {
		if !sets[set] {
			t.Errorf("no metric has the dimensions %s", set)
		}
	}
	t.Logf("%d values are equal, %d of them not 0", compared, nonzero)
	if nonzero < 1000 {
		t.Errorf("%d values are not 0, want a region that does something", nonzero)
	}

	key := r.Manage("POST", "keys", map[string]any{"service": "list-only", "document": map[string]any{
		"Version": "2012-10-17", "Statement": map[string]any{"Effect": "Allow", "Resource": "*",
			"Action": []string{"gamelift:*", "muster:*", "cloudwatch:ListMetrics", "cloudwatch:GetMetricStatistics"}}}})
	limited := aws.Credentials{AccessKeyID: key["id"].(string), SecretAccessKey: key["secret"].(string)}
	status, body := r.get(limited, "metric=ActiveGameSessions&fleet="+r.fleet)
	if status != http.StatusForbidden || !strings.Contains(body, "cloudwatch:GetMetricData") {
		t.Errorf("without the permission: %d %s", status, body)
	}
}

// startMeasured starts a service with a fleet, a queue, and a configuration with a rule.
func startMeasured(t *testing.T) *measuredRegion {
	clock := clockwork.NewFakeClockAt(time.Now().Truncate(time.Minute))
	r := &measuredRegion{clock: clock, begin: clock.Now(), Service: people.Start(t, func(c *muster.Config) {
		c.Clock, c.ClockSkew = clock, time.Hour
	})}
	r.aws = cloudwatch.NewFromConfig(r.AWS)
	r.fleet = r.Fleet("custom-home")
	mustertest.Call(r, r.Client.UpdateFleetAttributes, &gamelift.UpdateFleetAttributesInput{FleetId: &r.fleet,
		MetricGroups: []string{"arenas"}})
	fleet := mustertest.Call(r, r.Client.DescribeFleetAttributes,
		&gamelift.DescribeFleetAttributesInput{FleetIds: []string{r.fleet}}).FleetAttributes[0]
	queue := mustertest.Call(r, r.Client.CreateGameSessionQueue, &gamelift.CreateGameSessionQueueInput{
		Name: aws.String("arena"), Destinations: []gl.GameSessionQueueDestination{{DestinationArn: fleet.FleetArn}},
	}).GameSessionQueue
	mustertest.Call(r, r.Client.CreateMatchmakingRuleSet, &gamelift.CreateMatchmakingRuleSetInput{
		Name: aws.String("pair"), RuleSetBody: aws.String(`{"ruleLanguageVersion": "1.0",
			"playerAttributes": [{"name": "skill", "type": "number", "default": 10}],
			"teams": [{"name": "all", "minPlayers": 2, "maxPlayers": 2}],
			"rules": [{"name": "even-skill", "type": "distance", "maxDistance": 5,
				"measurements": ["flatten(teams[*].players.attributes[skill])"],
				"referenceValue": "avg(flatten(teams[*].players.attributes[skill]))"}]}`)})
	mustertest.Call(r, r.Client.CreateMatchmakingConfiguration, &gamelift.CreateMatchmakingConfigurationInput{
		Name: aws.String("pair"), RuleSetName: aws.String("pair"), AcceptanceRequired: aws.Bool(false),
		RequestTimeoutSeconds: aws.Int32(60), GameSessionQueueArns: []string{*queue.GameSessionQueueArn}})
	return r
}

// play starts two game sessions for two server processes, one of them of a match; a placement and a ticket wait.
func (r *measuredRegion) play() {
	r.Helper()
	for i := range 2 {
		r.Launch(r.Compute(r.fleet, "custom-home", fmt.Sprint("host-", i)), 7777)
	}
	for _, player := range []string{"ada", "bob", "eve"} {
		mustertest.Call(r, r.Client.StartMatchmaking, &gamelift.StartMatchmakingInput{TicketId: &player,
			ConfigurationName: aws.String("pair"), Players: []gl.Player{{PlayerId: &player}}})
	}
	r.step()
	mustertest.Eventually(r, "two players have a game session", func() bool {
		tickets := mustertest.Call(r, r.Client.DescribeMatchmaking,
			&gamelift.DescribeMatchmakingInput{TicketIds: []string{"ada", "bob", "eve"}}).TicketList
		return slices.ContainsFunc(tickets, func(t gl.MatchmakingTicket) bool {
			return t.Status == gl.MatchmakingConfigurationStatusCompleted
		})
	})
	for i := range 2 {
		mustertest.Call(r, r.Client.StartGameSessionPlacement, &gamelift.StartGameSessionPlacementInput{
			PlacementId: aws.String(fmt.Sprint("placement-", i)), GameSessionQueueName: aws.String("arena"),
			MaximumPlayerSessionCount: aws.Int32(4)})
		r.step()
	}
}

// step lets 10 s go by, and waits until they are measured.
func (r *measuredRegion) step() {
	r.Helper()
	for range 2 { // short enough for the timers of game servers
		r.clock.Advance(5 * time.Second)
	}
	last := types.Metric{MetricName: aws.String("ActiveInstances"),
		Dimensions: []types.Dimension{{Name: aws.String("FleetId"), Value: &r.fleet}}}
	mustertest.Eventually(r, "the last 10 s are measured", func() bool {
		_, ok := r.query(r.Root, last, "Sum", 10)[r.clock.Now().Add(-10*time.Second).Unix()]
		return ok
	})
}

// series returns all metrics for a statistic: durations for percentiles.
func (r *measuredRegion) series(statistic string) (all []types.Metric) {
	r.Helper()
	pages := cloudwatch.NewListMetricsPaginator(r.aws,
		&cloudwatch.ListMetricsInput{Namespace: aws.String("AWS/GameLift")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		for _, m := range page.Metrics {
			if statistic[0] != 'p' || strings.HasPrefix(*m.MetricName, "TimeTo") {
				all = append(all, m)
			}
		}
	}
	return all
}

func names(m types.Metric) string {
	var all []string
	for _, d := range m.Dimensions {
		all = append(all, *d.Name)
	}
	return strings.Join(all, " ")
}

// data returns what GetMetricData answers, by time in Unix seconds.
func (r *measuredRegion) data(series []types.Metric, statistic string, period int) []map[int64]float64 {
	r.Helper()
	in := &cloudwatch.GetMetricDataInput{StartTime: &r.begin, EndTime: aws.Time(r.clock.Now())}
	for i := range series {
		in.MetricDataQueries = append(in.MetricDataQueries, types.MetricDataQuery{Id: aws.String(fmt.Sprint("m", i)),
			MetricStat: &types.MetricStat{Metric: &series[i], Period: aws.Int32(int32(period)), Stat: &statistic}})
	}
	all := make([]map[int64]float64, len(series))
	for i := range all {
		all[i] = map[int64]float64{}
	}
	pages := cloudwatch.NewGetMetricDataPaginator(r.aws, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(r.Context())
		if err != nil {
			r.Fatal(err)
		}
		for _, result := range page.MetricDataResults {
			i, err := strconv.Atoi((*result.Id)[1:])
			if err != nil {
				r.Fatal(err)
			}
			for k, at := range result.Timestamps {
				all[i][at.Unix()] = result.Values[k]
			}
		}
	}
	return all
}

// parameters are the names of dimensions in a query.
var parameters = map[string]string{"FleetId": "fleet", "Location": "location", "MetricGroup": "group",
	"QueueName": "queue", "ConfigurationName": "configuration"}

// query returns what GET /v1/metrics/query answers.
func (r *measuredRegion) query(key aws.Credentials, m types.Metric, statistic string, period int) map[int64]float64 {
	r.Helper()
	q := url.Values{"metric": {*m.MetricName}, "statistic": {statistic}, "period": {strconv.Itoa(period)},
		"from": {r.begin.UTC().Format(time.RFC3339)}, "to": {r.clock.Now().UTC().Format(time.RFC3339)}}
	for _, d := range m.Dimensions {
		if *d.Name == "ConfigurationName-RuleName" {
			configuration, rule, _ := strings.Cut(*d.Value, "-")
			q.Set("configuration", configuration)
			q.Set("rule", rule)
			continue
		}
		q.Set(parameters[*d.Name], *d.Value)
	}
	status, body := r.get(key, q.Encode())
	var table struct {
		Times  []int64
		Series []struct{ Values []*float64 }
	}
	if err := json.Unmarshal([]byte(body), &table); status != http.StatusOK || err != nil || len(table.Series) != 1 {
		r.Fatalf("%s: %d %s", q.Encode(), status, body)
	}
	values := map[int64]float64{}
	for i, v := range table.Series[0].Values {
		if v != nil {
			values[table.Times[i]] = *v
		}
	}
	return values
}

// get sends a query with a key.
func (r *measuredRegion) get(key aws.Credentials, query string) (status int, body string) {
	r.Helper()
	q, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.HTTP+"/v1/metrics/query?"+query, nil)
	if err != nil {
		r.Fatal(err)
	}
	r.Signed(key, "gamelift")(q)
	answer, err := r.Web.Do(q)
	if err != nil {
		r.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
