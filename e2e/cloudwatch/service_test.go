package cloudwatch_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go"

	"github.com/muster-gg/muster/mustertest"
)

// TestService reads the metrics of a fleet from a service, on the port of the API, with the keys of the API.
func TestService(t *testing.T) {
	s := mustertest.Start(t)
	fleet := s.Fleet("custom-home")
	connect := func(secret string) *cloudwatch.Client {
		return cloudwatch.New(cloudwatch.Options{Region: s.Region, BaseEndpoint: &s.HTTP,
			Credentials: credentials.NewStaticCredentialsProvider(s.AccessKey, secret, "")})
	}
	_, err := connect("wrong").ListMetrics(t.Context(), &cloudwatch.ListMetricsInput{})
	if refusal, ok := errors.AsType[smithy.APIError](err); !ok || refusal.ErrorCode() != "SignatureDoesNotMatch" {
		t.Error(err)
	}
	client := connect(s.SecretKey)
	of := []types.Dimension{{Name: aws.String("FleetId"), Value: &fleet}}
	var names []string
	mustertest.Eventually(t, "the fleet has metrics", func() bool {
		names = nil
		list, err := client.ListMetrics(t.Context(), &cloudwatch.ListMetricsInput{
			Dimensions: []types.DimensionFilter{{Name: of[0].Name, Value: of[0].Value}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list.Metrics {
			names = append(names, *m.MetricName)
		}
		return len(names) > 0
	})
	if !slices.Contains(names, "ActiveGameSessions") || !slices.Contains(names, "AvailableGameSessions") {
		t.Error(names)
	}
	points, err := client.GetMetricStatistics(t.Context(), &cloudwatch.GetMetricStatisticsInput{
		Namespace: aws.String("AWS/GameLift"), MetricName: aws.String("ActiveGameSessions"), Dimensions: of,
		StartTime: aws.Time(time.Now().Add(-time.Minute)), EndTime: aws.Time(time.Now().Add(time.Minute)),
		Period: aws.Int32(10), Statistics: []types.Statistic{types.StatisticMaximum}})
	if err != nil || len(points.Datapoints) == 0 || *points.Datapoints[0].Maximum != 0 {
		t.Errorf("%+v %v", points, err)
	}
}
