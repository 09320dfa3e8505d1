package remote

import (
	"context"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
)

// LoadAWS returns the AWS SDK's settings for a region and an endpoint; "" leaves each to the SDK's usual sources, which
// also give the credentials.
func LoadAWS(ctx context.Context, region, endpoint string) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTransportOptions(keepConnections)),
	}
	if region != "" {
		options = append(options, config.WithRegion(region))
	}
	if endpoint != "" {
		options = append(options, config.WithBaseEndpoint(endpoint))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return loaded, fmt.Errorf("AWS settings: %w", err)
	}
	return loaded, nil
}

// keepConnections keeps enough connections to the service for all requests under way.
func keepConnections(t *http.Transport) { t.MaxIdleConns, t.MaxIdleConnsPerHost = 512, 512 }
