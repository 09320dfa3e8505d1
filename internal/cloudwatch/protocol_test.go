package cloudwatch_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/muster-gg/muster/internal/cloudwatch"
	"github.com/muster-gg/muster/internal/listen"
)

func form(parameters ...string) *http.Request {
	values := url.Values{"Version": {"2010-08-01"}}
	for i := 0; i < len(parameters); i += 2 {
		values.Set(parameters[i], parameters[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	return r
}

// TestQuery holds the protocol of older SDKs, with a form in and XML out.
func TestQuery(t *testing.T) {
	w := newWorld(t, nil)
	answer := w.send(form("Action", "GetMetricData", "StartTime", "2026-11-26T00:00:00Z", "EndTime",
		"2026-11-26T00:02:00Z", "MetricDataQueries.member.1.Id", "m1",
		"MetricDataQueries.member.1.MetricStat.Metric.Namespace", "AWS/GameLift",
		"MetricDataQueries.member.1.MetricStat.Metric.MetricName", "ActiveGameSessions",
		"MetricDataQueries.member.1.MetricStat.Metric.Dimensions.member.1.Name", "FleetId",
		"MetricDataQueries.member.1.MetricStat.Metric.Dimensions.member.1.Value", "fleet-2",
		"MetricDataQueries.member.1.MetricStat.Period", "60", "MetricDataQueries.member.1.MetricStat.Stat", "Sum",
		"MetricDataQueries.member.1.ReturnData", "true", "MetricDataQueries.member.1.Label", "a <b>"))
	want := `<GetMetricDataResponse xmlns="http://monitoring.amazonaws.com/doc/2010-08-01/"><GetMetricDataResult>` +
		`<MetricDataResults><member><Id>m1</Id><Label>a &lt;b&gt;</Label><Timestamps>` +
		`<member>2026-11-26T00:01:00Z</member><member>2026-11-26T00:00:00Z</member></Timestamps>` +
		`<Values><member>2</member><member>0</member></Values><StatusCode>Complete</StatusCode></member>` +
		`</MetricDataResults></GetMetricDataResult><ResponseMetadata><RequestId>` +
		answer.Header().Get("X-Amzn-Requestid") + `</RequestId></ResponseMetadata></GetMetricDataResponse>`
	if got := answer.Body.String(); got != want || answer.Header().Get("Content-Type") != "text/xml" {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, tt := range []struct {
		request       *http.Request
		code, message string
	}{
		{form(), "MissingAction", "Action"},
		{form("Action", "ListMetrics", "Version", "2009"), "InvalidAction", "Version must be 2010-08-01"},
		{form("Action", "Foo"), "InvalidAction", "no operation"},
		{form("Action", "PutMetricAlarm"), "InvalidAction", "alert rules"},
		{form("Action", "GetMetricData", "StartTime", "today", "EndTime", "2026-11-26T00:02:00Z"), "Serialization",
			"startTime"},
		{form("Action", "ListMetrics", "Dimensions.member.x.Name", "FleetId"), "MalformedQueryString", "member.x"},
		{form("Action", "ListMetrics", strings.Repeat("a.", 20), "1"), "MalformedQueryString", "nested"},
		{form("Action", "GetMetricStatistics", "Period", "sixty"), "Serialization", "period"},
		{form("Action", "ListMetrics", "Dimensions.member.1.Value", "x"), "ValidationError",
			"dimensions.1.member.name"},
	} {
		answer := w.send(tt.request)
		var failure struct {
			Error     struct{ Type, Code, Message string }
			RequestID string `xml:"RequestId"`
		}
		if err := xml.Unmarshal(answer.Body.Bytes(), &failure); err != nil || failure.Error.Code != tt.code ||
			failure.Error.Type != "Sender" || !strings.Contains(failure.Error.Message, tt.message) ||
			failure.RequestID == "" || answer.Code != http.StatusBadRequest {
			t.Errorf("%d %s, want %s with %q", answer.Code, answer.Body, tt.code, tt.message)
		}
	}
}

func TestCBOR(t *testing.T) {
	w := newWorld(t, nil)
	send := func(operation, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/service/GraniteServiceVersion20100801/operation/"+operation,
			strings.NewReader(body))
		r.Header.Set("Smithy-Protocol", "rpc-v2-cbor")
		r.Header.Set("Content-Type", "application/cbor")
		return w.send(r)
	}
	answer := send("DescribeAlarmsForMetric", "\xa2\x69Namespace\x61x\x6aMetricName\x61y")
	if got := answer.Body.String(); got != "\xa1\x6cMetricAlarms\x80" || answer.Header().Get("Smithy-Protocol") == "" {
		t.Errorf("%q %v", got, answer.Header())
	}
	answer = send("ListMetrics", "\xa1\x6eRecentlyActive\x61x")
	if got := answer.Body.String(); !strings.Contains(got, "com.amazonaws.cloudwatch#InvalidParameterValueException") ||
		answer.Header().Get("X-Amzn-Query-Error") != "InvalidParameterValue;Sender" {
		t.Errorf("%q %v", got, answer.Header())
	}
	if answer := send("ListMetrics", "\xff"); answer.Header().Get("X-Amzn-Query-Error") != "Serialization;Sender" {
		t.Errorf("%q", answer.Body)
	}
}

func TestAnswersOfTheEndpoint(t *testing.T) {
	w := newWorld(t, func(c *cloudwatch.Config) {
		c.Allow = func(operation, _ string) bool { return operation != "cloudwatch:ListMetrics" }
	})
	if got := text(w.call("DescribeAlarms", nil)); got != `{"CompositeAlarms":[],"LogAlarms":[],"MetricAlarms":[]}` {
		t.Error(got)
	}
	w.fails("PutMetricData", "{}", "InvalidAction", "PutMetricData is not offered. Muster stores the metrics of its "+
		"own namespace")
	w.fails("GetMetricWidgetImage", "{}", "InvalidAction", "renders no images")
	w.fails("Foo", "{}", "InvalidAction", `CloudWatch has no operation \"Foo\"`)
	w.fails("ListMetrics", "{}", "Throttling", "Rate exceeded")
	w.fails("GetMetricData", "{", "Serialization", "JSON")
	w.fails("GetMetricData", strings.Repeat(" ", 3<<20), "ValidationError", "larger than")
	w.gate.denied["cloudwatch:GetMetricData"] = true
	w.fails("GetMetricData", "{}", "AccessDenied", "cloudwatch:GetMetricData")
	w.closed = true
	w.fails("GetMetricData", "{}", "Throttling", "overloaded")
	want := []string{"cloudwatch:DescribeAlarms", "unknown InvalidAction", "unknown InvalidAction",
		"unknown InvalidAction", "cloudwatch:ListMetrics Throttling", "cloudwatch:GetMetricData Serialization",
		"unknown ValidationError", "cloudwatch:GetMetricData AccessDenied", "cloudwatch:GetMetricData Throttling"}
	if !slices.Equal(w.observed, want) {
		t.Error(strings.Join(w.observed, "\n"))
	}

	starting := newWorld(t, func(c *cloudwatch.Config) { c.Ready = func(context.Context) bool { return false } })
	starting.fails("ListMetrics", "{}", "ServiceUnavailable", "starting")
	closed := newWorld(t, func(c *cloudwatch.Config) { c.Open = false })
	closed.fails("ListMetrics", "{}", "MissingAuthenticationToken", "")
	closed.fails("ListMetrics", strings.Repeat(" ", 1<<20), "MissingAuthenticationToken", "")
	closed.fails("x\"y", "{}", "MissingAuthenticationToken", "")
	if got := strings.Join(closed.gate.refused, " "); got != "cloudwatch:ListMetrics cloudwatch:unknown" {
		t.Error(got)
	}
	ended := newWorld(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(text(statistics(nil))))
	r.Header.Set("X-Amz-Target", "GraniteServiceVersion20100801.GetMetricStatistics")
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	if answer := ended.send(r); answer.Code != http.StatusServiceUnavailable {
		t.Error(answer.Code, answer.Body)
	}
}

func TestMatches(t *testing.T) {
	const signed = "AWS4-HMAC-SHA256 Credential=AKID/20261126/us-west-2/monitoring/aws4_request, …"
	for _, tt := range []struct {
		path, header, value string
		form                bool
		want                bool
	}{
		{"/", "X-Amz-Target", "GraniteServiceVersion20100801.ListMetrics", false, true},
		{"/", "X-Amz-Target", "GameLift.ListFleets", false, false},
		{"/service/GraniteServiceVersion20100801/operation/ListMetrics", "Smithy-Protocol", "rpc-v2-cbor", false, true},
		{"/service/GameLift/operation/ListFleets", "Smithy-Protocol", "rpc-v2-cbor", false, false},
		{"/", "Authorization", signed, true, true},
		{"/", "Authorization", signed, false, false},
		{"/x", "Authorization", signed, true, false},
		{"/", "Authorization", strings.ReplaceAll(signed, "monitoring", "sts"), true, false},
	} {
		r := httptest.NewRequest(http.MethodPost, tt.path, nil)
		r.Header.Set(tt.header, tt.value)
		if tt.form {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		read := listen.RequestOf(r)
		if cloudwatch.Matches(&read) != tt.want || cloudwatch.MatchesHTTP(r) != tt.want {
			t.Errorf("%+v", tt)
		}
	}
}

// TestOffers holds that every operation of the model is offered or refused with a reason.
func TestOffers(t *testing.T) {
	var offered []string
	for _, o := range cloudwatch.Offers() {
		if o.Refusal == "" {
			offered = append(offered, o.Operation)
		} else if !strings.HasPrefix(o.Refusal, "Muster ") && !strings.HasPrefix(o.Refusal, "No ") {
			t.Error(o)
		}
	}
	want := "DescribeAlarms DescribeAlarmsForMetric GetMetricData GetMetricStatistics ListMetrics"
	if got := strings.Join(offered, " "); got != want || len(cloudwatch.Offers()) != 59 {
		t.Error(got, len(cloudwatch.Offers()))
	}
}

// FuzzRequest holds that any request gets an answer that a client can read.
func FuzzRequest(f *testing.F) {
	f.Add(uint8(0), "GetMetricData", text(ask(3, query("m1", "fleet-1", 60), expression("e1", "m1*2"))))
	f.Add(uint8(0), "ListMetrics", `{"Dimensions":[{"Name":"FleetId"}]}`)
	f.Add(uint8(1), "ListMetrics", "\xa1\x6eRecentlyActive\x64PT3H")
	f.Add(uint8(2), "", "Action=ListMetrics&Version=2010-08-01&Dimensions.member.1.Name=FleetId")
	f.Add(uint8(2), "",
		"Action=GetMetricStatistics&Version=2010-08-01&StartTime=2026-11-26T00:00:00Z&Statistics.member.1=Sum")
	w := newWorld(f, nil)
	f.Fuzz(func(t *testing.T, protocol uint8, operation, body string) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		switch protocol % 3 {
		case 0:
			r.Header.Set("X-Amz-Target", "GraniteServiceVersion20100801."+operation)
			r.Header.Set("Content-Type", "application/x-amz-json-1.0")
		case 1:
			r.URL.Path = "/service/GraniteServiceVersion20100801/operation/" + operation
			r.Header.Set("Smithy-Protocol", "rpc-v2-cbor")
			r.Header.Set("Content-Type", "application/cbor")
		default:
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		answer := w.send(r)
		if answer.Code >= 500 || (answer.Code == 200) != (answer.Header().Get("X-Amzn-Query-Error") == "") {
			t.Fatalf("%d %v %s", answer.Code, answer.Header(), answer.Body)
		}
		if answer.Header().Get("Content-Type") == "text/xml" {
			if err := wellFormed(answer.Body.Bytes()); err != nil {
				t.Fatalf("%v: %s", err, answer.Body)
			}
		}
	})
}

func wellFormed(text []byte) error {
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := d.Token(); err != nil {
			if err.Error() == "EOF" {
				return nil
			}
			return fmt.Errorf("at %d: %w", d.InputOffset(), err)
		}
	}
}
