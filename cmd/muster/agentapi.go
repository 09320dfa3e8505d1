package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"

	"github.com/muster-gg/muster/internal/agent"
)

// credentialsEnvironment is the source of credentials without the instance's.
const credentialsEnvironment = "environment-variable"

// A computeAPI calls GameLift's API for one compute. It implements agent.API.
type computeAPI struct {
	client   *gamelift.Client
	register gamelift.RegisterComputeInput
}

// api returns the API with the credentials of the SDK's default chain, which renews temporary ones.
func (f *agentFlags) api(ctx context.Context) (*computeAPI, *tls.Config, error) {
	client, trust, err := f.apiClient(ctx, "", f.region, f.endpoint, f.caFile, f.credentials == credentialsEnvironment)
	if err != nil {
		return nil, nil, err
	}
	return &computeAPI{client: client, register: gamelift.RegisterComputeInput{
		FleetId: &f.fleet, ComputeName: &f.compute, Location: &f.location, IpAddress: given(f.ip),
		DnsName: given(f.dns), CertificatePath: given(f.certificate),
	}}, trust, nil
}

// apiClient returns a client for a program that runs for a long time. An empty profile, region or endpoint is that of
// the environment or profile.
func (a *app) apiClient(ctx context.Context, profile, region, endpoint, caFile string, noInstance bool) (
	*gamelift.Client, *tls.Config, error) {
	trust, err := a.trusted(caFile)
	if err != nil {
		return nil, nil, err
	}
	load := []func(*awsconfig.LoadOptions) error{awsconfig.WithHTTPClient(
		awshttp.NewBuildableClient().WithTimeout(callTimeout).WithTransportOptions(
			func(t *http.Transport) { t.TLSClientConfig = trust.Clone() }))} // the transport offers HTTP/2 in it
	if profile != "" {
		load = append(load, awsconfig.WithSharedConfigProfile(profile))
	}
	if region != "" {
		load = append(load, awsconfig.WithRegion(region))
	}
	if noInstance {
		load = append(load, awsconfig.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	}
	loaded, err := awsconfig.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, nil, err
	}
	if endpoint = cmp.Or(endpoint, a.endpoint()); endpoint != "" {
		loaded.BaseEndpoint = &endpoint
	}
	return gamelift.NewFromConfig(loaded), trust, nil
}

// given returns nil for an empty string.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Register implements agent.API.
func (c *computeAPI) Register(ctx context.Context) (agent.Endpoints, error) {
	out, err := c.client.RegisterCompute(ctx, &c.register)
	if err != nil {
		return agent.Endpoints{}, callFailure(err)
	}
	e := agent.Endpoints{SDK: aws.ToString(out.Compute.GameLiftServiceSdkEndpoint),
		Agent: aws.ToString(out.Compute.GameLiftAgentEndpoint)}
	if e.SDK == "" || e.Agent == "" {
		return e, fmt.Errorf("%w: the compute has no endpoints for game servers and agents", agent.ErrRefused)
	}
	return e, nil
}

// AuthToken implements agent.API.
func (c *computeAPI) AuthToken(ctx context.Context) (token string, expires time.Time, err error) {
	out, err := c.client.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{FleetId: c.register.FleetId,
		ComputeName: c.register.ComputeName})
	if _, missing := errors.AsType[*types.NotFoundException](err); missing {
		return "", expires, fmt.Errorf("%w: %w", agent.ErrNotRegistered, apiError(err))
	}
	if err != nil {
		return "", expires, callFailure(err)
	}
	return aws.ToString(out.AuthToken), aws.ToTime(out.ExpirationTimestamp), nil
}

// callFailure marks an error of the caller, which another attempt does not change.
func callFailure(err error) error {
	e, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return apiError(err)
	}
	_, notReady := errors.AsType[*types.NotReadyException](err)
	if notReady || e.ErrorFault() != smithy.FaultClient || e.ErrorCode() == "ThrottlingException" {
		return apiError(err)
	}
	return fmt.Errorf("%w: %w", agent.ErrRefused, apiError(err))
}
