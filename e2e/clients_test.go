package e2e

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/jonboulle/clockwork"

	"github.com/muster-gg/muster"
	"github.com/muster-gg/muster/e2e/clients"
)

// This file holds what is particular to one client. TestWalkThrough has the
// calls that all of them make.

// TestAWSCLIPrints looks at the text that the AWS CLI prints, which scripts read.
func TestAWSCLIPrints(t *testing.T) {
	t.Parallel()
	s := start(t)
	fleet := s.newFleet(t)
	cli := clients.AWSCLI(t, s.environ())
	run := func(args ...string) string {
		t.Helper()
		out, err := cli.Run(append([]string{"gamelift"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	registered := run("register-compute", "--compute-name", "DesktopPC", "--fleet-id", fleet, "--ip-address",
		"121.170.174.147", "--location", home)
	for _, line := range []string{
		`"ComputeArn": "` + arnPrefix + `compute/DesktopPC",`,
		`"FleetArn": "` + arnPrefix + `fleet/` + fleet + `",`,
		`"ComputeStatus": "Active",`,
	} {
		if !strings.Contains(registered, line) {
			t.Errorf("no %s in %s", line, registered)
		}
	}
	expectNumber(t, registered, "CreationTime", `\d{10}(\.\d{1,3})?`)

	// Tokens expire on a whole second.
	expectNumber(t, run("get-compute-auth-token", "--fleet-id", fleet, "--compute-name", "DesktopPC"),
		"ExpirationTimestamp", `\d{10}(\.0)?`)

	got := run("describe-fleet-attributes", "--query", "FleetAttributes[].[Name,Status]", "--output", "text")
	if got != "Arena\tACTIVE\n" {
		t.Errorf("as text: %q", got)
	}
	deleted := run("delete-fleet-locations", "--fleet-id", fleet, "--locations", home)
	if !strings.Contains(deleted, `"Status": "DELETING"`) {
		t.Errorf("delete-fleet-locations: %s", got)
	}
	if got := run("delete-fleet", "--fleet-id", fleet); got != "" {
		t.Errorf("delete-fleet prints %q", got)
	}
}

// expectNumber checks that a member is printed as a number of this form and not
// as text.
func expectNumber(t testing.TB, printed, member, form string) {
	t.Helper()
	if !regexp.MustCompile(`"` + member + `": ` + form + `[,\s]`).MatchString(printed) {
		t.Errorf("%s is not a number like %s: %s", member, form, printed)
	}
}

func TestAWSCLIErrors(t *testing.T) {
	t.Parallel()
	s := start(t)
	cli := clients.AWSCLI(t, s.environ())
	for _, test := range []struct {
		code, message string // "" for what the CLI itself refuses
		args          []string
	}{
		{"MissingAuthenticationTokenException", "sign it", []string{"list-fleets", "--no-sign-request"}},
		{"NotFoundException", "fleet-00000000", []string{"delete-fleet", "--fleet-id",
			"fleet-00000000-0000-4000-8000-000000000000"}},
		{"InvalidRequestException", "custom-", []string{"create-location", "--location-name", "mylocation"}},
		{"InvalidRequestException", "1 validation error detected", []string{"list-compute", "--fleet-id", "arena"}},
		{"", "Invalid length", []string{"create-location", "--location-name", "short"}},
		{"", "location", []string{"create-fleet", "--name", "A", "--compute-type", "ANYWHERE", "--locations",
			"location=custom-home"}},
	} {
		out, err := cli.Run(append([]string{"gamelift"}, test.args...)...)
		if err == nil || clients.Code(err) != test.code || !strings.Contains(err.Error(), test.message) {
			t.Errorf("aws gamelift %s: %v %s", strings.Join(test.args, " "), err, out)
		}
	}
	stranger := clients.AWSCLI(t, clients.Environ(s.HTTP, s.Region, s.AccessKey, "of somebody else"))
	if _, err := stranger.Run("gamelift", "list-fleets"); clients.Code(err) != "InvalidSignatureException" {
		t.Errorf("a wrong secret: %v", err)
	}
}

// TestAWSCLIPages lets the CLI page by itself, as it does when it is not told
// otherwise, and by hand.
func TestAWSCLIPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	locations := names("custom-place", 25)
	fleet := s.newFleet(t, locations...)
	cli := clients.AWSCLI(t, s.environ())
	type page struct {
		Locations []struct{ LocationName string }
		Events    []struct{ EventCode string }
		NextToken string
	}
	run := func(args ...string) (p page) {
		t.Helper()
		out, err := cli.Run(append([]string{"gamelift"}, args...)...)
		if err == nil {
			err = json.Unmarshal(out, &p)
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	found := func(pages ...page) (list []string) {
		for _, p := range pages {
			for _, l := range p.Locations {
				list = append(list, l.LocationName)
			}
		}
		return list
	}
	expectSame(t, "all pages", found(run("list-locations", "--page-size", "7")), locations)
	first := run("list-locations", "--page-size", "7", "--max-items", "10")
	second := run("list-locations", "--page-size", "7", "--starting-token", first.NextToken)
	if n := len(first.Locations); n != 10 || second.NextToken != "" {
		t.Errorf("%d items on the first page, and %q after the last", n, second.NextToken)
	}
	expectSame(t, "two pages", found(first, second), locations)
	if n := len(run("describe-fleet-events", "--fleet-id", fleet, "--page-size", "10").Events); n != 27 {
		t.Errorf("%d events, want a fleet's two and one for each of 25 locations", n)
	}
}

// TestDriversReport checks what the SDKs for Python and JavaScript make of
// timestamps and refusals.
func TestDriversReport(t *testing.T) {
	t.Parallel()
	s := start(t, fakeTime)
	s.newFleet(t)
	created := s.clock.Now().Truncate(time.Millisecond).UTC()
	for name, open := range map[string]func(testing.TB, []string) *clients.Driver{
		"boto3": clients.Boto3, "JavaScript": clients.JavaScript,
	} {
		client := open(t, s.environ())
		var out struct {
			FleetAttributes []struct{ CreationTime time.Time }
		}
		if err := client.Call("DescribeFleetAttributes", nil, &out); err != nil {
			t.Fatal(name, err)
		}
		if got := out.FleetAttributes[0].CreationTime; !got.Equal(created) {
			t.Errorf("%s: CreationTime is %s, want %s", name, got, created)
		}
		for _, test := range []struct {
			code, operation string
			params          params
		}{
			{"NotFoundException", "DeleteFleet", params{"FleetId": "fleet-00000000-0000-4000-8000-000000000000"}},
			{"ConflictException", "CreateLocation", params{"LocationName": home}},
			{"InvalidRequestException", "ResolveAlias", params{"AliasId": "alias"}},
		} {
			err := client.Call(test.operation, test.params, nil)
			if refusal, ok := errors.AsType[*clients.APIError](err); !ok || refusal.Code != test.code ||
				refusal.Status != 400 || refusal.Message == "" {
				t.Errorf("%s: %s: got %v, want %s with status 400", name, test.operation, err, test.code)
			}
		}
		stranger := open(t, clients.Environ(s.HTTP, s.Region, s.AccessKey, "of somebody else"))
		if err := stranger.Call("ListFleets", nil, nil); clients.Code(err) != "InvalidSignatureException" {
			t.Errorf("%s: a wrong secret: %v", name, err)
		}
	}
}

// TestClientsCorrectTheirClocks meets a service whose clock is far from the
// clients': the SDKs that know how sign again by the date of its answer.
func TestClientsCorrectTheirClocks(t *testing.T) {
	t.Parallel()
	for _, distance := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		s := start(t, func(c *muster.Config) { c.Clock = clockwork.NewFakeClockAt(time.Now().Add(distance)) })
		sdk := goSDK{t.Context(), s.client(func(o *gamelift.Options) { o.Retryer = retry.NewStandard() })}
		for name, client := range map[string]clients.Caller{
			"Go": sdk, "JavaScript": clients.JavaScript(t, s.environ()),
		} {
			if err := client.Call("ListFleets", nil, nil); err != nil {
				t.Errorf("%s, with the service's clock %s ahead: %v", name, distance, err)
			}
		}
		err := clients.Boto3(t, s.environ()).Call("ListFleets", nil, nil)
		if clients.Code(err) != "InvalidSignatureException" || !strings.Contains(err.Error(), "5 min.") {
			t.Errorf("boto3, which corrects nothing: %v", err)
		}
	}
}
