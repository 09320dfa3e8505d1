package cloudwatch

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/muster-gg/muster/internal/policy"
	"github.com/muster-gg/muster/internal/wire"
	"github.com/muster-gg/muster/internal/wire/fault"
)

// The operations that are offered.
var (
	opDescribeAlarms          = wire.New[describeAlarmsInput, describeAlarmsOutput]("DescribeAlarms")
	opDescribeAlarmsForMetric = wire.New[describeAlarmsForMetricInput, describeAlarmsForMetricOutput](
		"DescribeAlarmsForMetric")
	opGetMetricData       = wire.New[getMetricDataInput, getMetricDataOutput]("GetMetricData")
	opGetMetricStatistics = wire.New[getMetricStatisticsInput, getMetricStatisticsOutput]("GetMetricStatistics")
	opListMetrics         = wire.New[listMetricsInput, listMetricsOutput]("ListMetrics")
)

// An operation is one that is offered.
type operation struct {
	wire.Handler
	action        policy.Action
	input, output reflect.Type
}

// bind returns the operations by their names.
func (h *Handler) bind() map[string]*operation {
	all := map[string]*operation{}
	offer(all, opDescribeAlarms, func(context.Context, *describeAlarmsInput) (*describeAlarmsOutput, error) {
		return &describeAlarmsOutput{[]alarm{}, []alarm{}, []alarm{}}, nil
	})
	offer(all, opDescribeAlarmsForMetric,
		func(context.Context, *describeAlarmsForMetricInput) (*describeAlarmsForMetricOutput, error) {
			return &describeAlarmsForMetricOutput{[]alarm{}}, nil
		})
	offer(all, opGetMetricData, h.getMetricData)
	offer(all, opGetMetricStatistics, h.getMetricStatistics)
	offer(all, opListMetrics, h.listMetrics)
	return all
}

func offer[I, O any](all map[string]*operation, op wire.Operation[I, O],
	f func(context.Context, *I) (*O, error),
) {
	action, ok := policy.ActionOf("cloudwatch:" + op.Name)
	if !ok {
		panic("cloudwatch: " + op.Name + " has no action")
	}
	all[op.Name] = &operation{op.Handle(f), action, reflect.TypeFor[I](), reflect.TypeFor[O]()}
}

// The reasons for which operations are not offered.
const (
	noAlarms     = "Muster has no alarms. Use alert rules of Prometheus: docs/grafana/alerts.yml has some."
	noDashboards = "Muster stores no dashboards. Use the console, or Grafana with the dashboards of docs/grafana."
	noInsights   = "Muster has no Contributor Insights. Use PromQL on the metrics at /metrics."
	noStreams    = "Muster has no metric streams. Let Prometheus scrape /metrics."
	noDetection  = "Muster has no anomaly detection. Use PromQL on the metrics at /metrics."
	noOTel       = "Muster has no telemetry settings for CloudWatch. Let a collector of OpenTelemetry scrape /metrics."
	noTags       = "No resource of CloudWatch exists here that could have tags."
	noQueries    = "Muster stores no queries. Send them with GetMetricData."
)

// reasons are why operations of the model are not offered.
var reasons = reasonsOf(map[string]string{
	noAlarms: `DeleteAlarmMuteRule DeleteAlarms DescribeAlarmContributors DescribeAlarmHistory DisableAlarmActions
		EnableAlarmActions GetAlarmMuteRule ListAlarmMuteRules PutAlarmMuteRule PutCompositeAlarm PutLogAlarm
		PutMetricAlarm SetAlarmState`,
	noDashboards: `DeleteDashboards GetDashboard ListDashboards PutDashboard`,
	noInsights: `DeleteInsightRules DescribeInsightRules DisableInsightRules EnableInsightRules GetInsightRuleReport
		ListManagedInsightRules PutInsightRule PutManagedInsightRules`,
	noStreams: `DeleteMetricStream GetMetricStream ListMetricStreams PutMetricStream StartMetricStreams
		StopMetricStreams`,
	noDetection: `DeleteAnomalyDetector DescribeAnomalyDetectors PutAnomalyDetector`,
	noOTel: `AssociateDatasetKmsKey CreateResourceMetricsConfiguration DeleteResourceMetricsConfiguration
		DisassociateDatasetKmsKey GetDataset GetOTelEnrichment GetResourceMetricsConfiguration StartOTelEnrichment
		StopOTelEnrichment UpdateOTelEnrichment UpdateResourceMetricsConfiguration`,
	noTags: `ListTagsForResource TagResource UntagResource`,
	noQueries: `DeleteMetricDataQueryDefinition GetMetricDataQueryDefinition ListMetricDataQueryDefinitions
		PutMetricDataQueryDefinition`,
	"Muster stores the metrics of its own namespace " + Namespace + " alone. Expose a game's metrics to Prometheus " +
		"(OpenMetrics, or StatsD with an exporter).": `PutMetricData`,
	"Muster renders no images. Use the console's graphs, or Grafana with the dashboards of docs/grafana.": `
		GetMetricWidgetImage`,
})

func reasonsOf(byReason map[string]string) map[string]string {
	all := map[string]string{}
	for reason, names := range byReason {
		for name := range strings.FieldsSeq(names) {
			all[name] = reason
		}
	}
	return all
}

// refusal is the error of an operation that is not offered.
func refusal(name string) error {
	if reason, ok := reasons[name]; ok {
		return fault.New(fault.UnknownOperation, "%s is not offered. %s", name, reason)
	}
	return fault.New(fault.UnknownOperation, "CloudWatch has no operation %.64q.", name)
}

// An Offer is an operation of the model, and why it is refused; "" if it is offered.
type Offer struct{ Operation, Refusal string }

// Offers returns all operations of the model, sorted by name.
func Offers() (all []Offer) {
	for _, name := range slices.Sorted(maps.Keys((&Handler{}).bind())) {
		all = append(all, Offer{Operation: name})
	}
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		all = append(all, Offer{name, reasons[name]})
	}
	slices.SortFunc(all, func(a, b Offer) int { return strings.Compare(a.Operation, b.Operation) })
	return all
}
