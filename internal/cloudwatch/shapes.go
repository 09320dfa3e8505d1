package cloudwatch

import (
	"time"

	"github.com/muster-gg/muster/internal/wire"
)

// The shapes of the operations that are offered, by the rules of package wire. Members that the service has no use for
// are not here: readers skip them. Source: service model monitoring, version 2010-08-01.

type dimension struct {
	Name  string `wire:",required,max=255"`
	Value string `wire:",required,max=1024"`
}

type dimensionFilter struct {
	Name  string `wire:",required,max=255"`
	Value string `wire:",max=1024"`
}

type metric struct {
	Namespace  string      `wire:",max=255"`
	MetricName string      `wire:",max=255"`
	Dimensions []dimension `wire:",max=30"`
}

type listMetricsInput struct {
	Namespace             string            `wire:",max=255"`
	MetricName            string            `wire:",max=255"`
	Dimensions            []dimensionFilter `wire:",max=10"`
	NextToken             string
	RecentlyActive        string
	IncludeLinkedAccounts wire.Opt[bool]
	OwningAccount         string `wire:",max=255"`
}

type listMetricsOutput struct {
	Metrics        []metric
	NextToken      string
	OwningAccounts []string
}

type getMetricStatisticsInput struct {
	Namespace          string          `wire:",required,max=255"`
	MetricName         string          `wire:",required,max=255"`
	Dimensions         []dimension     `wire:",max=30"`
	StartTime          time.Time       `wire:",required"`
	EndTime            time.Time       `wire:",required"`
	Period             wire.Opt[int32] `wire:",required"`
	Statistics         []string        `wire:",max=5"`
	ExtendedStatistics []string        `wire:",max=10"`
	Unit               string
}

type datapoint struct {
	Timestamp   time.Time
	SampleCount wire.Opt[float64]
	Average     wire.Opt[float64]
	Sum         wire.Opt[float64]
	Minimum     wire.Opt[float64]
	Maximum     wire.Opt[float64]
	Unit        string

	ExtendedStatistics map[string]float64
}

type getMetricStatisticsOutput struct {
	Label      string
	Datapoints []datapoint
}

type metricStat struct {
	Metric *metric         `wire:",required"`
	Period wire.Opt[int32] `wire:",required"`
	Stat   string          `wire:",required"`
	Unit   string
}

type metricDataQuery struct {
	Id         string `wire:",required,max=255"` //nolint:revive // the member's name
	MetricStat *metricStat
	Expression string `wire:",max=2048"`
	Label      string
	ReturnData wire.Opt[bool]
	Period     wire.Opt[int32]
	AccountId  string `wire:",max=255"` //nolint:revive // the member's name
}

type labelOptions struct {
	Timezone string
}

type getMetricDataInput struct {
	MetricDataQueries []metricDataQuery `wire:",required,max=500"`
	StartTime         time.Time         `wire:",required"`
	EndTime           time.Time         `wire:",required"`
	NextToken         string
	ScanBy            string
	MaxDatapoints     wire.Opt[int32]
	LabelOptions      *labelOptions
}

type messageData struct {
	Code, Value string
}

type metricDataResult struct {
	Id         string //nolint:revive // the member's name
	Label      string
	Timestamps []time.Time
	Values     []float64
	StatusCode string
	Messages   []messageData
}

type getMetricDataOutput struct {
	MetricDataResults []metricDataResult
	NextToken         string
	Messages          []messageData
}

type describeAlarmsInput struct{}

// An alarm is none: the lists are empty.
type alarm struct{}

type describeAlarmsOutput struct {
	CompositeAlarms, MetricAlarms, LogAlarms []alarm
}

type describeAlarmsForMetricInput struct {
	MetricName string `wire:",required,max=255"`
	Namespace  string `wire:",required,max=255"`
}

type describeAlarmsForMetricOutput struct {
	MetricAlarms []alarm
}
