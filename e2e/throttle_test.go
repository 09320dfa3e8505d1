package e2e

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/smithy-go"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/clients"
)

func TestThrottle(t *testing.T) {
	t.Parallel()
	const perSecond = 5
	s := start(t, fakeTime, func(c *muster.Config) { c.Throttle = perSecond })
	in := &gamelift.ListFleetsInput{}
	for range perSecond {
		call(t, s.client().ListFleets, in)
	}
	_, err := s.client().ListFleets(t.Context(), in)
	if refusal, ok := errors.AsType[smithy.APIError](err); !ok || refusal.ErrorCode() != "ThrottlingException" {
		t.Fatalf("call %d in a second: %v", perSecond+1, err)
	}
	if err := (botocore{t, s}).Call("ListFleets", nil, nil); clients.Code(err) != "ThrottlingException" {
		t.Errorf("over JSON: %v", err)
	}

	// The SDK tries again by itself, and gets through when a second has passed.
	var waits int
	patient := s.client(func(o *gamelift.Options) {
		o.Retryer = &quickRetryer{retry.NewStandard(), func() {
			if waits++; waits == 2 {
				s.advance(time.Second)
			}
		}}
	})
	call(t, patient.ListFleets, in)
	if waits != 2 {
		t.Errorf("the SDK tried again %d times, want 2", waits)
	}
	if n := s.metric(t, `muster_api_calls_total{exception="ThrottlingException",operation="ListFleets"}`); n != 4 {
		t.Errorf("%v throttled calls were counted", n)
	}
}

// quickRetryer tries again at once and tells of it.
type quickRetryer struct {
	aws.RetryerV2
	again func()
}

func (r *quickRetryer) RetryDelay(int, error) (time.Duration, error) {
	r.again()
	return 0, nil
}
