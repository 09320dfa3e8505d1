//go:build unix

package crash

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

const (
	// graphPeriod is the shortest period of a graph, and graphStored how long before a kill a period has ended that
	// must be stored.
	graphPeriod = 10 * time.Second
	graphStored = 10 * time.Second

	// graphGap is the longest part of a graph that a kill may leave out.
	graphGap = time.Minute
)

// TestKillKeepsGraphs: after a kill a graph has what it had before, but for the last
// minute at most, and goes on.
func TestKillKeepsGraphs(t *testing.T) {
	t.Parallel()
	w := newWreck(t, 1000)
	w.makeQueue()
	begin := time.Now()
	made := 0
	placeUntil := func(stop func(points map[time.Time]float64) bool) (points map[time.Time]float64) {
		for limit := time.Now().Add(resumeLimit); !stop(points); {
			if time.Now().After(limit) {
				t.Fatalf("the graph has only %v", points)
			}
			w.place(fmt.Sprintf("placement-%d", made))
			made++
			time.Sleep(50 * time.Millisecond) // a load, not a wait
			points = w.started(begin)
		}
		return points
	}
	before := placeUntil(func(points map[time.Time]float64) bool { return len(points) >= 3 })
	w.service.Kill()
	killed := time.Now()
	w.http.CloseIdleConnections()
	w.service.start(w.ctx)
	w.connect()
	after := placeUntil(func(points map[time.Time]float64) bool { return last(points).After(killed) })

	for at, value := range before {
		if at.Add(graphPeriod+graphStored).Before(killed) && after[at] != value {
			t.Errorf("placements at %s: %g before the kill, %g after it", at, value, after[at])
		}
	}
	first := last(after)
	for at := range after {
		if at.After(killed) && at.Before(first) {
			first = at
		}
	}
	if gap := first.Sub(last(before).Add(graphPeriod)); gap > graphGap {
		t.Errorf("the graph lacks %s", gap)
	}
	total := 0.0
	for _, value := range after {
		total += value
	}
	if total > float64(made) {
		t.Errorf("the graph has %g placements of %d", total, made)
	}
	t.Logf("before the kill %v, after it %v", before, after)
}

// last returns the time of the newest point.
func last(points map[time.Time]float64) (newest time.Time) {
	for at := range points {
		if at.After(newest) {
			newest = at
		}
	}
	return newest
}

// started reads the graph of placements that were requested: how many in each period since a time.
func (w *wreck) started(since time.Time) map[time.Time]float64 {
	w.t.Helper()
	env := w.service.environment()
	client := cloudwatch.New(cloudwatch.Options{Region: env["AWS_REGION"],
		BaseEndpoint: aws.String("http://" + w.service.address),
		Credentials: credentials.NewStaticCredentialsProvider(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"],
			""), HTTPClient: &http.Client{Transport: w.http}})
	out, err := client.GetMetricStatistics(w.ctx, &cloudwatch.GetMetricStatisticsInput{
		Namespace: aws.String("AWS/GameLift"), MetricName: aws.String("PlacementsStarted"),
		Dimensions: []types.Dimension{{Name: aws.String("QueueName"), Value: aws.String("arena")}},
		StartTime:  aws.Time(since), EndTime: aws.Time(time.Now().Add(time.Minute)),
		Period: aws.Int32(int32(graphPeriod / time.Second)), Statistics: []types.Statistic{types.StatisticSum}})
	w.must(err)
	points := map[time.Time]float64{}
	for _, p := range out.Datapoints {
		points[*p.Timestamp] = *p.Sum
	}
	return points
}
