package direct

import (
	"cmp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
)

// An api is the AWS API in one region.
type api struct {
	*gamelift.Client
	region string
	// once is for requests that must not be repeated when it is not known whether the service has followed them: with
	// it the SDK repeats only those that were refused for being too many.
	once func(*gamelift.Options)
}

func newAPI(cfg aws.Config, endpoint string) *api {
	careful := retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: throttles}}
		o.MaxAttempts = cmp.Or(cfg.RetryMaxAttempts, o.MaxAttempts)
	})
	client := gamelift.NewFromConfig(cfg, func(o *gamelift.Options) {
		if endpoint != "" {
			o.BaseEndpoint = &endpoint
		}
	})
	return &api{Client: client, region: cfg.Region, once: func(o *gamelift.Options) { o.Retryer = careful }}
}
