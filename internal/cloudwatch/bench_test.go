package cloudwatch_test

import (
	"fmt"
	"net/http"
	"testing"
)

// BenchmarkGetMetricData answers how long a dashboard takes: 100 metrics of 3 hours, with their sum.
func BenchmarkGetMetricData(b *testing.B) {
	w := newWorld(b, nil)
	queries := []object{expression("e1", "SUM(METRICS())")}
	for i := range 100 {
		queries = append(queries, query(fmt.Sprint("m", i), "fleet-1", 60))
	}
	body := text(ask(180, queries...))
	for b.Loop() {
		if answer := w.post("GetMetricData", body); answer.Code != http.StatusOK {
			b.Fatal(answer.Body)
		}
	}
}

// BenchmarkListMetrics answers how long a page takes when there are 500 metrics.
func BenchmarkListMetrics(b *testing.B) {
	w := newWorld(b, nil)
	w.store.many = 500
	for b.Loop() {
		if answer := w.post("ListMetrics", "{}"); answer.Code != http.StatusOK {
			b.Fatal(answer.Body)
		}
	}
}
