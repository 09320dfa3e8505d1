package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go"
	"github.com/spf13/cobra"
)

// gamelift returns a client of the GameLift API with the keys of the call.
func (o *operatorCall) gamelift() *gamelift.Client {
	return gamelift.New(gamelift.Options{
		BaseEndpoint: &o.service, Region: o.keys.Region, Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: o.keys.AccessKey, SecretAccessKey: o.keys.SecretKey,
				SessionToken: o.keys.SessionToken}, nil
		}),
		HTTPClient: awshttp.NewBuildableClient().WithTimeout(callTimeout).WithTransportOptions(
			func(t *http.Transport) { t.TLSClientConfig = o.tls }),
	})
}

// apiError returns the error of a call in the form of those of the operator's API.
func apiError(err error) error {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return fmt.Errorf("%s: %s", e.ErrorCode(), e.ErrorMessage())
	}
	if e, ok := errors.AsType[*url.Error](err); ok { // names the endpoint
		return explainConnection(e)
	}
	if _, ok := errors.AsType[*smithy.DeserializationError](err); ok {
		return fmt.Errorf("%w: check that the endpoint is that of Muster's API", err)
	}
	return err
}

// A paginator is one of the SDK.
type paginator[O any] interface {
	HasMorePages() bool
	NextPage(ctx context.Context, change ...func(*gamelift.Options)) (*O, error)
}

// rowsOf returns the rows of all pages.
func rowsOf[O, R any](ctx context.Context, p paginator[O], of func(*O) []R) ([]R, error) {
	rows := []R{}
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, apiError(err)
		}
		rows = append(rows, of(page)...)
	}
	return rows, nil
}

// A fleetRow is a fleet with its utilization.
type fleetRow struct {
	FleetID     string            `json:"fleetId"`
	Arn         string            `json:"fleetArn"`
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Status      types.FleetStatus `json:"status"`
	ComputeType types.ComputeType `json:"computeType"`
	Build       string            `json:"buildId,omitempty"`
	Processes   int32             `json:"activeServerProcessCount"`
	Sessions    int32             `json:"activeGameSessionCount"`
	Players     int32             `json:"currentPlayerSessionCount"`
	Maximum     int32             `json:"maximumPlayerSessionCount"`
	Created     *time.Time        `json:"creationTime,omitempty"`
	Terminated  *time.Time        `json:"terminationTime,omitempty"`
}

func (a *app) getFleetsCommand() *cobra.Command {
	return a.viewCommand(help{
		use:   "fleets",
		short: "List the fleets of the region",
		example: `  muster get fleets
  muster get fleets -o wide`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		fleets, err := fleetRows(ctx, o.gamelift())
		if err != nil {
			return err
		}
		return o.show(map[string]any{"fleets": fleets}, func(to io.Writer) {
			o.line(to, cells{"FLEET", "STATUS", "SESSIONS", "PLAYERS", "NAME"}, "TYPE", "PROCESSES", "BUILD",
				"DESCRIPTION", "CREATED", "TERMINATED", "ARN")
			for _, f := range fleets {
				o.line(to, cells{f.FleetID, string(f.Status), f.Sessions, fmt.Sprintf("%d/%d", f.Players, f.Maximum),
					f.Name}, string(f.ComputeType), f.Processes, f.Build, f.Description, f.Created, f.Terminated, f.Arn)
			}
		})
	})
}

func fleetRows(ctx context.Context, client *gamelift.Client) ([]fleetRow, error) {
	fleets, err := rowsOf(ctx, gamelift.NewDescribeFleetAttributesPaginator(client, nil),
		func(page *gamelift.DescribeFleetAttributesOutput) []types.FleetAttributes {
			return page.FleetAttributes
		})
	if err != nil {
		return nil, err
	}
	used, err := rowsOf(ctx, gamelift.NewDescribeFleetUtilizationPaginator(client, nil),
		func(page *gamelift.DescribeFleetUtilizationOutput) []types.FleetUtilization {
			return page.FleetUtilization
		})
	if err != nil {
		return nil, err
	}
	byFleet := map[string]*types.FleetUtilization{}
	for i := range used {
		byFleet[aws.ToString(used[i].FleetId)] = &used[i]
	}
	rows := []fleetRow{}
	for _, f := range fleets {
		r := fleetRow{FleetID: aws.ToString(f.FleetId), Arn: aws.ToString(f.FleetArn), Name: aws.ToString(f.Name),
			Description: aws.ToString(f.Description), Status: f.Status, ComputeType: f.ComputeType,
			Build: aws.ToString(f.BuildId), Created: f.CreationTime, Terminated: f.TerminationTime}
		if u := byFleet[r.FleetID]; u != nil { // created in between
			r.Processes, r.Sessions = aws.ToInt32(u.ActiveServerProcessCount), aws.ToInt32(u.ActiveGameSessionCount)
			r.Players, r.Maximum = aws.ToInt32(u.CurrentPlayerSessionCount), aws.ToInt32(u.MaximumPlayerSessionCount)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// A computeRow is a compute of a fleet.
type computeRow struct {
	Name     string              `json:"computeName"`
	Arn      string              `json:"computeArn"`
	FleetID  string              `json:"fleetId"`
	Location string              `json:"location"`
	Status   types.ComputeStatus `json:"computeStatus"`
	IP       string              `json:"ipAddress,omitempty"`
	DNS      string              `json:"dnsName,omitempty"`
	Endpoint string              `json:"gameLiftServiceSdkEndpoint,omitempty"`
	Created  *time.Time          `json:"creationTime,omitempty"`
}

func (a *app) getComputesCommand() *cobra.Command {
	var fleet, location string
	command := a.viewCommand(help{
		use:   "computes",
		short: "List the computes of the region's fleets",
		example: `  muster get computes
  muster get computes --fleet fleet-1234 --location custom-home -o wide`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		computes, err := computeRows(ctx, o.gamelift(), fleet, location)
		if err != nil {
			return err
		}
		return o.show(map[string]any{"computes": computes}, func(to io.Writer) {
			o.line(to, cells{"COMPUTE", "STATUS", "FLEET", "LOCATION", "ADDRESS"}, "DNS", "SDK ENDPOINT", "CREATED",
				"ARN")
			for _, c := range computes {
				o.line(to, cells{c.Name, string(c.Status), c.FleetID, c.Location, c.IP}, c.DNS, c.Endpoint, c.Created,
					c.Arn)
			}
		})
	})
	command.Flags().StringVar(&fleet, "fleet", "", "only those of a fleet, by its id or ARN")
	command.Flags().StringVar(&location, "location", "", "only those in a location")
	return command
}

func fleetIDs(ctx context.Context, client *gamelift.Client) ([]string, error) {
	return rowsOf(ctx, gamelift.NewListFleetsPaginator(client, nil),
		func(page *gamelift.ListFleetsOutput) []string { return page.FleetIds })
}

// computeRows lists the computes of a fleet, or of all fleets that are not deleted.
func computeRows(ctx context.Context, client *gamelift.Client, fleet, location string) ([]computeRow, error) {
	fleets, err := []string{fleet}, error(nil)
	if fleet == "" {
		fleets, err = fleetIDs(ctx, client)
	}
	all := []computeRow{}
	for _, id := range fleets {
		if err != nil {
			break
		}
		in := &gamelift.ListComputeInput{FleetId: &id}
		if location != "" {
			in.Location = &location
		}
		var rows []computeRow
		rows, err = rowsOf(ctx, gamelift.NewListComputePaginator(client, in), computesOf)
		all = append(all, rows...)
	}
	return all, err
}

func computesOf(page *gamelift.ListComputeOutput) (rows []computeRow) {
	for _, c := range page.ComputeList {
		rows = append(rows, computeRow{Name: aws.ToString(c.ComputeName), Arn: aws.ToString(c.ComputeArn),
			FleetID: aws.ToString(c.FleetId), Location: aws.ToString(c.Location), Status: c.ComputeStatus,
			IP: aws.ToString(c.IpAddress), DNS: aws.ToString(c.DnsName),
			Endpoint: aws.ToString(c.GameLiftServiceSdkEndpoint), Created: c.CreationTime})
	}
	return rows
}

// A locationRow is a location.
type locationRow struct {
	Name string `json:"locationName"`
	Arn  string `json:"locationArn,omitempty"`
}

func (a *app) getLocationsCommand() *cobra.Command {
	return a.viewCommand(help{
		use:     "locations",
		short:   "List the locations of the region",
		example: `  muster get locations -o wide`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		locations, err := rowsOf(ctx, gamelift.NewListLocationsPaginator(o.gamelift(), nil), locationsOf)
		if err != nil {
			return err
		}
		return o.show(map[string]any{"locations": locations}, func(to io.Writer) {
			o.line(to, cells{"LOCATION"}, "ARN")
			for _, l := range locations {
				o.line(to, cells{l.Name}, l.Arn)
			}
		})
	})
}

func locationsOf(page *gamelift.ListLocationsOutput) (rows []locationRow) {
	for _, l := range page.Locations {
		rows = append(rows, locationRow{Name: aws.ToString(l.LocationName), Arn: aws.ToString(l.LocationArn)})
	}
	return rows
}

// A queueRow is a queue.
type queueRow struct {
	Name         string   `json:"name"`
	Arn          string   `json:"gameSessionQueueArn"`
	Timeout      int32    `json:"timeoutInSeconds"`
	Destinations []string `json:"destinations"` // ARNs of fleets and aliases
	Policies     int      `json:"playerLatencyPolicies"`
	Target       string   `json:"notificationTarget,omitempty"`
}

func (a *app) getQueuesCommand() *cobra.Command {
	return a.viewCommand(help{
		use:     "queues",
		short:   "List the game session queues of the region",
		example: `  muster get queues -o wide`,
	}, cobra.NoArgs, func(ctx context.Context, o *operatorCall, _ []string) error {
		queues, err := rowsOf(ctx, gamelift.NewDescribeGameSessionQueuesPaginator(o.gamelift(), nil), queuesOf)
		if err != nil {
			return err
		}
		return o.show(map[string]any{"queues": queues}, func(to io.Writer) {
			o.line(to, cells{"QUEUE", "TIMEOUT", "DESTINATIONS", "LATENCY POLICIES"}, "NOTIFIES",
				"DESTINATION ARNS", "ARN")
			for _, q := range queues {
				o.line(to, cells{q.Name, shortDuration(time.Duration(q.Timeout) * time.Second), len(q.Destinations),
					q.Policies}, q.Target, q.Destinations, q.Arn)
			}
		})
	})
}

func queuesOf(page *gamelift.DescribeGameSessionQueuesOutput) (rows []queueRow) {
	for _, q := range page.GameSessionQueues {
		r := queueRow{Name: aws.ToString(q.Name), Arn: aws.ToString(q.GameSessionQueueArn),
			Timeout: aws.ToInt32(q.TimeoutInSeconds), Destinations: []string{}, Policies: len(q.PlayerLatencyPolicies),
			Target: aws.ToString(q.NotificationTarget)}
		for _, d := range q.Destinations {
			r.Destinations = append(r.Destinations, aws.ToString(d.DestinationArn))
		}
		rows = append(rows, r)
	}
	return rows
}
