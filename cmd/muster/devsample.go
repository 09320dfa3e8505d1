package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/google/uuid"

	"github.com/muster-gg/muster"
)

const (
	sampleLocation = "custom-local"
	sampleFleet    = "LocalFleet"
	sampleCompute  = "LocalCompute"

	samplePatience = "-patience=30m"  // for the first player of a game session
	serverPatience = 15 * time.Second // for the sample game servers to be ready
	maxSamples     = 50               // server processes per compute
)

// A sampleSetup is the fleet of muster dev with its game servers. It uses the public API.
type sampleSetup struct {
	*development
	client    *gamelift.Client
	endpoints muster.Endpoints
	program   string // this binary
	fleet     string // id, after setUp
}

func newSampleSetup(d *development, e muster.Endpoints) (*sampleSetup, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("sample game server: %w", err)
	}
	client, err := newClient(e)
	if err != nil {
		return nil, fmt.Errorf("sample game server: %w", err)
	}
	return &sampleSetup{development: d, client: client, endpoints: e, program: program}, nil
}

// setUp creates the location, the fleet and the compute unless they exist.
func (s *sampleSetup) setUp(ctx context.Context) error {
	_, err := s.client.CreateLocation(ctx, &gamelift.CreateLocationInput{LocationName: aws.String(sampleLocation)})
	if _, exists := errors.AsType[*types.ConflictException](err); err != nil && !exists {
		return err
	}
	if s.fleet, err = s.findFleet(ctx); err != nil {
		return err
	}
	if s.fleet == "" {
		if s.fleet, err = s.createFleet(ctx); err != nil {
			return err
		}
	}
	if s.talker != nil {
		s.talker.fleet.Store(s.fleet)
	}
	_, err = s.client.RegisterCompute(ctx, &gamelift.RegisterComputeInput{
		FleetId:     aws.String(s.fleet),
		ComputeName: aws.String(sampleCompute),
		Location:    aws.String(sampleLocation),
		IpAddress:   aws.String("127.0.0.1"),
	})
	if _, exists := errors.AsType[*types.ConflictException](err); exists {
		return nil
	}
	return err
}

// findFleet returns the id of the sample fleet, or "".
func (s *sampleSetup) findFleet(ctx context.Context) (string, error) {
	pages := gamelift.NewDescribeFleetAttributesPaginator(s.client, &gamelift.DescribeFleetAttributesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		for _, fleet := range page.FleetAttributes {
			if aws.ToString(fleet.Name) == sampleFleet {
				return aws.ToString(fleet.FleetId), nil
			}
		}
	}
	return "", nil
}

func (s *sampleSetup) createFleet(ctx context.Context) (string, error) {
	created, err := s.client.CreateFleet(ctx, &gamelift.CreateFleetInput{
		Name:        aws.String(sampleFleet),
		Description: aws.String("Sample fleet of muster dev"),
		ComputeType: types.ComputeTypeAnywhere,
		Locations:   []types.LocationConfiguration{{Location: aws.String(sampleLocation)}},
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(created.FleetAttributes.FleetId), nil
}

// environment returns the variables of the official server SDKs for the next sample game server, with a new process id
// and a valid token.
// Source: server SDK 5 source, InitSDK.
func (s *sampleSetup) environment(ctx context.Context) ([]string, error) {
	if s.talker != nil {
		s.talker.tokens.Add(1)
	}
	token, err := s.client.GetComputeAuthToken(ctx, &gamelift.GetComputeAuthTokenInput{
		FleetId:     aws.String(s.fleet),
		ComputeName: aws.String(sampleCompute),
	})
	if err != nil {
		return nil, err
	}
	endpoint := s.endpoints.WS
	if endpoint == "" {
		endpoint = s.endpoints.WSS
	}
	return append(slices.Clone(s.environ),
		"GAMELIFT_SDK_WEBSOCKET_URL="+endpoint,
		"GAMELIFT_SDK_AUTH_TOKEN="+aws.ToString(token.AuthToken),
		"GAMELIFT_SDK_FLEET_ID="+s.fleet,
		"GAMELIFT_SDK_HOST_ID="+sampleCompute,
		"GAMELIFT_SDK_PROCESS_ID="+uuid.NewString(),
		"MUSTER_CA_FILE="+s.endpoints.CAFile,
	), nil
}

// keepRunning runs and restarts the sample game servers until ctx ends and they have ended.
func (s *sampleSetup) keepRunning(ctx context.Context) {
	var keepers sync.WaitGroup
	for range s.samples {
		k := keeper{
			program:     s.program,
			args:        []string{"sample-server", untilEOF, "-port=0", samplePatience},
			environment: s.environment,
			output:      s.stderr,
			log:         s.config.Log.With("process", "sample game server"),
		}
		keepers.Go(func() { k.run(ctx) })
	}
	keepers.Wait()
}

// awaitServers waits until the sample game servers are ready.
func (s *sampleSetup) awaitServers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	return until(ctx, func() (bool, error) {
		out, err := s.client.DescribeFleetUtilization(ctx,
			&gamelift.DescribeFleetUtilizationInput{FleetIds: []string{s.fleet}})
		return err == nil && len(out.FleetUtilization) == 1 &&
			int(aws.ToInt32(out.FleetUtilization[0].ActiveServerProcessCount)) >= s.samples, err
	})
}
