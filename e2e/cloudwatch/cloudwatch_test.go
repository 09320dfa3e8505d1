// Package cloudwatch_test calls the endpoint of CloudWatch with the clients that people use, in each of its protocols.
package cloudwatch_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go"
	"github.com/jonboulle/clockwork"

	endpoint "github.com/muster-gg/muster/internal/cloudwatch"
	"github.com/muster-gg/muster/internal/control/access"
	"github.com/muster-gg/muster/internal/listen/sigv4"
	"github.com/muster-gg/muster/internal/metrics"
	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire/fault"

	"github.com/muster-gg/muster/e2e/clients"
)

const (
	region    = "us-west-2"
	accessKey = "AKIDEXAMPLE"
	secretKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// A store has 600 fleets, each with a point a minute of ActiveGameSessions: the minute of the hour.
type store struct{}

func (store) List(bool) (all []metrics.Series) {
	for i := range 600 {
		all = append(all, metrics.Series{Metric: "ActiveGameSessions", Dimensions: []metrics.Dimension{
			{Name: "FleetId", Value: "fleet-" + string(rune('a'+i/26)) + string(rune('a'+i%26))}}})
	}
	return all
}

func (store) Points(_ context.Context, s metrics.Series, from, to time.Time, period time.Duration) (
	points []metrics.Point, err error,
) {
	if s.Metric != "ActiveGameSessions" {
		return nil, nil
	}
	for ; from.Before(to); from = from.Add(period) {
		v := float64(from.Minute())
		points = append(points, metrics.Point{At: from, Sum: 6 * v, Minimum: v, Maximum: v, Count: 6})
	}
	return points, nil
}

func (store) Quantile(context.Context, metrics.Series, float64, time.Time, time.Time, time.Duration) (
	[]metrics.Quantile, error,
) {
	return nil, nil
}

func (store) Unit(string) string { return "Count" }

// A gate knows one access key. It may not call DescribeAlarms.
type gate struct{}

func (gate) Secret(id, _ string) (sigv4.Credential, bool) {
	return sigv4.Credential{Secret: secretKey, Principal: "alice"}, id == accessKey
}
func (gate) IdentityOf(sigv4.Caller) *access.Identity { return nil }
func (gate) Allow(_ *access.Identity, _ access.Origin, action policy.Action, _ ...string) error {
	if action.String() == "cloudwatch:DescribeAlarms" {
		return fault.New(fault.AccessDenied, "User is not authorized to perform: %s", action)
	}
	return nil
}
func (gate) Refused(string, access.Origin, string, error) {}

// A server is an endpoint that notes the types of the requests' bodies.
type server struct {
	url   string
	mu    sync.Mutex
	types []string
}

func serve(t *testing.T) *server {
	handler := endpoint.New(endpoint.Config{
		Store: store{}, Access: gate{}, Account: "123456789012", Ready: func(context.Context) bool { return true },
		Allow: func(string, string) bool { return true }, Enter: func() bool { return true }, Leave: func() {},
		Clock: clockwork.NewRealClock(), Log: slog.New(slog.DiscardHandler),
	})
	s := &server{}
	l := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !endpoint.MatchesHTTP(r) {
			t.Errorf("not a call of CloudWatch: %s %s %v", r.Method, r.URL, r.Header)
		}
		s.mu.Lock()
		s.types = append(s.types, r.Header.Get("Content-Type"))
		s.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(l.Close)
	s.url = l.URL
	return s
}

// expectType holds that all requests had bodies of a type.
func (s *server) expectType(t *testing.T, want string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Sort(s.types); len(slices.Compact(s.types)) != 1 || s.types[0] != want {
		t.Errorf("requests with bodies of %v, want %s", s.types, want)
	}
}

func TestGoSDK(t *testing.T) {
	s := serve(t)
	connect := func(secret string) *cloudwatch.Client {
		return cloudwatch.New(cloudwatch.Options{Region: region, BaseEndpoint: &s.url,
			Credentials: credentials.NewStaticCredentialsProvider(accessKey, secret, "")})
	}
	client, end := connect(secretKey), time.Now().Truncate(time.Hour)
	var pages []int
	list := cloudwatch.NewListMetricsPaginator(client,
		&cloudwatch.ListMetricsInput{Namespace: aws.String("AWS/GameLift"),
			RecentlyActive: types.RecentlyActivePt3h,
			Dimensions:     []types.DimensionFilter{{Name: aws.String("FleetId")}}})
	for list.HasMorePages() {
		page, err := list.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, len(page.Metrics))
	}
	if !slices.Equal(pages, []int{500, 100}) {
		t.Error(pages)
	}
	statistics, err := client.GetMetricStatistics(t.Context(), &cloudwatch.GetMetricStatisticsInput{
		Namespace: aws.String("AWS/GameLift"), MetricName: aws.String("ActiveGameSessions"), Period: aws.Int32(60),
		StartTime: aws.Time(end.Add(-2 * time.Minute)), EndTime: &end,
		Statistics: []types.Statistic{types.StatisticAverage, types.StatisticSampleCount},
		Dimensions: []types.Dimension{{Name: aws.String("FleetId"), Value: aws.String("fleet-aa")}}})
	if err != nil {
		t.Fatal(err)
	}
	if p := statistics.Datapoints; len(p) != 2 || *p[1].Average != 59 || *p[1].SampleCount != 6 || p[1].Sum != nil ||
		p[1].Unit != types.StandardUnitCount || !p[1].Timestamp.Equal(end.Add(-time.Minute)) {
		t.Errorf("%+v", p)
	}
	data := cloudwatch.NewGetMetricDataPaginator(client, &cloudwatch.GetMetricDataInput{
		StartTime: aws.Time(end.Add(-time.Hour)), EndTime: &end, ScanBy: types.ScanByTimestampAscending,
		MaxDatapoints: aws.Int32(25), MetricDataQueries: []types.MetricDataQuery{{Id: aws.String("e1"),
			Expression: aws.String(`SUM(SEARCH('{AWS/GameLift,FleetId} FleetId=("fleet-aa" OR "fleet-ab")', 'Sum', ` +
				`60))`)}},
	})
	var values []float64
	for data.HasMorePages() {
		page, err := data.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.MetricDataResults {
			values = append(values, r.Values...)
		}
	}
	if len(values) != 60 || values[59] != 2*6*59 {
		t.Error(values)
	}
	s.expectType(t, "application/cbor")

	_, err = client.GetMetricStatistics(t.Context(), &cloudwatch.GetMetricStatisticsInput{
		Namespace: aws.String("AWS/GameLift"), MetricName: aws.String("x"), Period: aws.Int32(7), StartTime: &end,
		EndTime: aws.Time(end.Add(time.Minute)), Statistics: []types.Statistic{types.StatisticSum}})
	if wrong, ok := errors.AsType[*types.InvalidParameterValueException](err); !ok ||
		!strings.Contains(wrong.ErrorMessage(), "multiple of 60") {
		t.Errorf("%T %v", err, err)
	}
	for want, f := range map[string]func() error{
		"AccessDenied": func() error {
			_, err := client.DescribeAlarms(t.Context(), &cloudwatch.DescribeAlarmsInput{})
			return err
		},
		"SignatureDoesNotMatch": func() error {
			_, err := connect("wrong").ListMetrics(t.Context(), &cloudwatch.ListMetricsInput{})
			return err
		},
		"InvalidAction": func() error {
			_, err := client.ListDashboards(t.Context(), &cloudwatch.ListDashboardsInput{})
			return err
		},
		"ValidationError": func() error {
			_, err := client.GetMetricData(t.Context(), &cloudwatch.GetMetricDataInput{StartTime: &end, EndTime: &end,
				MetricDataQueries: []types.MetricDataQuery{{Id: aws.String("m")}}})
			return err
		},
	} {
		if refusal, ok := errors.AsType[smithy.APIError](f()); !ok || refusal.ErrorCode() != want {
			t.Errorf("%v, want %s", refusal, want)
		}
	}
}

func TestBoto3(t *testing.T) {
	s := serve(t)
	boto := clients.Boto3(t, clients.Environ(s.url, region, accessKey, secretKey))
	var data struct{ MetricDataResults []struct{ Values []float64 } }
	err := boto.Call("cloudwatch.GetMetricData", map[string]any{"StartTime": "2026-11-26T00:00:00Z",
		"EndTime": "2026-11-26T00:03:00Z", "ScanBy": "TimestampAscending", "MetricDataQueries": []any{
			map[string]any{"Id": "m1", "ReturnData": false, "MetricStat": map[string]any{"Period": 60,
				"Stat": "Maximum",
				"Metric": map[string]any{"Namespace": "AWS/GameLift", "MetricName": "ActiveGameSessions",
					"Dimensions": []any{map[string]any{"Name": "FleetId", "Value": "fleet-aa"}}}}},
			map[string]any{"Id": "e1", "Expression": "m1 * 10"}}}, &data)
	if err != nil || len(data.MetricDataResults) != 1 ||
		!slices.Equal(data.MetricDataResults[0].Values, []float64{0, 10, 20}) {
		t.Errorf("%+v, %v", data, err)
	}
	err = boto.Call("cloudwatch.GetMetricData", map[string]any{"StartTime": "2026-11-26T00:00:00Z",
		"EndTime":           "2026-11-26T00:03:00Z",
		"MetricDataQueries": []any{map[string]any{"Id": "e1", "Expression": "FOO(1)"}}}, nil)
	if clients.Code(err) != "ValidationError" || !strings.Contains(err.Error(), "the function FOO is not offered") {
		t.Error(err)
	}
	if err := boto.Call("cloudwatch.DescribeAlarms", nil, nil); clients.Code(err) != "AccessDenied" {
		t.Error(err)
	}
	s.expectType(t, "application/x-amz-json-1.0")
}

func TestAWSCLI(t *testing.T) {
	s := serve(t)
	aws := clients.AWSCLI(t, clients.Environ(s.url, region, accessKey, secretKey))
	out, err := aws.Run("cloudwatch", "list-metrics", "--namespace", "AWS/GameLift", "--query", "length(Metrics)")
	if err != nil || strings.TrimSpace(string(out)) != "600" {
		t.Errorf("%s %v", out, err)
	}
	out, err = aws.Run("cloudwatch", "get-metric-statistics", "--namespace", "AWS/GameLift", "--metric-name",
		"ActiveGameSessions", "--dimensions", "Name=FleetId,Value=fleet-aa", "--start-time", "2026-11-26T00:00:00Z",
		"--end-time", "2026-11-26T00:10:00Z", "--period", "300", "--statistics", "Average", "--output", "json")
	var statistics struct{ Datapoints []struct{ Average float64 } }
	if err == nil {
		err = json.Unmarshal(out, &statistics)
	}
	if err != nil || len(statistics.Datapoints) != 2 || statistics.Datapoints[1].Average != 5 {
		t.Errorf("%s %v", out, err)
	}
	_, err = aws.Run("cloudwatch", "put-metric-data", "--namespace", "Game", "--metric-name", "x", "--value", "1")
	if clients.Code(err) != "InvalidAction" || !strings.Contains(err.Error(), "PutMetricData is not offered") {
		t.Error(err)
	}
}

// TestForm holds a signed request of the query protocol, which older SDKs send.
func TestForm(t *testing.T) {
	s := serve(t)
	body := url.Values{"Action": {"GetMetricData"}, "Version": {"2010-08-01"}, "StartTime": {"2026-11-26T00:00:00Z"},
		"EndTime": {"2026-11-26T00:02:00Z"}, "MetricDataQueries.member.1.Id": {"e1"},
		"MetricDataQueries.member.1.Expression": {"SEARCH('{AWS/GameLift,FleetId} FleetId=\"fleet-aa\"', 'Average', " +
			"60)"},
	}.Encode()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	sum := sha256.Sum256([]byte(body))
	err = v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey}, r,
		hex.EncodeToString(sum[:]), "monitoring", region, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	var out struct {
		XMLName xml.Name `xml:"http://monitoring.amazonaws.com/doc/2010-08-01/ GetMetricDataResponse"`
		Results []struct {
			ID     string    `xml:"Id"`
			Values []float64 `xml:"Values>member"`
		} `xml:"GetMetricDataResult>MetricDataResults>member"`
	}
	if err == nil {
		err = xml.Unmarshal(text, &out)
	}
	if err != nil || len(out.Results) != 1 || !slices.Equal(out.Results[0].Values, []float64{1, 0}) ||
		!bytes.Contains(text, []byte("<RequestId>")) {
		t.Errorf("%d %s %v", answer.StatusCode, text, err)
	}
}

// TestGuide runs the commands of the guide as they are written.
func TestGuide(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the guide uses the date of GNU")
	}
	guide, err := os.ReadFile("../../docs/how-to/watch-a-region.md")
	if err != nil {
		t.Fatal(err)
	}
	_, guide, _ = bytes.Cut(guide, []byte("## With the AWS CLI\n"))
	guide, _, _ = bytes.Cut(guide, []byte("\n## "))
	script := "set -euo pipefail\n"
	for line := range strings.Lines(string(guide)) {
		if command, ok := strings.CutPrefix(line, "    "); ok && command != "source muster.env\n" {
			script += command
		}
	}
	s := serve(t)
	cli := clients.AWSCLI(t, clients.Environ(s.url, region, accessKey, secretKey))
	command := cli.Bash(t.Context(), script)
	command.Dir = t.TempDir()
	out, err := command.CombinedOutput()
	calls := strings.Count(script, "aws cloudwatch ")
	if err != nil || calls != 5 || strings.Count(string(out), "\n}\n") != calls {
		t.Errorf("%d calls: %v\n%s\n%s", calls, err, script, out)
	}
}
